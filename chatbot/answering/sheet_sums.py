"""Computes from the cells of a sheet what a question asks for: a change, a difference,
a ratio, a share, a mean or a sum of the cells that it names; also for each row of a
ranking.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise

from ..domain import ReportedFigure
from ..domain.figure_query import FigureCell, FigureColumn, FigureRow, FigureTable
from ..language.periods import is_time
from ..language.table_words import denominators, is_of_persons, measure_kind
from ..language.units import PERCENT
from ..questions.computations import Computation, begins_span, joins_names
from ..search.weights import read_weight
from .asked_words import AskedWords
from .figure_steps import in_unit
from .sheet_amounts import CellSum, amount_of
from .sheet_names import Mention, SheetNames
from .sheet_rows import DOCUMENT, SheetRow, grouped, total_column

__all__ = ["ComputedCells", "SheetSums", "table_of"]

_NEAR = int(read_weight("sheets.near"))


@dataclass(frozen=True, slots=True)
class ComputedCells:
    """What was computed. ``subject``: the labels that the question names; ``name``: of
    what is computed. ``table``: the result, or one for each row of a ranking.
    ``parts``: what one result was added up from, or is the mean of.
    """

    kind: str
    subject: str
    name: str
    table: FigureTable
    is_ranking: bool = False
    parts: FigureTable | None = None


def divided(first: CellSum, second: CellSum) -> FigureCell | None:
    """Return one amount divided by another; None by zero, and of shares and amounts."""
    if second.value == 0 or (first.unit == PERCENT) != (second.unit == PERCENT):
        return None
    if denominators(first.unit) or denominators(second.unit):
        # "Litres per person" are divided already.
        return None
    unit = "" if first.unit == second.unit else first.unit
    value = first.value / second.value
    how = f"{first.as_term} / {second.as_term}"
    return _cell(value, unit, how, first, second)


def share(part: CellSum, whole: CellSum) -> FigureCell | None:
    """Return an amount in per cent of another; None of zero, of another unit, and of
    what is a share itself.
    """
    if whole.value == 0 or PERCENT in {part.unit, whole.unit}:
        return None
    if part.unit and whole.unit and part.unit != whole.unit:
        return None
    how = f"{part.as_term} / {in_unit(whole.value, whole.unit)}"
    return _cell(100 * part.value / whole.value, PERCENT, how, part, whole)


def subtracted(first: CellSum, second: CellSum) -> FigureCell | None:
    """Return one amount minus another; None of other units."""
    if first.unit != second.unit:
        return None
    how = f"{first.as_term} - {second.as_term}"
    unit = "percentage points" if first.unit == PERCENT else first.unit
    return _cell(first.value - second.value, unit, how, first, second)


def grown(before: CellSum, after: CellSum) -> FigureCell | None:
    """Return a change in per cent of the amount before; None where that is zero."""
    if before.value == 0 or before.unit != after.unit:
        return None
    how = f"({after.text} - {before.text}) / {before.as_term}"
    value = 100 * (after.value - before.value) / abs(before.value)
    return _cell(value, PERCENT, how, after, before)


def _cell(value: Decimal, unit: str, how: str, *amounts: CellSum) -> FigureCell:
    sources: dict[ReportedFigure, None] = {}
    for amount in amounts:
        sources |= dict.fromkeys(amount.sources)
    return FigureCell(value, in_unit(value, unit), how=how, sources=tuple(sources))


Pair = Callable[[CellSum, CellSum], FigureCell | None]


def made_of(
    compute: Pair, first: CellSum | None, second: CellSum | None
) -> FigureCell | None:
    """Return what two amounts make; None without one of them, or where they are of
    different months.
    """
    if first is None or second is None or first.period != second.period:
        return None
    cell = compute(first, second)
    if cell is None or not first.period:
        return cell
    return replace(cell, how=f"{cell.how}, {first.period}")


@dataclass(frozen=True)
class SheetSums:
    """Computes from the rows of one sheet, without its totals. ``ranks``: the question
    asks for the first of a ranking.
    """

    asked: AskedWords
    rows: Sequence[SheetRow]
    text: str
    ranks: bool
    summed: frozenset[str] = frozenset()
    """The columns that the sheet itself adds up."""

    @cached_property
    def names(self) -> SheetNames:
        """What the question names of them."""
        return SheetNames(self.asked, self.rows, self.text)

    @cached_property
    def head_of_persons(self) -> str:
        """The head of the names of people; "" without one."""
        for head in self.rows[0].labels:
            if is_of_persons(head):
                return head
        return ""

    @cached_property
    def column(self) -> str | None:
        """The first column that the question names, the only one where it names none;
        None where several may be meant.
        """
        if self.names.columns:
            return self.names.columns[0].name
        heads = {head for row in self.rows for head in row.figures}
        if len(heads) == 1:
            return heads.pop()
        return self.total_column or self.asked.of_family(heads)

    @cached_property
    def total_column(self) -> str:
        """The head of the sum of all other columns; "" without one."""
        return total_column(self.rows)

    def compute(self) -> ComputedCells | None:
        """Return what the surest words of the question ask to compute that fit these
        rows; None where none do.
        """
        for computation in self.names.computations:
            if computation.kind == "unknown":
                return None
            sums = self._compute(computation)
            if sums is not None:
                return sums
        return None

    @property
    def lacking(self) -> Computation | None:
        """The words that ask for a computation which nothing of `compute` does; None
        where no words surely ask for one.
        """
        for computation in self.names.computations:
            if computation.kind in {"unknown", "ratio", "share"}:
                return computation
            if computation.kind == "per" and not self._is_before_label(computation):
                return computation
            asks_size = computation.asks_size or self.ranks
            if computation.kind in {"change", "difference"} and asks_size:
                return computation
        return None

    def _compute(self, computation: Computation) -> ComputedCells | None:
        match computation.kind:
            case "change":
                return self._change(computation)
            case "ratio":
                return self._of_pair(divided, "ratio")
            case "share":
                return self._share(computation)
            case "per":
                return self._per(computation)
            case "difference":
                return self._of_pair(subtracted, "difference")
            case "mean" | "sum":
                return self._of_named(computation.kind)
        return None

    def _is_before_label(self, computation: Computation) -> bool:
        """Return whether a word like "par", which also says who did something, stands
        before the name of a row.
        """
        if self.text[computation.start : computation.end] not in {"par", "por"}:
            return False
        for mentions in self.names.labels.values():
            for mention in mentions:
                if 0 <= mention.start - computation.end <= _NEAR:
                    return True
        return False

    # Selecting cells

    def chosen(self, *, but: str | None = None) -> list[SheetRow]:
        """Return the rows with the labels that the question names, ``but`` those under
        one head; of a month that it names without a year those of the newest year.
        """
        kept = list(self.rows)
        for head, mentions in self.names.labels.items():
            if head != but:
                names = {mention.name for mention in mentions}
                kept = [row for row in kept if row.labels.get(head) in names]
        return kept

    def unit_of(self, column: str) -> str:
        """Return the unit of a column's figures."""
        for row in self.rows:
            if column in row.figures:
                return row.figures[column].unit
        return ""

    def amount(self, column: str, rows: Sequence[SheetRow]) -> CellSum | None:
        """Return what a column has in some rows together."""
        happens = self.asked.says_past or column in self.summed
        return amount_of(rows, column, happens=happens)

    @cached_property
    def subject(self) -> str:
        """The labels that the question names, where it names one under a head."""
        names: list[str] = []
        for mentions in self.names.labels.values():
            if len({mention.name for mention in mentions}) == 1:
                names.append(mentions[0].name)
        return ", ".join(dict.fromkeys(names))

    @cached_property
    def title(self) -> str:
        """The labels that the question names, else the title of the sheet."""
        return self.subject or self.rows[0].chunk.title

    @cached_property
    def pair(self) -> tuple[str, str, str] | None:
        """The head under which the question names two labels, and these; None where
        there is none.
        """
        labels = self.names.labels
        for head in sorted(labels, key=lambda head: labels[head][0].start):
            names = list(dict.fromkeys(mention.name for mention in labels[head]))
            if len(names) == 2:
                return head, names[0], names[1]
        return None

    def _under(self, head: str, label: str) -> list[SheetRow]:
        rows = self.chosen(but=head)
        return [row for row in rows if row.labels.get(head) == label]

    def _on_side(self, head: str, label: str) -> list[SheetRow]:
        """Return the rows of one of two labels that a question names. Where not both
        have its other labels, these are of that before them: "than a technician in
        Brno".
        """
        mentions = self.names.labels[head]
        if self._is_shared(head):
            return self._under(head, label)
        start = min(one.start for one in mentions if one.name == label)
        end = len(self.text)
        for mention in mentions:
            if start < mention.start < end:
                end = mention.start
        rows = [row for row in self.rows if row.labels.get(head) == label]
        for other, of_other in self.names.labels.items():
            names = {one.name for one in of_other if start < one.start < end}
            if names and other != head:
                rows = [row for row in rows if row.labels[other] in names]
        return rows

    def _is_shared(self, head: str) -> bool:
        """Return whether both labels under a head have all others of the question."""
        for other, mentions in self.names.labels.items():
            names = {mention.name for mention in mentions}
            if other != head and len(names) > 1:
                return False
            if other == head and not all(self._under(head, name) for name in names):
                return False
        return True

    # Computations

    def _of_pair(self, compute: Pair, kind: str) -> ComputedCells | None:
        """Return what two labels, or two columns, that the question names make."""
        columns = [mention.name for mention in self.names.columns]
        if len(columns) > 1 and self.pair is None:
            return self._of_columns(columns[0], columns[1], compute, kind)
        if self.pair is None or self.column is None:
            return None
        head, one, other = self.pair
        first = self.amount(self.column, self._on_side(head, one))
        second = self.amount(self.column, self._on_side(head, other))
        sign = "/" if kind == "ratio" else "-"
        return self._one(
            first, second, compute, f"{one} {sign} {other}", self.column, kind
        )

    def _one(
        self,
        first: CellSum | None,
        second: CellSum | None,
        compute: Pair,
        subject: str,
        name: str,
        kind: str,
    ) -> ComputedCells | None:
        cell = made_of(compute, first, second)
        if cell is None:
            return None
        return ComputedCells(kind, subject, name, table_of(name, [(subject, cell)]))

    def _per(self, computation: Computation) -> ComputedCells | None:
        """Return a column divided by that behind "per"; where the head of labels stands
        behind it, the sum of each label, or the mean of these where a mean is asked.
        """
        column = _first_behind(self.names.columns, computation)
        head = _first_behind(self.names.heads, computation)
        if column is not None and head is not None and head.start < column.start:
            column = None
        if column is not None:
            upper = self._before(computation, column)
            of_each = self._other_head(computation)
            if upper is not None and of_each:
                return self._ranked(upper.name, column.name, divided, "ratio", of_each)
            if upper is not None:
                return self._of_columns(upper.name, column.name, divided, "ratio")
        if head is None or self.column is None or self.ranks:
            return None
        if any(other.kind == "mean" for other in self.names.computations):
            return self._mean(self._amounts(self.column, head.name), self.column)
        return self.sums_of_groups(self.column, head.name)

    def _other_head(self, computation: Computation) -> str:
        """Return the head of labels behind another "each": "per nurse in each county";
        "" without one.
        """
        for other in self.names.computations:
            head = _first_behind(self.names.heads, other)
            if other.kind == "per" and other != computation and head is not None:
                return head.name
        return ""

    def _before(self, computation: Computation, column: Mention) -> Mention | None:
        """Return the last column before words of a computation; else one that stands
        elsewhere: "visits did each nurse have".
        """
        best: Mention | None = None
        for mention in self.names.columns:
            is_before = mention.end <= computation.start
            if mention is not column and (is_before or best is None):
                best = mention
        return best

    def _of_columns(
        self, first: str, second: str, compute: Pair, kind: str
    ) -> ComputedCells | None:
        """Return what two columns make, in each row of a ranking."""
        if self.ranks:
            return self._ranked(first, second, compute, kind)
        rows = self.chosen()
        one = self.amount(first, rows)
        other = self.amount(second, rows)
        sign = "-" if kind == "difference" else "/"
        return self._one(
            one, other, compute, self.title, f"{first} {sign} {second}", kind
        )

    def sums_of_groups(self, column: str, head: str) -> ComputedCells | None:
        """Return the sum of a column for each label under a head."""
        amounts = self._amounts(column, head)
        return self._as_ranking(column, _cells_of(amounts))

    def _amounts(self, column: str, head: str) -> dict[str, CellSum]:
        """Return the sums of a column by the labels under a head; none where those of a
        label cannot be added up.
        """
        amounts: dict[str, CellSum] = {}
        for label, rows in grouped(self.chosen(), [head]).items():
            amount = self.amount(column, rows)
            if amount is None:
                return {}
            amounts[label] = amount
        return amounts

    def _mean(
        self, amounts: Mapping[str, CellSum], column: str
    ) -> ComputedCells | None:
        units = {amount.unit for amount in amounts.values()}
        if len(amounts) < 2 or len(units) > 1:
            return None
        total = sum((amount.value for amount in amounts.values()), Decimal(0))
        value = total / len(amounts)
        [unit] = units
        how = f"{in_unit(total, unit)} / {len(amounts)}"
        cell = _cell(value, unit, how, *amounts.values())
        return self._of_parts("mean", column, cell, amounts)

    def _of_parts(
        self, kind: str, name: str, cell: FigureCell, amounts: Mapping[str, CellSum]
    ) -> ComputedCells:
        """Return one value, and the amounts that it was computed from."""
        table = table_of(name, [(self.title, cell)])
        parts = table_of(name, _cells_of(amounts))
        return ComputedCells(kind, self.title, name, table, parts=parts)

    def _of_named(self, kind: str) -> ComputedCells | None:
        """Return the sum or mean of cells that the question names: several columns of
        a row, or several labels.
        """
        named = self._named_amounts()
        amounts = {name: one for name, one in named.items() if one is not None}
        if len(amounts) < max(2, len(named)):
            return None
        columns = list(amounts)
        if self.column not in amounts:
            columns = [self.column or ""]
        name = " + ".join(columns)
        if kind == "mean":
            return self._mean(amounts, name)
        if not self._can_be_added(amounts):
            return None
        total = sum((amount.value for amount in amounts.values()), Decimal(0))
        how = " + ".join(amount.text for amount in amounts.values())
        first = next(iter(amounts.values()))
        if first.period:
            how = f"{how}, {first.period}"
        cell = _cell(total, first.unit, how, *amounts.values())
        return self._of_parts("sum", name, cell, amounts)

    def _can_be_added(self, amounts: Mapping[str, CellSum]) -> bool:
        """Return whether the amounts of labels or columns can be added up: nurses of
        two clinics and not of two months, nor prices.
        """
        if len({(one.unit, one.period) for one in amounts.values()}) > 1:
            return False
        if self.column is not None and self.column not in amounts:
            whole = self.amount(self.column, self.chosen())
            count = sum(len(one.sources) for one in amounts.values())
            return whole is not None and len(whole.sources) == count
        for name, amount in amounts.items():
            if measure_kind(name, amount.unit) == "level":
                return False
        return True

    def _named_amounts(self) -> dict[str, CellSum | None]:
        """Return the sums of the several labels that the question names, else of its
        several columns, by their names.
        """
        rows = self.chosen()
        for head, mentions in self.names.labels.items():
            is_one = len({mention.name for mention in mentions}) < 2
            if is_one or self.column is None:
                continue
            amounts: dict[str, CellSum | None] = {}
            for label, of_label in grouped(rows, [head]).items():
                amounts[label] = self.amount(self.column, of_label)
            return amounts
        if not self._is_list:
            return {}
        columns = [mention.name for mention in self.names.columns]
        return {column: self.amount(column, rows) for column in columns}

    @property
    def _is_list(self) -> bool:
        """Whether the columns that the question names stand beside each other: "nurses
        and doctors", not "visits of nurses", nor "households served".
        """
        mentions = self.names.columns
        for first, second in pairwise(mentions):
            between = self.text[first.end : second.start]
            if not (between.strip() and joins_names(between)):
                return False
        return True

    def _share(self, computation: Computation) -> ComputedCells | None:
        """Return one column in per cent of another, or the rows that the question
        names in per cent of all.
        """
        columns = [
            one for one in self.names.columns if self.unit_of(one.name) != PERCENT
        ]
        behind = [one for one in columns if one.start >= computation.end]
        if len(columns) > 1 and behind:
            whole_of = behind[0]
            part_of = next(one for one in columns if one is not whole_of)
            return self._of_columns(part_of.name, whole_of.name, share, "share")
        of_parts = self._share_of_parts(computation) or self._share_of_total(columns)
        if of_parts is not None:
            return of_parts
        column = columns[0].name if columns else self.column
        freed = self.freed_head()
        if column is None or freed is None or self.ranks:
            return None
        part = self.amount(column, self.chosen())
        whole = self.amount(column, self.chosen(but=freed))
        return self._one(part, whole, share, self.title, column, "share")

    def _share_of_total(self, columns: Sequence[Mention]) -> ComputedCells | None:
        """Return one column in per cent of the sum of all; None without that."""
        if len(columns) != 1 or not self.total_column:
            return None
        return self._of_columns(columns[0].name, self.total_column, share, "share")

    def _share_of_parts(self, computation: Computation) -> ComputedCells | None:
        """Return a column in per cent of all columns of its kind: the broken pumps of
        the working and the broken ones.
        """
        parts = self.names.with_word_behind(computation.end)
        columns = [one.name for one in self.names.columns if one.name in parts]
        if len(parts) < 2 or len(columns) != 1 or self.ranks:
            return None
        rows = self.chosen()
        part = self.amount(columns[0], rows)
        amounts = [self.amount(column, rows) for column in parts]
        found = [amount for amount in amounts if amount is not None]
        if len(found) < len(parts) or len({amount.unit for amount in found}) > 1:
            return None
        total = sum((amount.value for amount in found), Decimal(0))
        sources = [source for amount in found for source in amount.sources]
        whole = CellSum(total, found[0].unit, "", tuple(sources))
        name = f"{columns[0]} / ({' + '.join(parts)})"
        return self._one(part, whole, share, self.title, name, "share")

    def freed_head(self) -> str | None:
        """Return the head of the labels that are the part of a share: that which the
        question names last, a year only where it names nothing else.
        """
        best: Mention | None = None
        for mentions in self.names.labels.values():
            for mention in mentions:
                if best is None or _tells_more(mention, best):
                    best = mention
        if best is None:
            return None
        return best.head

    def _change(self, computation: Computation) -> ComputedCells | None:
        """Return how much a column changed between two months or years: those that the
        question names, else the first and the last.
        """
        if not (computation.asks_size or self.ranks) or self.column is None:
            return None
        head = self._time_head()
        if head is None:
            return None
        points = self._points(head)
        if points is None:
            return None
        first, last = points
        compute: Pair = grown if computation.in_per_cent else _gained
        if self.ranks:
            return self._ranked_change(head, first, last, compute)
        before = self._at(head, first)
        after = self._at(head, last)
        if len(before) != len(after):
            # A year that is not over yet.
            return None
        subject = " → ".join([first, last])
        others = [
            mentions[0].name
            for of_head, mentions in self.names.labels.items()
            if of_head != head
        ]
        name = ", ".join([*others, self.column])
        one = self.amount(self.column, before)
        other = self.amount(self.column, after)
        return self._one(one, other, compute, subject, name, "change")

    def _points(self, head: str) -> tuple[str, str] | None:
        """Return the two months or years between which the question asks for a change:
        those that it names, "since" one and the last, the first and the last where it
        names none; None of others.
        """
        labels = list(dict.fromkeys(row.labels.get(head, "") for row in self.rows))
        mentions = self.names.labels.get(head, ())
        names = {mention.name for mention in mentions}
        points = [label for label in labels if label in names]
        years: set[str] = set()
        for named in self.asked.years:
            years.update(map(str, named.ends))
        if not points and len(years) == 2:
            # Each year has its months.
            points = sorted(years)
        elif not points and len(years) < 2:
            points = labels
        elif len(points) == 1 and begins_span(self.text[: mentions[0].start]):
            points.append(labels[-1])
        if len(points) < 2 or points[0] == points[-1]:
            return None
        return points[0], points[-1]

    def _at(self, head: str, point: str) -> list[SheetRow]:
        """Return the rows of a month or a year, all of its months."""
        rows = self.chosen(but=head)
        labelled = [row for row in rows if row.labels.get(head) == point]
        if labelled:
            return labelled
        return [row for row in rows if str(row.year) == point]

    def _time_head(self) -> str | None:
        """Return the head of months or years with several labels: that of which the
        question names two, else the first.
        """
        heads: list[str] = []
        for head in self.rows[0].labels:
            labels = {row.labels.get(head, "") for row in self.rows}
            if head != DOCUMENT and len(labels) > 1 and all(map(is_time, labels)):
                heads.append(head)
        for head in heads:
            if len({one.name for one in self.names.labels.get(head, ())}) > 1:
                return head
        return heads[0] if heads else None

    def _ranked_change(
        self, head: str, first: str, last: str, compute: Pair
    ) -> ComputedCells | None:
        of_rows = self._head_of_ranking(but=head)
        column = self.column
        if of_rows is None or column is None:
            return None
        results: list[tuple[str, FigureCell]] = []
        for label, rows in grouped(self.chosen(but=head), [of_rows]).items():
            before = [row for row in self._at(head, first) if row in rows]
            after = [row for row in self._at(head, last) if row in rows]
            one = self.amount(column, before)
            cell = made_of(compute, one, self.amount(column, after))
            if cell is not None:
                results.append((label, cell))
        name = f"{column}, {first} → {last}"
        return self._as_ranking(name, results)

    def _ranked(
        self, first: str, second: str, compute: Pair, kind: str, of_each: str = ""
    ) -> ComputedCells | None:
        """Return what two columns make in each row of a ranking, or for each label
        under the head ``of_each``.
        """
        head = of_each or self._head_of_ranking()
        if head is None:
            return None
        results: list[tuple[str, FigureCell]] = []
        for label, rows in grouped(self.chosen(), [head]).items():
            one = self.amount(first, rows)
            cell = made_of(compute, one, self.amount(second, rows))
            if cell is not None:
                results.append((label, cell))
        sign = "-" if kind == "difference" else "/"
        return self._as_ranking(f"{first} {sign} {second}", results)

    def _as_ranking(
        self, name: str, results: Sequence[tuple[str, FigureCell]]
    ) -> ComputedCells | None:
        if len(results) < 2:
            return None
        if self.subject:
            name = f"{name}, {self.subject}"
        return ComputedCells(
            "ranking", "", name, table_of(name, results), is_ranking=True
        )

    def _head_of_ranking(self, *, but: str = "") -> str | None:
        """Return the head of the labels that a ranking asks for: that which it names,
        else the first in which rows differ.
        """
        for mention in self.names.heads:
            if mention.name != but:
                return mention.name
        rows = self.chosen()
        for head in self.rows[0].labels:
            labels = {row.labels.get(head, "") for row in rows}
            if head != but and len(labels) > 1:
                return head
        return None


def _tells_more(mention: Mention, other: Mention) -> bool:
    """Return whether a label is the part of a share rather than another one."""
    if mention.name.isdigit() != other.name.isdigit():
        return other.name.isdigit()
    return mention.start >= other.start


def _first_behind(
    mentions: Sequence[Mention], computation: Computation
) -> Mention | None:
    """Return the first mention that stands right behind words of a computation; None
    without one.
    """
    for mention in mentions:
        if 0 <= mention.start - computation.end <= _NEAR:
            return mention
    return None


def _cells_of(amounts: Mapping[str, CellSum]) -> list[tuple[str, FigureCell]]:
    return [(name, amount.cell) for name, amount in amounts.items()]


def _gained(before: CellSum, after: CellSum) -> FigureCell | None:
    return subtracted(after, before)


def table_of(name: str, results: Sequence[tuple[str, FigureCell]]) -> FigureTable:
    """Return a table of one column."""
    rows = [FigureRow(subject, (cell,)) for subject, cell in results]
    return FigureTable((FigureColumn(name, ""),), tuple(rows), whole=len(rows))
