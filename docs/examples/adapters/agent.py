"""One search with all that the context holds, for questions that want everything there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..request import RequestContext
from ..schema import Event, Question
from .direct import DirectAgent
from .run import Resources

MOST = 50


class BroadAgent:
    """Implements `protocols.Agent`."""

    needs_language_model = False

    def __init__(self, resources: Resources) -> None:
        self._direct = DirectAgent(resources)

    def run(self, question: Question, *, request: RequestContext) -> Iterator[Event]:
        return self._direct.run(replace(question, top_k=MOST), request=request)


build = BroadAgent
