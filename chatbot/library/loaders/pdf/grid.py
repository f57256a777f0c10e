"""The words of a table without cell borders to columns, a header, and one line of text per row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ....domain import SECTION_SEPARATOR
from ..sections import LEVEL, empty_columns, row_text
from .words import Rule, Word, join_lines, pieces_of, text_of

WIDE = 1.0  # of the font size: a wider gap is between two cells, not between two words
_HEADER_GAP = 0.6
_LEADERS = re.compile(r"\s\.{2,}\s*$|(?:\s?\.){3,}\s*$|^(?:\.\s?){3,}")
_NUMERIC_WORDS = re.compile(
    r"^[\s(\[<>≤≥±+\-−–—$€£¥~]*(?:\d[\d\s.,:/%–−\-]*[)\]%*†‡§a-z]{0,2}|[–—\-.…]+|n/?a|ref\.?)[\s)\]%]*$", re.IGNORECASE
)
_YEAR_HEADING = re.compile(r"^(?:FY\s?)?(?:19|20)\d\d(?:[–/-]\d{2,4})?\W*$")

Rows = Sequence[Sequence[Word]]
Span = tuple[float, float]


@dataclass(slots=True)
class Table:
    """A table as text, a line per row, and its place. ``columns`` and ``header`` serve its continuation."""

    lines: list[str]
    x0: float
    x1: float
    top: float
    bottom: float
    header: list[str]
    columns: list[Span]


def is_number(text: str) -> bool:
    """Return whether a cell is a figure, an interval, a share, or a sign for a missing one."""
    return bool(_NUMERIC_WORDS.match(text))


def is_year(text: str) -> bool:
    """Return whether a cell is a year or a span of years: a column's heading as often as a figure."""
    return bool(_YEAR_HEADING.match(text))


def columns_of(rows: Rows) -> list[Span]:
    """Return the columns: the parts between the white stripes that (nearly) all rows with several cells share."""
    several = [row for row in rows if len(pieces_of(row, WIDE)) > 1]
    if len(several) < 2:
        return []
    size = min(word.size for word in several[0])
    left, right = min(row[0].x0 for row in rows), max(word.x1 for row in rows for word in row)
    rows_at = [0] * (int(2 * (right - left)) + 2)  # by half points from the left
    for row in several:
        covered = {at for word in row for at in range(int(2 * (word.x0 - left)), int(2 * (word.x1 - left)) + 1)}
        for at in covered:
            rows_at[at] += 1
    allowed = len(several) // 40
    min_width = (0.3 if len(several) > 5 else 0.7) * size
    stripes = [(left + a / 2, left + b / 2) for a, b in _white_runs(rows_at, allowed) if (b - a) / 2 >= min_width]
    edges = [left, *(edge for stripe in stripes for edge in stripe), right]
    return [(x0, x1) for x0, x1 in zip(edges[::2], edges[1::2], strict=True)]


def _white_runs(rows_at: Sequence[int], allowed: int) -> list[tuple[int, int]]:
    """Return the stretches that at most ``allowed`` rows cover, without those at the two ends."""
    runs: list[tuple[int, int]] = []
    for at, count in enumerate(rows_at):
        if count > allowed:
            continue
        if runs and runs[-1][1] == at:
            runs[-1] = (runs[-1][0], at + 1)
        else:
            runs.append((at, at + 1))
    return [(a, b) for a, b in runs if a > 0 and b < len(rows_at) - 1]


def cells_of(row: Iterable[Word], columns: Sequence[Span]) -> list[str]:
    """Return the row's text in each column; a word belongs to the column nearest to its middle."""
    limits = [(left[1] + right[0]) / 2 for left, right in pairwise(columns)]
    cells: list[list[Word]] = [[] for _ in columns]
    for word in row:
        cells[sum(word.x > limit for limit in limits)].append(word)
    return [_LEADERS.sub("", text_of(cell)).strip() for cell in cells]


def header_of(rows: Rows, columns: Sequence[Span], rules: Sequence[Rule]) -> list[str]:
    """Return a name for each column. A heading with a rule below it names all columns over that rule."""
    names: list[list[str]] = [[] for _ in columns]
    for row in rows:
        for piece in pieces_of(row, _HEADER_GAP):
            text = text_of(piece)
            for at in _columns_below(piece, columns, rules):
                names[at].append(text)
    return [LEVEL.join(name) for name in names]


def _columns_below(piece: Sequence[Word], columns: Sequence[Span], rules: Sequence[Rule]) -> list[int]:
    x0, x1 = piece[0].x0, piece[-1].x1
    bottom = max(word.bottom for word in piece)
    for rule in rules:
        if -3 < rule.y - bottom < piece[0].size and rule.x0 - 3 <= (x0 + x1) / 2 <= rule.x1 + 3:
            x0, x1 = min(x0, rule.x0), max(x1, rule.x1)
            break
    middles = [(left + right) / 2 for left, right in columns]
    inside = [at for at, middle in enumerate(middles) if x0 <= middle <= x1]
    x = (x0 + x1) / 2
    return inside or [min(range(len(columns)), key=lambda at: max(columns[at][0] - x, x - columns[at][1], 0.0))]


def body_of(rows: Rows, columns: Sequence[Span]) -> list[list[str]]:
    """Return the rows' cells. Wrapped cells are joined; a label alone in its row is added to the labels below it."""
    body: list[list[str]] = []
    groups: list[_Group] = []
    label: Word | None = None
    for row in rows:
        cells = cells_of(row, columns)
        filled = [cell for cell in cells if cell]
        # Several figures without a label are a row of their own, not the rest of the row above.
        if not cells[0] and body and not (len(filled) > 1 and all(map(is_number, filled))):
            body[-1] = [join_lines(above, below) for above, below in zip(body[-1], cells, strict=True)]
        elif any(cells[1:]):
            for group in groups:
                group.used = True
            path = [group.name for group in groups] + [cells[0]] * bool(cells[0])
            body.append([SECTION_SEPARATOR.join(path), *cells[1:]])
            label = row[0]
        elif label is not None and _wrapped(row[0], label):
            body[-1][0] = join_lines(body[-1][0], cells[0])
        else:
            label = None
            kept = [group for group in groups if group.x < row[0].x0 - 0.4 * row[0].size]
            body += [group.row(columns) for group in groups if group not in kept and not group.used]
            groups = [*kept, _Group(row[0].x0, cells[0])]
    # A total in the last row only is the table's, not its last group's.
    totals = [at for at, row in enumerate(body) if row[0].lower().endswith(f"{SECTION_SEPARATOR}total")]
    if totals == [len(body) - 1]:
        body[-1][0] = body[-1][0].rpartition(SECTION_SEPARATOR)[2]
    return body + [group.row(columns) for group in groups if not group.used]


@dataclass(eq=False, slots=True)
class _Group:
    """A label above rows. ``used``: a row has it in its own label."""

    x: float
    name: str
    used: bool = False

    def row(self, columns: Sequence[Span]) -> list[str]:
        return [self.name] + [""] * (len(columns) - 1)


def _wrapped(word: Word, label: Word) -> bool:
    """Return whether the label continues in this line: a little indented and close below."""
    indent = word.x0 - label.x0
    return 0.5 < indent < 1.5 * label.size and word.top - label.bottom < 0.6 * label.size and word.bold == label.bold


def row_lines(header: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """Return ``Header: value; Header: value`` for each row; a Markdown table if there is no header."""
    if not any(header):
        lines = [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in body]
        return lines[:1] + [f"|{'---|' * lines[0].count(' | ')}---|"] * bool(lines) + lines[1:]
    rows = list(body)
    return [*(row_text(header, row) for row in rows), *empty_columns(header, rows)]
