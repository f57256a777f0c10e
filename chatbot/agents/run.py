"""The state of one question while an agent works on it, and the searches and calls that it may make (R-C7, R-C10)."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeVar

from ..caches.answers import ChatModels
from ..database.time_limits import begin_request
from ..errors import NOTHING_WRITTEN, BudgetExhaustedError, ChatbotError, ChatModelError, ContextLengthError
from ..model_output.asking import Shape, ask, shape_prompt
from ..prompts import render
from ..protocols import Agent, Catalog, ChatModel, Embedder, Quoter, Store
from ..request import RequestContext
from ..rerankers.orders import NoReranker
from ..retrieval.compression import Compressor
from ..retrieval.pipeline import Retrieval, Retriever
from ..retrieval.relevance import Bounds, Judge
from ..retrieval.scope import KnowledgeCollection, describe, inventory
from ..retrieval.summaries import without_summaries
from ..schema import (
    Aggregation,
    Message,
    QuerySettings,
    Question,
    SearchHit,
    StepEvent,
    StepTiming,
    Stopper,
    Threshold,
)
from ..text import Analyzer, estimate_tokens
from ..words import speaking
from .budget import (
    EXPLORING_SHARE,
    PLANNING_SHARE,
    Allowance,
    BudgetedChatModel,
    CallsUsedUpError,
    SecondsUsedUpError,
    Spending,
)
from .searches import Outcome, Search, in_parallel, too_slow

T = TypeVar("T")
SEARCH_THREADS = 8
"""Searches of one question at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What agents work with, put together once by the composition root."""

    retriever: Retriever
    compressor: Compressor
    store: Store
    catalog: Catalog
    chat_models: ChatModels
    quoter: Quoter
    embedder: Embedder
    analyzer: Analyzer
    collections: tuple[KnowledgeCollection, ...]
    agent: Callable[[str], Agent]
    """Another agent, by its name."""
    language: str
    """The language of the reports."""
    bounds: Callable[[QuerySettings], Bounds]
    """The scores that passages need with these settings, as of now."""
    settings: QuerySettings
    """The settings of a question that brings none."""


class BaseAgent:
    """The base class of all agents (`protocols.Agent`): holds what they work with."""

    needs_language_model = False

    def __init__(self, resources: Resources) -> None:
        self._resources = resources


class AgentRun:
    """The state of one question while an agent works on it.

    ``spending`` and ``path`` grow while the agent works; ``stopped_by`` says what ended it early.
    ``closest_only``: what was found may only be near to what is asked.
    """

    def __init__(self, resources: Resources, question: Question, request: RequestContext) -> None:
        self.resources = resources
        self.question = question
        self.request = request
        self.settings = question.settings or resources.settings
        self.spending = Spending(
            question.budget, reserve=self.settings.deep_context_tokens + self.settings.max_answer_tokens
        )
        self.has_model = resources.chat_models.is_language_model
        self.path: list[StepEvent] = []
        self.stopped_by: Stopper = ""
        self.why_stopped = ""
        self.threshold: Threshold | None = None
        """Of its searches: that of the one that had to descend furthest."""
        self.pipeline: tuple[Aggregation, ...] | None = None
        self.closest_only = False
        self._found = False
        self._share = PLANNING_SHARE

    @cached_property
    def judge(self) -> Judge:
        """Says whether hits answer the question."""
        resources = self.resources
        return Judge(
            resources.bounds(self.settings),
            resources.store,
            resources.catalog,
            resources.embedder,
            resources.language,
        )

    @property
    def chat_model(self) -> ChatModel:
        """The one that may repeat what it said, unless the question wants a new answer."""
        return self.resources.chat_models.of(self.question)

    def step(
        self,
        name: str,
        detail: str = "",
        *,
        items: Sequence[str] = (),
        hits: Sequence[SearchHit] = (),
        failed: bool = False,
    ) -> StepEvent:
        """Something to show, which is kept in the path, too."""
        event = StepEvent(name, detail, tuple(items), tuple(hits), failed)
        self.path.append(event)
        return event

    def say(self, text: str, /, **values: object) -> str:
        """Fixed words, in the language of the question. Implements `words.Say`."""
        return speaking(self.question.language)(text, **values)

    def stop(self, stopper: Stopper, detail: str = "") -> Iterator[StepEvent]:
        """The exploring ends here; the answer is made of what there is. Said once.

        ``detail``: what ended, where it was not the budget of this question.
        """
        why = detail or self.spending.describe(stopper, self.say)
        if why != self.why_stopped:
            self.stopped_by, self.why_stopped = stopper, why
            yield self.step("budget", why, failed=True)

    def exhausted(self, tokens: int = 0) -> Generator[StepEvent, None, bool]:
        """Whether the budget forbids one more call that reads ``tokens``."""
        if not self.stopped_by and (stopper := self.spending.stops_exploring(tokens, self._share)):
            yield from self.stop(stopper)
        return bool(self.stopped_by) or self.request.cancelled

    def ask(self, stage: str, shape: Shape[T], otherwise: str, **values: str) -> Generator[StepEvent, None, T | None]:
        """What the model says to the prompts ``stage``; None where there is no budget, or nothing can be read.

        ``otherwise``: what the agent does then, in a few words. ``values`` are those of the templates besides the
        question and where it is asked.

        Raises:
            ChatModelError: one that only a person can mend, e.g. a key that is refused, before any call has worked.
            BudgetExhaustedError: the day's tokens were used up before this question began.
        """
        values = {"question": self.question.search_text, "where": self._where(), **values}
        messages = [
            Message("system", render(f"{stage}_system", **values)),
            Message("user", render(f"{stage}_user", **values)),
        ]
        if (yield from self.exhausted(sum(estimate_tokens(message.content) for message in messages))):
            return None
        prompt, started = shape_prompt(messages, self.question.search_text, shape), time.perf_counter()
        allowance = self.spending.allowance()
        model = BudgetedChatModel(self.chat_model, allowance)
        try:
            with self.request.within(self.spending.seconds_left(self._share)) as limited:
                asked = ask(model, prompt, shape, limited, stage=stage)
        except (BudgetExhaustedError, CallsUsedUpError) as error:
            allowance.settle(StepTiming.since(stage, started, model.usage))
            if isinstance(error, BudgetExhaustedError) and not self.spending.usage_so_far.calls:
                raise
            yield from self.stop("calls") if allowance.refused else self.stop("tokens", error.message)
            return None
        allowance.settle(*asked.steps)
        if asked.error is not None and not self.may_go_on(asked.error):
            raise asked.error
        if asked.value is None and not self.request.cancelled:
            yield self.step(stage, f"{otherwise}: {asked.why}", failed=True)
            yield from self.note_time(limited)
        return asked.value

    def _where(self) -> str:
        scope, today = self.question.scope, self.question.today.isoformat()
        there = inventory(self.resources.catalog, scope)
        return render("where", scope=describe(scope), there=there, today=today)

    def may_go_on(self, error: ChatModelError) -> bool:
        """Whether a failed call leaves anything to hope for, or to show: it may pass, or others have worked."""
        usage = self.spending.usage_so_far
        worked = usage.calls > usage.failed_calls
        passes = error.retry_after is not None or error.reason == NOTHING_WRITTEN
        return worked or passes or isinstance(error, ContextLengthError)

    @contextmanager
    def within_seconds(self, share: float = EXPLORING_SHARE) -> Iterator[RequestContext]:
        """A context whose work ends with the budget's seconds (`note_time` says so then).

        Raises:
            SecondsUsedUpError: they ended it.
        """
        with self.request.within(self.spending.seconds_left(share)) as limited:
            try:
                yield limited
            except ChatbotError as error:
                if not limited.cancelled or self.request.cancelled:
                    raise
                raise SecondsUsedUpError("The budget of seconds is used up.") from error

    def note_time(self, limited: RequestContext) -> Iterator[StepEvent]:
        """Say that the budget's seconds ended what ran under ``limited``, if they did."""
        if limited.cancelled and not self.request.cancelled:
            yield from self.stop("seconds")

    def search(
        self, searches: Sequence[Search], *, planning: bool = False
    ) -> Generator[StepEvent, None, list[Retrieval | None]]:
        """Run these searches at once; None for each that failed or was too slow, which the path names.

        ``planning``: a look before the plan is made; others have seconds of their own.

        Raises:
            DependencyError: nothing was found yet, and not one of these worked.
        """
        self._share = PLANNING_SHARE if planning else EXPLORING_SHARE
        found: list[Retrieval | None] = [None] * len(searches)
        left, most = self.spending.seconds_left(self._share), self.settings.search_seconds
        if left is not None and left <= 0:
            yield from self.stop("seconds")
            return found
        seconds = most if left is None else min(most, left)
        failures, started = list[Outcome[Retrieval]](), time.perf_counter()
        allowances = [self.spending.allowance() for _ in searches]
        work = [
            lambda request, one=one, allowance=allowance: self._in_thread(one, allowance, request)
            for one, allowance in zip(searches, allowances, strict=True)
        ]
        for outcome in in_parallel(work, threads=SEARCH_THREADS, request=self.request, seconds=seconds):
            label = searches[outcome.place].label
            if outcome.result is None:
                failures.append(outcome)
                allowances[outcome.place].give_up("rerank", started)
                why = outcome.error.message if outcome.error else f"No answer within {round(seconds, 1):g} s."
                yield self.step("found", f"{label}: {why}", failed=True)
                continue
            found[outcome.place] = outcome.result
            self.note(outcome.result)
            allowances[outcome.place].settle(*outcome.result.steps)
            yield self.step("found", label, hits=outcome.result.hits)
        if any(allowance.refused for allowance in allowances):
            yield from self.stop("calls")
        if seconds < most and any(failure.error is None for failure in failures):
            yield from self.stop("seconds")
        elif failures and len(failures) == len(searches) and not self._found:
            raise next((failure.error for failure in failures if failure.error), too_slow(seconds))
        self._found = self._found or len(failures) < len(searches)
        return found

    def note(self, found: Retrieval) -> None:
        """Keep for the trace how it was found."""
        if found.pipeline is not None:
            self.pipeline = (*(self.pipeline or ()), *found.pipeline)
        if found.threshold and (self.threshold is None or found.threshold.used < self.threshold.used):
            self.threshold = found.threshold

    def _in_thread(self, search: Search, allowance: Allowance, request: RequestContext) -> Retrieval:
        begin_request()  # waits at the same time would add up in the request's own time limit
        return self.retrieve(search, allowance, request)

    def retrieve(self, search: Search, allowance: Allowance, request: RequestContext) -> Retrieval:
        """One search, in this thread; the calls of a reranker are taken from ``allowance``.

        A reranker that the day's tokens end for is left out, once the model was asked for something.

        Raises:
            DependencyError: it failed.
            BudgetExhaustedError: the day's tokens were used up before this question began.
        """
        question = self.question
        retrieve = partial(
            self.resources.retriever.retrieve,
            search.query,
            top_k=search.top_k,
            scope=search.scope,
            method=question.retrieval_method,
            settings=self.settings,
            page=question.page,
            cache=question.cache,
            request=replace(request, may_call=allowance.take),
        )
        try:
            found = retrieve()
        except BudgetExhaustedError:
            if not self.spending.usage_so_far.calls:
                raise
            found = retrieve(reranker=NoReranker())
        resources = self.resources
        return replace(
            found,
            hits=without_summaries(found.hits, search.query, resources.store, resources.analyzer, top_k=search.top_k),
        )
