"""Tables of a page: with borders around all cells, between horizontal rules, or by the
alignment of figures alone. The words of a table become columns, a header, and one line
of text per row.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, pairwise
from typing import Any

from pdfplumber.table import Table

from ....domain.documents import SECTION_SEPARATOR
from ....domain.tables import Headings
from ..grid import heading_rows, is_year
from ..sections import LEVEL, label
from .drawing import Box, DrawnPage
from .measures import read_measure
from .words import (
    Rule,
    Span,
    Word,
    join_lines,
    line_of,
    merge_spans,
    page_rules,
    pieces_of,
    rows_of,
    text_of,
)

CAPTION = re.compile(
    r"(?:table|tabelle|tableau|tabla|cuadro|tabela|quadro|tab\.)\s*(?:[a-z]?\.?-?\d|[ivxl]+\b)",
    re.IGNORECASE,
)

_SAME = read_measure("tables.same_rule")
_BROKEN = read_measure("tables.broken_rule")
_MAX_HEADER_ROWS = 8  # more is text above a table
_DRAWN = re.compile(r"[-_=–—.·*\s]{8,}")  # a rule of typed characters
# baselines in one row of borders: from here on, they may be rows without rules between
# them
_MIN_ROWS = 3
_MAX_LABEL_WORDS = (
    4  # on average: with more, it is text in two columns between two rules, not a table
)
WIDE = read_measure("tables.cell_gap")
_SPLIT_DECIMALS = re.compile(r"(?<=\d) (?=\.\d+$)")
"""Decimals that are drawn apart from their number: "8,263 .3"."""
_LEADERS = re.compile(r"\s\.{2,}\s*$|(?:\s?\.){3,}\s*$|^(?:\.\s?){3,}")
_NUMERIC_WORDS = re.compile(
    r"^[\s(\[<>≤≥±+\-−–—$€£¥~]*(?:\d[\d\s.,:/%–−\-]*[)\]%*†‡§a-z]{0,2}|[–—\-.…]+|n/?a|ref\.?)[\s)\]%]*$",
    re.IGNORECASE,
)

Rows = Sequence[Sequence[Word]]


@dataclass(slots=True)
class TextRow:
    """A row of a table. ``groups``: the labels of the rows above that it belongs to,
    from the outermost inwards; None = not known, it may be such a label itself.
    """

    cells: list[str]
    groups: Headings | None = ()


@dataclass(eq=False, slots=True)
class PageTable:
    """A table of a page and its place. ``titles``: rows of one cell above its head.
    ``header``: the name of each column, levels separated by `LEVEL`, "" = none.
    """

    header: list[str]
    rows: list[TextRow]
    columns: list[Span]
    x0: float
    top: float
    x1: float
    bottom: float
    titles: list[str] = field(default_factory=list)
    before: "PageTable | None" = None
    """The table on the page before of the same columns and heads."""

    @property
    def text(self) -> str:
        """All that is printed in it."""
        texts = [*self.titles, *self.header]
        for row in self.rows:
            texts += row.groups or ()
            texts += row.cells
        return "\n".join(texts)

    def go_on(self, before: "PageTable") -> None:
        """Continue the table at the foot of the page before, if the columns are the
        same, and the heads are or are missing.
        """
        if self.titles or (any(self.header) and self.header != before.header):
            return
        pairs = zip(self.columns, before.columns, strict=False)
        if len(self.columns) == len(before.columns) and all(
            a[0] < b[1] and b[0] < a[1] for a, b in pairs
        ):
            self.header = before.header
            self.before = before


def is_number(text: str) -> bool:
    """Return whether a cell is a figure, an interval, a share, or a sign for a missing
    one.
    """
    return bool(_NUMERIC_WORDS.match(text))


def columns_of(rows: Rows) -> list[Span]:
    """Return the columns: the parts between the white stripes that (nearly) all rows
    with several cells share.
    """
    several = [row for row in rows if len(pieces_of(row, WIDE)) > 1]
    if len(several) < 2:
        return []
    size = min(word.size for word in several[0])
    left = min(row[0].x0 for row in rows)
    right = max(word.x1 for row in rows for word in row)
    min_width = (0.3 if len(several) > 5 else 0.7) * size
    inner = _white_between(several, left, right, min_width)
    edges = [left, *chain.from_iterable(inner), right]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _white_between(
    rows: Rows, left: float, right: float, min_width: float
) -> list[Span]:
    """Return the white stripes within ``left`` and ``right`` that (nearly) all rows
    share.
    """
    # How many rows cover each half point from the left.
    rows_at: Counter[int] = Counter()
    for row in rows:
        covered: set[int] = set()
        for word in row:
            end = int(2 * (word.x1 - left)) + 1
            covered.update(range(int(2 * (word.x0 - left)), end))
        rows_at.update(covered)
    width = int(2 * (right - left)) + 2
    white = merge_spans(
        ((at, at + 1) for at in range(width) if rows_at[at] <= len(rows) // 40), 0
    )
    return [
        (left + start / 2, left + end / 2)
        for start, end in white
        if start > 0 and end < width - 1 and (end - start) / 2 >= min_width
    ]


def cells_of(row: Iterable[Word], columns: Sequence[Span]) -> list[str]:
    """Return the row's text in each column; a word belongs to the column nearest to its
    middle.
    """
    limits = [(left[1] + right[0]) / 2 for left, right in pairwise(columns)]
    cells: list[list[Word]] = [[] for _ in columns]
    for word in row:
        cells[sum(word.x > limit for limit in limits)].append(word)
    texts: list[str] = []
    for cell in cells:
        text = _LEADERS.sub("", text_of(cell)).strip()
        texts.append(_SPLIT_DECIMALS.sub("", text))
    return texts


def header_of(rows: Rows, columns: Sequence[Span], rules: Sequence[Rule]) -> list[str]:
    """Return a name for each column. A heading with a rule below it names all columns
    over that rule, of several headings over one rule each its part of them.
    """
    names: list[list[str]] = [[] for _ in columns]
    own = [""] * len(columns)
    for piece, (x0, x1) in chain.from_iterable(_spans_of(row, rules) for row in rows):
        x = (x0 + x1) / 2
        inside = [
            at
            for at, (left, right) in enumerate(columns)
            if x0 <= (left + right) / 2 <= x1
        ]
        if len(inside) > 1:
            for at in inside:
                names[at].append(text_of(piece))
            continue
        distances = [max(left - x, x - right, 0.0) for left, right in columns]
        at = distances.index(min(distances))
        # It may break over lines.
        own[at] = join_lines(own[at], text_of(piece))
    return [LEVEL.join([*above, name]) for above, name in zip(names, own, strict=True)]


def _spans_of(
    row: Sequence[Word], rules: Sequence[Rule]
) -> Iterator[tuple[Sequence[Word], Span]]:
    """Yield the headings of a line, each with the width that it names."""
    # Words of a heading stand closer to each other than those of two headings.
    pieces = pieces_of(row, 0.6)
    below = [_rule_below(piece, rules) for piece in pieces]
    for at, piece in enumerate(pieces):
        x0 = piece[0].x0
        x1 = piece[-1].x1
        rule = below[at]
        if rule is not None:
            left = rule.x0
            right = rule.x1
            if at and below[at - 1] is rule:
                left = (pieces[at - 1][-1].x1 + x0) / 2
            if at + 1 < len(pieces) and below[at + 1] is rule:
                right = (x1 + pieces[at + 1][0].x0) / 2
            x0 = min(x0, left)
            x1 = max(x1, right)
        yield piece, (x0, x1)


def _rule_below(piece: Sequence[Word], rules: Sequence[Rule]) -> Rule | None:
    """Return the first rule that stands below a heading."""
    middle = (piece[0].x0 + piece[-1].x1) / 2
    bottom = max(word.bottom for word in piece)
    for rule in rules:
        is_near = -3 < rule.y - bottom < piece[0].size
        if is_near and rule.x0 - 3 <= middle <= rule.x1 + 3:
            return rule
    return None


def body_of(rows: Rows, columns: Sequence[Span]) -> list[TextRow]:
    """Return the rows. Wrapped cells are joined; a label alone in its row groups the
    rows below it.
    """
    body = _Body(columns)
    for row in rows:
        body.add(row)
    return body.finish()


class _Body:
    """Rows of a table while its lines are read, with the labels above them."""

    def __init__(self, columns: Sequence[Span]) -> None:
        self._columns = columns
        self._rows: list[TextRow] = []
        self._groups: list[_Group] = []
        self._label: Word | None = None
        """Where the last row's label begins, while it may continue."""

    def add(self, line: Sequence[Word]) -> None:
        cells = cells_of(line, self._columns)
        if self._rows and not cells[0] and not _are_figures(cells):
            last = self._rows[-1]
            last.cells = [
                join_lines(above, cell)
                for above, cell in zip(last.cells, cells, strict=True)
            ]
        elif any(cells[1:]):
            self._add_row(line, cells)
        elif self._label is not None and _continues_label(line[0], self._label):
            last = self._rows[-1]
            last.cells[0] = join_lines(last.cells[0], cells[0])
        else:
            self._add_group(line[0], cells[0])

    def _add_row(self, line: Sequence[Word], cells: list[str]) -> None:
        groups = self._groups
        if groups and not groups[-1].used and cells[0][:1].islower():
            # The label began in the line above.
            cells[0] = join_lines(groups.pop().name, cells[0])
        for group in groups:
            group.used = True
        self._rows.append(TextRow(cells, tuple(group.name for group in groups)))
        self._label = line[0]

    def _add_group(self, first: Word, name: str) -> None:
        """Begin a group: it ends those that are indented as far or farther."""
        self._label = None
        kept = []
        for group in self._groups:
            if group.x < first.x0 - 0.4 * first.size:
                kept.append(group)
            elif not group.used:
                self._rows.append(group.row(self._columns))
        self._groups = [*kept, _Group(first.x0, name)]

    def finish(self) -> list[TextRow]:
        rows = self._rows
        # A total in the last row only is the table's, not its last group's.
        totals = [row for row in rows if row.groups and row.cells[0].lower() == "total"]
        if totals and totals == rows[-1:]:
            rows[-1].groups = ()
        unused = [group for group in self._groups if not group.used]
        return rows + [group.row(self._columns) for group in unused]


def _are_figures(cells: Sequence[str]) -> bool:
    """Return whether the cells are several figures: without a label they are a row of
    their own, not the rest of the row above.
    """
    filled = [cell for cell in cells if cell]
    return len(filled) > 1 and all(is_number(cell) for cell in filled)


def _continues_label(first: Word, label: Word) -> bool:
    """Return whether a line goes on with a label: a little indented, close below."""
    return (
        0.5 < first.x0 - label.x0 < 1.5 * label.size
        and first.top - label.bottom < 0.6 * label.size
        and first.bold == label.bold
    )


@dataclass(eq=False, slots=True)
class _Group:
    """A label above rows. ``used``: a row has it in its own label."""

    x: float
    name: str
    used: bool = False

    def row(self, columns: Sequence[Span]) -> TextRow:
        return TextRow([self.name] + [""] * (len(columns) - 1))


def ruled_tables(
    page: DrawnPage, words: list[Word]
) -> tuple[list[PageTable], list[Word]]:
    """Return tables between horizontal rules of one width, and the words outside
    them.
    """
    tables: list[PageTable] = []
    broken = page_rules(page, joined=_BROKEN)
    exact = page_rules(page, joined=1.5)
    for rules in _chains(broken, page):
        at = 0
        while at < len(rules) - 1:
            part = rules[at:]
            table, last = _between(part, exact, words)
            if table is not None and _lacks_labels(table.rows):
                extended = _extended_to_labels(part[: last + 1], words)
                labelled, count = _between(extended, exact, words)
                rows = len(labelled.rows) if labelled else 0
                if count == last and rows >= len(table.rows):
                    # Else what stands there goes over several rows.
                    part = extended
                    table = labelled
            if table is not None:
                tables.append(table)
                words = [w for w in words if not _within(w, part[0], part[last])]
            at += max(last, 1)
    return tables, words


def _lacks_labels(rows: Sequence[TextRow]) -> bool:
    """Return whether most rows begin with figures."""
    figures = [row for row in rows if is_number(row.cells[0])]
    return len(figures) > max(1, len(rows) // 2)


def _extended_to_labels(rules: Sequence[Rule], words: Sequence[Word]) -> list[Rule]:
    """Return rules of one table so long that they have what stands left of them, where
    that may be labels of its rows: few words on most lines.
    """
    first = rules[0]
    lines = rows_of(word for word in words if first.y < word.y < rules[-1].y)
    labels: list[Word] = []
    labelled = 0
    beside = 0
    for line in lines:
        outside = [word for word in line if word.x1 < first.x0 + _SAME]
        labels += outside
        labelled += bool(outside)
        beside += bool(outside) and len(outside) < len(line)
    if len(labels) > _MAX_LABEL_WORDS * labelled or beside < 2:
        return list(rules)
    x0 = min(word.x0 for word in labels)
    return [Rule(x0, rule.x1, rule.y) for rule in rules]


def _chains(ruled: Sequence[Rule], page: DrawnPage) -> list[list[Rule]]:
    """Group rules of the same left and right ends, from top to bottom; a double rule
    counts once.
    """
    chains: list[list[Rule]] = []
    for rule in ruled:
        for group in chains:
            last = group[-1]
            if abs(last.x0 - rule.x0) < _SAME and abs(last.x1 - rule.x1) < _SAME:
                if rule.y - last.y < _SAME:
                    group.pop()
                group.append(rule)
                break
        else:
            chains.append([rule])
    single = [group[0] for group in chains if len(group) == 1]
    for group in chains:
        if len(group) >= _MIN_ROWS:
            _extend_left(group, single)
    borders = sorted(page.vertical_edges, key=lambda edge: edge["top"])
    for group in chains:
        last = group[-1]
        end = _end_of_borders(last, borders)
        if end - last.y > _SAME:  # only the borders of the columns close the table
            group.append(Rule(last.x0, last.x1, end))
    return [group for group in chains if len(group) > 1]


def _end_of_borders(last: Rule, borders: Sequence[Mapping[str, Any]]) -> float:
    """Return where the vertical borders end that go on below a rule."""
    end = last.y
    for edge in borders:
        if last.x0 < edge["x0"] < last.x1 and edge["top"] - end < _SAME:
            end = max(end, edge["bottom"])
    return end


def _extend_left(group: list[Rule], single: Sequence[Rule]) -> None:
    """Extend a chain along a single longer rule through it, in place: labels stand to
    the left of the chain's rules.
    """
    for wide in single:
        is_through = group[0].y < wide.y < group[-1].y
        ends_alike = abs(wide.x1 - group[0].x1) < _SAME
        if is_through and ends_alike and wide.x0 < group[0].x0 - _SAME:
            rules = sorted([*group, wide], key=lambda rule: rule.y)
            group[:] = [Rule(wide.x0, rule.x1, rule.y) for rule in rules]


def _within(word: Word, top: Rule, bottom: Rule) -> bool:
    return top.y < word.y < bottom.y and top.x0 - _SAME < word.x < top.x1 + _SAME


def _between(
    rules: Sequence[Rule], exact: Sequence[Rule], words: Sequence[Word]
) -> tuple[PageTable | None, int]:
    """Return the table that begins at the first rule, if any, and how many rules
    further it ends.
    """
    parts: list[list[list[Word]]] = []
    for upper, lower in pairwise(rules):
        rows = rows_of(word for word in words if _within(word, upper, lower))
        if not any(len(pieces_of(row, WIDE)) > 1 for row in rows):
            break
        if parts and any(CAPTION.match(line_of(row).text) for row in rows):
            break  # another table begins there
        parts.append(rows)
    if not parts:
        return None, 1
    head, body = _head_and_body(parts)
    top = rules[0]
    bottom = rules[len(parts)]
    spanners = [
        rule
        for rule in exact
        if top.y + 1 < rule.y < bottom.y and rule.x1 - rule.x0 < top.x1 - top.x0 - _SAME
    ]
    body = body if len(head) <= _MAX_HEADER_ROWS else []
    table = _table(
        head,
        body,
        spanners,
        (top.x0, top.y, top.x1, bottom.y),
        has_header=len(parts) > 1,
    )
    return table, len(parts) if table else 1


def _head_and_body(parts: Sequence[list[list[Word]]]) -> tuple[Rows, Rows]:
    """Split what stands between rules into header and rows; the header takes more than
    one part if figures begin later.
    """
    head, body = _split_header(parts[0])
    if len(parts) == 1:
        return head, body
    figures = (at for at, part in enumerate(parts) if any(map(_is_figures, part)))
    above = next(figures, 1)
    if above:
        return list(chain(*parts[:above])), list(chain(*parts[above:]))
    return head, [*body, *chain(*parts[1:])]


def _is_figures(row: Sequence[Word]) -> bool:
    """Return whether most cells after the first are numbers, and not all of them years
    as in a header.
    """
    cells = [text_of(piece) for piece in pieces_of(row, WIDE)][1:]
    return 2 * sum(map(is_number, cells)) > len(cells) and not all(map(is_year, cells))


def _split_header(rows: Rows) -> tuple[Rows, Rows]:
    """Split a table without a rule below its header: the header ends where figures
    begin.
    """
    start = next((at for at, row in enumerate(rows) if _is_figures(row)), 0)
    while start > 1 and len(pieces_of(rows[start - 1], WIDE)) == 1:
        start -= 1  # a label alone heads the rows below it
    return rows[:start], rows[start:]


def _table(
    head: Rows, body: Rows, spanners: Sequence[Rule], place: Box, *, has_header: bool
) -> PageTable | None:
    """Return the rows as a table; None if they are text. Without a sure header, most
    rows must be figures.
    """
    columns = columns_of(body)
    if len(columns) < 2:
        return None
    labels = [cells[0].split() for row in body if (cells := cells_of(row, columns))[0]]
    if len(body) > 2 * _MAX_LABEL_WORDS and sum(
        map(len, labels)
    ) > _MAX_LABEL_WORDS * len(labels):
        return None
    if not has_header and sum(_is_figures(row) for row in body) < max(
        3, 0.6 * len(body)
    ):
        return None
    header = header_of(head, columns, spanners)
    return PageTable(header, body_of(body, columns), columns, *place)


def aligned_tables(rows: Sequence[list[Word]]) -> list[PageTable | list[Word]]:
    """Return a column's rows in order, with runs of rows that align as columns of
    figures as tables.
    """
    result: list[PageTable | list[Word]] = []
    at = 0
    while at < len(rows):
        end = _run(rows, at)
        table = _aligned_table(rows[at:end]) if end - at > 2 else None
        # The first row of one cell that is more than a drawn rule may separate two
        # tables of different columns.
        singles = (
            place for place in range(at, end) if len(pieces_of(rows[place], WIDE)) == 1
        )
        single = (
            at
            if table
            else next((place for place in singles if not _is_drawn(rows[place])), at)
        )
        if single - at > 2:
            end = single
            table = _aligned_table(rows[at:end])
        result += [table] if table else rows[at:end]
        at = end
    return result


def _run(rows: Rows, start: int) -> int:
    """Return the end of the rows from ``start`` on with several cells; at most one row
    in between has one.
    """
    end = at = start
    if len(pieces_of(rows[start], WIDE)) == 1:
        return start + 1
    while at < len(rows) and at - end < 2:
        at += 1
        if len(pieces_of(rows[at - 1], 1.2 * WIDE)) > 1:
            end = at
    return max(end, start + 1)


def _is_drawn(row: Sequence[Word]) -> bool:
    return bool(_DRAWN.fullmatch(" ".join(word.text for word in row)))


def _aligned_table(rows: Rows) -> PageTable | None:
    rule = next(
        (at for at, row in enumerate(rows[:_MAX_HEADER_ROWS]) if _is_drawn(row)), 0
    )
    rows = [row for row in rows if not _is_drawn(row)]
    head, body = (rows[:rule], rows[rule:]) if rule else _split_header(rows)
    if not body:  # drawn rules only
        return None
    words = [word for row in rows for word in row]
    left = min(word.x0 for word in words)
    right = max(word.x1 for word in words)
    top = min(word.top for word in words)
    bottom = max(word.bottom for word in words)
    return _table(head, body, [], (left, top, right, bottom), has_header=False)


def bordered_tables(
    page: DrawnPage, words: list[Word], before: PageTable | None
) -> tuple[list[PageTable], list[Word]]:
    """Return tables whose cells have borders, and the words outside them.

    ``before``: the table at the foot of the page before; a first table of the same
    columns continues it.
    """
    if len(page.vertical_edges) < 2 or len(page.horizontal_edges) < 2:
        return [], words
    rules = page_rules(page, joined=_BROKEN)
    tables = []
    for bordered in page.find_tables():
        if not _has_all_borders(bordered, rules):
            continue  # `ruled_tables` finds it
        inside = _words_inside(bordered.bbox, words)
        spans = _spans_between(bordered)
        grid, used = _grid([row.cells for row in bordered.rows], inside, spans)
        grid, spans = _without_gaps(grid, spans)
        grid, spans = _with_labels_beside(grid, spans, words, used)
        titles = _take_titles(grid)
        continued = before if bordered.bbox[1] < page.height / 4 else None
        header, body = _headed(grid, spans, continued)
        min_rows = 1 if continued and header is continued.header else 2
        if len(grid) < min_rows or len(spans) < 2:
            continue
        rows = _bordered_rows(body, grid[-len(body) :])
        tables.append(PageTable(header, rows, spans, *bordered.bbox, titles))
        words = [word for word in words if id(word) not in used]
    return tables, words


def _with_labels_beside(
    grid: list[list["_Cell"]],
    spans: list[Span],
    words: Sequence[Word],
    used: set[int],
) -> tuple[list[list["_Cell"]], list[Span]]:
    """Return the rows and columns with what stands left of the borders, where these are
    around the figures only: it labels the rows. Its words are added to ``used``.
    """
    figures = [row for row in grid if is_number(row[0][0])]
    if len(figures) < max(2, len(grid) // 2):
        return grid, spans
    left = spans[0][0]
    outside = [
        word for word in words if word.x1 < left + _SAME and id(word) not in used
    ]
    beside = [_words_beside(row, outside) for row in grid]
    count = sum(map(len, beside))
    if not count or count > _MAX_LABEL_WORDS * len(list(filter(None, beside))):
        return grid, spans
    labels = list(chain.from_iterable(beside))
    used.update(map(id, labels))
    x0 = min(word.x0 for word in labels)
    labelled: list[list[_Cell]] = []
    for row, label_words in zip(grid, beside, strict=True):
        low, high = _heights_of(row)
        labelled.append([(_joined(label_words), (x0, low, left, high)), *row])
    return labelled, [(x0, left), *spans]


def _words_beside(row: Sequence["_Cell"], words: Sequence[Word]) -> list[Word]:
    """Return the words that stand at the height of a row."""
    low, high = _heights_of(row)
    return [word for word in words if low < word.y < high]


def _heights_of(row: Sequence["_Cell"]) -> Span:
    """Return the top and the bottom of a row of cells."""
    boxes = [box for _, box in row if box]
    return min(box[1] for box in boxes), max(box[3] for box in boxes)


def _has_all_borders(bordered: Table, rules: Sequence[Rule]) -> bool:
    """Return whether the table has borders around its outer columns, and not around
    rows only.
    """
    x0, top, x1, bottom = bordered.bbox
    for rule in rules:
        is_wider = rule.x0 < x0 - _SAME or rule.x1 > x1 + _SAME
        if is_wider and top - 2 < rule.y < bottom - 2:
            return False
    single = [row for row in bordered.rows if len([c for c in row.cells if c]) == 1]
    return 2 * len(single) <= len(bordered.rows)


def _spans_between(bordered: Table) -> list[Span]:
    """Return the columns, each up to the beginning of the next."""
    spans = [(column.bbox[0], column.bbox[2]) for column in bordered.columns]
    right = bordered.bbox[2]
    return [
        (x0, min(x1, after))
        for (x0, x1), (after, _) in pairwise([*spans, (right, right)])
    ]


def _take_titles(grid: list[list["_Cell"]]) -> list[str]:
    """Take the rows of one cell above the others, which name the table, from the
    grid.
    """
    titles: list[str] = []
    while len(grid) > 2:
        filled = [text for text, _ in grid[0] if text]
        if len(filled) > 1 or not label(filled[0]):
            break
        titles.extend(filled)
        del grid[0]
    return titles


def _bordered_rows(
    body: Sequence[list[str]], grid: Sequence[Sequence["_Cell"]]
) -> list[TextRow]:
    """Return the rows between borders. A label alone in its row groups those below it
    if it goes over several columns, or the first row is such a label. Otherwise the row
    only has no values.
    """
    in_groups = not any(body[0][1:])
    rows = []
    for texts, cells in zip(body, grid, strict=True):
        row = TextRow(texts)
        if in_groups or any(texts[1:]) or ("", None) in cells:
            row.groups = None
        rows.append(row)
    return rows


_Cell = tuple[str, Box | None]
"""A cell's text and borders; None for a place that another cell covers."""


def _grid(
    rows: Sequence[Sequence[Box | None]], words: Sequence[Word], spans: Sequence[Span]
) -> tuple[list[list[_Cell]], set[int]]:
    """Return the cells of each row, and the ids of the words in them. ``spans``: the
    columns.
    """
    grid: list[list[_Cell]] = []
    used: set[int] = set()
    for cells in rows:
        boxes = [box for box in cells if box]
        low = min(box[1] for box in boxes)
        high = max(box[3] for box in boxes)
        beside = [word for word in words if low <= word.y <= high]
        inside = [_words_inside(box, beside) for box in cells]
        used.update(id(word) for word in chain.from_iterable(inside))
        rows_of_texts = _rows_without_rules(cells, inside)
        if not rows_of_texts:
            grid.append(_cells_between_borders(cells, inside, spans))
        for texts in rows_of_texts:
            grid.append(list(zip(texts, cells, strict=True)))
    return [row for row in grid if _has_text(row)], used


def _cells_between_borders(
    boxes: Sequence[Box | None], inside: Sequence[Sequence[Word]], spans: Sequence[Span]
) -> list[_Cell]:
    """Return the cell of each column. Figures and headings of several columns between
    two borders are told apart by their places.
    """
    cells = list(zip(map(_joined, inside), boxes, strict=True))
    for place, box in enumerate(boxes):
        end = place + 1
        while end < len(boxes) and boxes[end] is None:
            end += 1
        if box is None or end - place == 1 or not inside[place]:
            continue
        columns = spans[place:end]
        parts = _parts_by_place(inside[place], columns)
        for at, (text, (x0, x1)) in enumerate(zip(parts, columns, strict=False)):
            cells[place + at] = (text, (x0, box[1], x1, box[3]))
    return cells


def _parts_by_place(words: Sequence[Word], columns: Sequence[Span]) -> list[str]:
    """Return what stands in each column between borders around several; [] where it is
    one text: no line of figures, and not apart in all columns.
    """
    lines = rows_of(words)
    if len(lines) == 1:
        figures = cells_of(lines[0], columns)
        filled = list(filter(None, figures))
        if len(filled) > 1 and all(map(is_number, filled)):
            return figures
    inside: list[list[Word]] = [[] for _ in columns]
    for piece in chain.from_iterable(pieces_of(line, WIDE) for line in lines):
        for (x0, x1), column in zip(columns, inside, strict=True):
            if x0 - 1 <= piece[0].x0 and piece[-1].x1 <= x1 + 1:
                column.extend(piece)
                break
        else:
            return []
    return [_joined(column) for column in inside] if all(inside) else []


def _has_text(row: Sequence[_Cell]) -> bool:
    return any(text for text, _ in row)


def _words_inside(box: Box | None, words: Sequence[Word]) -> list[Word]:
    if box is None:
        return []
    x0, top, x1, bottom = box
    return [word for word in words if x0 <= word.x <= x1 and top <= word.y <= bottom]


def _joined(cell: Sequence[Word]) -> str:
    """Return the text of a cell, its lines joined."""
    return reduce(join_lines, (line_of(row).text for row in rows_of(cell)), "")


def _without_gaps(
    grid: Sequence[Sequence[_Cell]], spans: Sequence[Span]
) -> tuple[list[list[_Cell]], list[Span]]:
    """Drop columns without text, and join neighbours of which no row fills both: double
    borders make such columns.
    """
    groups: list[list[int]] = []
    for at in range(len(spans)):
        if not any(row[at][0] for row in grid):
            continue
        if groups and _is_gap(groups[-1], at, grid, spans):
            groups[-1].append(at)
        else:
            groups.append([at])
    joined = [[_first_filled(row, group) for group in groups] for row in grid]
    return joined, [(spans[group[0]][0], spans[group[-1]][1]) for group in groups]


def _is_gap(
    group: Sequence[int],
    at: int,
    grid: Sequence[Sequence[_Cell]],
    spans: Sequence[Span],
) -> bool:
    """Return whether a column belongs to the columns before it: only the gap of a
    double border is between them, or is one of them, and no row fills both.
    """
    is_next = group[-1] + 1 == at
    # A column of less than nine points between borders is such a gap.
    if is_next and min(_width(spans[at]), _width(spans[at - 1])) >= 9.0:
        return False
    filled = [row for row in grid if row[at][0]]
    return not any(row[place][0] for row in filled for place in group)


def _first_filled(row: Sequence[_Cell], group: Sequence[int]) -> _Cell:
    for at in group:
        if row[at][0]:
            return row[at]
    return row[group[0]]


def _width(span: Span) -> float:
    return span[1] - span[0]


def _rows_without_rules(
    cells: Sequence[Box | None], inside: Sequence[Sequence[Word]]
) -> list[list[str]]:
    """Return the rows in one row of borders, line by line; [] if its lines are one row.
    They are rows if each line has figures, and no column of figures has a line of
    words.
    """
    lines = rows_of(word for cell in inside for word in cell)
    spans = [(cell[0], cell[2]) for cell in cells if cell]
    if len(lines) < _MIN_ROWS or len(spans) < len(cells) or len(spans) < 2:
        return []
    if not _are_rows_of_figures([cells_of(line, spans) for line in lines]):
        return []
    return [
        [SECTION_SEPARATOR.join([*(row.groups or ()), row.cells[0]]), *row.cells[1:]]
        for row in body_of(lines, spans)
    ]


def _are_rows_of_figures(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether only figures stand beside labels, in most of the lines."""
    if all(map(all, rows)) and any(map(_is_column_of_figures, zip(*rows, strict=True))):
        # Each line has all columns: no cell is wrapped.
        return True
    figures = [cell for row in rows for cell in row[1:] if cell]
    if not figures or not all(is_number(cell) for cell in figures):
        return False
    with_figures = [row for row in rows if row[0] and any(row[1:])]
    return len(with_figures) >= max(_MIN_ROWS, 0.7 * len(rows))


def _is_column_of_figures(cells: Iterable[str]) -> bool:
    return all(map(is_number, cells))


def _headed(
    grid: list[list[_Cell]], columns: list[Span], before: PageTable | None
) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows below it. A table that continues without a header
    takes that of ``before``. A cell over several columns names each. A cell over
    several rows is repeated as a label.
    """
    body: list[list[str]] = []
    spread: list[list[str]] = []
    for row in grid:
        texts = [text for text, _ in row]
        if row[0] == ("", None) and body:
            texts[0] = body[-1][0]
        body.append(texts)
        spread.append(_spread(row, columns))
    if before is not None and _is_continued(before, body[0], columns):
        return before.header, body
    header = heading_rows(spread)
    header += [""] * (len(columns) - len(header))
    return header, body[-len(spread) :]


def _spread(row: Sequence[_Cell], columns: Sequence[Span]) -> list[str]:
    """Return the texts of a row, each in all columns that its cell goes over."""
    names = [text for text, _ in row]
    for text, cell in row:
        if not text or cell is None:
            continue
        for place, (x0, x1) in enumerate(columns):
            if cell[0] <= (x0 + x1) / 2 <= cell[2]:
                names[place] = text
    return names


def _is_continued(
    before: PageTable, first: Sequence[str], columns: Sequence[Span]
) -> bool:
    """Return whether a table without a header of its own has the columns of the one
    before.
    """
    if not any(before.header) or first == before.header:
        return False
    if len(columns) != len(before.columns):
        return False
    ends = zip(chain(*columns), chain(*before.columns), strict=True)
    return all(abs(end - other) < _SAME for end, other in ends)
