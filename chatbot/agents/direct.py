"""One retrieval, one generation call (seed 004's deterministic flow, R-E2)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Literal

from ..cancellation import Cancellation
from ..errors import IngestingError
from ..generation.answer import assemble, general_prompt, not_found
from ..generation.completion import completion
from ..generation.context import Neighbourhood, build_context
from ..generation.writing import write
from ..protocols import Catalog, ChatModel, Store
from ..retrieval.compression import Compressor, Neighbours
from ..retrieval.pipeline import Retrieval, Retriever
from ..retrieval.scope import describe, nearest_scope
from ..schema import (
    AnswerEvent,
    DocumentRecord,
    Event,
    Question,
    Scope,
    ScopeSummary,
    SourcesEvent,
    StepEvent,
    StepTiming,
    TokenEvent,
)
from ..text import escape_markdown

FIRST_START = timedelta(minutes=10)
OnEmpty = Literal["abstain", "relax", "general"]


class DirectAgent:
    """Implements `protocols.Agent`."""

    def __init__(
        self,
        *,
        retriever: Retriever,
        compressor: Compressor,
        store: Store,
        catalog: Catalog,
        chat_model: ChatModel,
        context_tokens: int,
        context_margin: int,
        relevance_floor: float,
        on_empty: OnEmpty,
    ) -> None:
        self._retriever = retriever
        self._compressor = compressor
        self._store = store
        self._catalog = catalog
        self._chat_model = chat_model
        self._context_tokens = context_tokens
        self._context_margin = context_margin
        self._relevance_floor = relevance_floor
        self._on_empty = on_empty

    def run(self, question: Question, *, cancel: Cancellation) -> Iterator[Event]:
        if question.attachments:
            yield from self._about_attachments(question, cancel)
            return
        scope = self._summary(question)
        if question.scope and not scope.documents:
            _, offer = nearest_scope(self._catalog, question.scope)
            text = f"There is no report for {describe(question.scope)}. {offer}"
            yield from self._without_model(question, text, scope)
            return
        yield StepEvent("search", f"Searching {scope.chunks:,} passages")
        retrieval = self._retriever.retrieve(
            question.search_text,
            top_k=question.top_k,
            scope=question.scope,
            method=question.retrieval_method,
            page=question.page,
        )
        if self._nothing_found(retrieval):
            yield from self._when_empty(question, scope, retrieval, cancel)
            return
        yield from self._grounded(question, scope, retrieval, self._store, cancel)

    def _about_attachments(self, question: Question, cancel: Cancellation) -> Iterator[Event]:
        """The same, over passages that are in no store and are gone afterwards (R-A2)."""
        yield StepEvent("compress", "Looking for the passages that matter")
        retrieval, chunks = self._compressor.retrieve(
            question.search_text, question.attachments, top_k=question.top_k, cancel=cancel
        )
        scope = ScopeSummary(Scope(), len(question.attachments), len(chunks))
        if not retrieval.hits:
            names = ", ".join(document.name for document in question.attachments)
            text = f"Nothing in {escape_markdown(names)} is close to this question."
            yield from self._without_model(question, text, scope, retrieval)
            return
        yield from self._grounded(question, scope, retrieval, Neighbours(chunks), cancel)

    def _summary(self, question: Question) -> ScopeSummary:
        """Reports and passages in scope.

        Raises:
            IngestingError: there are reports, but none of them can be searched yet; or the sample reports are on
                their way, and an answer from half of them would mislead.
        """
        records = self._catalog.all(question.scope)
        pending = sum(record.status == "pending" for record in records)
        if pending and (pending == len(records) or any(_just_registered(record) for record in records)):
            left = f"{pending} of {len(records)} to go"
            raise IngestingError(f"The reports for {describe(question.scope)} are still being indexed: {left}.")
        ready = [record for record in records if record.status == "ready"]
        passages = self._catalog.chunks_inside(ready, question.scope)
        return ScopeSummary(question.scope, len(ready), passages, question.page)

    def _nothing_found(self, retrieval: Retrieval) -> bool:
        if not retrieval.hits:
            return True
        return self._on_empty != "relax" and retrieval.best_score < self._relevance_floor

    def _grounded(
        self,
        question: Question,
        scope: ScopeSummary,
        retrieval: Retrieval,
        around: Neighbourhood,
        cancel: Cancellation,
    ) -> Iterator[Event]:
        started = time.perf_counter()
        context = build_context(retrieval.hits, around, budget_tokens=self._context_tokens, margin=self._context_margin)
        context_step = _step("context", started)
        yield SourcesEvent(tuple(passage.hit for passage in context.passages), scope)
        yield StepEvent("generate", "Writing the answer")
        written = yield from write(self._chat_model, question, context, cancel)
        answer = assemble(
            question,
            written.text,
            scope=scope,
            context=written.context,
            retrieval=retrieval,
            steps=(context_step, *written.steps),
            usage=written.usage,
            truncated=written.truncated,
        )
        yield AnswerEvent(answer)

    def _when_empty(
        self, question: Question, scope: ScopeSummary, retrieval: Retrieval, cancel: Cancellation
    ) -> Iterator[Event]:
        if self._on_empty == "general":
            yield SourcesEvent((), scope)
            started = time.perf_counter()
            done = yield from completion(self._chat_model, general_prompt(question), cancel)
            answer = assemble(
                question,
                done.text,
                scope=scope,
                retrieval=retrieval,
                steps=(_step("generate", started),),
                usage=done.usage,
                truncated=done.truncated,
            )
            yield AnswerEvent(answer)
            return
        yield from self._without_model(question, not_found(scope, retrieval.hits), scope, retrieval)

    def _without_model(
        self, question: Question, text: str, scope: ScopeSummary, retrieval: Retrieval | None = None
    ) -> Iterator[Event]:
        yield SourcesEvent((), scope)
        yield TokenEvent(text)
        yield AnswerEvent(assemble(question, text, scope=scope, retrieval=retrieval))


def _just_registered(record: DocumentRecord) -> bool:
    """A sample report of this first start; one that was left behind long ago must not hold up every question."""
    if not record.sample or record.status != "pending":
        return False
    age = datetime.now(UTC) - datetime.fromisoformat(record.updated_at)
    return age < FIRST_START


def _step(name: str, started: float) -> StepTiming:
    return StepTiming(name, round((time.perf_counter() - started) * 1000, 2))


build = DirectAgent
