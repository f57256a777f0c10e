"""Judges whether what was found answers the question."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...domain import SearchHit
from ...search.subjects import missing_figures
from ..turn import Draft, Turn
from ..writers.nothing import NothingFound


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
        hits = found.hits
        empty = is_empty(turn, hits)
        if turn.mode.searches_often:
            return self.nothing.write(turn, found.closest) if empty else None
        verdict = "nothing" if empty else turn.judge.verdict(turn.reading, hits)
        may_doubt = turn.has_model and not turn.is_general
        if verdict == "nothing" and not empty and may_doubt:
            # A doubt, which a model can tell from a fact.
            verdict = "closest"
        if verdict == "nothing" and (turn.settings.on_empty != "relax" or not hits):
            return self.nothing.write(turn, hits)
        turn.closest_only = verdict != "answers"
        return None


def is_empty(turn: Turn, hits: Sequence[SearchHit]) -> bool:
    """Return whether no hit is near enough (RELEVANCE_FLOOR) and of the right years."""
    if not hits:
        return True
    if turn.settings.on_empty == "relax":
        return False
    return turn.judge.is_far(hits) or years_missing(turn, hits) is not None


def years_missing(turn: Turn, hits: Sequence[SearchHit]) -> str | None:
    """Return what is said where the hits have no figure of the years asked for; None
    where they have.
    """
    return missing_figures(
        turn.reading,
        hits,
        turn.question.scope,
        turn.catalog,
        turn.analyzer,
        turn.say,
    )
