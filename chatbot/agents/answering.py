"""From passages to the answer, for every agent: context, sources, writing, citations; or the honest "not found"."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ..cancellation import time_limit
from ..errors import BudgetExhaustedError, ChatModelError, ContextLengthError, IngestingError
from ..generation.answer import assemble, general_prompt, grounded_prompt, not_found
from ..generation.completion import completion
from ..generation.context import Neighbourhood, build_context
from ..generation.writing import Written, write
from ..protocols import Catalog
from ..retrieval.pipeline import Retrieval, with_rank
from ..retrieval.scope import describe, nearest_scope
from ..schema import (
    AnswerEvent,
    Context,
    DocumentRecord,
    Event,
    Prompt,
    Question,
    ScopeSummary,
    SearchHit,
    SourcesEvent,
    StepEvent,
    StepTiming,
    Threshold,
    TokenEvent,
    Usage,
)
from ..text import quoted_line
from .run import Run

FIRST_START = timedelta(minutes=10)
LEAST_CONTEXT = 200
"""Tokens of passages below which nothing is worth writing."""
QUOTED = "Quoted from the reports (no language model is configured):"
FAILED = "The language model could not finish. Quoted from the reports instead:"
PromptMaker = Callable[[Question, Context], Prompt]
Quoting = Callable[[Context], str]


@dataclass(frozen=True, slots=True)
class Way:
    """How an agent writes: its prompt, and its quotations where no model can.

    ``quoting`` None: a model that fails is an error; one that writes nothing is quoted for all the same.
    """

    prompt: PromptMaker = grounded_prompt
    quoting: Quoting | None = None
    finish: Callable[[str, Context], str] = lambda text, context: text
    """What is done to the text once it is complete."""


def opened(run: Run) -> Generator[Event, None, ScopeSummary | None]:
    """The scope's reports and passages; None where it has none: then that is the answer.

    Raises:
        IngestingError: there are reports, but none of them can be searched yet; or the sample reports are on their
            way, and an answer from half of them would mislead.
    """
    question, catalog = run.question, run.parts.catalog
    scope = _summary(question, catalog)
    if not question.scope or scope.documents:
        return scope
    _, offer = nearest_scope(catalog, question.scope)
    yield from without_model(run, f"There is no report for {describe(question.scope)}. {offer}", scope)
    return None


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
    budget = tokens or run.parts.context_tokens
    budget = budget if left is None else min(budget, max(LEAST_CONTEXT, left - LEAST_CONTEXT))
    margin = run.parts.context_margin
    context = build_context(hits, around or run.parts.store, budget_tokens=budget, margin=margin)
    run.spending.add(StepTiming.since("context", started))
    yield SourcesEvent(tuple(passage.hit for passage in context.passages), scope)
    done = yield from written(run, context, way)
    response = way.finish(done.text, done.context)
    yield concluded(run, scope, response, hits, threshold, done.context, truncated=done.truncated)


def when_empty(
    run: Run, scope: ScopeSummary, closest: Sequence[SearchHit], threshold: Threshold | None = None
) -> Iterator[Event]:
    """ON_EMPTY, with the passages that came closest."""
    if run.parts.on_empty != "general":
        text = not_found(scope, closest)
        if run.stopped_by:
            text = f"{run.spending.told(run.stopped_by)} Nothing was found until then.\n\n{text}"
        yield from without_model(run, text, scope, closest, threshold)
        return
    yield SourcesEvent((), scope)
    started = time.perf_counter()
    done = yield from completion(run.parts.chat_model, general_prompt(run.question), run.cancel)
    run.spending.add(StepTiming.since("generate", started, done.usage))
    yield concluded(run, scope, done.text, closest, threshold, Context(), truncated=done.truncated)


def without_model(
    run: Run,
    text: str,
    scope: ScopeSummary,
    closest: Sequence[SearchHit] = (),
    threshold: Threshold | None = None,
) -> Iterator[Event]:
    yield SourcesEvent((), scope)
    yield TokenEvent(text)
    yield concluded(run, scope, text, closest, threshold, Context())


def quotations(run: Run, question: str, context: Context, numbers: Sequence[int] | None = None) -> str:
    """A list of quotations that answer ``question``, from the passages with these numbers, None = all of them."""
    passages = [p for p in context.passages if numbers is None or p.number in numbers]
    return "\n\n".join(map(quoted_line, run.parts.quoter.quotes(question, passages)))


def written(run: Run, context: Context, way: Way) -> Generator[Event, None, Written]:
    """What the model writes; else quotations, where ``way`` has some. What was written before a failure stays."""
    quoting = way.quoting
    if quoting is not None and not run.parts.language_model:
        return (yield from _quoted(QUOTED, quoting, context))
    if quoting is not None and (stopper := run.spending.stops_answer()):
        yield run.stop(stopper, run.spending.told(stopper))
        return (yield from _quoted(FAILED, quoting, context))
    yield run.step("generate", "Writing the answer")
    started, pieces = time.perf_counter(), list[str]()
    try:
        with time_limit(run.cancel, run.spending.seconds_left()) as limited:
            writing = write(run.parts.chat_model, run.question, context, limited, prompt=way.prompt)
            done = yield from _collected(writing, pieces)
    except (ChatModelError, BudgetExhaustedError) as error:
        if quoting is None or not (_may_pass(error) and run.spending.usage.calls):
            raise
        run.spending.add(StepTiming.since("generate", started, Usage(calls=1, failed_calls=1)))
        run.stopped_by = "model"
        yield run.step("generate", error.message, failed=True)
        done = Written("".join(pieces).strip(), context, (), truncated=True)
    run.spending.add(*done.steps)
    if limited.cancelled and not run.cancel.cancelled:
        yield run.stop("seconds", run.spending.told("seconds"))
        done = replace(done, truncated=True)
    if not done.text and not run.cancel.cancelled:
        instead = quoting or (lambda context: quotations(run, run.question.search_text, context))
        return (yield from _quoted(FAILED, instead, context))
    return done


def _collected(
    writing: Generator[StepEvent | TokenEvent, None, Written], pieces: list[str]
) -> Generator[Event, None, Written]:
    while True:
        try:
            event = next(writing)
        except StopIteration as ended:
            written: Written = ended.value
            return written
        if isinstance(event, TokenEvent):
            pieces.append(event.text)
        yield event


def _quoted(heading: str, quoting: Quoting, context: Context) -> Generator[Event, None, Written]:
    text = f"{heading}\n\n{quoting(context)}"
    yield TokenEvent(text)
    return Written(text, context, ())


def _may_pass(error: ChatModelError | BudgetExhaustedError) -> bool:
    return error.retry_after is not None or isinstance(error, ContextLengthError)


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


def _summary(question: Question, catalog: Catalog) -> ScopeSummary:
    records = catalog.all(question.scope)
    pending = sum(record.status == "pending" for record in records)
    if pending and (pending == len(records) or any(_just_registered(record) for record in records)):
        left = f"{pending} of {len(records)} to go"
        raise IngestingError(f"The reports for {describe(question.scope)} are still being indexed: {left}.")
    ready = [record for record in records if record.status == "ready"]
    return ScopeSummary(question.scope, len(ready), catalog.chunks_inside(ready, question.scope), question.page)


def _just_registered(record: DocumentRecord) -> bool:
    """A sample report of this first start; one that was left behind long ago must not hold up every question."""
    if not record.sample or record.status != "pending":
        return False
    return datetime.now(UTC) - datetime.fromisoformat(record.updated_at) < FIRST_START
