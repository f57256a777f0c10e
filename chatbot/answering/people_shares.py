"""The share of the inhabitants that a question counts: "How many people use the
internet?" asks for the share of internet users times the population.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..domain import ReportedFigure, Scope
from ..domain.figures import indicator_name
from ..domain.request import RequestContext
from ..domain.scope import Reading
from ..language.reported_figures import year_of
from ..language.units import PERCENT
from ..questions.ages import Ages, ages_of_label, read_ages
from ..questions.counted import says_no_more_of_people
from ..questions.reading import remove_names
from ..search.indicators import TOTAL
from .figure_queries import FigureQueries
from .key_figures import GROUPS_OF_PEOPLE, base_of, is_of_population

WORDS_FOR_BASES = {
    "labour": "the labour force",
    "young_labour": "the labour force aged 15 to 24",
    "adults": "adults",
    "children": "children under five",
    "women_of_age": "women aged 15 to 49",
    "urban": "the people in towns",
    "rural": "the people in the countryside",
    "men": "men",
    "women": "women",
}
"""Words for those of whom a share is, by their names in `key_figures.toml`."""
_SHARE_OF_ALL = frozenset({"percent", "per", "cent", "share"})


@dataclass(frozen=True, slots=True)
class PeopleShares:
    """Finds shares of the inhabitants among the indicators in a scope."""

    queries: FigureQueries
    terms: Callable[[str], Sequence[str]]
    scope: Scope

    def of_ages(self, topic: str) -> list[str]:
        """Return the age groups that are the ages of a topic together, which has no
        word for more than people of these ages; none where no groups are.
        """
        ages = read_ages(topic)
        if ages is None:
            return []
        if not says_no_more_of_people(f"{topic[: ages.start]} {topic[ages.end :]}"):
            return []
        for heading in self.queries.tables.indicators(self.scope):
            if is_of_population(heading, self.terms):
                groups = _filling(ages, self.queries.tables.find(self.scope, heading))
                if groups:
                    return groups
        return []

    def by_glossary(self, reading: Reading) -> str:
        """Return the share of all inhabitants that the glossary calls by words of a
        question, the one with most of them; "" where it calls none so, or two.
        """
        words = set(self.terms(remove_names(reading.text, reading.names)))
        people = set(self.terms("people persons inhabitants live"))
        found: dict[int, set[str]] = defaultdict(set)
        for entry in self.queries.glossary():
            if not is_of_population(entry.heading, self.terms):
                continue
            for phrase in (entry.term, *entry.other_words):
                of_phrase = set(self.terms(phrase))
                # "Peoples" alone is the word for those who are counted.
                if of_phrase <= words and not of_phrase <= people:
                    share = self.whole_share(entry.heading, entry.label)
                    found[len(of_phrase) if share else 0].add(share)
        longest = found[max(found, default=0)]
        if len(longest) == 1:
            return longest.pop()
        return ""

    def whole_share(self, heading: str, label: str) -> str:
        """Return the name of a figure that is a share of all inhabitants, or of the
        newest one under its heading that is; "" without one.
        """
        figures = self.queries.tables.find(self.scope, heading)
        is_whole = self._is_whole(heading, label)
        shares = []
        for figure in figures:
            is_meant = figure.label == label
            if is_whole and self._is_whole(heading, figure.label):
                is_meant = True
            if is_meant and self._is_of_all(figure):
                shares.append(figure)
        if not shares:
            return ""
        newest = max(shares, key=year_of)
        return indicator_name(heading, newest.label)

    def others(
        self, topic: str, request: RequestContext | None
    ) -> tuple[str, str] | None:
        """Return the share that a topic surely means and that is one of other people,
        with these, "" where nobody knows whom; None where it means none.
        """
        meant = self.queries.tables.meant(topic, self.scope, request)
        if meant is None:
            return None
        heading, label = meant
        for figure in self.queries.tables.find(self.scope, heading):
            if figure.label != label:
                continue
            if figure.unit != PERCENT or self._is_of_all(figure):
                return None
            people = self._group_of(figure) or base_of(heading, self.terms)
            return indicator_name(heading, label), people
        return None

    def _is_of_all(self, figure: ReportedFigure) -> bool:
        """Return whether a figure is a share of all inhabitants. Of the people in
        towns, or of the women, a share is none.
        """
        if figure.unit != PERCENT or self._group_of(figure):
            return False
        if is_of_population(figure.heading, self.terms):
            return True
        words = self.terms(f"{figure.heading} {figure.label} {figure.text}")
        return self.terms("population")[0] in words

    def _group_of(self, figure: ReportedFigure) -> str:
        """Return the people that a part of a figure is about, as "women"; "" where it
        is about all, or about who belongs to that group.
        """
        if is_of_population(figure.heading, self.terms, of_groups=True):
            return ""
        words = self.terms(figure.label)
        for word, people in GROUPS_OF_PEOPLE.items():
            if self.terms(word)[0] in words:
                return people
        return ""

    def _is_whole(self, heading: str, label: str) -> bool:
        """Return whether a label says no more than its heading, or that it is a share
        of all. "Other" says nothing, and is no whole.
        """
        words = set(self.terms(label))
        whole = {*_SHARE_OF_ALL, TOTAL, *self.terms(f"population {heading}")}
        return not label or (bool(words) and words <= whole)


def _filling(ages: Ages, figures: Sequence[ReportedFigure]) -> list[str]:
    """Return the names of the age groups, the newest ones, that fill a range without a
    gap; none where they do not.
    """
    by_start: dict[int, tuple[ReportedFigure, Ages]] = {}
    for figure in sorted(figures, key=year_of):
        group = ages_of_label(figure.label)
        if group is not None:
            by_start[group.lowest] = (figure, group)
    names: list[str] = []
    start = ages.lowest
    if start not in by_start and ages.highest is None:
        # "Older than 64" begins at 65.
        start += 1
    while start in by_start:
        figure, group = by_start[start]
        names.append(indicator_name(figure.heading, figure.label))
        if group.highest == ages.highest:
            return names
        if group.highest is None:
            break
        start = group.highest + 1
    return []
