"""Tables without cell borders: between horizontal rules, or by the alignment of their figures alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, pairwise

from pdfplumber.page import Page

from .pdf_grid import WIDE, Span, Table, body_of, cells_of, columns_of, header_of, is_number, is_year, row_lines
from .pdf_words import Rule, Word, line_of, page_rules, pieces_of, rows_of

CAPTION = re.compile(r"(?:table|tabelle|tableau|tabla|tabela|tab\.)\s*[a-z]?\.?-?\d", re.IGNORECASE)

_SAME = 6.0  # points: two rules of one table
_BROKEN = 20.0  # points: so wide a gap in a rule parts column groups, not tables
_HEADER_ROWS = 8  # more is text above a table
_PROSE = 4  # words a line in a first column: text in two columns between two rules, not a table


def ruled(page: Page, words: list[Word]) -> tuple[list[Table], list[Word]]:
    """Tables between horizontal rules of one width, and the words outside them."""
    tables: list[Table] = []
    broken, exact = page_rules(page, joined=_BROKEN), page_rules(page, joined=1.5)
    for rules in _chains(broken, page):
        at = 0
        while at < len(rules) - 1:
            table, last = _between(rules[at:], exact, words)
            if table is not None:
                tables.append(table)
                words = [w for w in words if not (_within(w, rules[at], rules[at + last]))]
            at += max(last, 1)
    return tables, words


def _chains(rules: Sequence[Rule], page: Page) -> list[list[Rule]]:
    """Rules of the same left and right ends, from top to bottom; a double rule counts once."""
    chains: list[list[Rule]] = []
    for rule in rules:
        for group in chains:
            last = group[-1]
            if abs(last.x0 - rule.x0) < _SAME and abs(last.x1 - rule.x1) < _SAME:
                if rule.y - last.y < _SAME:
                    group.pop()
                group.append(rule)
                break
        else:
            chains.append([rule])
    closed = [group + _open_end(group[-1], page) for group in chains]
    return [group for group in closed if len(group) > 1]


def _open_end(last: Rule, page: Page) -> list[Rule]:
    """A table that only its column borders close ends where they end."""
    end = last.y
    for edge in sorted(page.vertical_edges, key=lambda edge: edge["top"]):
        if last.x0 < edge["x0"] < last.x1 and edge["top"] - end < _SAME:
            end = max(end, edge["bottom"])
    return [Rule(last.x0, last.x1, end)] if end - last.y > _SAME else []


def _within(word: Word, top: Rule, bottom: Rule) -> bool:
    return top.x0 - _SAME < word.x < top.x1 + _SAME and top.y < word.y < bottom.y


def _between(rules: Sequence[Rule], exact: Sequence[Rule], words: Sequence[Word]) -> tuple[Table | None, int]:
    """The table that begins at the first rule, and how many rules further it ends."""
    parts: list[list[list[Word]]] = []
    for upper, lower in pairwise(rules):
        rows = rows_of(word for word in words if _within(word, upper, lower))
        if not any(len(pieces_of(row, WIDE)) > 1 for row in rows) or (parts and _caption(rows)):
            break
        parts.append(rows)
    if not parts:
        return None, 1
    head, body = _parted(parts[0])
    if len(parts) > 1:
        above = _header_parts(parts)
        head, body = list(chain(*parts[:above])), list(chain(*parts[above:]))
    columns = columns_of(body) if len(head) <= _HEADER_ROWS else []
    if len(columns) < 2 or not _tabular(body, columns, header=len(parts) > 1):
        return None, 1
    top, bottom = rules[0], rules[len(parts)]
    spanners = [rule for rule in exact if top.y + 1 < rule.y < bottom.y and rule.x1 - rule.x0 < top.x1 - top.x0 - _SAME]
    header = header_of(head, columns, spanners)
    lines = row_lines(header, body_of(body, columns))
    return Table(lines, top.x0, top.x1, top.y, bottom.y, header, columns), len(parts)


def _caption(rows: Sequence[Sequence[Word]]) -> bool:
    """A table's number stands among the rows: another table begins there."""
    return any(CAPTION.match(line_of(row).text) for row in rows)


def _header_parts(parts: Sequence[Sequence[Sequence[Word]]]) -> int:
    """How many parts between rules the header takes: more than one where figures begin later."""
    figures = [any(_figures(row) for row in part) for part in parts]
    return max(figures.index(True), 1) if any(figures) else 1


def _figures(row: Sequence[Word]) -> bool:
    """Most cells after the first are numbers, and not all of them years: those are headings."""
    cells = [" ".join(word.text for word in piece) for piece in pieces_of(row, WIDE)][1:]
    numbers = sum(is_number(cell) for cell in cells)
    return 2 * numbers > len(cells) and not all(map(is_year, cells))


def _parted(rows: Sequence[Sequence[Word]]) -> tuple[Sequence[Sequence[Word]], Sequence[Sequence[Word]]]:
    """Header and body of a table without a rule between them: the header ends where figures begin."""
    start = next((at for at, row in enumerate(rows) if _figures(row)), 0)
    while start > 1 and len(pieces_of(rows[start - 1], WIDE)) == 1:
        start -= 1  # a label alone heads the rows below it
    return rows[:start], rows[start:]


def _tabular(body: Sequence[Sequence[Word]], columns: Sequence[Span], *, header: bool) -> bool:
    cells = [cells_of(row, columns) for row in body]
    labels = [row[0].split() for row in cells if row[0]]
    if len(cells) > 2 * _PROSE and sum(map(len, labels)) > _PROSE * len(labels):
        return False
    return header or sum(_figures(row) for row in body) >= max(3, 0.6 * len(body))


def aligned(rows: Sequence[list[Word]]) -> list[Table | list[Word]]:
    """A column's rows in order, with runs of rows that line up as columns of figures as tables."""
    result: list[Table | list[Word]] = []
    at = 0
    while at < len(rows):
        end = _run(rows, at)
        table = _aligned_table(rows[at:end]) if end - at > 2 else None
        result += [table] if table else rows[at:end]
        at = end
    return result


def _run(rows: Sequence[Sequence[Word]], start: int) -> int:
    """The end of the rows from ``start`` on that have several cells; at most one row in between has not."""
    end = at = start
    if len(pieces_of(rows[start], WIDE)) == 1:
        return start + 1
    while at < len(rows) and at - end < 2:
        at += 1
        if len(pieces_of(rows[at - 1], 1.2 * WIDE)) > 1:
            end = at
    return max(end, start + 1)


def _aligned_table(rows: Sequence[Sequence[Word]]) -> Table | None:
    head, body = _parted(rows)
    columns = columns_of(body)
    if len(columns) < 2 or not _tabular(body, columns, header=False):
        return None
    header = header_of(head, columns, [])
    words = [word for row in rows for word in row]
    x0, x1 = min(word.x0 for word in words), max(word.x1 for word in words)
    top, bottom = min(word.top for word in words), max(word.bottom for word in words)
    return Table(row_lines(header, body_of(body, columns)), x0, x1, top, bottom, header, columns)
