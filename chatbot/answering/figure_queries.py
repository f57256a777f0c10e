"""Answers a `FigureQuery` from the table of figures: finds the indicators and subjects
that it names, chooses the figure of each cell, and runs its steps.
"""

import difflib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..domain import Scope
from ..domain.errors import InvalidRequestError
from ..domain.figure_query import (
    MAX_YEARS,
    AnyStep,
    Difference,
    FigureCell,
    FigureColumn,
    FigureQuery,
    FigureRow,
    FigureTable,
    Growth,
    MissingFigure,
    Ratio,
)
from ..domain.figures import (
    GlossaryEntry,
    Indicators,
    indicator_name,
    similar_headings,
)
from ..domain.formulas import Formula, Term, evaluate, read_formula
from ..domain.protocols import Catalog
from ..domain.scope import Condition, Range, Values
from ..language.country_names import country_key
from ..language.groups import group_named
from ..language.reported_figures import year_of
from ..language.units import PERCENT, read_unit
from ..questions.reading import COUNTRY, YEAR, members_of
from ..questions.sides import MAX_SIDES
from .figure_steps import in_unit, run
from .figure_tables import FigureTables, IndicatorFigures


class UnitCell(NamedTuple):
    """A cell and the unit of its value."""

    cell: FigureCell
    unit: str


@dataclass(frozen=True, slots=True)
class Reported:
    """An indicator that reports state. ``stated``: the years of which its newest figure
    is asked, none = all.
    """

    figures: IndicatorFigures
    stated: Sequence[Condition] = ()

    @property
    def name(self) -> str:
        """The heading and its part."""
        return self.figures.name

    @property
    def subjects(self) -> Sequence[str]:
        """Those that have a figure."""
        return list(self.figures.by_subject)

    def years(self, subject: str) -> Sequence[int]:
        """The years of a subject's figures, the oldest first."""
        return [year_of(figure) for figure in self.figures.by_subject.get(subject, ())]

    def cell(self, subject: str, year: int | None) -> UnitCell | None:
        """The figure of a year, None = the newest."""
        years = self.stated if year is None else (Range(year, year),)
        figure = self.figures.newest(subject, years)
        if figure is None:
            return None
        cell = FigureCell(
            figure.value,
            figure.text,
            year=figure.year,
            estimate=figure.estimate,
            sources=(figure,),
        )
        return UnitCell(cell, figure.unit)

    def cell_for(self, subject: str, year: int | None) -> UnitCell | None:
        """The figure that holds for a year: of that year, else one without a year, as
        of an area.
        """
        found = self.cell(subject, year)
        if found is None:
            newest = self.cell(subject, None)
            if newest is not None and newest.cell.year is None:
                return newest
        return found


@dataclass(frozen=True, slots=True)
class Derived:
    """An indicator that is computed from others: of the newest year that all have."""

    name: str
    formula: Formula
    parts: Mapping[str, Reported]
    """By the names in the formula."""

    @property
    def subjects(self) -> Sequence[str]:
        """Those that have a figure of each part."""
        first, *others = self.parts.values()
        return [
            subject
            for subject in first.subjects
            if all(subject in other.subjects for other in others)
        ]

    def years(self, subject: str) -> Sequence[int]:
        """The years of which all parts have a figure, the oldest first. One without a
        year, as of an area, holds for every year.
        """
        dated = []
        for part in self.parts.values():
            figures = part.figures.by_subject.get(subject, ())
            years = {figure.year for figure in figures if figure.year}
            if years:
                dated.append(years)
        if not dated:
            return ()
        return sorted(set.intersection(*dated))

    def cell(self, subject: str, year: int | None) -> UnitCell | None:
        """The value for a year, None = the newest that all parts have; without one, of
        the newest figure of each.
        """
        shared = self.years(subject)
        if year is None and shared:
            year = shared[-1]
        terms: dict[str, Term] = {}
        parts: list[FigureCell] = []
        for name, part in self.parts.items():
            found = part.cell_for(subject, year)
            if found is None:
                return None
            text = found.cell.text
            if year is None and found.cell.year:
                # They are of different years, which have to be said.
                text = f"{text} ({found.cell.year})"
            terms[name] = Term(found.cell.value, found.unit, text)
            parts.append(found.cell)
        try:
            term = evaluate(self.formula, terms, _computed)
        except InvalidRequestError:
            # Its parts have other units than those of the other subjects.
            return None
        years = {cell.year for cell in parts if cell.year}
        cell = FigureCell(
            term.value,
            in_unit(term.value, term.unit),
            year=years.pop() if len(years) == 1 else None,
            estimate=any(part.estimate for part in parts),
            how=term.text,
            sources=tuple(source for part in parts for source in part.sources),
        )
        return UnitCell(cell, term.unit)


_SUM = re.compile(r" [+-] ")
"""Is in brackets before it is multiplied."""


def _computed(sign: str, left: Term, right: Term) -> Term:
    """Return what a sign of a formula makes of two terms. Raises
    InvalidRequestError: their units differ, or the second one is zero.
    """
    text = f"{left.text} {sign} {right.text}"
    if sign in {"+", "-"}:
        if left.text.isdecimal() and right.unit == PERCENT:
            # The rest of a share is written "100 - [share]".
            left = replace(left, unit=PERCENT)
        if left.unit != right.unit:
            raise InvalidRequestError(f"{left.unit!r} and {right.unit!r} differ.")
        value = left.value + right.value
        if sign == "-":
            value = left.value - right.value
        return Term(value, left.unit, text)
    if sign == "*":
        value = left.value * right.value
        if _SUM.search(left.text):
            text = f"({left.text}) {sign} {right.text}"
        if left.unit == PERCENT:
            # A share of a whole is of the unit of the whole.
            return Term(value / 100, right.unit, text)
        return Term(value, left.unit or right.unit, text)
    if right.value == 0:
        raise InvalidRequestError(f"{text} divides by zero.")
    unit = left.unit
    if right.unit and read_unit(left.unit).kinds == read_unit(right.unit).kinds:
        unit = ""
    elif right.unit:
        unit = f"{left.unit} per {right.unit}".strip()
    return Term(left.value / right.value, unit, text)


Indicator = Reported | Derived
Columns = Sequence[tuple[Indicator, int | None]]


@dataclass(frozen=True, slots=True)
class FigureQueries:
    """Runs queries for the callers who see the same reports. Thread-safe."""

    tables: FigureTables
    catalog: Catalog
    glossary: Callable[[], Sequence[GlossaryEntry]]

    def run(self, query: FigureQuery, scope: Scope) -> FigureTable:
        """Return the table of a query over the figures in a scope.

        Raises InvalidRequestError: it names an indicator or a subject that no report
        has, or a step that does not fit; DependencyError.
        """
        if query.editions:
            return self._over_editions(query, scope)
        indicators = self._indicators(query, scope)
        subjects = self._subjects(query, indicators)
        shared = self._shared_year(query, indicators, subjects)
        columns = self._columns(query, indicators, subjects, shared)
        return self._table(query, columns, subjects, shared)

    def tabulate(
        self,
        measured: Sequence[IndicatorFigures],
        subjects: Sequence[str],
        years: Sequence[Condition],
        steps: Sequence[AnyStep] = (),
        *,
        same_year: bool = False,
    ) -> tuple[FigureQuery, FigureTable]:
        """Return the table of indicators that were found by a question, and its query.
        ``subjects``: none = all that have a figure. ``same_year``: of the newest year
        that all subjects have, where no years are asked for.
        """
        every = [subject for one in measured for subject in one.by_subject]
        rows = list(subjects) or list(dict.fromkeys(every))
        columns: list[tuple[Indicator, int | None]] = []
        for one in measured:
            year = one.shared_year(rows) if same_year and not years else None
            columns.append((Reported(one, years), year))
        # Nobody has typed it: there may be more names than a client may send.
        query = FigureQuery.model_construct(
            subjects=tuple(subjects), steps=tuple(steps)
        )
        chosen = {year for _, year in columns}
        shared = chosen.pop() if len(chosen) == 1 and len(rows) > 1 else None
        return query, self._table(query, columns, rows, shared)

    def over_years(
        self,
        measured: Sequence[IndicatorFigures],
        subjects: Sequence[str],
        years: Sequence[Condition],
    ) -> FigureTable:
        """Return the table of indicators over the years, none = all: a column a year.
        ``subjects``: none = all that have a figure.
        """
        columns: list[tuple[Indicator, int | None]] = []
        rows: dict[str, None] = {}
        for one in measured:
            of_indicator: set[int] = set()
            for condition in years:
                if isinstance(condition, Values):
                    of_indicator.update(map(int, condition.values))
            for subject in subjects or one.by_subject:
                rows[subject] = None
                for figure in one.by_subject.get(subject, ()):
                    year = year_of(figure)
                    if not years or any(named.matches(year) for named in years):
                        of_indicator.add(year)
            columns += [(Reported(one), year) for year in sorted(of_indicator)]
        query = FigureQuery.model_construct()
        return self._table(query, columns, list(rows), None)

    def _over_editions(self, query: FigureQuery, scope: Scope) -> FigureTable:
        """Return the table with a column for each edition: what that report states as
        its newest.
        """
        columns: list[tuple[Indicator, int | None]] = []
        for edition in query.editions:
            of_edition = scope.having(YEAR, [edition])
            for indicator in self._indicators(query, of_edition):
                columns += [(indicator, year) for year in query.years or (None,)]
        subjects = self._subjects(query, [indicator for indicator, _ in columns])
        return self._table(query, columns, subjects, None)

    def _table(
        self,
        query: FigureQuery,
        columns: Columns,
        subjects: Sequence[str],
        shared: int | None,
    ) -> FigureTable:
        rows: list[FigureRow] = []
        units = [""] * len(columns)
        missing: list[MissingFigure] = []
        for subject in subjects:
            cells: list[FigureCell | None] = []
            for number, (indicator, year) in enumerate(columns):
                found = indicator.cell(subject, year)
                if query.every_year:
                    # A derived figure would be of another year.
                    if year is not None and year not in indicator.years(subject):
                        found = None
                    if found is None:
                        cells.append(None)
                        continue
                if found is None:
                    missing.append(MissingFigure(subject, indicator.name, year))
                    cells.append(None)
                    continue
                units[number] = units[number] or found.unit
                cells.append(found.cell)
            if any(cells) or query.subjects:
                rows.append(FigureRow(subject, tuple(cells)))
        heads = []
        for (indicator, year), unit in zip(columns, units, strict=True):
            heads.append(FigureColumn(indicator.name, unit, year))
        whole = sum(1 for row in rows if row.cells[0] is not None)
        grid = run(query.steps, FigureTable(tuple(heads), tuple(rows), whole))
        return replace(cited(grid), missing=tuple(missing), shared_year=shared)

    def _columns(
        self,
        query: FigureQuery,
        indicators: Sequence[Indicator],
        subjects: Sequence[str],
        shared: int | None,
    ) -> Columns:
        """Return the columns: each indicator of each year that is asked for."""
        if query.every_year:
            return _every_year(query, indicators, subjects)
        if query.years:
            years: Sequence[int | None] = query.years
        elif any(_is_over_time(step) for step in query.steps):
            years = _ends(indicators[0], subjects)
        else:
            years = (shared,)
        return [(indicator, year) for indicator in indicators for year in years]

    def _shared_year(
        self,
        query: FigureQuery,
        indicators: Sequence[Indicator],
        subjects: Sequence[str],
    ) -> int | None:
        """Return the newest year that all figures of a comparison have: of few
        subjects, or of two indicators that are subtracted or divided. None where there
        is none, or the query names years.
        """
        compares = any(isinstance(step, Difference | Ratio) for step in query.steps)
        few = query.same_year and 1 < len(query.subjects) <= MAX_SIDES
        over_time = any(_is_over_time(step) for step in query.steps)
        if query.years or over_time or not (few or (compares and len(subjects) == 1)):
            return None
        years: list[set[int]] = []
        for indicator in indicators:
            for subject in subjects:
                of_subject = set(indicator.years(subject))
                if of_subject:
                    years.append(of_subject)
        if len(years) < 2:
            return None
        return max(set.intersection(*years) - {0}, default=None)

    def _indicators(self, query: FigureQuery, scope: Scope) -> list[Indicator]:
        """Return what the names of the query mean in a scope."""
        pairs = self.tables.indicators(scope)
        # A row of a table may have the name of a group.
        named = self._named_subjects(query, ())
        countries = [*self._countries(query.subjects), *named]
        found: list[Indicator] = []
        for name in query.indicators:
            entry = self._entry(name)
            if "[" in name:
                words = name.replace("[", "").replace("]", "")
                entry = GlossaryEntry(words, "", formula=name)
            if entry is not None and entry.formula:
                found.append(self._derived(entry, pairs, scope, countries))
                continue
            found.append(self._reported(name, entry, pairs, scope, countries))
        return found

    def _derived(
        self,
        entry: GlossaryEntry,
        pairs: Indicators,
        scope: Scope,
        subjects: Sequence[str],
    ) -> Derived:
        formula = read_formula(entry.formula)
        parts = {}
        for name in formula.names:
            entry_of_name = self._entry(name)
            parts[name] = self._reported(name, entry_of_name, pairs, scope, subjects)
        return Derived(entry.term, formula, parts)

    def _reported(
        self,
        name: str,
        entry: GlossaryEntry | None,
        pairs: Indicators,
        scope: Scope,
        subjects: Sequence[str],
    ) -> Reported:
        pair = named_pair(name, pairs)
        if pair is None and entry is not None:
            pair = named_pair(indicator_name(entry.heading, entry.label), pairs)
        if pair is None:
            raise _unknown(name, pairs)
        measured = self.tables.measured(*pair, pairs, scope, subjects)
        if measured.by_subject:
            return Reported(measured)
        # Rows of a document whose labels are months or names are subjects, too.
        return Reported(self.tables.of_labels(pair[0], scope, subjects))

    def _entry(self, name: str) -> GlossaryEntry | None:
        """Return the entry of the glossary with this term or other word that stands for
        figures; a term before another word.
        """
        key = name.casefold()
        second = None
        for entry in self.glossary():
            if not (entry.heading or entry.formula):
                continue
            if entry.term.casefold() == key:
                return entry
            if second is None and key in map(str.casefold, entry.other_words):
                second = entry
        return second

    def _countries(self, names: Sequence[str]) -> list[str]:
        """Return names as the data has them; others as they are."""
        by_key = {
            country_key(str(value)): str(value)
            for value in self.catalog.values(COUNTRY)
        }
        return [by_key.get(country_key(name), name) for name in names]

    def _named_subjects(self, query: FigureQuery, known: Collection[str]) -> list[str]:
        """Return the subjects of a query as the data has them, and for each group of
        countries its members that have reports. ``known``: names that are no groups.
        """
        names: list[str] = []
        for name in self._countries(query.subjects):
            group = group_named(name, self.catalog.groups())
            if group is None or name in known:
                names.append(name)
                continue
            members = members_of([group], self.catalog)
            if not members:
                raise InvalidRequestError.for_field(
                    "subjects", f"no country of {group.name} has a report."
                )
            names += map(str, members)
        return list(dict.fromkeys(names))

    def _subjects(
        self, query: FigureQuery, indicators: Sequence[Indicator]
    ) -> list[str]:
        """Return the rows: those named, in their order, else all that have a figure.
        Raises InvalidRequestError: a name that neither a report nor a figure has.
        """
        having = dict.fromkeys(
            subject for indicator in indicators for subject in indicator.subjects
        )
        countries = {str(value) for value in self.catalog.values(COUNTRY)}
        if not query.subjects:
            # The world's own reports, or rows of a table, are none of the countries.
            of_countries = sorted(countries.intersection(having))
            if len(of_countries) > 1:
                return of_countries
            return sorted(having)
        known = countries.union(having)
        by_key = {name.casefold(): name for name in known}
        subjects = []
        for number, name in enumerate(self._named_subjects(query, known)):
            subject = by_key.get(name.casefold())
            if subject is None:
                similar = difflib.get_close_matches(name, known)
                hint = f" Did you mean {', '.join(similar)}?" if similar else ""
                raise InvalidRequestError.for_field(
                    f"subjects.{number}", f"no figure is of {name!r}.{hint}", similar
                )
            subjects.append(subject)
        return list(dict.fromkeys(subjects))


def _every_year(
    query: FigureQuery, indicators: Sequence[Indicator], subjects: Sequence[str]
) -> Columns:
    """Return a column for each year of each indicator, at most as many years as a query
    may name, the newest; one of the newest figures where they have no year.
    """
    columns: list[tuple[Indicator, int | None]] = []
    for indicator in indicators:
        years: set[int] = set()
        for subject in subjects:
            years.update(indicator.years(subject))
        years.discard(0)
        if not years:
            columns.append((indicator, None))
            continue
        if query.years:
            years.intersection_update(query.years)
        columns += [(indicator, year) for year in sorted(years)[-MAX_YEARS:]]
    if not columns:
        raise InvalidRequestError.for_field("years", "no figure is of these years.")
    return columns


def _is_over_time(step: AnyStep) -> bool:
    return isinstance(step, Growth) and step.of in {None, "years"}


def named_pair(name: str, pairs: Indicators) -> tuple[str, str] | None:
    """Return the heading and label of this name, in any case; None without one. The
    heading's own figure, else the label that most subjects have.
    """
    key = name.casefold()
    for heading, labels in pairs.items():
        if heading.casefold() == key:
            if "" in labels:
                return heading, ""
            return heading, max(labels, key=lambda label: (labels[label], label))
        if not key.startswith(f"{heading.casefold()}: "):
            continue
        for label in labels:
            if f"{heading}: {label}".casefold() == key:
                return heading, label
    return None


def _unknown(name: str, pairs: Indicators) -> InvalidRequestError:
    similar = similar_headings(name, pairs)
    hint = f" Did you mean {', '.join(similar)}?" if similar else ""
    return InvalidRequestError.for_field(
        "indicators",
        f"no report here has figures of {name!r}.{hint}",
        similar,
    )


def _ends(indicator: Indicator, subjects: Sequence[str]) -> Sequence[int | None]:
    """Return the oldest and the newest year that all subjects have."""
    years = [set(indicator.years(subject)) for subject in subjects]
    present = [of_subject - {0} for of_subject in years if of_subject]
    if not present:
        return (None,)
    shared = sorted(set.intersection(*present))
    if len(shared) < 2:
        return (None,)
    return shared[0], shared[-1]


def cited(table: FigureTable) -> FigureTable:
    """Return a table with the numbers of the passages that its cells come from."""
    chunk_ids: dict[str, int] = {}
    rows = tuple(_cited(row, chunk_ids) for row in table.rows)
    return replace(table, rows=rows, chunk_ids=tuple(chunk_ids))


def _cited(row: FigureRow, chunk_ids: dict[str, int]) -> FigureRow:
    """Return the row with the numbers of its passages; new ones are added to
    ``chunk_ids``.
    """
    cells: list[FigureCell | None] = []
    for cell in row.cells:
        if cell is None:
            cells.append(None)
            continue
        numbers: dict[int, None] = {}
        for source in cell.sources:
            number = chunk_ids.setdefault(source.chunk_id, len(chunk_ids) + 1)
            numbers[number] = None
        cells.append(replace(cell, citations=tuple(numbers)))
    return replace(row, cells=tuple(cells))
