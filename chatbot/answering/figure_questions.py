"""A question as a `FigureQuery`: what it wants done with figures, of which countries,
indicators and years.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from ..domain import Scope
from ..domain.errors import InvalidRequestError
from ..domain.figure_query import (
    Aggregate,
    AnyStep,
    Convert,
    Count,
    Difference,
    FigureQuery,
    FigureTable,
    Filter,
    Growth,
    Rank,
    Ratio,
    ShareOf,
)
from ..domain.figures import GlossaryEntry, indicator_name
from ..domain.request import RequestContext
from ..domain.scope import Reading
from ..language.words import Say
from ..questions.kinds import Request
from ..questions.operations import Operation, says_nothing, says_people
from ..search.indicators import TOTAL
from .figure_premises import words_of
from .figure_queries import FigureQueries, named_pair
from .figure_sentences import by_value, higher, table_value

STEPS: dict[str, AnyStep] = {
    "difference": Difference(),
    "ratio": Ratio(),
    "per_cent": Growth(percent=True),
    "gain": Growth(),
}
"""By what a question wants."""


RANKED = 5
"""Countries of a ranking that does not say how many."""


def steps_of(request: Request) -> tuple[AnyStep, ...]:
    """Return the steps of a question about all countries: one that ranks or filters
    them, counts them, or makes one figure of theirs.
    """
    if request.kind == "aggregate":
        return (Aggregate(op="mean" if request.average else "sum"),)
    bound = request.bound
    if bound is not None and request.kind != "ranking":
        compare: Literal[">", ">=", "<", "<="] = ">" if bound.above else "<"
        if bound.inclusive:
            compare = ">=" if bound.above else "<="
        inside = Filter(compare=compare, value=bound.value, negated=bound.negated)
        # The last step is what is said.
        return (Rank(lowest=not bound.above), inside)
    if request.kind == "count":
        return (Count(),)
    return (Rank(lowest=request.lowest, most=request.most or RANKED),)


@dataclass(frozen=True, slots=True)
class FigureQuestions:
    """Makes queries of the questions of callers who see the same reports."""

    queries: FigureQueries
    terms: Callable[[str], Sequence[str]]

    def answer(
        self,
        operation: Operation,
        reading: Reading,
        subjects: Sequence[str],
        scope: Scope,
        request: RequestContext | None = None,
    ) -> tuple[FigureQuery, FigureTable] | None:
        """Return the query of a question about these subjects, and its table; None
        where a topic surely means no figure, or the figures do not go together: their
        units differ, or they have none of those asked for.
        """
        query = self._query(operation, reading, subjects, scope, request)
        if query is None:
            return None
        for in_unit in _in_units(query, operation):
            with suppress(InvalidRequestError):
                return in_unit, self.queries.run(in_unit, scope)
        of_whole = self._of_whole(query, operation, scope, request)
        if of_whole is None:
            return None
        return self.answer(of_whole, reading, subjects, scope, request)

    def _of_whole(
        self,
        query: FigureQuery,
        operation: Operation,
        scope: Scope,
        request: RequestContext | None,
    ) -> Operation | None:
        """Return the operation with the whole that a figure is a share of times the
        share: "60% of total population" in people. None where it is no share, or the
        whole is no figure.
        """
        if not operation.units or "[" in query.indicators[0]:
            return None
        table = self.queries.run(query, scope)
        cells = [row.cells[0] for row in table.rows if row.cells[0] is not None]
        if not cells:
            return None
        _, of, whole = cells[0].text.partition("% of ")
        if not of:
            return None
        names = self._indicators(whole, operation, scope, request)
        if not names:
            return None
        return replace(operation, topics=(f"[{query.indicators[0]}] * [{names[0]}]",))

    def _query(
        self,
        operation: Operation,
        reading: Reading,
        subjects: Sequence[str],
        scope: Scope,
        request: RequestContext | None,
    ) -> FigureQuery | None:
        """Return the query without its unit; None where a topic means no figure."""
        indicators: list[str] = []
        for topic in operation.topics:
            meant = self._indicators(topic, operation, scope, request)
            if not meant:
                return None
            indicators += meant
        steps: list[AnyStep] = []
        if operation.wanted in {"each", "share"}:
            indicators = self._of_two(indicators[0], operation, subjects, scope)
            if not indicators:
                return None
            if operation.wanted == "share":
                steps.append(ShareOf(indicator=indicators[1]))
        if operation.wanted in STEPS:
            step = STEPS[operation.wanted]
            if len(subjects) > 1:
                step = step.model_copy(update={"of": "subjects"})
            if operation.wanted == "per_cent" and len(subjects) > 1:
                # "By how much is A above B": B is what is compared with.
                subjects = subjects[::-1]
            steps.append(step)
        years = [year for named in reading.figure_years for year in named.ends]
        editions = [year for named in reading.editions for year in named.ends]
        if len(editions) < 2:
            # One edition is a scope, which the stage `scope` has set.
            editions = []
        return FigureQuery(
            indicators=tuple(dict.fromkeys(indicators)),
            subjects=tuple(subjects),
            years=tuple(dict.fromkeys(years)),
            editions=tuple(dict.fromkeys(editions)),
            same_year=operation.wanted != "verdict",
            steps=tuple(steps),
        )

    def _indicators(
        self,
        topic: str,
        operation: Operation,
        scope: Scope,
        request: RequestContext | None,
    ) -> list[str]:
        """Return the names of what a topic surely means."""
        if "[" in topic:
            return [topic]
        derived = self._derived(topic)
        if derived is not None:
            return [derived.term]
        tables = self.queries.tables
        pairs = []
        if says_people(topic):
            people = tables.population(scope)
            if people is not None:
                pairs = [people]
        elif not says_nothing(topic):
            meant = tables.meant(topic, scope, request)
            if meant and self._names_label(topic, *meant):
                pairs = [meant]
        elif operation.wanted in {"verdict", "ratio", "convert"}:
            pairs = tables.sizes(scope)
        return [indicator_name(heading, label) for heading, label in pairs]

    def _of_two(
        self,
        name: str,
        operation: Operation,
        subjects: Sequence[str],
        scope: Scope,
    ) -> list[str]:
        """Return a figure and the whole that it is a part of, or the figure of each
        inhabitant as a formula; none where the figure is a share or a rate already.
        """
        tables = self.queries.tables
        pairs = tables.indicators(scope)
        pair = named_pair(name, pairs)
        people = tables.population(scope)
        if pair is None or people is None:
            return []
        population = indicator_name(*people)
        if name == population:
            return []
        part = tables.measured(*pair, pairs, scope, subjects)
        if not part.is_amount:
            return []
        if operation.wanted == "each":
            return [f"[{name}] / [{population}]"]
        heading, label = pair
        for other in pairs[heading]:
            if other == label or (other and TOTAL not in self.terms(other)):
                continue
            whole = tables.measured(heading, other, pairs, scope, subjects)
            if whole.units == part.units:
                return [name, whole.name]
        if self.terms(population)[0] in self.terms(heading):
            return [name, population]
        return []

    def _names_label(self, topic: str, heading: str, label: str) -> bool:
        """Return whether a topic has a word for the label: of a heading without a
        figure of its own, another label might be meant as well.
        """
        if not label:
            return True
        words = words_of(heading, label, self.queries.glossary(), self.terms)
        words.difference_update(self.terms(heading))
        return not words.isdisjoint(self.terms(topic))

    def is_derived(self, topic: str) -> bool:
        """Return whether a topic names a derived figure."""
        return self._derived(topic) is not None

    def _derived(self, topic: str) -> GlossaryEntry | None:
        """Return the derived figure whose words are all in a topic: of several the one
        with most words.
        """
        words = set(self.terms(topic))
        best: tuple[int, GlossaryEntry | None] = (0, None)
        for entry in self.queries.glossary():
            if not entry.formula:
                continue
            for phrase in (entry.term, *entry.other_words):
                of_phrase = set(self.terms(phrase))
                if of_phrase and of_phrase <= words and len(of_phrase) > best[0]:
                    best = (len(of_phrase), entry)
        return best[1]


def _in_units(query: FigureQuery, operation: Operation) -> Iterator[FigureQuery]:
    """Yield a query for each way that its unit may be meant, of the one indicator that
    may have it; itself without one.
    """
    if not operation.units:
        yield query
    for unit in operation.units:
        steps = (*query.steps, Convert(unit=unit, decimals=operation.decimals))
        for name in query.indicators:
            indicators = query.indicators
            if operation.wanted == "convert":
                indicators = (name,)
            yield query.model_copy(update={"steps": steps, "indicators": indicators})


def verdict(operation: Operation, table: FigureTable, say: Say) -> str:
    """Return which of two subjects is more, or less where that is asked, with yes or no
    in front; one sentence an indicator, "" where a figure is missing.
    """
    sentences = []
    firsts = set()
    for number in range(len(table.columns)):
        rows = by_value(table, number)
        if len(rows) < 2:
            continue
        sentences.append(higher(table, number, say))
        values = [table_value(row, number) for row in rows]
        winner = rows[-1] if operation.fewer else rows[0]
        firsts.add("" if values[0] == values[1] else winner.subject)
    if operation.is_whether and len(firsts) == 1:
        is_so = firsts == {table.rows[0].subject}
        sentences.insert(0, say("Yes.") if is_so else say("No."))
    return " ".join(sentences)
