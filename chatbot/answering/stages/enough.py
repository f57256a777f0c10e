"""Judges whether what was found answers the question."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...domain import SearchHit
from ...domain.scope import NamedCountry
from ...language.zones import zones_in
from ...search.mentions import names_country
from ..turn import Draft, Turn
from ..writers.nothing import NothingFound, years_missing


@dataclass(frozen=True, slots=True)
class IsEnough:
    """Ends a question for which nothing was found, and marks passages that only come
    close to it.
    """

    nothing: NothingFound

    def run(self, turn: Turn) -> Draft | None:
        found = turn.found
        if found.is_enough or turn.mode is None:
            return None
        if turn.absent is not None:
            return self._of_absent(turn, turn.absent.countries)
        hits = found.hits
        empty = is_empty(turn, hits)
        if turn.mode.searches_often:
            return self.nothing.write(turn, found.closest) if empty else None
        verdict = "nothing" if empty else turn.judge.verdict(turn.reading, hits)
        if hits and is_zone_asked(turn, hits):
            verdict = "answers"
        may_doubt = turn.has_model and not turn.is_general
        if verdict == "nothing" and not empty and may_doubt:
            # A doubt, which a model can tell from a fact.
            verdict = "closest"
        if verdict == "nothing" and (turn.settings.on_empty != "relax" or not hits):
            return self.nothing.write(turn, hits)
        turn.closest_only = verdict != "answers"
        return None

    def _of_absent(self, turn: Turn, countries: Sequence[NamedCountry]) -> Draft | None:
        """Keep the passages that name a country without a report. They only come close,
        unless a sentence has the country and what is asked. A language model may say of
        other passages that they do not answer.
        """
        found = turn.found
        naming = [hit for hit in found.hits if names_country(hit.chunk, countries)]
        if naming:
            found.keep_only(naming)
        turn.closest_only = not any(
            turn.judge.is_said_of(turn.reading, countries, hit) for hit in naming
        )
        if not turn.closest_only:
            return None
        can_write = bool(naming) or (turn.has_model and bool(found.hits))
        if turn.is_general or not can_write:
            return self.nothing.write(turn, ())
        return None


def is_zone_asked(turn: Turn, hits: Sequence[SearchHit]) -> bool:
    """Return whether the first hit is of a zone that the question asks for: a list of
    names or addresses has no words of "Who attended?".
    """
    is_of_zone = hits[0].chunk.zone in zones_in(turn.question.search_text)
    return is_of_zone and years_missing(turn, hits) is None


def is_empty(turn: Turn, hits: Sequence[SearchHit]) -> bool:
    """Return whether no hit is near enough (RELEVANCE_FLOOR) and of the right years."""
    if not hits:
        return True
    if turn.settings.on_empty == "relax":
        return False
    return turn.judge.is_far(hits) or years_missing(turn, hits) is not None
