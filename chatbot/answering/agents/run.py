"""One question while an agent works on it, and the searches and calls that it may make
(R-C7, R-C10).
"""

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import count
from typing import TypeVar

from ...checking.wording import NumberedStream
from ...database.core import begin_request
from ...domain import Event, SearchHit, Usage
from ...domain.chat import (
    Aggregation,
    AnswerEvent,
    QuerySettings,
    Question,
    SourcesEvent,
    StepEvent,
    StepTiming,
    Stopper,
    Threshold,
    TokenEvent,
)
from ...domain.errors import (
    NOTHING_WRITTEN,
    BudgetExhaustedError,
    ChatbotError,
    ChatModelError,
    ContextLengthError,
    SearchEngineError,
)
from ...domain.figures import GlossaryEntry
from ...domain.protocols import Catalog, ChatModel, Embedder, Passages, Quoter
from ...domain.request import RequestContext
from ...domain.scope import Reading
from ...language.analysis import Analyzer
from ...language.counts import estimate_tokens
from ...language.detection import language_of
from ...language.words import speaking
from ...models.caches import AnswerCache
from ...models.prompts import render
from ...models.replies import Shape, ask, stage_prompt
from ...models.rerank import NoReranker
from ...questions.reading import read_names
from ...search.compression import Compressor
from ...search.pipeline import Retrieval, Retriever, without_summaries
from ...search.relevance import Bounds, Judge
from ...search.scope import KnowledgeCollection, describe, inventory
from ...search.spelling import Spelling
from ..figure_tables import FigureTables
from . import AGENTS
from .budget import (
    EXPLORING_SHARE,
    PLANNING_SHARE,
    Allowance,
    SecondsUsedUpError,
    Spending,
)
from .searches import Search, in_parallel

T = TypeVar("T")
SEARCH_THREADS = 8
"""Searches of one question at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """The objects that agents work with, built once by the composition root."""

    retriever: Retriever
    compressor: Compressor
    store: Passages
    catalog: Catalog
    chat_model: ChatModel
    small_chat_model: ChatModel
    """The model that plans and judges."""
    quoter: Quoter
    embedder: Embedder
    analyzer: Analyzer
    collections: tuple[KnowledgeCollection, ...]
    language: str
    """The language of the reports."""
    glossary: Callable[[], Sequence[GlossaryEntry]]
    spelling: Spelling
    bounds: Callable[[QuerySettings], Bounds]
    """The scores that passages need with these settings, as of now."""
    settings: QuerySettings
    """The settings of a question that brings none."""
    tables: FigureTables


class BaseAgent:
    """One mode of answering."""

    needs_language_model = False

    def answer(self, run: "AgentRun") -> Iterator[Event]:
        """Yield what happens and an `AnswerEvent` at the end; or set another mode,
        which then answers. Raises ChatbotError.
        """
        raise NotImplementedError


class ModeAgent:
    """Answers each question in its mode, or from the cache."""

    def __init__(self, resources: Resources, cache: AnswerCache) -> None:
        self._resources = resources
        self._cache = cache

    def run(self, question: Question, *, request: RequestContext) -> Iterator[Event]:
        """Yield a cached answer's sources, text and trace at once; else the events of
        the mode's agent.
        """
        started, before = time.perf_counter(), request.meter.lookups
        request = replace(request, cache=question.cache)
        key = self._cache.key(question, request)
        if key and (kept := self._cache.get(key, request)) is not None:
            numbers = {one.hit.chunk.id: one.number for one in kept.citations}
            yield SourcesEvent(_under_numbers(kept.trace.hits, numbers), kept.scope)
            yield TokenEvent(kept.response)
            trace = replace(
                kept.trace, cached=True, steps=(StepTiming.since("cache", started),)
            )
            yield AnswerEvent(
                replace(
                    kept,
                    trace=replace(
                        trace,
                        caches=_new_lookups(question, request, before),
                    ),
                )
            )
            return
        run, mode = AgentRun(self._resources, question, request), ""
        while run.question.mode != mode and not (mode and request.cancelled):
            mode = run.question.mode
            for event in run.numbered(AGENTS.builder(mode)().answer(run)):
                if key and isinstance(event, AnswerEvent):
                    self._cache.put(key, event.answer, request)
                    trace = replace(
                        event.answer.trace,
                        caches=_new_lookups(question, request, before),
                    )
                    yield AnswerEvent(replace(event.answer, trace=trace))
                else:
                    yield event


def _new_lookups(
    question: Question, request: RequestContext, before: Counter[str]
) -> dict[str, int]:
    """Return the lookups of caches for this question. All callers share the vectors of
    questions: a limited one does not see what others have asked.
    """
    lookups = dict(request.meter.lookups - before)
    if not question.scope.is_limited:
        return lookups
    return {
        name: count
        for name, count in lookups.items()
        if not name.startswith("embedding ")
    }


def _under_numbers(
    hits: Sequence[SearchHit], numbers: Mapping[str, int]
) -> tuple[SearchHit, ...]:
    """Return the hits in the order of their numbers by chunk; the others follow under
    the next free ones.
    """
    free = (number for number in count(1) if number not in numbers.values())
    ranked = (
        replace(hit, rank=numbers.get(hit.chunk.id) or next(free)) for hit in hits
    )
    return tuple(sorted(ranked, key=lambda hit: hit.rank))


class AgentRun:
    """The state of one question while an agent works on it."""

    def __init__(
        self, resources: Resources, question: Question, request: RequestContext
    ) -> None:
        self.resources = resources
        self.settings = question.settings or resources.settings
        self.question = replace(question, settings=self.settings)
        self.request = request
        self.spending = Spending(
            question.budget,
            reserve=self.settings.deep_context_tokens + self.settings.max_answer_tokens,
        )
        self.has_model = resources.chat_model.is_language_model
        self.is_general = self.has_model and self.settings.on_empty == "general"
        """True if the model answers from general knowledge where the reports hold
        nothing.
        """
        reports = resources.language
        self.is_unread = (
            not resources.embedder.multilingual
            and language_of(question.query, reports) != reports
        )
        """True if the question is in another language than the reports, which the
        embedding model does not know.
        """
        self.is_mode_chosen = False
        """True if another agent has chosen the mode."""
        self.choice_stopped_by: Stopper = ""
        """The limit that ended that choice early; the search may still be complete."""
        self.path: list[StepEvent] = []
        self.stopped_by: Stopper = ""
        """The limit that ended the question early."""
        self.why_stopped = ""
        self.threshold: Threshold | None = None
        """The lowest of its searches."""
        self.pipeline: tuple[Aggregation, ...] | None = None
        self.closest_only = False
        """True if the passages may only be close to the question."""
        self.numbering = NumberedStream()
        self._has_searched = False
        self._share = PLANNING_SHARE

    def numbered(self, events: Iterable[Event]) -> Iterator[Event]:
        """Number the citations of a stream in order of first appearance, as its answer
        does. A hit's rank is the number that cites it: where that changes, the sources
        are sent again.
        """
        sources, numbering = None, self.numbering
        for event in events:
            if isinstance(event, SourcesEvent):
                sources, numbering.known = event, [hit.rank for hit in event.hits]
            elif isinstance(event, TokenEvent | AnswerEvent):
                cited = len(numbering.order)
                text = (
                    numbering.feed(event.text)
                    if isinstance(event, TokenEvent)
                    else numbering.rest()
                )
                if sources and numbering.order[cited:] != [
                    *range(cited + 1, len(numbering.order) + 1)
                ]:
                    ids = {hit.rank: hit.chunk.id for hit in sources.hits}
                    numbers = {
                        ids[number]: place
                        for place, number in enumerate(numbering.order, start=1)
                    }
                    yield replace(sources, hits=_under_numbers(sources.hits, numbers))
                if text:
                    yield TokenEvent(text)
                if isinstance(event, TokenEvent):
                    continue
            yield event

    @property
    def reading(self) -> Reading:
        """The names in the question; read here only if nobody has read them before."""
        return self.question.reading or self.read(self.question.search_text)

    def read(self, query: str) -> Reading:
        """Return the names in a query, inside the question's scope."""
        return read_names(query, self.resources.catalog, self.question.scope)

    @cached_property
    def judge(self) -> Judge:
        """Says whether hits answer the question."""
        resources = self.resources
        bounds = resources.bounds(self.settings)
        return Judge(bounds, resources.embedder, resources.language, resources.glossary)

    def step(
        self,
        name: str,
        detail: str = "",
        *,
        items: Sequence[str] = (),
        hits: Sequence[SearchHit] = (),
        failed: bool = False,
    ) -> StepEvent:
        """Return a step to be yielded, and keep it in the path."""
        event = StepEvent(name, detail, tuple(items), tuple(hits), failed)
        self.path.append(event)
        return event

    def say(self, text: str, /, **values: object) -> str:
        """Translate fixed words into the language of the question. Implements
        `words.Say`.
        """
        return speaking(self.question.language)(text, **values)

    def stop(self, stopper: Stopper, detail: str = "") -> Iterator[StepEvent]:
        """End the exploring: the answer is made of what there is. A reason is yielded
        once.

        ``detail``: the reason, where it is not the budget of this question.
        """
        why = detail or self.spending.describe(stopper, self.say)
        if why != self.why_stopped:
            self.stopped_by, self.why_stopped = stopper, why
            yield self.step("budget", why, failed=True)

    def ask(
        self, stage: str, shape: Shape[T], otherwise: str, **values: str
    ) -> Generator[StepEvent, None, T | None]:
        """Return the model's reply to the prompts ``stage``; None without budget, or if
        it cannot be read.

        ``otherwise``: what the agent does then, in a few words. ``values`` are those of
        the templates besides the question and its scope.

        Raises: ChatModelError: only a person can solve it, e.g. a key that is refused,
            and no call has worked yet. BudgetExhaustedError: the day's tokens were used
            up before this question began.
        """
        question = self.question
        where = render(
            "where",
            scope=describe(question.scope),
            there=inventory(self.resources.catalog, question.scope),
            today=question.today.isoformat(),
        )
        values = {"question": question.search_text, "where": where, **values}
        prompt = stage_prompt(stage, shape, question.search_text, **values)
        tokens = sum(estimate_tokens(message.content) for message in prompt.messages)
        if not self.stopped_by and (
            stopper := self.spending.stops_exploring(tokens, self._share)
        ):
            yield from self.stop(stopper)
        if self.stopped_by or self.request.cancelled:
            return None
        started, allowance = time.perf_counter(), Allowance(self.spending)
        with self.request.within(self.spending.seconds_left(self._share)) as limited:
            try:
                model = self.resources.small_chat_model
                reply = ask(
                    model,
                    prompt,
                    shape,
                    replace(limited, may_call=allowance.take),
                    stage=stage,
                )
            except BudgetExhaustedError as error:
                allowance.settle(StepTiming.since(stage, started))
                if not self.spending.usage.calls:
                    raise
                yield from self.stop("tokens", error.message)
                return None
        allowance.settle(*reply.steps)
        if allowance.refused:
            yield from self.stop("calls")
            return None
        if isinstance(reply.error, BudgetExhaustedError):
            yield from self.stop("tokens", reply.error.message)
            return None
        if reply.error is not None and not self.may_go_on(reply.error):
            raise reply.error
        if reply.value is None and not self.request.cancelled:
            yield self.step(stage, f"{otherwise}: {reply.why}", failed=True)
            yield from self.note_time(limited)
        return reply.value

    def may_go_on(self, error: ChatModelError) -> bool:
        """Return whether a failed call may be passing, or others have worked."""
        usage = self.spending.usage
        passes = error.retry_after is not None or error.reason == NOTHING_WRITTEN
        return (
            usage.calls > usage.failed_calls
            or passes
            or isinstance(error, ContextLengthError)
        )

    @contextmanager
    def limited(self, share: float = EXPLORING_SHARE) -> Iterator[RequestContext]:
        """Yield a request that ends with this share of the budget's seconds.

        Raises:
            SecondsUsedUpError: they ended the work."""
        with self.request.within(self.spending.seconds_left(share)) as limited:
            try:
                yield limited
            except ChatbotError as error:
                if not limited.cancelled or self.request.cancelled:
                    raise
                raise SecondsUsedUpError("The budget of seconds is used up.") from error

    def note_time(self, limited: RequestContext) -> Iterator[StepEvent]:
        """Yield a step if the budget's seconds ended the work of ``limited``."""
        if limited.cancelled and not self.request.cancelled:
            yield from self.stop("seconds")

    def search(
        self, searches: Sequence[Search], *, planning: bool = False
    ) -> Generator[StepEvent, None, list[Retrieval | None]]:
        """Run these searches at once; None for each that failed or was too slow, which
        the path names.

        ``planning``: within the seconds for planning.

        Raises:
            DependencyError: all of them failed, and no search has worked before.
        """
        self._share = PLANNING_SHARE if planning else EXPLORING_SHARE
        results: list[Retrieval | None] = [None] * len(searches)
        left, most = (
            self.spending.seconds_left(self._share),
            self.settings.search_seconds,
        )
        if left is not None and left <= 0:
            yield from self.stop("seconds")
            return results
        seconds = most if left is None else min(most, left)
        failures, started = list[ChatbotError | None](), time.perf_counter()
        allowances = [Allowance(self.spending) for _ in searches]

        def retrieve(
            search: Search, allowance: Allowance, request: RequestContext
        ) -> Retrieval:
            # A question may search in many rounds; SEARCH_SECONDS limits each.
            begin_request()
            return self.retrieve(search, allowance, request)

        work = [
            partial(retrieve, *pair) for pair in zip(searches, allowances, strict=True)
        ]
        for place, outcome in in_parallel(
            work, threads=SEARCH_THREADS, request=self.request, seconds=seconds
        ):
            label, allowance = searches[place].label, allowances[place]
            if isinstance(outcome, Retrieval):
                results[place] = outcome
                self.note(outcome)
                allowance.settle(*outcome.steps)
                yield self.step("found", label, hits=outcome.hits)
                continue
            failures.append(outcome)
            if calls := allowance.taken:  # their tokens are unknown
                allowance.settle(
                    StepTiming.since(
                        "rerank", started, Usage(calls=calls, failed_calls=calls)
                    )
                )
            why = (
                outcome.message
                if outcome
                else f"No answer within {round(seconds, 1):g} s."
            )
            yield self.step("found", f"{label}: {why}", failed=True)
        if any(allowance.refused for allowance in allowances):
            yield from self.stop("calls")
        if seconds < most and None in failures:
            yield from self.stop("seconds")
        elif failures and len(failures) == len(searches) and not self._has_searched:
            slow = f"The search did not answer within {round(seconds, 1):g} s."
            too_slow = SearchEngineError(
                slow, remedy="Raise SEARCH_SECONDS.", retry_after=5
            )
            raise next(filter(None, failures), too_slow)
        self._has_searched = self._has_searched or len(failures) < len(searches)
        return results

    def note(self, retrieval: Retrieval) -> None:
        """Keep pipeline and threshold for the trace."""
        if retrieval.pipeline is not None:
            self.pipeline = (*(self.pipeline or ()), *retrieval.pipeline)
        used = retrieval.threshold
        if used and (self.threshold is None or used.used < self.threshold.used):
            self.threshold = used

    def retrieve(
        self, search: Search, allowance: Allowance, request: RequestContext
    ) -> Retrieval:
        """Search in this thread; a reranker's calls are taken from ``allowance``.

        Without tokens for a reranker it is left out, once the model has been asked for
        something.

        Raises: DependencyError: the search failed. BudgetExhaustedError: the day's
            tokens were used up before this question began.
        """
        question, resources = self.question, self.resources
        retrieve = partial(
            resources.retriever.retrieve,
            search.query,
            top_k=search.top_k,
            scope=search.scope,
            method=question.retrieval_method,
            settings=self.settings,
            page=question.page,
            general=search.scope == question.scope,
            reading=question.reading if search.query == question.search_text else None,
            request=replace(request, may_call=allowance.take),
        )
        try:
            result = retrieve()
        except BudgetExhaustedError:
            if not self.spending.usage.calls:
                raise
            result = retrieve(reranker=NoReranker())
        hits = without_summaries(
            result.hits,
            search.query,
            resources.store,
            resources.analyzer,
            top_k=search.top_k,
        )
        return replace(result, hits=hits)
