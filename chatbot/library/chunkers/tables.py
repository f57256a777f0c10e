"""Passages of tables. A long table is cut by rows, with its head above the rows of each
passage; a row that is too long by columns, with its labels in front of each piece.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ...domain.tables import Stated, Table, TableRow, TableRows
from ...language.table_text import row_line
from ..tables import statements

__all__ = ["TableFigures", "TablePassage", "table_passages"]

Fits = Callable[[str], bool]
"""Returns whether a passage may have this text."""


class TablePassage(NamedTuple):
    """``start`` and ``end``: of its rows in the text of their section. ``figures``:
    those of its cells.
    """

    text: str
    start: int
    end: int
    figures: tuple[Stated, ...]


class TableFigures:
    """The figures of a document's tables. Each table is interpreted once, as a whole:
    its rows may be in many sections.
    """

    def __init__(self) -> None:
        self._tables: dict[int, tuple[Table, list[dict[int, Stated]]]] = {}

    def of_rows(self, shown: TableRows) -> list[dict[int, Stated]]:
        """Return the figures of each row, by the places of their columns."""
        key = id(shown.table)
        if key not in self._tables:
            self._tables[key] = (shown.table, list(statements(shown.table)))
        _, figures = self._tables[key]
        return figures[shown.start : shown.stop]


def table_passages(
    shown: TableRows, figures: Sequence[dict[int, Stated]], fits: Fits, longest: int
) -> Iterator[TablePassage]:
    """Yield the passages of some rows, in order, each with the head of these.

    ``figures``: of each row. ``longest``: characters of a row of figures. A cell that
    is too long for a passage is one all the same: whoever gets it has to cut it.
    """
    lines = [row_line(shown.table, row) for row in shown.rows]
    spans = _spans(shown.head, lines)
    first = 0
    while first < len(lines):
        stop = first + 1
        text = _under(shown.head, lines[first])
        row = shown.rows[first]
        filled = sum(map(bool, row.texts))
        # A row of figures is found by its labels, which come first: the embedder need
        # not read all of it.
        is_of_figures = 2 * len(figures[first]) >= filled > 0
        if not fits(text) and not (is_of_figures and len(text) <= longest):
            for piece in _pieces(shown, row, figures[first], fits):
                yield piece._replace(start=spans[first][0], end=spans[first][1])
            first = stop
            continue
        while stop < len(lines):
            longer = f"{text}\n{lines[stop]}"
            if not fits(longer):
                break
            text = longer
            stop += 1
        stated_figures: list[Stated] = []
        for of_row in figures[first:stop]:
            stated_figures += of_row.values()
        start = spans[first][0] if first else 0
        end = spans[stop - 1][1]
        yield TablePassage(text, start, end, tuple(stated_figures))
        first = stop


def _pieces(
    shown: TableRows, row: TableRow, figures: dict[int, Stated], fits: Fits
) -> Iterator[TablePassage]:
    """Yield a row in pieces of some columns each."""
    first = 0
    width = len(row.texts)
    columns_before = 1
    while first < width:
        texts: dict[int, str] = {}

        def reaches(
            stop: int, first: int = first, texts: dict[int, str] = texts
        ) -> bool:
            texts[stop] = _piece(shown, row, first, stop)
            return fits(texts[stop])

        # Columns are much alike: the piece before says how many fit, nearly.
        stop = _furthest(reaches, first + 1, width, first + columns_before)
        columns_before = stop - first
        columns = range(first, stop)
        inside = [figures[column] for column in columns if column in figures]
        text = texts.get(stop) or _piece(shown, row, first, stop)
        yield TablePassage(text, 0, 0, tuple(inside))
        first = stop
    if not width:
        yield TablePassage(_piece(shown, row, 0, 0), 0, 0, ())


def _furthest(
    reaches: Callable[[int], bool], least: int, most: int, expected: int
) -> int:
    """Return the largest number up to ``most`` that ``reaches`` accepts, at least
    ``least``: looked for around ``expected`` in steps that double, then by halves
    (Bentley and Yao, An almost optimal algorithm for unbounded searching, 1976).
    """
    refused = most + 1
    number = min(max(expected, least + 1), most)
    step = 1
    while refused - least > 1:
        if reaches(number):
            least = number
            number = min(number + step, (least + refused) // 2)
        else:
            refused = number
            number = max(number - step, (least + refused) // 2)
        step *= 2
    return least


def _piece(shown: TableRows, row: TableRow, first: int, stop: int) -> str:
    return _under(shown.head, row_line(shown.table, row, range(first, stop)))


def _under(head: str, text: str) -> str:
    if not head:
        return text
    return f"{head}\n{text}"


def _spans(head: str, lines: Sequence[str]) -> list[tuple[int, int]]:
    """Return where each of the lines begins and ends below the head."""
    spans = []
    position = len(_under(head, ""))
    for line in lines:
        end = position + len(line)
        spans.append((position, end))
        position = end + 1
    return spans
