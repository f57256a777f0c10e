"""The indicators of a library: what each is called and means, who has it, and what
later editions revised.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ..domain import Scope
from ..domain.errors import NotFoundError
from ..domain.figures import (
    GlossaryEntry,
    Indicators,
    ReportedFigure,
    indicator_name,
    newest_marked,
)
from ..domain.tables import Texts
from .figure_queries import FigureQueries

MAX_REVISIONS = 100
"""Revised figures that a page lists."""
NO_ENTRY = GlossaryEntry("", "")
_BETWEEN_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class IndicatorSummary:
    """``slug``: its name in addresses. ``subjects``: the number of countries, or rows
    of tables, that have it. ``local_name``: what the glossary calls it in the language
    of the page; "" = it does not say.
    """

    name: str
    slug: str
    meaning: str
    subjects: int
    local_name: str


@dataclass(frozen=True, slots=True)
class Revision:
    """A figure that a later edition states otherwise for the same year."""

    former: ReportedFigure
    figure: ReportedFigure


@dataclass(frozen=True, slots=True)
class IndicatorPage:
    """``newest``: the newest figure of each subject, by its name. ``revisions``: the
    latest years first.
    """

    name: str
    slug: str
    meaning: str
    other_words: Texts
    newest: Sequence[ReportedFigure]
    revisions: Sequence[Revision]


def slug_of(name: str) -> str:
    """Return a name for addresses: "inflation-rate-consumer-prices"."""
    return _BETWEEN_WORDS.sub("-", name.casefold()).strip("-")


@dataclass(frozen=True, slots=True)
class IndicatorCatalog:
    """Lists and describes the indicators that ``queries`` computes with."""

    queries: FigureQueries

    def summaries(
        self, scope: Scope, language: str, text: str = ""
    ) -> list[IndicatorSummary]:
        """Return the indicators in a scope whose name has a text: those that people ask
        for most, then those that most subjects have. ``language``: of their local
        names.
        """
        pairs = self.queries.tables.indicators(scope)
        headings = self.queries.tables.most_asked(scope)
        asked = {heading: place for place, heading in enumerate(headings)}
        ordered = sorted(
            _pairs_of(pairs),
            key=lambda pair: (
                bool(pair[1]),
                asked.get(pair[0], len(asked)),
                -pairs[pair[0]][pair[1]],
                pair,
            ),
        )
        entries = self._entries()
        summaries = []
        for heading, label in ordered:
            name = indicator_name(heading, label)
            if text.casefold() in name.casefold():
                entry = entries.get((heading, label), NO_ENTRY)
                local_names = entry.translations.get(language, ())
                summaries.append(
                    IndicatorSummary(
                        name=name,
                        slug=slug_of(name),
                        meaning=entry.meaning,
                        subjects=pairs[heading][label],
                        local_name=next(iter(local_names), ""),
                    )
                )
        return summaries

    def page(self, slug: str, scope: Scope) -> IndicatorPage:
        """Return what the reports in a scope have of an indicator. Raises
        NotFoundError: none has it.
        """
        tables = self.queries.tables
        pairs = tables.indicators(scope)
        for heading, label in _pairs_of(pairs):
            if slug_of(indicator_name(heading, label)) == slug:
                break
        else:
            raise NotFoundError(f"No report here has an indicator {slug[:200]!r}.")
        measured = tables.measured(heading, label, pairs, scope, ())
        newest = []
        for subject in sorted(measured.by_subject):
            figure = measured.newest(subject)
            if figure is not None:
                newest.append(figure)
        entry = self._entries().get((heading, label), NO_ENTRY)
        stated = [
            figure
            for figure in tables.find(scope, heading)
            if figure.label == label and figure.year is not None
        ]
        return IndicatorPage(
            measured.name,
            slug,
            entry.meaning,
            tuple(word for word in (entry.term, *entry.other_words) if word),
            newest,
            _revisions(stated)[:MAX_REVISIONS],
        )

    def _entries(self) -> dict[tuple[str, str], GlossaryEntry]:
        """Return the first entry of the glossary for each heading and label."""
        entries: dict[tuple[str, str], GlossaryEntry] = {}
        for entry in self.queries.glossary():
            entries.setdefault((entry.heading, entry.label), entry)
        return entries


def _pairs_of(pairs: Indicators) -> list[tuple[str, str]]:
    return [(heading, label) for heading in pairs for label in pairs[heading]]


def _revisions(figures: Sequence[ReportedFigure]) -> list[Revision]:
    """Return what later editions state otherwise, the latest years first. A table that
    gives several figures of one year in one report revises none.
    """
    by_key: dict[tuple[str, int | None, str], list[ReportedFigure]] = {}
    for figure in newest_marked(figures):
        key = (figure.subject, figure.year, figure.unit)
        by_key.setdefault(key, []).append(figure)
    revisions = []
    for same in by_key.values():
        editions = {str(figure.edition) for figure in same}
        if len(editions) < len(same):
            continue
        same.sort(key=lambda figure: str(figure.edition))
        for former, figure in pairwise(same):
            if former.value != figure.value:
                revisions.append(Revision(replace(former, newest=False), figure))
    revisions.sort(key=lambda one: (-(one.figure.year or 0), one.figure.subject))
    return revisions
