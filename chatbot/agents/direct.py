"""One retrieval, one generation call (seed 004's deterministic flow, R-E2)."""

from __future__ import annotations

from collections.abc import Iterator

from ..cancellation import Cancellation
from ..retrieval.compression import Neighbours
from ..schema import Event, Question, Scope, ScopeSummary
from ..text import escape_markdown
from .answering import grounded, is_empty, when_empty, without_model
from .opening import opened
from .parts import Parts
from .questions import whole
from .run import Run
from .writing import Way


class DirectAgent:
    """Implements `protocols.Agent`. A model that fails is an error here: there is nothing that would be lost."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def run(self, question: Question, *, cancel: Cancellation) -> Iterator[Event]:
        run = Run(self._parts, question, cancel)
        if question.attachments:
            yield from self._about_attachments(run)
            return
        if (scope := (yield from opened(run))) is None:
            return
        yield run.step("search", f"Searching {scope.chunks:,} passages")
        claim = run.spending.claim()
        retrieval = yield from run.within_seconds(lambda limited: run.retrieve(whole(run), claim, limited))
        if retrieval is None:
            yield from when_empty(run, scope, ())
            return
        claim.settle(*retrieval.steps)
        if claim.refused:
            yield from run.stop("calls")
        if is_empty(run, retrieval.hits):
            yield from when_empty(run, scope, retrieval.hits, retrieval.threshold)
            return
        yield from grounded(run, scope, retrieval.hits, Way(), threshold=retrieval.threshold)

    def _about_attachments(self, run: Run) -> Iterator[Event]:
        """The same, over passages that are in no store and are gone afterwards (R-A2)."""
        question = run.question
        yield run.step("compress", "Looking for the passages that matter")
        found = yield from run.within_seconds(
            lambda limited: self._parts.compressor.retrieve(
                question.search_text, question.attachments, top_k=question.top_k, cancel=limited
            )
        )
        if found is None:
            yield from without_model(run, run.why_stopped, ScopeSummary(Scope(), len(question.attachments), 0))
            return
        retrieval, chunks = found
        run.spending.add(*retrieval.steps)
        scope = ScopeSummary(Scope(), len(question.attachments), len(chunks))
        if not retrieval.hits:
            names = ", ".join(document.name for document in question.attachments)
            text = f"Nothing in {escape_markdown(names)} is close to this question."
            yield from without_model(run, text, scope, threshold=retrieval.threshold)
            return
        around = Neighbours(chunks)
        yield from grounded(run, scope, retrieval.hits, Way(), around=around, threshold=retrieval.threshold)


build = DirectAgent
