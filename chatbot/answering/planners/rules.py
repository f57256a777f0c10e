"""One search for the question as it was read, beside its table of figures (seed 004's
deterministic flow, R-E2).
"""

from collections.abc import Sequence

from ...domain import SearchHit
from ...domain.scope import NamedCountry
from ...language.countries import usual_name
from ...language.zones import zones_in
from ...search.mentions import (
    CANDIDATES,
    are_parts_of_names,
    longer_than_reports,
    names_country,
    with_naming,
    without_namesakes,
)
from ...search.ordering import first_in_both
from ...search.pipeline import Retrieval, with_rank
from ...search.subjects import mentioned_countries
from ...search.zones import body_first
from ..tools import Tools
from ..tools.search import Search
from ..turn import Turn, distinct


class OneSearch:
    """Searches once, for the question itself."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._has_searched = False

    def plan(self, turn: Turn) -> Sequence[Search]:
        if self._has_searched:
            return ()
        self._has_searched = True
        turn.events.step("search", f"Searching {turn.scope.chunks:,} passages")
        question = turn.question
        text = question.search_text
        return [Search(text, text, question.scope, self.top_k(turn), is_alone=True)]

    def keep(self, turn: Turn, results: Sequence[Retrieval | None]) -> None:
        [result] = results
        hits = self.ordered(turn, result.hits) if result else ()
        turn.found.add_all(turn.question.search_text, hits)

    def top_k(self, turn: Turn) -> int:
        """Return how many passages are searched for."""
        return turn.question.top_k

    def ordered(self, turn: Turn, hits: Sequence[SearchHit]) -> Sequence[SearchHit]:
        """Return the hits in the order in which they are shown."""
        return hits


class ByRules(OneSearch):
    """The same, with rules for what was found: what is said of the subject itself comes
    first, and the figures of a table come before the passages, where a model writes. Of
    a country without a report those come first that name it.
    """

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._searches_for_names = False

    def plan(self, turn: Turn) -> Sequence[Search]:
        searches = super().plan(turn)
        if searches or turn.absent is None or self._searches_for_names:
            return searches
        countries = turn.absent.countries
        if any(names_country(hit.chunk, countries) for hit in turn.found.hits):
            return ()
        # What is asked is far nearer to other passages: the names alone find theirs.
        self._searches_for_names = True
        names = ", ".join(usual_name(country.keys[0]) for country in countries)
        return [Search(names, names, turn.question.scope, CANDIDATES, is_alone=True)]

    def keep(self, turn: Turn, results: Sequence[Retrieval | None]) -> None:
        [result] = results
        table = turn.found.table
        if result is None or table is None:
            turn.found.table = None
            super().keep(turn, results)
            return
        hits = self.ordered(turn, result.hits)
        both = distinct([*self._tools.figures.passages_of(table), *hits])
        turn.found.add_all(turn.question.search_text, both)
        turn.found.is_enough = True

    def top_k(self, turn: Turn) -> int:
        most = super().top_k(turn)
        is_longer = bool(longer_than_reports(turn.reading, turn.catalog))
        if turn.absent or is_longer or self._mentioned(turn):
            # Few of the nearest passages may name a country without a report.
            return max(most, CANDIDATES)
        return most

    def ordered(self, turn: Turn, hits: Sequence[SearchHit]) -> Sequence[SearchHit]:
        hits = without_namesakes(turn.reading, hits, turn.catalog)
        if turn.absent is not None:
            countries = turn.absent.countries
            if are_parts_of_names(turn.reading.text, countries, hits):
                turn.events.notes.remove(turn.missing)
                turn.missing = ""
                turn.absent = None
        if turn.absent is not None:
            naming = [hit for hit in hits if names_country(hit.chunk, countries)]
            hits = turn.judge.said_of(turn.reading, countries, naming) or hits
        zones = zones_in(turn.question.search_text)
        hits = body_first(hits, zones, first_in_both(hits))
        most = turn.question.top_k
        return with_rank(with_naming(hits, self._mentioned(turn), most))

    def _mentioned(self, turn: Turn) -> Sequence[NamedCountry]:
        """Return the countries beside those of reports that passages may name."""
        if turn.absent is not None:
            return ()
        return mentioned_countries(turn.reading, turn.question.scope, turn.catalog)
