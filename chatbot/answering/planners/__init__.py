"""What to look for next: each planner decides it in its own way, round by round."""

from collections.abc import Sequence
from typing import Protocol

from ...search.pipeline import Retrieval
from ..tools.search import Search
from ..turn import Draft, Turn


class Planner(Protocol):
    """Decides what to look for, for one question; it remembers its rounds."""

    def plan(self, turn: Turn) -> Sequence[Search] | Draft:
        """Return what to search for next, nothing = it is enough; or the answer, where
        none is needed.
        """

    def keep(self, turn: Turn, results: Sequence[Retrieval | None]) -> None:
        """Keep in ``turn.found`` what helps of the results of a round, in the order of
        its searches; None for a search that failed or was too slow.
        """
