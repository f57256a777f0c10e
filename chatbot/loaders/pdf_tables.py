"""Tables whose cells have borders on all sides."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pdfplumber.page import Page

from .pdf_grid import Span, Table, is_number, is_year, row_lines
from .pdf_text import joined
from .pdf_words import Word, line_of, page_rules, rows_of

_SAME = 6.0  # points: two rules of one table
_BROKEN = 20.0  # points: so wide a gap in a rule parts column groups, not tables


def gridded(page: Page, words: list[Word], before: Table | None) -> tuple[list[Table], list[Word]]:
    """Tables whose cells have borders, and the words outside them.

    ``before``: the table at the foot of the page before; a first table of the same columns continues it.
    """
    if len(page.vertical_edges) < 2 or len(page.horizontal_edges) < 2:
        return [], words
    rules = page_rules(page, joined=_BROKEN)
    tables = []
    for found in page.find_tables():
        x0, top, x1, bottom = found.bbox
        wider = [r for r in rules if abs(r.y - top) < 2 and (r.x0 < x0 - _SAME or r.x1 > x1 + _SAME)]
        if wider:
            continue  # the outer columns have no border: `ruled` sees them
        inside = [word for word in words if x0 <= word.x <= x1 and top <= word.y <= bottom]
        grid, taken = _grid([row.cells for row in found.rows], inside)
        if len(grid) < 2 or sum(any(row[at] for row in grid) for at in range(len(grid[0]))) < 2:
            continue
        columns = [(cell[0], cell[2]) for cell in found.rows[0].cells if cell]
        header, body = _headed(grid, columns, before if top < page.height / 4 else None)
        tables.append(Table(row_lines(header, body), x0, x1, top, bottom, header, columns))
        words = [word for word in words if id(word) not in taken]
    return tables, words


def _grid(
    rows: Sequence[Sequence[tuple[float, float, float, float] | None]], words: Sequence[Word]
) -> tuple[list[list[str]], set[int]]:
    """The cells' texts, and the ids of the words in them. A cell that spans rows is repeated as a row's label."""
    grid: list[list[str]] = []
    taken: set[int] = set()
    for cells in rows:
        texts = []
        for at, cell in enumerate(cells):
            if cell is None:
                texts.append(grid[-1][0] if at == 0 and grid else "")
                continue
            x0, top, x1, bottom = cell
            inside = [word for word in words if x0 <= word.x <= x1 and top <= word.y <= bottom]
            taken |= {id(word) for word in inside}
            texts.append(reduce(joined, (line_of(row).text for row in rows_of(inside)), ""))
        grid.append(texts)
    return [row for row in grid if any(row)], taken


def _headed(grid: list[list[str]], columns: list[Span], before: Table | None) -> tuple[list[str], list[list[str]]]:
    """The header and the rows below it; a table that goes on without a header takes the one it began with."""
    first = grid[0]
    if before is not None and any(before.header) and first != before.header and _alike(columns, before.columns):
        return before.header, grid
    if is_number(first[0]) or any(not cell or (is_number(cell) and not is_year(cell)) for cell in first[1:]):
        return [""] * len(first), grid
    return first, grid[1:]


def _alike(one: Sequence[Span], other: Sequence[Span]) -> bool:
    return len(one) == len(other) and all(
        abs(a[0] - b[0]) < 3 and abs(a[1] - b[1]) < 3 for a, b in zip(one, other, strict=True)
    )
