"""The share of the inhabitants that a question counts: "How many people use the
internet?" asks for the share of internet users times the population.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..domain import Scope
from ..domain.figures import indicator_name
from ..domain.request import RequestContext
from ..domain.scope import Reading
from ..language.units import PERCENT
from ..questions.ages import Ages, ages_of_label, read_ages
from ..questions.counted import says_no_more_of_people
from ..questions.reading import remove_names
from ..search.indicators import TOTAL
from .figure_queries import FigureQueries
from .figure_tables import IndicatorFigures
from .key_figures import GROUPS_OF_PEOPLE, base_of, is_of_population

_SHARE_OF_ALL = frozenset({"percent", "per", "cent", "share"})


@dataclass(frozen=True, slots=True)
class PeopleShares:
    """Finds shares of the inhabitants among the indicators in a scope."""

    queries: FigureQueries
    terms: Callable[[str], Sequence[str]]
    scope: Scope
    subjects: Sequence[str]

    def of_ages(self, topic: str) -> list[str]:
        """Return the age groups that are the ages of a topic together, which has no
        word for more than people of these ages; none where no groups are.
        """
        ages = read_ages(topic)
        if ages is None:
            return []
        rest = f"{topic[: ages.start]} {topic[ages.end :]}"
        if not says_no_more_of_people(rest):
            return []
        pairs = self.queries.tables.indicators(self.scope)
        for heading, labels in pairs.items():
            if not is_of_population(heading, self.terms):
                continue
            groups = [self._measured(heading, label) for label in labels]
            chosen = _filling(ages, [one for one in groups if one.by_subject])
            if chosen:
                return chosen
        return []

    def by_glossary(self, reading: Reading) -> str:
        """Return the share of all inhabitants that the glossary calls by words of a
        question, the one with most of them; "" where it calls none so, or two.
        """
        words = set(self.terms(remove_names(reading.text, reading.names)))
        people = set(self.terms("people persons inhabitants live"))
        pairs = self.queries.tables.indicators(self.scope)
        found: dict[str, int] = {}
        for entry in self.queries.glossary():
            if entry.heading not in pairs:
                continue
            if not is_of_population(entry.heading, self.terms):
                continue
            longest = 0
            for phrase in (entry.term, *entry.other_words):
                of_phrase = set(self.terms(phrase))
                # "Peoples" alone is the word for those who are counted.
                if of_phrase <= words and not of_phrase <= people:
                    longest = max(longest, len(of_phrase))
            share = ""
            if longest:
                share = self.whole_share(entry.heading, entry.label)
            if share:
                found[share] = max(longest, found.get(share, 0))
        most = max(found.values(), default=0)
        best = [share for share, count in found.items() if count == most]
        if len(best) == 1:
            return best[0]
        return ""

    def whole_share(self, heading: str, label: str) -> str:
        """Return the name of a figure that is a share of all inhabitants, or of the
        share under its heading that is; "" without one. Of the people in towns, or of
        the women, a share is none of all.
        """
        labels = self.queries.tables.indicators(self.scope).get(heading, {})
        candidates = [label]
        if label in ("", *labels) and self._is_whole(heading, label):
            candidates += [one for one in labels if self._is_whole(heading, one)]
        newest = (0, "")
        for candidate in candidates:
            measured = self._measured(heading, candidate)
            if self.is_of_all(measured) and self._is_named(measured, candidate):
                newest = max(newest, (measured.newest_year, measured.name))
        return newest[1]

    def is_of_all(self, share: IndicatorFigures) -> bool:
        """Return whether an indicator is a share of all inhabitants."""
        if share.units != {PERCENT} or self.group_of(share):
            return False
        if is_of_population(share.heading, self.terms):
            return True
        population = self.queries.tables.population(self.scope)
        if population is None:
            return False
        texts = [share.name]
        for figures in share.by_subject.values():
            texts += [figure.text for figure in figures]
        word = self.terms(indicator_name(*population))[0]
        return word in self.terms(" ".join(texts))

    def group_of(self, share: IndicatorFigures) -> str:
        """Return the people that a part of a figure is about, as "women"; "" where it
        is about all, or about who belongs to that group.
        """
        if is_of_population(share.heading, self.terms, of_groups=True):
            return ""
        words = set(self.terms(share.label))
        for word, people in GROUPS_OF_PEOPLE.items():
            if not words.isdisjoint(self.terms(word)):
                return people
        return ""

    def others(
        self, topic: str, request: RequestContext | None
    ) -> tuple[str, str] | None:
        """Return the share that a topic surely means and that is one of other people,
        with these, "" where nobody knows whom; None where it means none.
        """
        meant = self.queries.tables.meant(topic, self.scope, request)
        if meant is None:
            return None
        share = self._measured(*meant)
        if share.units != {PERCENT} or self.is_of_all(share):
            return None
        people = self.group_of(share) or base_of(share.heading, self.terms)
        return share.name, people

    def _measured(self, heading: str, label: str) -> IndicatorFigures:
        tables = self.queries.tables
        pairs = tables.indicators(self.scope)
        return tables.measured(heading, label, pairs, self.scope, self.subjects)

    def _is_named(self, measured: IndicatorFigures, label: str) -> bool:
        """Return whether figures have a label, or are as whole as it is: those of the
        only part of a heading are none of the heading.
        """
        for figures in measured.by_subject.values():
            for figure in figures:
                is_whole = self._is_whole(figure.heading, figure.label)
                if figure.label != label and not is_whole:
                    return False
        return True

    def _is_whole(self, heading: str, label: str) -> bool:
        """Return whether a label says no more than its heading, or that it is a share
        of all.
        """
        words = set(self.terms(label))
        if label and not words:
            # "Other" says nothing, and is no whole.
            return False
        words -= _SHARE_OF_ALL
        words -= set(self.terms(heading))
        return words <= {TOTAL, *self.terms("population")}


def _filling(ages: Ages, groups: Sequence[IndicatorFigures]) -> list[str]:
    """Return the names of the age groups, the newest ones, that fill a range without a
    gap; none where they do not.
    """
    by_start: dict[int, tuple[int, IndicatorFigures, int | None]] = {}
    for group in groups:
        ages_of_group = ages_of_label(group.label)
        if ages_of_group is None:
            continue
        start = ages_of_group.lowest
        known = by_start.get(start)
        if known is None or group.newest_year > known[0]:
            by_start[start] = (group.newest_year, group, ages_of_group.highest)
    names: list[str] = []
    start = ages.lowest
    if start not in by_start and ages.highest is None:
        # "Older than 64" begins at 65.
        start += 1
    while start in by_start:
        _, group, highest = by_start[start]
        names.append(group.name)
        if highest == ages.highest:
            return names
        if highest is None:
            break
        start = highest + 1
    return []
