"""A question as a `FigureQuery`: what it wants done with figures, of which countries,
indicators and years.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from ..domain.formulas import read_formula
from ..domain.request import RequestContext
from ..domain.scope import Reading
from ..language.words import Say
from ..questions.ages import read_ages
from ..questions.counted import says_nothing, says_people
from ..questions.kinds import Request, topic_of_figures
from ..questions.operations import (
    BY_PEOPLE,
    Operation,
    read_operation,
)
from ..questions.telling_words import telling_words
from ..search.indicators import TOTAL
from .figure_premises import words_of
from .figure_queries import FigureQueries, named_pair
from .figure_sentences import by_value, higher, table_value
from .figure_tables import IndicatorFigures
from .people_shares import PeopleShares

STEPS: dict[str, AnyStep] = {
    "difference": Difference(),
    "ratio": Ratio(),
    "per_cent": Growth(percent=True),
    "gain": Growth(),
}
"""By what a question wants."""
SIGNS = {"difference": " - ", "ratio": " / ", "sum": " + "}
"""What stands between two figures in the formula that computes what is asked."""


_PER_PEOPLE = re.compile(
    r"per (?P<people>\d{1,3}(?:,?\d{3})*) "
    r"(?:people|persons|inhabitants|residents|citizens)$",
    re.IGNORECASE,
)
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
        compare: Literal[">", ">=", "<", "<=", "="] = ">" if bound.above else "<"
        if bound.inclusive:
            compare = ">=" if bound.above else "<="
        if bound.exact:
            compare = "="
        inside = Filter(
            compare=compare, value=bound.value, unit=bound.unit, negated=bound.negated
        )
        # The last step is what is said.
        return (Rank(lowest=not bound.above), inside)
    if request.kind == "count":
        return (Count(),)
    if request.of:
        return (Rank(lowest=request.lowest, of=request.of),)
    most = request.most or max(RANKED, request.place)
    return (Rank(lowest=request.lowest, most=most, place=request.place),)


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
                table = self.queries.run(in_unit, scope)
                # Nothing is nothing in any unit: its passage says why.
                is_none = operation.wanted == "convert" and not _has_values(table)
                if is_none:
                    return None
                return (in_unit, table)
        again = self._of_whole(query, operation, scope, request)
        again = again or _of_people(operation)
        if again is None:
            return None
        return self.answer(again, reading, subjects, scope, request)

    def of_all(
        self,
        wanted: Request,
        scope: Scope,
        request: RequestContext | None = None,
    ) -> tuple[FigureQuery, FigureTable] | None:
        """Return the query of a ranking, a filter or a count of what is computed of
        each country ("emissions per head", "the gap between exports and imports"), and
        its table; None where nothing is, or no figures are surely meant.
        """
        operation = read_operation(Reading(topic_of_figures(wanted.topic)), subjects=1)
        sign = SIGNS.get(operation.wanted)
        is_computed = sign is not None or operation.wanted in {"each", "dense"}
        if not is_computed and not self.derived_terms(operation.topics):
            # What its topics mean is embedded only where it is computed with.
            return None
        names = self._of_topics(operation, scope, request)
        if len(set(names)) != len(operation.topics):
            return None
        if operation.wanted == "each":
            names = self._of_two(names[0], operation, (), scope)
        elif operation.wanted == "dense":
            names = self._of_area(names[0], scope)
        elif sign:
            names = [_joined(names, sign)]
        if not names:
            return None
        query = FigureQuery(indicators=tuple(names[:1]), steps=steps_of(wanted))
        with suppress(InvalidRequestError):
            return query, self.queries.run(query, scope)
        return None

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
        try:
            table = self.queries.run(query, scope)
        except InvalidRequestError:
            # A derived figure needs more than the library has.
            return None
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
        indicators = self._combined(operation, reading, subjects, scope, request)
        if indicators is None:
            return None
        steps: list[AnyStep] = []
        if operation.wanted == "share" and len(indicators) > 1:
            steps.append(ShareOf(indicator=indicators[1]))
        if operation.wanted in STEPS:
            steps.append(_step_between(operation, subjects))
            subjects = _in_order_of_step(operation, subjects)
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

    def _combined(
        self,
        operation: Operation,
        reading: Reading,
        subjects: Sequence[str],
        scope: Scope,
        request: RequestContext | None,
    ) -> list[str] | None:
        """Return what the topics of an operation mean, as the formula that it asks for;
        None where one means no figure, or there is no other to compute it with.
        """
        if operation.wanted == "count":
            return self._counted(operation, reading, subjects, scope, request) or None
        if operation.wanted == "share":
            return self._share(operation, subjects, scope, request) or None
        indicators = self._of_topics(operation, scope, request)
        if len(set(indicators)) < len(operation.topics):
            return None
        if operation.wanted == "sum":
            return [_joined(indicators, SIGNS["sum"])]
        if operation.wanted == "dense":
            return self._of_area(indicators[0], scope) or None
        if operation.wanted == "each":
            return self._of_two(indicators[0], operation, subjects, scope) or None
        return indicators

    def _share(
        self,
        operation: Operation,
        subjects: Sequence[str],
        scope: Scope,
        request: RequestContext | None,
    ) -> list[str]:
        """Return the share that a question asks for, or the part and its whole; none
        where neither is surely meant.
        """
        of_ages = PeopleShares(self.queries, self.terms, scope).of_ages(
            operation.topics[0]
        )
        if of_ages:
            # Age groups are shares of all inhabitants.
            return [_joined(of_ages, SIGNS["sum"])] if of_ages[1:] else of_ages
        indicators = self._of_topics(operation, scope, request)
        if not indicators or self._derived(operation.topics[0]):
            return indicators
        return self._of_two(indicators[0], operation, subjects, scope)

    def _of_topics(
        self, operation: Operation, scope: Scope, request: RequestContext | None
    ) -> list[str]:
        """Return the indicators that the topics of an operation mean, in their order;
        none where one of them surely means none. Of one that says too little the part
        beside the other one is meant: "Women live longer than men".
        """
        meant = []
        for topic in operation.topics:
            meant.append(self._indicators(topic, operation, scope, request))
        indicators: list[str] = []
        for topic, names in zip(operation.topics, meant, strict=True):
            others = [name for found in meant for name in found]
            found = names or self._beside(topic, others, scope, request)
            if not found:
                return []
            indicators += found
        return indicators

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
            return [self._with_parts(derived, topic, scope)]
        tables = self.queries.tables
        pairs = []
        named = self._named_part(topic, scope)
        if named:
            return [named]
        if says_people(topic):
            people = tables.population(scope)
            if people is not None:
                pairs = [people]
        elif not says_nothing(topic):
            meant = tables.meant(topic, scope, request)
            if meant and len(operation.topics) > 1:
                meant = (meant[0], self._part_told(topic, *meant, scope))
            if meant and self._names_label(topic, *meant):
                pairs = [meant]
        elif operation.wanted in {"verdict", "ratio", "convert"}:
            pairs = tables.sizes(scope)
        return [indicator_name(heading, label) for heading, label in pairs]

    def _part_told(self, topic: str, heading: str, label: str, scope: Scope) -> str:
        """Return the one label of a heading that a topic has all words of, else
        ``label``: of two figures that are set against each other, none is the whole
        where a part is named.
        """
        words = set(self.terms(topic)).difference(self.terms(heading))
        labels = self.queries.tables.indicators(scope)[heading]
        told = [one for one in labels if words.issuperset(self.terms(one) or [one])]
        if len(told) == 1:
            return told[0]
        return label

    def _named_part(self, topic: str, scope: Scope) -> str:
        """Return the one part of a heading that has a name, as a city has, and that a
        topic names; "" without one.
        """
        words = set(self.terms(topic))
        names = []
        pairs = self.queries.tables.indicators(scope)
        for heading, labels in pairs.items():
            for label, subjects in labels.items():
                is_name = label[:1].isupper() and subjects == 1
                if is_name and words.issuperset(self.terms(label) or [label]):
                    names.append(indicator_name(heading, label))
        if len(names) == 1:
            return names[0]
        return ""

    def _of_area(self, name: str, scope: Scope) -> list[str]:
        """Return a figure of each unit of land, as a formula; none where the library
        has no area.
        """
        if "[" in name or self._derived(name) is not None:
            # It is of land already.
            return [name]
        sizes = self.queries.tables.sizes(scope)
        if len(sizes) < 2:
            return []
        area, people = (indicator_name(*pair) for pair in sizes)
        if name == people:
            # A density is that of the land, if the library says so.
            pairs = self.queries.tables.indicators(scope)
            for entry in self.queries.glossary():
                if not entry.formula.startswith(f"[{people}] / [{sizes[0][0]}"):
                    continue
                names = read_formula(entry.formula).names
                if all(named_pair(name, pairs) for name in names):
                    return [entry.term]
        return [f"[{name}] / [{area}]"]

    def _beside(
        self,
        topic: str,
        indicators: Sequence[str],
        scope: Scope,
        request: RequestContext | None,
    ) -> list[str]:
        """Return the part of an indicator's heading that a topic names: "men" beside
        "Life expectancy at birth: female"; none where it names none.
        """
        tables = self.queries.tables
        pairs = tables.indicators(scope)
        for name in indicators:
            pair = named_pair(name, pairs)
            if pair is None:
                continue
            heading, _ = pair
            label = tables.index.label(topic, heading, pairs[heading], request)
            if self._names_label(topic, heading, label) and label:
                return [indicator_name(heading, label)]
        return []

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
        found = self._beside_population(name, subjects, scope)
        if found is None or not found[0].is_amount:
            return []
        part, population = found
        if operation.wanted == "each":
            reported = self._reported_for_each(operation.topics[0], pairs)
            if reported:
                return [reported]
            people = f" * {operation.people}" if operation.people > 1 else ""
            return [f"[{name}] / [{population}]{people}"]
        heading = part.heading
        for other in pairs[heading]:
            if other == part.label or (other and TOTAL not in self.terms(other)):
                continue
            whole = tables.measured(heading, other, pairs, scope, subjects)
            if whole.units == part.units:
                return [name, whole.name]
        if self.terms(population)[0] in self.terms(heading):
            return [name, population]
        return []

    def _beside_population(
        self, name: str, subjects: Sequence[str], scope: Scope
    ) -> tuple[IndicatorFigures, str] | None:
        """Return the figures of an indicator, and the name of the population; None of
        the population itself, and where either is not reported.
        """
        tables = self.queries.tables
        pairs = tables.indicators(scope)
        pair = named_pair(name, pairs)
        counted = tables.population(scope)
        if pair is None or counted is None:
            return None
        population = indicator_name(*counted)
        if name == population:
            return None
        return tables.measured(*pair, pairs, scope, subjects), population

    def _counted(
        self,
        operation: Operation,
        reading: Reading,
        subjects: Sequence[str],
        scope: Scope,
        request: RequestContext | None,
    ) -> list[str]:
        """Return the formula of how many people a share of the population is, or of the
        others; none where a question means no such share.
        """
        counted = self.queries.tables.population(scope)
        if counted is None:
            return []
        shares = PeopleShares(self.queries, self.terms, scope)
        topic = operation.topics[0]
        parts = shares.of_ages(topic)
        share = _joined(parts, SIGNS["sum"])
        if len(parts) > 1:
            share = f"({share})"
        if not parts and read_ages(topic) is None:
            share = self._share_meant(operation, reading, shares, scope, request)
        if not share:
            return []
        people = f"[{indicator_name(*counted)}]"
        if operation.inverse:
            return [f"{people} - {share} * {people}"]
        return [f"{share} * {people}"]

    def _share_meant(
        self,
        operation: Operation,
        reading: Reading,
        shares: PeopleShares,
        scope: Scope,
        request: RequestContext | None,
    ) -> str:
        """Return the share of all inhabitants that a question surely means, in
        brackets; a derived one as it is computed. "" without one.
        """
        topic = operation.topics[0]
        derived = self._derived(topic)
        if derived is not None:
            return f"({derived.formula})"
        share = shares.by_glossary(reading)
        if share:
            return f"[{share}]"
        for name in self._indicators(topic, operation, scope, request):
            pair = named_pair(name, self.queries.tables.indicators(scope))
            if pair is not None:
                share = shares.whole_share(*pair)
        return f"[{share}]" if share else ""

    def share_of_others(
        self,
        operation: Operation,
        subjects: Sequence[str],
        scope: Scope,
        request: RequestContext | None,
    ) -> tuple[FigureQuery, FigureTable, str] | None:
        """Return the share that a question means which counts people, its table and of
        whom it is, "" where nobody knows; None where it means none, or one of all
        inhabitants.
        """
        shares = PeopleShares(self.queries, self.terms, scope)
        found = shares.others(operation.topics[0], request)
        if found is None:
            return None
        name, base = found
        query = FigureQuery(indicators=(name,), subjects=tuple(subjects))
        with suppress(InvalidRequestError):
            return query, self.queries.run(query, scope), base
        return None

    def _reported_for_each(
        self, topic: str, pairs: Mapping[str, Mapping[str, int]]
    ) -> str:
        """Return what reports give for each inhabitant of a topic themselves: "Real GDP
        per capita"; "" where they give nothing.
        """
        words = telling_words(Reading(topic))
        terms_asked = set(self.terms(" ".join(words)))
        for heading, labels in pairs.items():
            if not BY_PEOPLE.search(heading):
                continue
            if terms_asked.issubset(self.terms(heading)):
                return indicator_name(heading, min(labels))
        return ""

    def _names_label(self, topic: str, heading: str, label: str) -> bool:
        """Return whether a topic has a word for the label: of a heading without a
        figure of its own, another label might be meant as well.
        """
        of_label = set(self.terms(label))
        if TOTAL in of_label or of_label.issubset(self.terms(topic)):
            return True
        words = words_of(heading, label, self.queries.glossary(), self.terms)
        words.difference_update(self.terms(heading))
        return not words.isdisjoint(self.terms(topic))

    def derived_terms(self, topics: Sequence[str]) -> Sequence[str]:
        """Return the terms of the derived figures that topics name."""
        derived = [self._derived(topic) for topic in topics]
        return [entry.term for entry in derived if entry is not None]

    def _with_parts(self, entry: GlossaryEntry, topic: str, scope: Scope) -> str:
        """Return the term of a derived figure; its formula where a topic names other
        parts of a heading in it: the total area, not that of the land.
        """
        pairs = self.queries.tables.indicators(scope)
        words = set(self.terms(topic))
        formula = entry.formula
        for name in read_formula(entry.formula).names:
            pair = named_pair(name, pairs)
            if pair is None or not pair[1]:
                continue
            heading, label = pair
            named = set(self.terms(heading))
            for other in pairs[heading]:
                own = set(self.terms(other)) - named or {TOTAL}
                if other != label and own <= words and named <= words:
                    formula = formula.replace(
                        f"[{name}]", f"[{indicator_name(heading, other)}]"
                    )
        if formula == entry.formula:
            return entry.term
        return formula

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


def _joined(names: Sequence[str], sign: str) -> str:
    """Return the formula of figures with a sign between them."""
    return sign.join(f"[{name}]" for name in names)


def _has_values(table: FigureTable) -> bool:
    """Return whether a table has a figure other than zero."""
    cells = [cell for row in table.rows for cell in row.cells]
    return any(cell is not None and cell.value for cell in cells)


def _of_people(operation: Operation) -> Operation | None:
    """Return the operation for a figure of so many people, of one for another unit that
    is none of the figure: "per 1,000 inhabitants"; None of others.
    """
    if operation.wanted != "convert":
        return None
    per = _PER_PEOPLE.match(operation.units[0])
    if per is None:
        return None
    people = int(per["people"].replace(",", ""))
    return replace(operation, wanted="each", units=(), people=people)


def _step_between(operation: Operation, subjects: Sequence[str]) -> AnyStep:
    """Return the step that compares subjects, or the years of a single one."""
    step = STEPS[operation.wanted]
    if len(subjects) > 1:
        return step.model_copy(update={"of": "subjects"})
    return step


def _in_order_of_step(operation: Operation, subjects: Sequence[str]) -> Sequence[str]:
    """Return the subjects with what is compared with where the step expects it."""
    if operation.wanted == "per_cent" and len(subjects) > 1:
        # "By how much is A above B": B is what is compared with.
        subjects = subjects[::-1]
    if operation.inverse:
        subjects = subjects[::-1]
    return subjects


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
        sentences.append(higher(table, number, say, lowest=operation.fewer))
        values = [table_value(row, number) for row in rows]
        winner = rows[-1] if operation.fewer else rows[0]
        firsts.add("" if values[0] == values[1] else winner.subject)
    if operation.is_whether and len(firsts) == 1:
        is_so = firsts == {table.rows[0].subject}
        sentences.insert(0, say("Yes.") if is_so else say("No."))
    return " ".join(sentences)
