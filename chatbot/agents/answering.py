"""The steps that all agents share: checking the scope, building the context, writing the answer, or saying "not
found".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ..chat_models.extractive import HEADER
from ..errors import BudgetExhaustedError, ChatModelError, IngestingError
from ..grounding.answer import Draft, Written, as_set, assemble, general_prompt, not_found, prompt_for, write
from ..grounding.context import Neighbourhood, build_context
from ..model_output.asking import numbers
from ..model_output.stream import Completion, Reply, completion
from ..retrieval.pipeline import with_rank
from ..retrieval.relevance import Verdict, best_score
from ..retrieval.scope import describe, nearest_scope, selectable_collections
from ..retrieval.subjects import missing_figures
from ..schema import (
    Answer,
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
    TokenEvent,
)
from ..text import escape_markdown, is_foreign, is_written_in, quotation_item
from .budget import BudgetedChatModel, CallsUsedUpError
from .run import AgentRun
from .searches import distinct

FAILED = "The language model could not finish."
CLOSEST = "The reports do not answer this directly. Closest passages:"
NOT_ENGLISH = (
    "The question does not seem to be in English, the only language that is searched in here. Ask it in English."
)
NO_REPORTS = "There are no reports yet. Add some in the knowledge base, or with: python -m chatbot ingest FILES"
INSTEAD = "Quoted from the reports instead:"
PromptMaker = Callable[[Question, Context], Prompt]
Quoting = Callable[[Context], str]


@dataclass(frozen=True, slots=True)
class WritingPlan:
    """How an agent writes: its prompt, and its quotations where no model can.

    ``quoting`` None: a model that fails is an error, unless another agent has begun the question (auto); one that
    writes nothing is quoted for all the same.
    """

    prompt: PromptMaker = prompt_for
    quoting: Quoting | None = None
    finish: Callable[[str, Context], tuple[str, str]] = lambda text, context: (text, "")
    """What is done to the text once it is complete, and what is said below it without being held to the passages."""


def quotations(
    run: AgentRun, question: str, context: Context, numbers: Sequence[int] | None = None, *, most: int | None = None
) -> str:
    """A list of quotations that answer ``question``, from the passages with these numbers, None = all of them."""
    passages = [p for p in context.passages if numbers is None or p.number in numbers]
    quotes = run.resources.quoter.quotes(question, passages, request=run.request)
    return "\n\n".join(map(quotation_item, quotes[:most]))


def write_answer(run: AgentRun, context: Context, way: WritingPlan) -> Generator[Event, None, Written]:
    """What the model writes; else quotations, where ``way`` has some. What was written before a failure stays."""
    quoting = way.quoting
    if quoting is not None and not run.has_model:
        return (yield from _quoted(run.say(HEADER), quoting, context))
    instead = quoting or (lambda context: quotations(run, run.question.search_text, context))
    if stopper := run.spending.stops_answer():
        yield from run.stop(stopper)
        return (yield from _quoted(f"{run.why_stopped} {run.say(INSTEAD)}", instead, context))
    yield run.step("generate", "Writing the answer")
    draft, allowance = Draft(path=run.path), run.spending.allowance(keep=0)
    model, settings = BudgetedChatModel(run.chat_model, allowance), run.settings

    def prompt(question: Question, context: Context) -> Prompt:
        return as_set(way.prompt(question, context), settings)

    try:
        with run.request.within(run.spending.seconds_left()) as limited:
            done = yield from write(model, run.question, context, limited, prompt=prompt, draft=draft)
    except ChatModelError as error:
        is_all = quoting is None and not run.spending.goes_on
        if is_all or not (draft.text or run.may_go_on(error)):
            raise
        run.stopped_by = "model"
        yield run.step("generate", error.message, failed=True)
        done = Written(draft.text, context, tuple(draft.steps))
    except (BudgetExhaustedError, CallsUsedUpError) as error:
        if not (run.spending.usage_so_far.calls or draft.steps):
            raise
        yield from run.stop("calls") if allowance.refused else run.stop("tokens", error.message)
        done = Written("", context, tuple(draft.steps))
    allowance.settle(*done.steps)
    yield from run.note_time(limited)
    if not done.text and not run.request.cancelled:
        why = run.say(FAILED) if run.stopped_by in {"", "model"} else run.why_stopped
        return (yield from _quoted(f"{why} {run.say(INSTEAD)}", instead, context))
    return done


def _quoted(heading: str, quoting: Quoting, context: Context) -> Generator[Event, None, Written]:
    text = f"{heading}\n\n{quoting(context)}"
    yield TokenEvent(text)
    return Written(text, context, ())


LEAST_CONTEXT = 200
"""Tokens of passages below which nothing is worth writing."""
FIRST_START = timedelta(minutes=10)


def open_scope(run: AgentRun) -> Generator[Event, None, ScopeSummary | None]:
    """The scope's reports and passages; None where it has none: then that is the answer.

    Raises:
        IngestingError: there are reports, but none of them can be searched yet; or the sample reports are on their
            way, and an answer from half of them would mislead.
    """
    question, catalog = run.question, run.resources.catalog
    held = catalog.holdings(question.scope)
    if held.pending and (held.pending == held.documents or any(map(_just_registered, catalog.all(question.scope)))):
        # Reports of no country are searched beside the named ones: they may be all that is missing.
        named = catalog.holdings(question.scope.strict())
        shown = named if named.pending else held
        which = f"The reports for {describe(question.scope)}" if question.scope and named.pending else "The reports"
        raise IngestingError(f"{which} are still being indexed: {shown.pending} of {shown.documents} to go.")
    scope = ScopeSummary(question.scope, held.ready, held.ready_chunks, question.page)
    if not question.scope or scope.documents:
        return scope
    offer = nearest_scope(catalog, question.scope, run.say)
    nothing = run.say("There is no report for {names}.", names=describe(question.scope, run.say))
    yield from answer_text(run, escape_markdown(f"{nothing} {offer}"), scope)
    return None


def open_research(run: AgentRun) -> Generator[Event, None, ScopeSummary | None]:
    """`open_scope` for agents with several searches, which may choose the collections. Raises IngestingError."""
    scope = yield from open_scope(run)
    if scope is None:
        return None
    if not scope.documents and not run.question.scope and _is_library_empty(run):
        yield from answer_empty(run, scope, ())  # an empty database: there is nothing to plan for
        return None
    yield from choose_collections(run)
    return scope


def choose_collections(run: AgentRun) -> Iterator[StepEvent]:
    """Narrows the question's scope to what the model chooses: one call, none where there is no choice.

    What the person allowed is never left, and what the model cannot choose is searched beside its choice. A reply that
    cannot be read, or chooses nothing, leaves all.
    """
    scope, every = run.question.scope, run.resources.collections
    choice = selectable_collections(every, scope.collections)
    if not choice or not run.has_model:
        return
    described = "\n".join(f"{number}. {one.name}: {one.description}" for number, one in enumerate(choice, start=1))
    picked = yield from run.ask(
        "collections",
        numbers(len(choice)),
        "All collections are searched",
        collections=described,
    )
    if picked is None:
        return
    left_out = {one.name for number, one in enumerate(choice, start=1) if picked and number not in picked}
    names = [one.name for one in every if one.name not in left_out and scope.holds(one.name)]
    if scope.collections or len(names) < len(every):
        run.question = replace(run.question, scope=scope.within(names))
    yield run.step("collections", "Searched in", items=names)


def _just_registered(record: DocumentRecord) -> bool:
    """A sample report of this first start; one that was left behind long ago must not hold up every question."""
    if not record.sample or record.status != "pending":
        return False
    return datetime.now(UTC) - datetime.fromisoformat(record.updated_at) < FIRST_START


def is_empty(run: AgentRun, hits: Sequence[SearchHit]) -> bool:
    """Whether nothing was found: no hit, or only such as are about something else (RELEVANCE_FLOOR) or other years."""
    is_other = best_score(hits) < run.judge.bounds.floor or _missing_figures(run, hits) is not None
    return not hits or (run.settings.on_empty != "relax" and is_other)


def judged(run: AgentRun, hits: Sequence[SearchHit]) -> Verdict:
    """How well the hits of one search answer the whole question. With `ON_EMPTY`=relax any hits are at least
    "closest".
    """
    if is_empty(run, hits):
        return "nothing"
    verdict = run.judge.verdict(run.question.search_text, hits, run.question.scope)
    return "closest" if verdict == "nothing" and run.settings.on_empty == "relax" else verdict


def _missing_figures(run: AgentRun, hits: Sequence[SearchHit]) -> str | None:
    question, resources = run.question, run.resources
    return missing_figures(question.search_text, hits, question.scope, resources.catalog, resources.analyzer, run.say)


def answer_from(
    run: AgentRun,
    scope: ScopeSummary,
    hits: Sequence[SearchHit],
    way: WritingPlan,
    *,
    around: Neighbourhood | None = None,
    tokens: int | None = None,
) -> Iterator[Event]:
    """The answer from these hits, best first, as far as they fit ``tokens`` (CONTEXT_TOKENS)."""
    started = time.perf_counter()
    hits, left = with_rank(hits), run.spending.tokens_left
    most = tokens or run.settings.context_tokens
    budget = most if left is None else min(most, max(LEAST_CONTEXT, left - LEAST_CONTEXT))
    margin = run.settings.context_margin
    context = build_context(hits, around or run.resources.store, budget_tokens=budget, margin=margin)
    run.spending.add(StepTiming.since("context", started))
    if budget < most:
        yield from note_left_out(run, len(context.passages), len(hits))
    yield SourcesEvent(tuple(passage.hit for passage in context.passages), scope)
    note = f"{run.say(CLOSEST)}\n\n" if run.closest_only and not run.has_model else ""
    if note:
        yield TokenEvent(note)
    done = yield from write_answer(run, context, way)
    text, below = way.finish(done.text, done.context)
    answer = conclude(run, scope, note + text, hits, done.context, truncated=done.truncated).answer
    yield AnswerEvent(with_below(answer, below))


def with_below(answer: Answer, text: str) -> Answer:
    """The answer with what is said below it and held to no passage."""
    return replace(answer, response="\n\n".join(filter(None, [answer.response, text])))


def answer_research(
    run: AgentRun, scope: ScopeSummary, kept: Sequence[SearchHit], closest: Sequence[SearchHit], way: WritingPlan
) -> Iterator[Event]:
    """The end of several searches, unless they were cancelled: the answer from what was kept (DEEP_CONTEXT_TOKENS)."""
    if run.request.cancelled:
        return
    if is_empty(run, kept):
        yield from answer_empty(run, scope, closest)
    else:
        yield from answer_from(run, scope, kept, way, tokens=run.settings.deep_context_tokens)


def note_left_out(run: AgentRun, shown: int, found: int) -> Iterator[StepEvent]:
    """Said where the budget of tokens has no room for all: what is written of fewer passages ended early."""
    if shown < found and not run.stopped_by:
        yield from run.stop(
            "tokens",
            run.say("The budget of tokens leaves room for {shown} of {found} passages.", shown=shown, found=found),
        )


def answer_empty(run: AgentRun, scope: ScopeSummary, closest: Sequence[SearchHit]) -> Iterator[Event]:
    """ON_EMPTY, with the passages that came closest; general knowledge only within the budget."""
    yield SourcesEvent((), scope)
    closest = distinct(closest)
    general = run.settings.on_empty == "general" and not run.spending.stops_answer()
    if general and (done := (yield from _general(run))) is not None:
        yield conclude(run, scope, done.text, closest, Context(), truncated=done.truncated)
        return
    searched = replace(scope, scope=run.question.scope)  # which the model may have narrowed
    if _is_library_empty(run) and not run.question.attachments:
        text = run.say(NO_REPORTS)
    else:
        text = _missing_figures(run, closest) or not_found(searched, closest, run.say)
    query = run.question.query
    foreign = is_foreign(query) or (run.question.language != "en" and not is_written_in(query, "english"))
    if foreign and not run.resources.embedder.multilingual:
        text += f"\n\n{run.say(NOT_ENGLISH)}"
    if run.stopped_by:
        # Where no search came to its end, nobody knows whether the reports answer the question.
        text = "\n\n".join(
            [f"{run.why_stopped} {run.say('Nothing was found until then.')}", *([text] if closest else [])]
        )
    yield from _said(run, text, scope, closest)


def _is_library_empty(run: AgentRun) -> bool:
    return not run.resources.catalog.holdings(run.question.scope.widest()).documents


def _general(run: AgentRun) -> Generator[Event, None, Completion | None]:
    """An answer from the model's general knowledge; None where it writes nothing, or fails after earlier calls
    succeeded, whose cost is then not thrown away.
    """
    started, asked = time.perf_counter(), as_set(general_prompt(run.question), run.settings)
    response = Reply(asked)
    try:
        with run.request.within(run.spending.seconds_left()) as limited:
            done = yield from completion(run.chat_model, asked, limited, response)
    except ChatModelError as error:
        if not run.spending.usage_so_far.calls:
            raise
        run.spending.add(StepTiming.since("generate", started, response.usage_of_failed(error)))
        yield run.step("generate", error.message, failed=True)
        return None
    run.spending.add(StepTiming.since("generate", started, done.usage))
    yield from run.note_time(limited)
    return done if done.text else None


def answer_text(run: AgentRun, text: str, scope: ScopeSummary) -> Iterator[Event]:
    """The events of an answer that is this fixed text, without passages."""
    yield SourcesEvent((), scope)
    yield from _said(run, text, scope, ())


def _said(run: AgentRun, text: str, scope: ScopeSummary, closest: Sequence[SearchHit]) -> Iterator[Event]:
    yield TokenEvent(text)
    yield conclude(run, scope, text, closest, Context())


def conclude(
    run: AgentRun,
    scope: ScopeSummary,
    response: str,
    hits: Sequence[SearchHit],
    context: Context,
    *,
    truncated: bool = False,
) -> AnswerEvent:
    """The answer as it is checked and kept: its citations, its trace, what ended it early."""
    return AnswerEvent(
        assemble(
            run.question,
            response,
            scope=scope,
            context=context,
            hits=hits,
            threshold=run.threshold,
            pipeline=run.pipeline,
            steps=run.spending.steps,
            path=run.path,
            stopped_by=run.stopped_by,
            truncated=truncated,
            closest_only=run.closest_only,
        )
    )
