"""Check an answer's Markdown tables cell by cell: a cell without a source is emptied.
The page shows GitHub's tables. Models' mistakes in them are corrected if the meaning is
clear.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..domain.tables import Texts
from ..language.analysis import WORD_PATTERN
from .wording import cited_numbers, normalise, strip_marks, without_numbers

_RELATES = re.compile(
    r"\b(?:differ\w*|gap|ratio|versus|vs|compar\w*|than|relative)\b", re.IGNORECASE
)
Words = frozenset[str]
EMPTY = "—"
_RULE = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
_BORDER = re.compile(r"(?<!\\)(?:\\\\)*(\|)")
_BEFORE = re.compile(r"[\s>]*")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*(\w*)\s*$")
_MARKDOWN = ("", "markdown", "md")
_CELL_WORD = re.compile(r"\w+(?:/\w+)?")
_STATED = "(?:stated|available|found|given|reported|mentioned|specified|provided|known|covered|included|applicable|disclosed)"  # noqa: E501
_NOTHING = re.compile(
    r"(?:n/?a|none|unknown|unavailable|missing"
    rf"|(?:data |figures? |it |this )?(?:is |are |was |were )?not (?:yet )?{_STATED}"
    r"|no "
    r"(?:data|information|figures?|mention|values?|passages?|sources?|reports?)(?: "
    rf"(?:is |are |was )?{_STATED})?"
    rf"|nothing(?: (?:is |was )?{_STATED})?)(?: (?:in|by) "
    r"(?:(?:the|this|these|its|any) )?\w+)?"
)


@dataclass(frozen=True, slots=True)
class CheckedTables:
    """``dropped``: rows and columns of the cells that were emptied, such as "Inflation,
    Kenya".

    ``tables`` does not count those ``emptied`` altogether: they are no longer in
    ``text``.
    """

    text: str
    tables: int
    dropped: Texts
    emptied: int = 0


def with_sources(text: str, sides: Mapping[str, Collection[int]]) -> CheckedTables:
    """Empty each table cell that states something about a side without citing one of
    the side's passages.

    ``sides``: the numbers of the passages by name; the names head columns or rows, or a
    row and a column have a part of the name each. A cell of no side (a difference) may
    cite any passage. A cell without a number has those of its side in its headings, or
    in a row or column of sources.
    """
    lines = _unfenced(text.splitlines())
    result = list[str]()
    dropped = list[str]()
    tables = emptied = 0
    for start, end, head, rows in _tables(lines):
        if not head:
            result.append(lines[start])
            continue
        checked, gone, is_sourced = _checked_cells(head, rows, sides)
        if gone and not is_sourced:
            emptied += 1
            continue
        tables += 1
        dropped += gone
        rule = _cells(lines[start + 1])
        rule = rule if len(rule) == len(head) else ["---"] * len(head)
        before = lines[start][
            : len(lines[start]) - len(_BEFORE.sub("", lines[start], count=1))
        ]
        result += [
            f"{before}{line}"
            for line in markdown_table(head, checked, rule).splitlines()
        ]
        # A line that followed at once would be a row of it.
        result += [""] if end < len(lines) and lines[end].strip() else []
    return CheckedTables("\n".join(result).strip(), tables, tuple(dropped), emptied)


def _checked_cells(
    head: Sequence[str], rows: Sequence[list[str]], sides: Mapping[str, Collection[int]]
) -> tuple[list[list[str]], list[str], bool]:
    """Return the rows, the headings of the cells that were emptied, and whether a cell
    is left that cites its side.
    """
    names = {name: _words(name) for name in sides}
    of_columns, of_rows = _sources(head, rows)
    first = 0 if _words(head[0]) in names.values() else 1
    checked = [row[:first] for row in rows]
    emptied: list[str] = []
    is_sourced = False
    for row, of_row, result in zip(rows, of_rows, checked, strict=True):
        label = row[0] if first and row else ""
        for column in range(first, min(len(row), len(head))):
            allowed: set[int] = set()
            for name in _sides_of(label, head[column], names):
                allowed.update(sides[name])
            from_headings = [*of_columns[column], *of_row]
            cell = _checked_cell(row[column], allowed, from_headings)
            is_sourced = is_sourced or cell.is_sourced
            if cell.is_emptied:
                headings = (heading(label), heading(head[column]))
                emptied.append(", ".join(filter(None, headings)))
            result.append(cell.text)
    return checked, emptied, is_sourced


class _CheckedCell(NamedTuple):
    """``is_sourced``: it states something that it cites. ``is_emptied``: it stated
    something without a source.
    """

    text: str
    is_sourced: bool = False
    is_emptied: bool = False


def _checked_cell(
    cell: str, allowed: Collection[int], from_headings: Iterable[int]
) -> _CheckedCell:
    """Check one cell. ``allowed``: the passages of its sides; ``from_headings``: those
    that its row and column cite.
    """
    states = not _says_nothing(cell)
    cited = cited_numbers(cell)
    if states and not cited:
        cited = [number for number in from_headings if number in allowed]
        cell = _with_numbers(cell, cited)
    if any(number in allowed for number in cited):
        return _CheckedCell(cell, is_sourced=states)
    return _CheckedCell(EMPTY if states or cited else cell, is_emptied=states)


def _with_numbers(cell: str, numbers: Iterable[int]) -> str:
    """Return a cell that cites each of some numbers once."""
    return " ".join([cell, *(f"[{number}]" for number in dict.fromkeys(numbers))])


def _sides_of(row: str, column: str, names: Mapping[str, Words]) -> list[str]:
    """Return the sides that a cell is about, by the headings of its row and column; all
    if none is named. A column that is a side's name comes first, then such a row, then
    both together. Names are compared by their words: case, signs and order do not
    matter. "Guinea" is not in "Guinea-Bissau"; "2021" is each side of that year.
    """
    of_row = _words(row)
    of_column = _words(column)
    if sides := _sides_named(of_column, names):
        return sides
    if sides := _sides_named(of_row, names):
        if _RELATES.search(column):
            return list(names)
        return sides
    beyond_column = _sides_beyond(of_column, names)
    beyond_row = _sides_beyond(of_row, names)
    return (
        _sides_named(of_row | of_column, names)
        or _sides_within(of_column, names)
        or _sides_within(of_row, names)
        or [name for name in beyond_column if name in beyond_row]
        or beyond_column
        or beyond_row
        or list(names)
    )


def _sides_named(words: Words, names: Mapping[str, Words]) -> list[str]:
    """Return the sides whose name has exactly these words."""
    return [name for name, side_words in names.items() if side_words == words]


def _sides_within(words: Words, names: Mapping[str, Words]) -> list[str]:
    """Return the sides whose names are among these words, without those that are a part
    of another's.
    """
    within = {name: of_side for name, of_side in names.items() if of_side <= words}
    sides: list[str] = []
    for name, of_side in within.items():
        if not any(of_side < other for other in within.values()):
            sides.append(name)
    return sides


def _sides_beyond(words: Words, names: Mapping[str, Words]) -> list[str]:
    """Return the sides of whose names these words are a part."""
    if not words:
        return []
    return [name for name, side_words in names.items() if words <= side_words]


def _words(cell: str) -> Words:
    return frozenset(WORD_PATTERN.findall(normalise(heading(cell))))


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that states something, with the headings of its row and column, and the
    passages that it or they cite. ``place``: its table, row and column.

    ``above``: the corner of its table and the line above it, which may have the unit of
    all cells.
    """

    row: str
    column: str
    text: str
    numbers: tuple[int, ...]
    place: tuple[int, int, int]
    above: Texts

    @property
    def headings(self) -> str:
        """The headings of its column and row."""
        return ", ".join(filter(None, (self.column, self.row)))


def without_tables(text: str) -> tuple[str, list[Cell]]:
    """Return the text around its tables, and their cells."""
    lines = text.splitlines()
    around = list[str]()
    cells = list[Cell]()
    for start, end, head, rows in _tables(lines):
        if not head:
            around.append(lines[start])
            continue
        of_columns, of_rows = _sources(head, rows)
        is_cited = cited_numbers(" ".join(lines[start:end]))
        below = (
            [] if is_cited else cited_numbers(next(filter(str.strip, lines[end:]), ""))
        )  # "Source: [1]"
        first = _first_label(head, rows)
        caption = "".join(lines[max(0, start - 2) : start])
        above = (heading(head[first]), heading(caption))
        for number, (row, of_row) in enumerate(zip(rows, of_rows, strict=True)):
            named = row[first] if first < len(row) else ""
            is_labelled = not cited_numbers(named)
            label = heading(named) if is_labelled and not _says_nothing(named) else ""
            for at, cell in enumerate(row):
                is_label = at < first or (at == first and is_labelled)
                if not is_label and not _says_nothing(cell):
                    numbers = cited_numbers(cell) or [*of_columns[at], *of_row] or below
                    cells.append(
                        Cell(
                            label,
                            heading(head[at]),
                            cell,
                            tuple(dict.fromkeys(numbers)),
                            (start, number, at),
                            above,
                        )
                    )
    return "\n".join(around), cells


def _first_label(head: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return the column that has the labels of rows: the second where the first counts
    the rows.
    """
    if len(head) < 3 or not rows:
        return 0
    counts = {heading(row[0]).strip(" #.)") for row in rows}
    return int(counts == {str(number) for number in range(1, len(rows) + 1)})


def markdown_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], rule: Sequence[str] = ()
) -> str:
    """Return a table of cells that are Markdown already; ``rule``: the cells below the
    head.
    """
    lines = [head, rule or ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def heading(cell: str) -> str:
    """Return a cell's text on one line, without Markdown's marks and citations."""
    return " ".join(strip_marks(without_numbers(cell)).split())


def _unfenced(lines: Sequence[str]) -> list[str]:
    """Return the lines without the fences that models put around tables, which would
    then be shown as code.
    """
    unfenced: list[str] = []
    fence = ""
    opened = 0
    is_code = False
    for line in lines:
        unfenced.append(line)
        if (match := _FENCE.match(line)) is None:
            continue
        if not fence:
            fence = match[1]
            opened = len(unfenced) - 1
            is_code = match[2].casefold() not in _MARKDOWN
        elif match[1].startswith(fence) and not match[2]:
            if not is_code and any(
                head for _, _, head, _ in _tables(unfenced[opened:])
            ):
                unfenced = [*unfenced[:opened], *unfenced[opened + 1 : -1]]
            fence = ""
    return unfenced


def _tables(
    lines: Sequence[str],
) -> Iterator[tuple[int, int, list[str], list[list[str]]]]:
    """Yield start, end, head and rows of each table; every other line comes by itself,
    without a head.
    """
    number = 0
    while number < len(lines):
        head = list[str]()
        end = number + 1
        below = lines[end] if end < len(lines) else ""
        if (
            "|" in lines[number]
            and "|" in below
            and _RULE.fullmatch(_BEFORE.sub("", below, count=1).strip())
        ):
            head = _cells(lines[number])
            end = next(
                (at for at in range(number + 2, len(lines)) if "|" not in lines[at]),
                len(lines),
            )
        yield (
            number,
            end,
            head,
            [_cells(line)[: len(head)] for line in lines[number + 2 : end]],
        )
        number = end


def _cells(line: str) -> list[str]:
    line = _BEFORE.sub("", line, count=1).strip()
    borders = [match.start(1) for match in _BORDER.finditer(line)]
    starts = [0, *(border + 1 for border in borders)]
    ends = [*borders, len(line)]
    cells = [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]
    first = borders[:1] == [0]
    last = len(cells) > 1 + first and borders[-1] == len(line) - 1
    return cells[first : len(cells) - last]


def _sources(
    head: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[list[int]], list[list[int]]]:
    """Return what the headings of columns and rows cite, and their cells that say
    nothing else.
    """

    def cited(label: Iterable[str], cells: Iterable[str]) -> list[int]:
        return cited_numbers(
            " ".join(
                [
                    *label,
                    *(c for c in cells if not _CELL_WORD.search(without_numbers(c))),
                ]
            )
        )

    of_columns = [
        cited([above], [row[at] for row in rows if at < len(row)])
        for at, above in enumerate(head)
    ]
    return of_columns, [cited(row[:1], row[1:]) for row in rows]


def _says_nothing(cell: str) -> bool:
    words = " ".join(_CELL_WORD.findall(strip_marks(without_numbers(cell)).casefold()))
    return not words or _NOTHING.fullmatch(words) is not None
