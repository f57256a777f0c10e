"""What rows of a sheet have together in a column. Amounts are added up; of what is
there at a time, as staff, the newest month counts, added up over places; prices and
shares are not added up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise

from ..domain import ReportedFigure
from ..domain.figure_query import FigureCell
from ..language.table_words import MeasureKind, is_total, measure_kind
from ..search.weights import read_weight
from .figure_steps import in_unit
from .sheet_rows import DOCUMENT, Moment, SheetRow, grouped, moment_of

__all__ = [
    "CellSum",
    "added_terms",
    "amount_of",
    "at_one_time",
    "kind_of",
    "summed_columns",
]

_MOST_TERMS = int(read_weight("sheets.terms"))
_FLAT = Decimal(str(read_weight("sheets.flat")))
_FLAT_MONTHS = int(read_weight("sheets.flat_months"))


@dataclass(frozen=True, slots=True)
class CellSum:
    """A value that was copied from a cell or computed from several. ``text``: as it is
    read in a formula. ``period``: the month that it is of, where others have it, too;
    "" = all.
    """

    value: Decimal
    unit: str
    text: str
    sources: tuple[ReportedFigure, ...]
    period: str = ""

    @property
    def as_term(self) -> str:
        """Its text between signs of a formula."""
        if len(self.sources) > 1:
            return f"({self.text})"
        return self.text

    @property
    def cell(self) -> FigureCell:
        """The cell of a table with it."""
        first = self.sources[0]
        how = self.period
        if len(self.sources) == 1:
            cell = FigureCell(self.value, self.text, first.year, first.estimate)
        else:
            cell = FigureCell(self.value, in_unit(self.value, self.unit))
            how = f"sum of {len(self.sources)}, {how}".removesuffix(", ")
        return replace(cell, how=how, sources=self.sources)


def amount_of(
    rows: Sequence[SheetRow], column: str, *, happens: bool = False
) -> CellSum | None:
    """Return what rows have in a column together, one cell as it is; None where they
    have none, or nothing that can be added up. ``happens``: what it counts came and
    went, as trucks that arrived.
    """
    rows = [row for row in rows if column in row.figures]
    kind = kind_of(rows, column, happens=happens)
    period = ""
    if kind == "stock":
        rows, period = at_one_time(rows)
    figures = [row.figures[column] for row in rows]
    if not figures:
        return None
    first = figures[0]
    if len(figures) == 1:
        return CellSum(first.value, first.unit, first.text, (first,), period)
    units = {figure.unit for figure in figures}
    if kind in {"level", ""} or len(units) > 1:
        return None
    total = sum((figure.value for figure in figures), Decimal(0))
    text = added_terms([figure.text for figure in figures])
    return CellSum(total, first.unit, text, tuple(figures), period)


def added_terms(texts: Sequence[str]) -> str:
    """Return the terms of a sum, of many the first two and the last."""
    if len(texts) > _MOST_TERMS:
        texts = [*texts[:2], "…", texts[-1]]
    return " + ".join(texts)


def at_one_time(rows: Sequence[SheetRow]) -> tuple[list[SheetRow], str]:
    """Return the rows of the newest month, quarter or year that has as many rows as any
    other, and its label; all rows and "" where the same is not there at several times.
    """
    if not rows:
        return [], ""
    labels = _labels_of_time(rows)
    times: dict[Moment, list[SheetRow]] = {}
    for row in rows:
        times.setdefault(_moment(row, labels), []).append(row)
    heads = [head for head in rows[0].labels if head not in labels]
    if len(times) < 2 or len(grouped(rows, heads)) == len(rows):
        return list(rows), ""
    most = max(len(of_time) for of_time in times.values())
    newest = max(time for time, of_time in times.items() if len(of_time) == most)
    return times[newest], times[newest][0].label_of(labels)


def kind_of(
    rows: Sequence[SheetRow], column: str, *, happens: bool = False
) -> MeasureKind:
    """Return what the figures of a column are, "" = nothing tells it: its words do not,
    and its figures stay almost as they are from month to month.
    """
    kind: MeasureKind = "flow"
    if rows:
        kind = measure_kind(column, rows[0].figures[column].unit)
    if kind == "" and not _is_flat(rows, column):
        kind = "flow"
    if happens and kind != "level":
        kind = "flow"
    return kind


def summed_columns(rows: Sequence[SheetRow]) -> frozenset[str]:
    """Return the columns that a sheet itself adds up: a row of totals has the sum of
    all others of its document.
    """
    summed: set[str] = set()
    totals = [row for row in rows if any(map(is_total, row.labels.values()))]
    labels = [total.labels for total in totals]
    for total in totals:
        for column, figure in total.figures.items():
            values: list[Decimal] = []
            for row in rows:
                is_part = row.labels not in labels and column in row.figures
                if is_part and row.chunk.document_id == total.chunk.document_id:
                    values.append(row.figures[column].value)
            if len(values) > 1 and sum(values) == figure.value:
                summed.add(column)
    return frozenset(summed)


def _is_flat(rows: Sequence[SheetRow], column: str) -> bool:
    """Return whether figures change so little from month to month that they may count
    what is there, and not what happens.
    """
    labels = _labels_of_time(rows)
    heads = [head for head in rows[0].labels if head not in labels]
    longest = 0
    for of_one in grouped(rows, heads).values():
        ordered = sorted(of_one, key=lambda row: _moment(row, labels))
        values = [row.figures[column].value for row in ordered]
        longest = max(longest, len(values))
        for before, after in pairwise(values):
            if abs(after - before) > _FLAT * max(abs(before), abs(after)):
                return False
    return longest >= _FLAT_MONTHS


def _labels_of_time(rows: Sequence[SheetRow]) -> list[str]:
    """Return the heads of labels that are months, days or years."""
    heads: list[str] = []
    for head in rows[0].labels:
        if head == DOCUMENT:
            continue
        labels = {row.labels.get(head, "") for row in rows}
        if all(moment_of(head, label) for label in labels):
            heads.append(head)
    return heads


def _moment(row: SheetRow, heads: Sequence[str]) -> Moment:
    years: list[str] = []
    rest: list[str] = []
    for head in heads:
        year, *others = moment_of(head, row.labels.get(head, ""))
        years.append(year)
        rest += others
    return (*[year for year in years if year], *rest)
