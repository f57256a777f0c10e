"""Tables in an answer, checked cell by cell: one without a source is emptied.

Markdown as the page shows it (GitHub's tables); what models get wrong of it is mended where it is plain what is meant.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..schema import Quotation
from ..text import WORD_PATTERN, escape_markdown, quotation_markdown
from ..words import Say, in_english
from .wording import cited_numbers, normalise, strip_marks, without_numbers

_RELATES = re.compile(r"\b(?:differ\w*|gap|ratio|versus|vs|compar\w*|than|relative)\b", re.IGNORECASE)
Words = frozenset[str]
EMPTY = "—"
NOTHING = "Nothing was found."
SIDE_BY_SIDE = 3
"""Sides that stand beside each other; more stand below each other."""
_RULE = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
_BORDER = re.compile(r"(?<!\\)(?:\\\\)*(\|)")
_BEFORE = re.compile(r"[\s>]*")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*(\w*)\s*$")
_MARKDOWN = ("", "markdown", "md")
_CELL_WORD = re.compile(r"\w+(?:/\w+)?")
_SAID = (
    "(?:stated|available|found|given|reported|mentioned|specified|provided|known|covered|included|applicable|disclosed)"
)
_NOTHING = re.compile(
    r"(?:n/?a|none|unknown|unavailable|missing"
    rf"|(?:data |figures? |it |this )?(?:is |are |was |were )?not (?:yet )?{_SAID}"
    rf"|no (?:data|information|figures?|mention|values?|passages?|sources?|reports?)(?: (?:is |are |was )?{_SAID})?"
    rf"|nothing(?: (?:is |was )?{_SAID})?)(?: (?:in|by) (?:(?:the|this|these|its|any) )?\w+)?"
)


@dataclass(frozen=True, slots=True)
class CheckedTables:
    """``dropped``: rows and columns of the cells that were emptied, e.g. "Inflation, Kenya".

    ``tables`` does not count those ``emptied`` altogether: they are no longer in ``text``.
    """

    text: str
    tables: int
    dropped: tuple[str, ...]
    emptied: int = 0


def with_sources(text: str, sides: Mapping[str, Collection[int]]) -> CheckedTables:
    """The answer with each cell emptied that says something of a side without citing one of the side's passages.

    ``sides``: the numbers of the passages by name; the names head columns or rows, or a row and a column have a part
    of the name each. A cell of none of them (a difference) may cite any. A cell without a number has those of its
    side in its headings, or in a row or column of sources.
    """
    lines, kept, dropped = _unfenced(text.splitlines()), list[str](), list[str]()
    tables = emptied = 0
    for start, end, head, rows in _tables(lines):
        if not head:
            kept.append(lines[start])
            continue
        table = _Table(head, rows, sides)
        if table.gone and not table.sourced:
            emptied += 1
        else:
            tables += 1
            dropped += table.gone
            kept += table.lines(lines[start], lines[start + 1])
            # A line that followed at once would be a row of it.
            kept += [""] if end < len(lines) and lines[end].strip() else []
    return CheckedTables("\n".join(kept).strip(), tables, tuple(dropped), emptied)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that says something, with the headings of its row and column, and the passages that it or they cite."""

    row: str
    column: str
    text: str
    numbers: tuple[int, ...]


def without_tables(text: str) -> tuple[str, list[Cell]]:
    """The text around its tables, and their cells."""
    lines, around, cells = text.splitlines(), list[str](), list[Cell]()
    for start, _, head, rows in _tables(lines):
        if head:
            cells += _table_cells(head, rows)
        else:
            around.append(lines[start])
    return "\n".join(around), cells


def _table_cells(head: Sequence[str], rows: Sequence[list[str]]) -> Iterator[Cell]:
    of_columns = [_sources([above], [row[at] for row in rows if at < len(row)]) for at, above in enumerate(head)]
    for row in rows:
        of_row, is_labelled = _sources(row[:1], row[1:]), not cited_numbers(row[0])
        label = heading(row[0]) if is_labelled and not _says_nothing(row[0]) else ""
        for at, cell in enumerate(row):
            if (at or not is_labelled) and not _says_nothing(cell):
                numbers = cited_numbers(cell) or [*of_columns[at], *of_row]
                yield Cell(label, heading(head[at]), cell, tuple(dict.fromkeys(numbers)))


def quotes_table(quotes: Mapping[str, Sequence[Quotation | None]], say: Say = in_english) -> str:
    """What each side says in its own words: a column each, or a row each where there are many; None = nothing there."""
    names = [escape_markdown(name) for name in quotes]
    columns = [
        [_placed(quote, name) if quote else EMPTY for quote in side] if any(side) else [say(NOTHING)]
        for name, side in quotes.items()
    ]
    if len(names) > SIDE_BY_SIDE:
        head, rows = (
            ["", say("Quoted")],
            [[name, " ".join(c for c in column if c != EMPTY)] for name, column in zip(names, columns, strict=True)],
        )
    else:
        height = max(map(len, columns), default=0)
        head, rows = names, [[c[row] if row < len(c) else EMPTY for c in columns] for row in range(height)]
    return markdown_table(head, rows)


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table of cells that are Markdown already."""
    return "\n".join(_lines([head, ["---"] * len(head), *rows]))


def heading(cell: str) -> str:
    """A cell's text on one line, without Markdown's marks and citations."""
    return " ".join(strip_marks(without_numbers(cell)).split())


class SideNames:
    """The names of the sides: "Kenya", or "Kenya, 2021". Case, signs and the order of the words do not matter."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {name: _words(name) for name in names}

    def is_one(self, cell: str) -> bool:
        """Whether the cell is the name of a side."""
        return bool(self._exactly(_words(cell)))

    def of(self, row: str, column: str) -> list[str]:
        """The sides that a cell is about: those that its column names, else its row, else both together; all where
        nothing is named.
        """
        of_row, of_column = _words(row), _words(column)
        if found := self._exactly(of_column):
            return found
        if found := self._exactly(of_row):
            return list(self._names) if _RELATES.search(column) else found
        return (
            self._exactly(of_row | of_column)
            or self._whole(of_column)
            or self._whole(of_row)
            or [name for name in self._partly(of_column) if name in self._partly(of_row)]
            or self._partly(of_column)
            or self._partly(of_row)
            or list(self._names)
        )

    def _exactly(self, words: Words) -> list[str]:
        return [name for name, own in self._names.items() if words == own]

    def _whole(self, words: Words) -> list[str]:
        """The sides whose whole name is among the words; not Guinea where it is Guinea-Bissau."""
        found = {name: own for name, own in self._names.items() if own <= words}
        return [name for name, own in found.items() if not any(own < other for other in found.values())]

    def _partly(self, words: Words) -> list[str]:
        """The sides that have all these words in their names: "2021" is each side of that year."""
        return [name for name, own in self._names.items() if words and words <= own]


def _words(cell: str) -> Words:
    return frozenset(WORD_PATTERN.findall(normalise(heading(cell))))


class _Table:
    """A table that was checked. ``gone``: what was emptied; ``sourced``: whether a cell is left that cites its side."""

    def __init__(self, head: list[str], rows: list[list[str]], sides: Mapping[str, Collection[int]]) -> None:
        self._head = head
        self._sides = sides
        self._names = SideNames(sides)
        self._of_rows = [_sources(row[:1], row[1:]) for row in rows]
        self._of_columns = [
            _sources([above], [row[place] for row in rows if place < len(row)]) for place, above in enumerate(head)
        ]
        self._first = 0 if self._names.is_one(head[0]) else 1
        self.gone: list[str] = []
        self.sourced = False
        self._checked = [self._row(number, row) for number, row in enumerate(rows)]

    def lines(self, head: str, rule: str) -> list[str]:
        """``head`` and ``rule``: as they were written."""
        before, cells = _BEFORE.match(head), _cells(rule)
        cells = cells if len(cells) == len(self._head) else ["---"] * len(self._head)
        return [f"{before[0] if before else ''}{line}" for line in _lines([self._head, cells, *self._checked])]

    def _row(self, number: int, row: Sequence[str]) -> list[str]:
        label = row[0] if self._first and row else ""
        rest = enumerate(row[self._first :], start=self._first)
        return [*row[: self._first], *(self._cell(label, number, place, cell) for place, cell in rest)]

    def _cell(self, label: str, row: int, column: int, written: str) -> str:
        above = self._head[column]
        allowed = {n for name in self._names.of(label, above) for n in self._sides[name]}
        says, cited = not _says_nothing(written), cited_numbers(written)
        given: list[int] = []
        if says and not cited:
            given = [n for n in (*self._of_columns[column], *self._of_rows[row]) if n in allowed]
        if not allowed.isdisjoint([*cited, *given]):
            self.sourced = self.sourced or says
            return " ".join([written, *(f"[{number}]" for number in dict.fromkeys(given))])
        if says:
            self.gone.append(", ".join(filter(None, (heading(label), heading(above)))))
        return EMPTY if says or cited else written


def _placed(quote: Quotation, side: str) -> str:
    """A quotation with the place it comes from, as far as the side's name does not say it."""
    return f"**{escape_markdown(quote.where.removeprefix(f'{side}, '))}:** {quotation_markdown(quote)}"


def _unfenced(lines: Sequence[str]) -> list[str]:
    """The lines without the fences that models put around Markdown, in which a table would not be shown as one."""
    kept: list[str] = []
    fence, opened, is_code = "", 0, False
    for line in lines:
        kept.append(line)
        if (match := _FENCE.match(line)) is None:
            continue
        if not fence:
            fence, opened, is_code = match[1], len(kept) - 1, match[2].casefold() not in _MARKDOWN
        elif match[1].startswith(fence) and not match[2]:
            if not is_code and any(_head(kept, place) for place in range(opened, len(kept))):
                kept = [*kept[:opened], *kept[opened + 1 : -1]]
            fence = ""
    return kept


def _head(lines: Sequence[str], place: int) -> list[str] | None:
    """The cells of the line, if a table begins there."""
    if place + 1 >= len(lines) or "|" not in lines[place] or "|" not in lines[place + 1]:
        return None
    return _cells(lines[place]) if _RULE.fullmatch(_inner(lines[place + 1])) else None


def _tables(lines: Sequence[str]) -> Iterator[tuple[int, int, list[str], list[list[str]]]]:
    """The tables among the lines: start, end, head and rows of each; every other line comes by itself, without a
    head.
    """
    place = 0
    while place < len(lines):
        head, end = _head(lines, place) or [], place + 1
        if head:
            end = next((at for at in range(place + 2, len(lines)) if "|" not in lines[at]), len(lines))
        yield place, end, head, [_cells(line)[: len(head)] for line in lines[place + 2 : end]]
        place = end


def _cells(line: str) -> list[str]:
    line = _inner(line)
    borders = [match.start(1) for match in _BORDER.finditer(line)]
    starts, ends = [0, *(border + 1 for border in borders)], [*borders, len(line)]
    cells = [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]
    first = borders[:1] == [0]
    last = len(cells) > 1 + first and borders[-1] == len(line) - 1
    return cells[first : len(cells) - last]


def _inner(line: str) -> str:
    return _BEFORE.sub("", line, count=1).strip()


def _sources(headings: Iterable[str], cells: Iterable[str]) -> list[int]:
    """What a heading cites, and what the cells cite that say nothing else."""
    return cited_numbers(
        " ".join([*headings, *(cell for cell in cells if not _CELL_WORD.search(without_numbers(cell)))])
    )


def _says_nothing(cell: str) -> bool:
    said = " ".join(_CELL_WORD.findall(strip_marks(without_numbers(cell)).casefold()))
    return not said or _NOTHING.fullmatch(said) is not None


def _lines(rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in rows]
