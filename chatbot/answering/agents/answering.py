"""The steps of every agent: check the scope, build the context, write the answer or say
that nothing was found.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from ...checking.wording import cited_numbers, unify_brackets
from ...domain import Chunk, Context, DocumentRecord, Passage, Scope, SearchHit, Trace
from ...domain.chat import (
    Answer,
    AnswerEvent,
    Event,
    Prompt,
    Question,
    ScopeSummary,
    SourcesEvent,
    StepTiming,
    TokenEvent,
)
from ...domain.errors import (
    BudgetExhaustedError,
    ChatModelError,
    ContextLengthError,
    IngestingError,
)
from ...domain.protocols import Quoter
from ...domain.scope import Values
from ...language.detection import language_of
from ...language.markdown import escape_markdown, quotation_item
from ...library.description import LANGUAGE_NOTE, unread_language
from ...models.chat.extractive import HEADER
from ...models.replies import numbers
from ...models.replies.stream import Reply, completion
from ...search.compression import Neighbours
from ...search.pipeline import with_rank
from ...search.ranking import general_scope
from ...search.scope import describe, nearest_scope, selectable_collections
from ...search.subjects import missing_figures
from ..answer import GENERAL, assemble, general_prompt, not_found, prompt_for
from ..context import build_context
from .budget import Allowance
from .run import AgentRun
from .searches import distinct

FAILED = "The language model could not finish."
CLOSEST = "The reports do not answer this directly. Closest passages:"
OTHER_LANGUAGE = (
    "The reports are in {language}, and the search does not understand other "
    "languages yet. Ask in {language}, or ask "
    "an administrator for a search in many languages."
)
NO_REPORTS = (
    "There are no reports yet. Add some in the knowledge base, or with: python -m "
    "chatbot ingest FILES"
)
INSTEAD = "Quoted from the reports instead:"
LEAST_CONTEXT = 200
"""Tokens of passages below which no answer is worth writing."""
FIRST_START = timedelta(minutes=10)
MAX_SHORTENINGS = 3


@dataclass(frozen=True, slots=True)
class WritingPlan:
    """An agent's way of writing: its prompt, and its quotations if there is no model.
    Without ``quoting`` a model that fails is an error, unless another agent has chosen
    the mode; one that writes nothing is replaced by quotations all the same.
    """

    prompt: Callable[[Question, Context], Prompt] = prompt_for
    quoting: Callable[[Context], str] | None = None
    header: str = HEADER
    """The text above the quotations."""
    opening: Callable[[Passage], str] | None = None
    """Returns a sentence from the first passage that is quoted, which stands above the
    rest; "" for none.
    """
    finish: Callable[[str, Context], tuple[str, str]] | None = None
    """Returns the final text, and what stands below it without being checked against
    the passages.
    """


@dataclass(frozen=True, slots=True)
class Written:
    """A text, and the passages that the model had for it: unless it quotes, it is
    checked against these.
    """

    text: str
    context: Context
    truncated: bool = False
    is_quoted: bool = False


def quotations(
    run: AgentRun,
    question: str,
    context: Context,
    hits: Sequence[SearchHit] | None = None,
) -> str:
    """A list of quotations that answer ``question``, from what its own search found,
    None = from all of the context.
    """
    passages = context.passages
    if hits is not None:
        by_id = {passage.hit.chunk.id: passage for passage in context.passages}
        passages = tuple(
            replace(by_id[hit.chunk.id], hit=hit)
            for hit in hits
            if hit.chunk.id in by_id
        )
    quotes = run.resources.quoter.quotes(question, passages)
    return "\n\n".join(quotation_item(quote, run.say) for quote in quotes)


def open_scope(run: AgentRun) -> Generator[Event, None, ScopeSummary | None]:
    """Return the scope's reports and passages; None after answering that it has none.

    Raises: IngestingError: there are reports, but none of them can be searched yet; or
        the sample reports are not complete
            yet, and an answer from half of them would mislead.
    """
    question, catalog = run.question, run.resources.catalog
    inside = catalog.holdings(question.scope)
    if inside.pending and (
        inside.pending == inside.documents
        or any(map(_is_new, catalog.all(question.scope)))
    ):
        # Reports of no country are searched beside the named ones: they may be all that
        # is missing.
        named = catalog.holdings(question.scope.strict())
        shown = named if named.pending else inside
        which = (
            f"The reports for {describe(question.scope)}"
            if question.scope and named.pending
            else "The reports"
        )
        raise IngestingError(
            f"{which} are still being indexed: {shown.pending} of "
            f"{shown.documents} to go."
        )
    scope = ScopeSummary(
        question.scope, inside.ready, inside.ready_chunks, question.page
    )
    if not question.scope or scope.documents or _has_general(run):
        return scope
    offer = nearest_scope(catalog, question.scope, run.say)
    nothing = run.say(
        "There is no report for {names}.", names=describe(question.scope, run.say)
    )
    yield from answer_text(run, escape_markdown(f"{nothing} {offer}"), scope)
    return None


def _has_general(run: AgentRun) -> bool:
    """Return whether general documents are searched beside the scope."""
    resources, kept = run.resources, run.settings.general_collection
    general = resources.collections[0].name if resources.collections else ""
    scope = general_scope(run.question.scope, kept, general, resources.catalog)
    return scope is not None


def _is_new(record: DocumentRecord) -> bool:
    """A sample report of this first start; one that was left behind long ago must not
    hold up every question.
    """
    if not record.sample or record.status != "pending":
        return False
    return datetime.now(UTC) - datetime.fromisoformat(record.updated_at) < FIRST_START


def open_research(run: AgentRun) -> Generator[Event, None, ScopeSummary | None]:
    """`open_scope` for agents with several searches. The model may narrow the scope to
    some collections. That takes one call, none if there is no choice. The scope that
    the person chose is never left, and a collection that cannot be chosen is searched,
    too. A reply that cannot be read, or chooses nothing, leaves all.
    """
    if (scope := (yield from open_scope(run))) is None:
        return None
    if not scope.documents and not run.question.scope and _is_library_empty(run):
        yield from answer_empty(run, scope, ())
        return None
    chosen, every = run.question.scope, run.resources.collections
    choice = selectable_collections(every, chosen.collections)
    if not choice or not run.has_model:
        return scope
    described = "\n".join(
        f"{number}. {one.name}: {one.description}"
        for number, one in enumerate(choice, start=1)
    )
    picked = yield from run.ask(
        "collections",
        numbers(len(choice)),
        "All collections are searched",
        collections=described,
    )
    if picked is None:
        return scope
    left_out = {
        one.name
        for number, one in enumerate(choice, start=1)
        if picked and number not in picked
    }
    names = [
        one.name for one in every if one.name not in left_out and chosen.holds(one.name)
    ]
    if chosen.collections or len(names) < len(every):
        run.question = replace(run.question, scope=chosen.within(names))
    yield run.step("collections", "Searched in", items=names)
    return scope


def is_empty(run: AgentRun, hits: Sequence[SearchHit]) -> bool:
    """Return whether no hit is near enough (RELEVANCE_FLOOR) and of the right years."""
    is_other = run.judge.is_far(hits) or _missing_figures(run, hits) is not None
    return not hits or (run.settings.on_empty != "relax" and is_other)


def _missing_figures(run: AgentRun, hits: Sequence[SearchHit]) -> str | None:
    question, resources = run.question, run.resources
    return missing_figures(
        run.reading,
        hits,
        question.scope,
        resources.catalog,
        resources.analyzer,
        run.say,
    )


def answer_research(
    run: AgentRun,
    scope: ScopeSummary,
    kept: Sequence[SearchHit],
    closest: Sequence[SearchHit],
    way: WritingPlan,
) -> Iterator[Event]:
    """End several searches, unless they were cancelled: answer from what was kept, in
    twice CONTEXT_TOKENS.
    """
    if run.request.cancelled:
        return
    if is_empty(run, kept):
        yield from answer_empty(run, scope, closest)
    else:
        yield from answer_from(
            run, scope, kept, way, tokens=run.settings.deep_context_tokens
        )


def answer_from(
    run: AgentRun,
    scope: ScopeSummary,
    hits: Sequence[SearchHit],
    way: WritingPlan,
    *,
    around: Neighbours | None = None,
    tokens: int | None = None,
) -> Iterator[Event]:
    """Answer from these hits, best first, as far as they fit ``tokens``
    (CONTEXT_TOKENS).
    """
    started = time.perf_counter()
    hits = with_rank(hits)
    context = Context(tuple(Passage(hit.rank, hit, hit.chunk.text) for hit in hits))
    if run.has_model:  # quotations have no use for what stands around a passage
        left, most = run.spending.tokens_left, tokens or run.settings.context_tokens
        budget = (
            most
            if left is None
            else min(most, max(LEAST_CONTEXT, left - LEAST_CONTEXT))
        )
        context = build_context(
            hits, around or run.resources.store, budget_tokens=budget
        )
        if budget < most:
            yield from note_left_out(run, len(context.passages), len(hits))
    context = replace(context, reports=scope.documents)
    run.spending.add(StepTiming.since("context", started))
    yield SourcesEvent(tuple(passage.hit for passage in context.passages), scope)
    unread = _unread_advice(run, hits[0].chunk)
    notes = [
        "" if unread else _language_advice(run),
        run.say(CLOSEST) if run.closest_only else "",
    ]
    note = "" if run.has_model else "".join(f"{text}\n\n" for text in notes if text)
    if note:
        yield TokenEvent(note)
    written = yield from write(run, context, way)
    text, below = (
        way.finish(written.text, written.context) if way.finish else (written.text, "")
    )
    answer = conclude(
        run,
        scope,
        note + text,
        hits,
        written.context,
        truncated=written.truncated,
        is_quoted=written.is_quoted,
    )
    yield AnswerEvent(
        replace(
            answer, response="\n\n".join(filter(None, [answer.response, below, unread]))
        )
    )


def note_left_out(run: AgentRun, shown: int, hits: int) -> Iterator[Event]:
    """Yield a step if the budget of tokens has no room for all hits: such an answer
    ended early.
    """
    if shown < hits and not run.stopped_by:
        text = "The budget of tokens leaves room for {shown} of {found} passages."
        yield from run.stop("tokens", run.say(text, shown=shown, found=hits))


def write(
    run: AgentRun, context: Context, way: WritingPlan
) -> Generator[Event, None, Written]:
    """Let the model write, or quote. What was written before a failure stays.

    A prompt that is too long is tried again with the better half of its passages.

    Raises:
        ChatModelError: the model failed, and there is nothing to quote or hope for.
        BudgetExhaustedError: the day's tokens were used up before this question began.
    """
    quoting = way.quoting or partial(quotations, run, run.question.search_text)
    if stopper := run.spending.stops_answer():
        yield from run.stop(stopper)
        return (
            yield from _quote(f"{run.why_stopped} {run.say(INSTEAD)}", quoting, context)
        )
    yield run.step("generate", "Writing the answer")
    model, allowance = run.resources.chat_model, Allowance(run.spending, keep=0)
    if isinstance(model, Quoter) or (
        way.quoting and not run.has_model
    ):  # no prompt, no reply to be read
        started = time.perf_counter()
        written = yield from _quote(
            run.say(way.header) if way.header else "", quoting, context, way.opening
        )
        run.spending.add(StepTiming.since("generate", started))
        return written
    steps, written, shown = list[StepTiming](), Written("", context), context
    with run.request.within(run.spending.seconds_left()) as limited:
        while allowance.take():
            started, prompt = time.perf_counter(), way.prompt(run.question, shown)
            reply, keep = Reply(prompt), (len(shown.passages) + 1) // 2
            try:
                done = yield from completion(model, prompt, limited, reply)
            except BudgetExhaustedError as error:
                if not (run.spending.usage.calls or steps):
                    raise
                yield from run.stop("tokens", error.message)
                break
            except ChatModelError as error:
                usage = reply.usage_of_failed(error)
                is_shorter = keep < len(shown.passages) and len(steps) < MAX_SHORTENINGS
                if is_shorter and isinstance(error, ContextLengthError):
                    steps.append(StepTiming.since("shorten", started, usage))
                    shown = replace(shown, passages=shown.passages[:keep])
                    detail = (
                        f"Too much for the model: once more with the best {keep} of "
                        "the passages"
                    )
                    yield run.step("shorten", detail)
                    continue
                written = Written(reply.text, context)
                is_all = way.quoting is None and not run.is_mode_chosen
                if is_all or not (written.text or run.may_go_on(error)):
                    raise
                steps.append(StepTiming.since("generate", started, usage))
                run.stopped_by = "model"
                yield run.step("generate", error.message, failed=True)
                break
            steps.append(StepTiming.since("generate", started, done.usage))
            if done.cut_prompt:
                yield run.step("generate", done.cut_prompt, failed=True)
            text = unify_brackets(
                done.text, [passage.number for passage in shown.passages]
            )
            written = Written(text, shown, done.truncated)
            break
    if allowance.refused:
        yield from run.stop("calls")
    allowance.settle(*steps)
    yield from run.note_time(limited)
    if written.text or run.request.cancelled:
        return written
    why = run.say(FAILED) if run.stopped_by in {"", "model"} else run.why_stopped
    return (yield from _quote(f"{why} {run.say(INSTEAD)}", quoting, context))


def _quote(
    heading: str,
    quoting: Callable[[Context], str],
    context: Context,
    opening: Callable[[Passage], str] | None = None,
) -> Generator[Event, None, Written]:
    quoted = quoting(context)
    first = cited_numbers(quoted)[:1]
    sentence = next(
        (opening(one) for one in context.passages if opening and one.number in first),
        "",
    )
    text = "\n\n".join(filter(None, [sentence, heading, quoted]))
    yield TokenEvent(text)
    return Written(text, context, is_quoted=True)


def answer_empty(
    run: AgentRun, scope: ScopeSummary, closest: Sequence[SearchHit]
) -> Iterator[Event]:
    """Answer as ON_EMPTY says, with the passages that came closest; general knowledge
    only within the budget.
    """
    yield SourcesEvent((), scope)
    closest = distinct(closest)
    if (yield from answer_general(run, scope, closest)):
        return
    searched = replace(
        scope, scope=run.question.scope
    )  # which the model may have narrowed
    if _is_library_empty(run) and not run.question.attachments:
        text = run.say(NO_REPORTS)
    else:
        text = _missing_figures(run, closest) or not_found(searched, closest, run.say)
    if advice := (
        _unread_advice(run, closest[0].chunk) if closest else ""
    ) or _language_advice(run):
        text = f"{advice}\n\n{text}"
    if run.stopped_by:
        # Where no search came to its end, nobody knows whether the reports answer the
        # question.
        stopped = f"{run.why_stopped} {run.say('Nothing had been found by then.')}"
        text = f"{stopped}\n\n{text}" if closest else stopped
    yield TokenEvent(text)
    yield AnswerEvent(conclude(run, scope, text, closest))


def _language_advice(run: AgentRun) -> str:
    """Return what to do about a question in another language than the reports; "" if
    the embedder knows both.
    """
    reports = (
        run.say("English")
        if run.resources.language == "english"
        else run.resources.language.capitalize()
    )
    return run.say(OTHER_LANGUAGE, language=reports) if run.is_unread else ""


def _unread_advice(run: AgentRun, best: Chunk) -> str:
    """Return what to do if the embedder does not know the language of the best
    passage's report; "" if it does.
    """
    if language_of(best.text) == "english":  # no report needs to be looked up
        return ""
    resources = run.resources
    named = resources.catalog.all(
        Scope.of({"document_name": Values((best.document_name,))})
    )
    record = next((one for one in named if one.id == best.document_id), None)
    if record is None or not (
        language := unread_language(record.proposed, resources.embedder)
    ):
        return ""
    return (
        f"{escape_markdown(record.title)}: "
        f"{run.say(LANGUAGE_NOTE, language=run.say(language.capitalize()))}"
    )


def _is_library_empty(run: AgentRun) -> bool:
    return not run.resources.catalog.holdings(run.question.scope.widest()).documents


def answer_general(
    run: AgentRun,
    scope: ScopeSummary,
    hits: Sequence[SearchHit] = (),
    *,
    may_fail: bool = False,
) -> Generator[Event, None, bool]:
    """Answer from the model's general knowledge, where ON_EMPTY and the budget allow
    it. Return False where they do not, or where it writes nothing. A model that fails
    is an error if it was not called before, unless it ``may_fail``.
    """
    if not run.is_general or run.spending.stops_answer():
        return False
    yield run.step("generate", "Writing the answer")
    above, started = f"{run.say(GENERAL)}\n\n", time.perf_counter()
    prompt = general_prompt(run.question)
    reply, model = Reply(prompt), run.resources.chat_model
    try:
        with run.request.within(run.spending.seconds_left()) as limited:
            done = yield from completion(model, prompt, limited, reply, above=above)
    except ChatModelError as error:
        if not (run.spending.usage.calls or may_fail):
            raise
        run.spending.add(
            StepTiming.since("generate", started, reply.usage_of_failed(error))
        )
        yield run.step("generate", error.message, failed=True)
        return False
    run.spending.add(StepTiming.since("generate", started, done.usage))
    yield from run.note_time(limited)
    if done.text:
        yield AnswerEvent(
            conclude(run, scope, above + done.text, hits, truncated=done.truncated)
        )
    return bool(done.text)


def answer_text(
    run: AgentRun,
    text: str,
    scope: ScopeSummary,
    context: Context = Context(),  # noqa: B008  # frozen and empty
    *,
    is_answer: bool = False,
) -> Iterator[Event]:
    """Answer with a fixed text; ``is_answer``: it is what was asked for, whatever it
    cites.
    """
    yield SourcesEvent(tuple(passage.hit for passage in context.passages), scope)
    yield TokenEvent(text)
    answer = conclude(run, scope, text, context=context)
    yield AnswerEvent(replace(answer, answered=is_answer or answer.answered))


def conclude(
    run: AgentRun,
    scope: ScopeSummary,
    response: str,
    hits: Sequence[SearchHit] = (),
    context: Context = Context(),  # noqa: B008  # frozen and empty
    *,
    truncated: bool = False,
    is_quoted: bool = False,
) -> Answer:
    """The answer with its citations checked (or not: `cite`), its trace, and what ended
    it early.
    """
    question = run.question
    trace = Trace(
        question.mode,
        question.retrieval_method,
        question.search_text,
        hits=tuple(hits),
        threshold=run.threshold,
        pipeline=run.pipeline,
        steps=run.spending.steps,
        path=tuple(run.path),
        stopped_by=run.stopped_by or run.choice_stopped_by,
        truncated=truncated,
        closest_only=run.closest_only,
    )
    glossary = run.resources.glossary() if context.passages and not is_quoted else ()
    is_closest = run.closest_only and run.has_model
    return assemble(
        question,
        response,
        scope=scope,
        context=context,
        trace=trace,
        glossary=glossary,
        is_closest=is_closest,
        is_quoted=is_quoted,
        shown=run.numbering.order,
    )
