"""What a question takes for granted of a figure, or asks whether it is so: that it rose
or fell.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..domain import Scope
from ..domain.figure_query import FigureTable
from ..domain.figures import GlossaryEntry
from ..domain.request import RequestContext
from ..domain.scope import Reading, Values
from ..language.reported_figures import year_of
from ..language.words import Say
from ..questions.operations import Course, measured
from .figure_queries import FigureQueries
from .figure_sentences import in_words, over_years, table_value
from .figure_tables import IndicatorFigures

GROWTH = "growth"


@dataclass(frozen=True, slots=True)
class FigurePremises:
    """Checks the questions of callers who see the same reports."""

    queries: FigureQueries
    terms: Callable[[str], Sequence[str]]

    def check(
        self,
        course: Course,
        reading: Reading,
        subject: str,
        scope: Scope,
        say: Say,
        request: RequestContext | None = None,
    ) -> tuple[FigureTable, str] | None:
        """Return how a figure went, with a yes or no where that is asked, and its
        table. None where the question is right and asks why, or where it does not
        surely say which figure it means. Raises DependencyError.
        """
        indicator = self._indicator(course, subject, scope, request)
        if indicator is None:
            return None
        years = [year.condition for year in reading.figure_years]
        if GROWTH in self.terms(indicator.heading):
            query, table = self.queries.tabulate([indicator], [subject], years)
            text = in_words(query, table, say)
            ends = [row for row in table.rows if row.cells[0] is not None]
            change = table_value(ends[0], 0) if ends else None
        else:
            pair = _ends(indicator, reading, subject)
            table = self.queries.over_years([indicator], [subject], [Values(pair)])
            text = over_years(table, say)
            [row] = table.rows
            change = None
            if len(row.cells) == 2 and None not in row.cells:
                change = table_value(row, 1) - table_value(row, 0)
        if change is None:
            return None
        is_right = change > 0 if course.rises else change < 0
        if not course.is_whether:
            if is_right:
                return None
            return (table, text)
        return table, f"{say('Yes.') if is_right else say('No.')} {text}"

    def _indicator(
        self,
        course: Course,
        subject: str,
        scope: Scope,
        request: RequestContext | None,
    ) -> IndicatorFigures | None:
        """Return the figures of the indicator that has all words of the question: a
        rate of growth before what grows.
        """
        topic = measured(course.topic)
        tables = self.queries.tables
        for words in (f"{topic} {GROWTH}", topic):
            meant = tables.meant(words, scope, request)
            if meant is None:
                continue
            names = words_of(*meant, self.queries.glossary(), self.terms)
            if not names.issuperset(self.terms(words)):
                continue
            pairs = tables.indicators(scope)
            return tables.measured(*meant, pairs, scope, [subject])
        return None


def words_of(
    heading: str,
    label: str,
    glossary: Sequence[GlossaryEntry],
    terms: Callable[[str], Sequence[str]],
) -> set[str]:
    """Return the words of an indicator, and those that the glossary has for it."""
    phrases = [heading, label]
    for entry in glossary:
        if (entry.heading, entry.label) == (heading, label):
            phrases += [entry.term, *entry.other_words]
    return set(terms(" ".join(phrases)))


def _ends(
    indicator: IndicatorFigures, reading: Reading, subject: str
) -> tuple[int, ...]:
    """Return the first and the last year that are compared: those of the question, up
    to the newest; of one year it and the one before.
    """
    figures = indicator.by_subject.get(subject, ())
    years = [year_of(figure) for figure in figures] or [0]
    named = reading.figure_years
    first = min([year.gte for year in named] or years[-1:])
    last = max([year.lte or years[-1] for year in named] or years[-1:])
    if first == last:
        first = max([year for year in years if year < last], default=first)
    return first, last
