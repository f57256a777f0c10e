"""Counts what a question counts in a sheet that no column counts: its rows, the labels
under a head, the rows with a label; or those people of whom a column has the share.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

from ..domain import ReportedFigure
from ..domain.documents import SECTION_SEPARATOR
from ..domain.figure_query import FigureCell
from ..language.table_words import role_of_head
from ..language.units import PERCENT
from ..questions.computations import PERSON_WORDS, THERE_WORDS, negates
from .asked_words import Words
from .figure_steps import in_unit
from .sheet_amounts import CellSum, added_terms, at_one_time
from .sheet_names import Mention
from .sheet_rows import DOCUMENT, SheetRow
from .sheet_sums import ComputedCells, SheetSums, share, table_of

__all__ = ["SheetCounts"]


@dataclass(frozen=True)
class SheetCounts:
    """Counts in the rows of a sheet. ``place``: where in the question what is counted
    stands.
    """

    sums: SheetSums
    place: int

    @cached_property
    def is_in_column(self) -> bool:
        """Whether the question has all words of a column, which counts then."""
        names = self.sums.names
        return any(names.is_whole(column) for column in names.columns)

    @cached_property
    def thing(self) -> Mention | None:
        """What is counted: a label, a head of labels (as its own ``head``), or the rows
        (without a name); None where a column counts it, or the sheet does not have it.
        """
        names = self.sums.names
        token = names.token_at(self.place)
        if token is None or self.is_in_column:
            return None
        for mentions in names.labels.values():
            for mention in mentions:
                is_here = mention.start == token.start
                if is_here and self._is_of_groups(mention.head):
                    return mention
        head = names.head_at(self.place)
        if head is not None:
            return Mention(token.start, token.end, head, head)
        word = self.sums.text[token.start : token.end]
        if word in PERSON_WORDS and self.sums.head_of_persons:
            return Mention(token.start, token.end, "", self.sums.head_of_persons)
        rows = self.sums.rows
        if not all(figure.unit for figure in rows[0].figures.values()):
            # A column may count it: "outpatients" of a table by diagnosis.
            return None
        # A section may have the name of its row.
        parts = [set(row.chunk.section.split(SECTION_SEPARATOR)) for row in rows]
        of_sheet = set.intersection(*parts) - {rows[0].chunk.title}
        if set(token.terms) & set(self.sums.asked.terms(" ".join(of_sheet))):
            return Mention(token.start, token.end, "")
        return None

    def _is_of_groups(self, head: str) -> bool:
        """Return whether several rows have one label under a head: the roles of a
        staff. A label of one row is its name, and its figures count.
        """
        rows, _ = at_one_time(self.sums.rows)
        labels = {row.labels.get(head) for row in rows}
        if head == DOCUMENT or role_of_head(head) in {"item", "indicator"}:
            return False
        return len(labels) < len(rows)

    @property
    def lacking(self) -> Words:
        """The words of the question that the count does not use."""
        if self.thing is None:
            return self.sums.asked.words
        return self._unused(self.thing.name, self.thing.head, *PERSON_WORDS)

    def _unused(self, *told: str) -> Words:
        chunk = self.sums.rows[0].chunk
        texts = [*told, *THERE_WORDS, chunk.title, chunk.section]
        for mentions in self.sums.names.labels.values():
            texts += [mention.name for mention in mentions]
        return self.sums.asked.words - self.sums.asked.within(*texts)

    def share(self, freed: str) -> ComputedCells | None:
        """Return the rows that the question names in per cent of those that it names
        without a label under ``freed``; None where it says more of them.
        """
        if self.lacking:
            return None
        rows = self.counted(self.sums.chosen())
        whole = self.counted(self.sums.chosen(but=freed))
        cell = share(_count_of(rows), _count_of(whole))
        if cell is None:
            return None
        # It is cited by a figure of each row.
        sources = tuple(next(iter(row.figures.values())) for row in whole)
        cell = replace(cell, sources=sources)
        title = self.sums.title
        table = table_of(title, [(title, cell)])
        name = self.sums.rows[0].chunk.title
        return ComputedCells("share", title, name, table)

    def counted(self, rows: Sequence[SheetRow]) -> list[SheetRow]:
        """Return the rows that count: one for each label under the head of what is
        counted, of the newest month where the same are there in several.
        """
        head = ""
        if self.thing is not None and self.thing.name in {"", self.thing.head}:
            head = self.thing.head
        if not head:
            return at_one_time(rows)[0]
        first: dict[str, SheetRow] = {}
        for row in rows:
            first.setdefault(row.labels[head], row)
        return list(first.values())

    def name_of(self, row: SheetRow) -> str:
        """Return what a counted row is called: its label under the head that is
        counted, else all of its labels.
        """
        if self.thing is not None and self.thing.name == self.thing.head != "":
            return row.labels[self.thing.head]
        return row.label_of([head for head in row.labels if head != DOCUMENT])

    # Shares of what a column counts

    @cached_property
    def shared(self) -> tuple[str, str] | None:
        """The column that counts what is asked for, and the one with a share of it that
        the question names; None without both.
        """
        token = self.sums.names.token_at(self.place)
        counted = ""
        part = ""
        for column in self.sums.names.columns:
            unit = self.sums.unit_of(column.name)
            if unit == PERCENT:
                part = column.name
            elif token is not None and column.start == token.start:
                counted = column.name
        if counted and part:
            return counted, part
        return None

    def of_share(self) -> ComputedCells | None:
        """Return how many a share is of: people without latrine; None where nothing
        surely says so.
        """
        if self.shared is None:
            return None
        counted, part = self.shared
        if negates(part.lower()) != negates(self.sums.text):
            # Those with a latrine are not those without.
            return None
        if self._unused(counted, part):
            return None
        rows, _ = at_one_time(self.sums.chosen())
        total = Decimal(0)
        terms: list[str] = []
        sources: list[ReportedFigure] = []
        for row in rows:
            if not {counted, part} <= row.figures.keys():
                return None
            amount = row.figures[counted]
            rate = row.figures[part]
            total += amount.value * rate.value / 100
            terms.append(f"{amount.text} × {rate.text}")
            sources += [amount, rate]
        value = total.to_integral_value()
        cell = FigureCell(
            value, in_unit(value, ""), how=added_terms(terms), sources=tuple(sources)
        )
        name = f"{counted}, {part}"
        title = self.sums.title
        table = table_of(name, [(title, cell)])
        return ComputedCells("ratio", title, name, table)


def _count_of(rows: Sequence[SheetRow]) -> CellSum:
    return CellSum(Decimal(len(rows)), "", str(len(rows)), ())
