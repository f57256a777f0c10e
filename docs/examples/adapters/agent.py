"""One search with all that the context holds, for questions that want everything there
is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...domain import Event
from .direct import DirectAgent
from .run import AgentRun

MOST = 50


class BroadAgent(DirectAgent):
    """`DirectAgent` with as many passages as a question may have."""

    def answer(self, run: AgentRun) -> Iterator[Event]:
        run.question = replace(run.question, top_k=MOST)
        return super().answer(run)


build = BroadAgent
