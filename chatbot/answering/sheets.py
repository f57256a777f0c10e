"""Reads all rows of a sheet that a question means: to add them up, to average, rank or
list them, or to put those that it names beside each other.

A sheet is the rows that have the same heads of labels, also in several documents: the
months of each country in a file of its own.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..domain import Scope
from ..domain.figure_query import FigureCell, FigureColumn, FigureRow, FigureTable
from ..domain.protocols import Passages
from ..domain.tables import Texts
from ..language.periods import is_time, periods_in
from ..language.reported_figures import year_of
from ..language.table_words import is_total, part_units, tells_unit
from ..language.units import PERCENT
from ..questions.computations import counted_place
from .asked_words import ROWS, ROWS_OF_SUM, AskedWords, FoundTables, Words
from .figure_tables import FigureTables
from .sheet_amounts import CellSum, amount_of, at_one_time, kind_of, summed_columns
from .sheet_names import computed_text
from .sheet_rows import (
    DOCUMENT,
    SheetRow,
    by_period,
    grouped,
    long_rows,
    newest_of_months,
    of_span,
    rows_of,
    total_column,
)
from .sheet_sums import SheetSums
from .table_rows import DOCUMENTS

__all__ = ["Sheet", "SheetReader"]


@dataclass(frozen=True)
class Sheet:
    """The rows that a question means, without totals. ``columns``: the heads of the
    figures that it asks for. ``chosen``: the labels that it names, by their heads.
    ``lacking``: its words that nothing in the sheet has.
    """

    rows: Sequence[SheetRow]
    columns: Sequence[str]
    chosen: Mapping[str, Sequence[str]]
    lacking: Words
    has_totals: bool
    """Whether the sheet has the sum of some of its rows, too."""
    has_older: bool
    """Whether it has a month that the question names in older years, too."""
    asked: AskedWords = field(repr=False)
    summed: frozenset[str] = frozenset()
    """The columns that the sheet itself adds up."""

    @cached_property
    def opened(self) -> list[str]:
        """The heads of labels in which its rows differ, the document last."""
        heads = [*self.rows[0].labels]
        heads.append(heads.pop(heads.index(DOCUMENT)))
        # The unit stands behind each figure.
        heads = [head for head in heads if not tells_unit(head)]
        return [head for head in heads if len(self._labels(head)) > 1]

    def _labels(self, head: str) -> set[str]:
        return {row.labels.get(head, "") for row in self.rows}

    @cached_property
    def is_added_up(self) -> bool:
        """Whether its figures are amounts, which can be added up."""
        return self.may_be_grouped([])

    def may_be_grouped(self, heads: Sequence[str]) -> bool:
        """Return whether one row has the labels under these heads, or the figures of
        several can be added up.
        """
        for rows in grouped(self.rows, heads).values():
            for column in self.columns:
                if self._amount(column, rows) is None:
                    return False
        return True

    def _amount(self, column: str, rows: Sequence[SheetRow]) -> CellSum | None:
        return amount_of(rows, column, happens=self._happens(column))

    def _happens(self, column: str) -> bool:
        return self.asked.says_past or column in self.summed

    def at_one_time(self) -> tuple["Sheet", str]:
        """Return the sheet with the rows that count for a total, and the month that
        they are of: of what is there at a time, as staff, the newest; "" = all.
        """
        kinds: set[str] = set()
        for name in self.columns:
            kinds.add(kind_of(self.rows, name, happens=self._happens(name)))
        if kinds != {"stock"}:
            return self, ""
        rows, period = at_one_time(self.rows)
        return replace(self, rows=rows), period

    @property
    def counts(self) -> bool:
        """Whether its figures may be how much or how many of something there is: not a
        share, nor where it asks how many, the only column, of a unit, that the question
        does not name.
        """
        [column] = self.columns
        unit = self.rows[0].figures[column].unit
        if not unit or unit == PERCENT:
            return not unit
        if counted_place(computed_text(self.asked.text)) is None:
            return True
        return bool(self.asked.of_all(column))

    @property
    def by_unit(self) -> dict[str, "Sheet"]:
        """The rows of each unit that stands beside figures: euros and dollars."""
        heads = [head for head in self.rows[0].labels if tells_unit(head)]
        by_unit = grouped(self.rows, heads)
        return {unit: replace(self, rows=rows) for unit, rows in by_unit.items()}

    @property
    def compared(self) -> str | None:
        """The head of the labels of which the question names several; None = none."""
        for head, labels in self.chosen.items():
            if len(labels) > 1:
                return head
        return None

    @property
    def ranked(self) -> str:
        """The head of the labels that a ranking asks for: that which it names, as in
        "Which month ...?", else the first.
        """
        for head in self.opened:
            if self.asked.of_all(head):
                return head
        return self.opened[0]

    @property
    def ranks_columns(self) -> bool:
        """Whether a ranking is one of its columns: it has their sum, too, and the
        question names no head of labels, as "Which month" does.
        """
        if self.columns != [total_column(self.rows)]:
            return False
        heads = [head for head in self.rows[0].labels if head != DOCUMENT]
        return not any(map(self.asked.of_all, heads))

    def table_of_columns(self) -> FigureTable | None:
        """Return what each column but the sum of all has in its rows together; None
        where one cannot be added up.
        """
        [total] = self.columns
        rows: list[FigureRow] = []
        for head in self.rows[0].figures:
            amount = self._amount(head, self.rows)
            if amount is None:
                return None
            if head != total:
                rows.append(FigureRow(head, (amount.cell,)))
        labels = [label for of_head in self.chosen.values() for label in of_head]
        name = ", ".join(labels) or self.title
        return FigureTable((FigureColumn(name, ""),), tuple(rows), whole=len(rows))

    @property
    def about(self) -> Texts:
        """The texts of its rows and of what they are in."""
        texts = {f"{row.chunk.title} {row.chunk.section}" for row in self.rows}
        texts.update(row.chunk.text for row in self.rows)
        return tuple(sorted(texts))

    @property
    def title(self) -> str:
        """The title of the one document that its rows are of; "" of several."""
        titles = {row.chunk.title for row in self.rows}
        if len(titles) == 1:
            return titles.pop()
        return ""

    @property
    def has_inner_rows(self) -> bool:
        """Whether its rows are parts of something else: of a country, or of what other
        labels name.
        """
        row = self.rows[0]
        return len(row.labels) > 2 or row.labels[DOCUMENT] != ""

    def grid(self, heads: Sequence[str]) -> FigureTable:
        """Return its figures by their labels under these heads, those of a group added
        up.
        """
        columns = [self._column(head) for head in self.columns]
        rows: list[FigureRow] = []
        for name, of_group in grouped(self.rows, heads).items():
            cells: list[FigureCell | None] = []
            for head in self.columns:
                amount = self._amount(head, of_group)
                cells.append(None if amount is None else amount.cell)
            rows.append(FigureRow(name, tuple(cells)))
        return FigureTable(tuple(columns), tuple(rows), whole=len(rows))

    def _column(self, head: str) -> FigureColumn:
        """Return a column with its name and the labels that the question names."""
        names = [head]
        for chosen, labels in self.chosen.items():
            if chosen not in self.opened:
                names += labels
        return FigureColumn(
            ", ".join(dict.fromkeys(names)), self.rows[0].figures[head].unit
        )


@dataclass(frozen=True, slots=True)
class SheetReader:
    """Finds the sheet that a question means."""

    passages: Passages
    tables: FigureTables

    def read(self, asked: AskedWords, found: FoundTables, scope: Scope) -> Sheet | None:
        """Return the rows that a question means in the first sheet that has all of its
        words, else most of them; None where no column is meant.
        """
        sheets: list[Sheet] = []
        for rows in self._sheets(found, scope, _by_period):
            sheet = _chosen(asked, rows)
            if sheet is not None:
                sheets.append(sheet)
        return min(sheets, key=lambda sheet: len(sheet.lacking), default=None)

    def sums(
        self,
        asked: AskedWords,
        found: FoundTables,
        scope: Scope,
        text: str,
        *,
        ranks: bool,
    ) -> list[tuple[SheetSums, Words]]:
        """Return what computes from each sheet, and the words of the question that it
        lacks: the sheet that has most of them first.
        """
        sheets: list[tuple[SheetSums, Words]] = []
        for every in self._sheets(found, scope, long_rows):
            of_years = _of_years(asked, every) or every
            rows = newest_of_months(of_years, text, asked.years)
            common = set.intersection(*(set(row.figures) for row in rows))
            rows = of_span(asked.text, _without_totals(rows, sorted(common)))
            if rows:
                lacking = _lacking(asked, rows)
                sums = SheetSums(asked, rows, text, ranks, summed_columns(every))
                sheets.append((sums, lacking))
        sheets.sort(key=lambda sheet: len(sheet[1]))
        return sheets

    def _sheets(
        self,
        found: FoundTables,
        scope: Scope,
        reshape: Callable[[Iterable[SheetRow]], Iterable[SheetRow]],
    ) -> list[list[SheetRow]]:
        """Return the rows of the tables that were found, together where they have the
        same heads of labels and no label twice.
        """
        tables = found.whole + found.near
        documents = dict.fromkeys(found.documents)
        documents |= dict.fromkeys(table.chunk.document_id for table in tables)
        sheets: dict[Texts, list[SheetRow]] = {}
        for document_id in list(documents)[:DOCUMENTS]:
            by_heads: dict[Texts, list[SheetRow]] = defaultdict(list)
            for row in reshape(self._rows(document_id, scope)):
                by_heads[tuple(row.labels)].append(row)
            for heads, rows in by_heads.items():
                known = sheets.setdefault(heads, [])
                labels = {row.label_of(heads) for row in known}
                if labels.isdisjoint(row.label_of(heads) for row in rows):
                    known += rows
                else:
                    # Of another matter: "June" is there already.
                    sheets[*heads, document_id] = rows
        return list(sheets.values())

    def _rows(self, document_id: str, scope: Scope) -> Iterator[SheetRow]:
        figures = self.tables.of_document(scope, document_id)
        ids = dict.fromkeys(figure.chunk_id for figure in figures)
        for chunk in self.passages.get(list(ids)[:ROWS]):
            if chunk.statements:
                yield from rows_of(chunk)


def _by_period(rows: Iterable[SheetRow]) -> Iterator[SheetRow]:
    for row in rows:
        yield from by_period(row)


def _chosen(asked: AskedWords, rows: Sequence[SheetRow]) -> Sheet | None:
    """Return the rows of a sheet that a question means, and the columns; None where it
    names no column of several, or there are no such rows.
    """
    text = computed_text(asked.text)
    summed = summed_columns(rows)
    of_years = _of_years(asked, rows)
    rows = newest_of_months(of_years, text, asked.years)
    has_older = len(rows) < len(of_years)
    columns = _columns(asked, rows)
    if not columns or any(map(is_time, columns)):
        return None
    rows = [row for row in rows if row.figures.keys() >= set(columns)]
    chosen, rows, before = _named_rows(asked, rows)
    count = len(rows)
    rows = _without_totals(rows, columns)
    has_totals = len(rows) < count
    rows = of_span(asked.text, rows)
    if not rows:
        return None
    lacking = _lacking(asked, rows) - asked.within(*before)
    return Sheet(rows, columns, chosen, lacking, has_totals, has_older, asked, summed)


def _lacking(asked: AskedWords, rows: Sequence[SheetRow]) -> Words:
    """Return the words of a question that nothing in some rows has."""
    told = [row.chunk.search_text for row in rows]
    for row in rows:
        told += [row.chunk.title, row.chunk.section, *row.labels.values()]
        told += [str(year_of(figure)) for figure in row.figures.values()]
    return asked.words - asked.within(*told)


def _named_rows(
    asked: AskedWords, rows: Sequence[SheetRow]
) -> tuple[dict[str, list[str]], list[SheetRow], list[str]]:
    """Return the labels that a question names, by their heads, and their rows: all
    where it names none; and labels of the question before, which others replace.
    """
    chosen: dict[str, list[str]] = {}
    before: list[str] = []
    kept = list(rows)
    for head in kept[0].labels if kept else ():
        labels = dict.fromkeys(row.labels[head] for row in kept)
        named = [label for label in labels if _names(asked, head, label)]
        if asked.own is not None:
            own = [label for label in named if _names(asked.own, head, label)]
            if own:
                before += [label for label in named if label not in own]
                named = own
        if named:
            chosen[head] = named
            kept = [row for row in kept if row.labels[head] in named]
    return chosen, kept, before


def _of_years(asked: AskedWords, rows: Sequence[SheetRow]) -> Sequence[SheetRow]:
    """Return the rows of any of the years that a question names, all where it names
    none.
    """
    if not asked.years:
        return rows
    kept: list[SheetRow] = []
    for row in rows:
        years = {year_of(figure) for figure in row.figures.values()}
        for named in asked.years:
            if any(map(named.condition.matches, years)):
                kept.append(row)
                break
    return kept


def _names(asked: AskedWords, head: str, label: str) -> bool:
    """Return whether a question names a label. "March" is that of "2024-03", too, where
    it names no year; "week 7" that of "7" under "Week".
    """
    if asked.names(label):
        return True
    periods = periods_in(f"{head}: {label}")
    return not asked.years and len(periods) == 1 and periods[0][0] in asked.every


def _columns(asked: AskedWords, rows: Sequence[SheetRow]) -> list[str]:
    """Return the head of the figures that a question names best, by words that few
    heads have; where it names none, the sum of all columns, else all of them; and none
    where it names two alike.
    """
    total = total_column(rows)
    heads = dict.fromkeys(head for row in rows for head in row.figures)
    if total:
        # "Which school" asks for none of "All schools".
        del heads[total]
    best = _best_named(asked.own, heads) if asked.own is not None else []
    best = best or _best_named(asked, heads)
    if best:
        return best
    if total:
        return [total]
    of_family = asked.of_family(heads)
    return _shared(list(heads), rows) if of_family is None else [of_family]


def _best_named(asked: AskedWords, heads: Iterable[str]) -> list[str]:
    """Return the heads that a question names best; none where it names none."""
    counts = Counter[str]()
    heads = list(heads)
    for head in heads:
        counts.update(asked.of_all(head))
    best: list[str] = []
    best_score = (0.0, 0)
    for head in heads:
        words = asked.of_all(head)
        weight = round(sum(1 / counts[word] for word in words), 6)
        plain, _ = part_units(head)
        left_out = len(set(asked.terms(plain)) - asked.every)
        score = (weight, -left_out) if weight else (0.0, 0)
        if score > best_score or not best:
            best = []
            best_score = score
        if score == best_score:
            best.append(head)
    # "Line" of "Red line" and "Blue line" says nothing.
    says_nothing = not best_score[0] or len(best) == len(heads) > 1
    return [] if says_nothing else best


def _shared(heads: Sequence[str], rows: Sequence[SheetRow]) -> list[str]:
    """Return the heads that most rows have."""
    of_rows = Counter(head for row in rows for head in row.figures)
    return [head for head in heads if 2 * of_rows[head] >= len(rows)]


def _without_totals(rows: Sequence[SheetRow], columns: Sequence[str]) -> list[SheetRow]:
    """Return rows without those of totals, by their label or because they are the sum
    of all others.
    """
    kept = [row for row in rows if not any(map(is_total, row.labels.values()))]
    for column in columns[:1]:
        total = sum(row.figures[column].value for row in kept)
        if len(kept) > ROWS_OF_SUM and total:
            kept = [row for row in kept if 2 * row.figures[column].value != total]
    return kept
