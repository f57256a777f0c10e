"""One search with all that the context holds, for questions that want everything there
is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..planners.rules import ByRules
from ..tools import Tools
from ..tools.search import Search
from ..turn import Turn
from ..writers import Desk
from . import Direct

MAX_PASSAGES = 50
"""As many as a question may have."""


class Everything(ByRules):
    """Searches once, for as many passages as there may be."""

    def plan(self, turn: Turn) -> Sequence[Search]:
        return [replace(search, top_k=MAX_PASSAGES) for search in super().plan(turn)]


class Broad(Direct):
    """`Direct` with more passages."""

    def __init__(self, tools: Tools, desk: Desk) -> None:
        super().__init__(tools, desk)
        self.planner = Everything(tools)


build = Broad
