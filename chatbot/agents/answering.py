"""From passages to the answer, for every agent: context, sources, writing, citations; or the honest "not found"."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from ..cancellation import time_limit
from ..errors import ChatModelError
from ..generation.answer import assemble, general_prompt, not_found
from ..generation.context import Neighbourhood, build_context
from ..model_output.completion import Completion, completion
from ..model_output.heard import Heard
from ..retrieval.pipeline import Retrieval, with_rank
from ..schema import (
    AnswerEvent,
    Context,
    Event,
    ScopeSummary,
    SearchHit,
    SourcesEvent,
    StepEvent,
    StepTiming,
    Threshold,
    TokenEvent,
)
from .evidence import once
from .run import Run
from .writing import Way, written

LEAST_CONTEXT = 200
"""Tokens of passages below which nothing is worth writing."""


def is_empty(run: Run, hits: Sequence[SearchHit]) -> bool:
    """Whether nothing was found: no hit, or only such as are about something else (RELEVANCE_FLOOR)."""
    best = max((hit.score for hit in hits if hit.score is not None), default=0.0)
    return not hits or (run.parts.on_empty != "relax" and best < run.parts.relevance_floor)


def grounded(
    run: Run,
    scope: ScopeSummary,
    hits: Sequence[SearchHit],
    way: Way,
    *,
    around: Neighbourhood | None = None,
    threshold: Threshold | None = None,
    tokens: int | None = None,
) -> Iterator[Event]:
    """The answer from these hits, best first, as far as they fit ``tokens`` (CONTEXT_TOKENS)."""
    started = time.perf_counter()
    hits, left = with_rank(hits), run.spending.tokens_left
    most = tokens or run.parts.context_tokens
    budget = most if left is None else min(most, max(LEAST_CONTEXT, left - LEAST_CONTEXT))
    margin = run.parts.context_margin
    context = build_context(hits, around or run.parts.store, budget_tokens=budget, margin=margin)
    run.spending.add(StepTiming.since("context", started))
    if budget < most:
        yield from left_out(run, len(context.passages), len(hits))
    yield SourcesEvent(tuple(passage.hit for passage in context.passages), scope)
    done = yield from written(run, context, way)
    response = way.finish(done.text, done.context)
    yield concluded(run, scope, response, hits, threshold, done.context, truncated=done.truncated)


def left_out(run: Run, shown: int, found: int) -> Iterator[StepEvent]:
    """Said where the budget of tokens has no room for all: what is written of fewer passages ended early."""
    if shown < found and not run.stopped_by:
        yield from run.stop("tokens", f"The budget of tokens leaves room for {shown} of {found} passages.")


def when_empty(
    run: Run, scope: ScopeSummary, closest: Sequence[SearchHit], threshold: Threshold | None = None
) -> Iterator[Event]:
    """ON_EMPTY, with the passages that came closest; general knowledge only within the budget."""
    yield SourcesEvent((), scope)
    closest = once(closest)
    general = run.parts.on_empty == "general" and not run.spending.stops_answer()
    if general and (done := (yield from _general(run))) is not None:
        yield concluded(run, scope, done.text, closest, threshold, Context(), truncated=done.truncated)
        return
    text = not_found(replace(scope, scope=run.question.scope), closest)  # which the model may have narrowed
    if run.stopped_by:
        # Where no search came to its end, nobody knows whether the reports answer the question.
        text = "\n\n".join([f"{run.why_stopped} Nothing was found until then.", *([text] if closest else [])])
    yield from _said(run, text, scope, closest, threshold)


def _general(run: Run) -> Generator[Event, None, Completion | None]:
    """None where the model writes nothing, or fails after others of its calls: what they cost is not thrown away."""
    started, asked = time.perf_counter(), general_prompt(run.question)
    heard = Heard(asked)
    try:
        with time_limit(run.cancel, run.spending.seconds_left()) as limited:
            done = yield from completion(run.chat_model, asked, limited, heard)
    except ChatModelError as error:
        if not run.spending.usage_so_far.calls:
            raise
        run.spending.add(StepTiming.since("generate", started, heard.usage_of_failed(error)))
        yield run.step("generate", error.message, failed=True)
        return None
    run.spending.add(StepTiming.since("generate", started, done.usage))
    if limited.cancelled and not run.cancel.cancelled:
        yield from run.stop("seconds")
    return done if done.text else None


def without_model(
    run: Run,
    text: str,
    scope: ScopeSummary,
    closest: Sequence[SearchHit] = (),
    threshold: Threshold | None = None,
) -> Iterator[Event]:
    yield SourcesEvent((), scope)
    yield from _said(run, text, scope, closest, threshold)


def _said(
    run: Run, text: str, scope: ScopeSummary, closest: Sequence[SearchHit], threshold: Threshold | None
) -> Iterator[Event]:
    yield TokenEvent(text)
    yield concluded(run, scope, text, closest, threshold, Context())


def concluded(
    run: Run,
    scope: ScopeSummary,
    response: str,
    hits: Sequence[SearchHit],
    threshold: Threshold | None,
    context: Context,
    *,
    truncated: bool = False,
) -> AnswerEvent:
    return AnswerEvent(
        assemble(
            run.question,
            response,
            scope=scope,
            context=context,
            retrieval=Retrieval(tuple(hits), threshold, ()),
            steps=run.spending.steps,
            path=run.path,
            stopped_by=run.stopped_by,
            truncated=truncated,
        )
    )
