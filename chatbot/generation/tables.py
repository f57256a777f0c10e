"""Tables in an answer: what stands in a cell has a source, or does not stand there."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ..schema import Quotation
from ..text import escape_markdown, quoted
from .sentences import cited_numbers, without_numbers
from .wording import plain, unmarked

EMPTY = "—"
SIDE_BY_SIDE = 3
"""Sides that stand beside each other; more stand below each other."""
_RULE = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_CELL = re.compile(r"(?<!\\)\|")
_NOTHING = re.compile(
    r"\W*(?:n/?a|not (?:stated|available|found|given|reported)|no data|none|unknown)?\W*"
)


@dataclass(frozen=True, slots=True)
class CheckedTables:
    """``dropped``: rows and columns of the cells that were emptied, e.g. "Inflation, Kenya"."""

    text: str
    tables: int
    dropped: tuple[str, ...]


def with_sources(text: str, sides: Mapping[str, Collection[int]]) -> CheckedTables:
    """Each cell that says something of a side without citing one of the side's passages is emptied.

    ``sides``: the numbers of the passages by name, which head the columns, or the rows. A column of its own (a
    difference) may cite any of them.
    """
    lines, dropped, tables = text.splitlines(), list[str](), 0
    for place, line in enumerate(lines):
        if place == 0 or not _RULE.match(line) or "|" not in lines[place - 1]:
            continue
        tables += 1
        head = _cells(lines[place - 1])
        for row in range(place + 1, len(lines)):
            if "|" not in lines[row]:
                break
            cells, gone = _checked(head, _cells(lines[row]), sides)
            dropped += gone
            lines[row] = f"| {' | '.join(cells)} |" if gone else lines[row]
    return CheckedTables("\n".join(lines), tables, tuple(dropped))


def quotes_table(quotes: Mapping[str, Sequence[Quotation]]) -> str:
    """What each side says in its own words: a column each, or a row each where there are many."""
    names = [escape_markdown(name) for name in quotes]
    columns = [[quoted(quote) for quote in side] or ["Nothing was found."] for side in quotes.values()]
    if len(names) > SIDE_BY_SIDE:
        rows = [(name, " ".join(column)) for name, column in zip(names, columns, strict=True)]
        return _table(("", "Quoted"), rows)
    height = max(map(len, columns), default=0)
    return _table(names, [[c[row] if row < len(c) else EMPTY for c in columns] for row in range(height)])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(line: str) -> list[str]:
    cells = [cell.strip() for cell in _CELL.split(line.strip())]
    return cells[line.strip().startswith("|") : len(cells) - line.strip().endswith("|")]


def _checked(
    head: Sequence[str], cells: list[str], sides: Mapping[str, Collection[int]]
) -> tuple[list[str], list[str]]:
    row = cells[0] if cells else ""
    kept, gone = cells[:1], []
    for place, cell in enumerate(cells[1:], start=1):
        column = head[place] if place < len(head) else ""
        allowed = _side(column, sides) or _side(row, sides) or {n for numbers in sides.values() for n in numbers}
        if _NOTHING.fullmatch(without_numbers(cell).casefold()) or not set(allowed).isdisjoint(cited_numbers(cell)):
            kept.append(cell)
            continue
        kept.append(EMPTY)
        gone.append(", ".join(filter(None, (_named(row), _named(column)))))
    return kept, gone


def _side(heading: str, sides: Mapping[str, Collection[int]]) -> Collection[int] | None:
    words = plain(_named(heading))
    return next((numbers for name, numbers in sides.items() if words and words == plain(name)), None)


def _named(heading: str) -> str:
    return " ".join(unmarked(without_numbers(heading)).split())
