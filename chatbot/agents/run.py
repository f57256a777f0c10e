"""One question being worked on: what every agent may do, within the budget, and what it has done (R-C7, R-C10)."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TypeVar

from ..cancellation import Cancellation, breakable, time_limit
from ..database import begin_request
from ..errors import NOTHING_WRITTEN, BudgetExhaustedError, ChatbotError, ChatModelError, ContextLengthError
from ..model_output.asking import ask, asking
from ..model_output.shapes import Shape
from ..prompts import render
from ..protocols import ChatModel
from ..retrieval.pipeline import Retrieval
from ..schema import Message, Question, SearchHit, StepEvent, StepTiming, Stopper
from ..text import estimate_tokens
from .claimed_model import CallsUsedUpError, ClaimedChatModel
from .parallel import Outcome, in_parallel
from .parts import Parts
from .search import Search, retrieved, too_slow
from .spending import EXPLORING_SHARE, PLANNING_SHARE, Claim, Spending

T = TypeVar("T")


class Run:
    """``spending`` and ``path`` grow while the agent works; ``stopped_by`` says what ended it early."""

    def __init__(self, parts: Parts, question: Question, cancel: Cancellation) -> None:
        self.parts = parts
        self.question = question
        self.cancel = cancel
        self.spending = Spending(question.budget, reserve=parts.deep_context_tokens + parts.answer_tokens)
        self.path: list[StepEvent] = []
        self.stopped_by: Stopper = ""
        self.why_stopped = ""
        self._found = False
        self._share = PLANNING_SHARE

    @property
    def chat_model(self) -> ChatModel:
        return self.parts.chat_models.of(self.question)

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

    def stop(self, stopper: Stopper, detail: str = "") -> Iterator[StepEvent]:
        """The exploring ends here; the answer is made of what there is. Said once.

        ``detail``: what ended, where it was not the budget of this question.
        """
        why = detail or self.spending.told(stopper)
        if why != self.why_stopped:
            self.stopped_by, self.why_stopped = stopper, why
            yield self.step("budget", why, failed=True)

    def exhausted(self, tokens: int = 0) -> Generator[StepEvent, None, bool]:
        """Whether the budget forbids one more call that reads ``tokens``."""
        if not self.stopped_by and (stopper := self.spending.stops_exploring(tokens, self._share)):
            yield from self.stop(stopper)
        return bool(self.stopped_by) or self.cancel.cancelled

    def ask(self, stage: str, shape: Shape[T], otherwise: str, **values: str) -> Generator[StepEvent, None, T | None]:
        """What the model says to the prompts ``stage``; None where there is no budget, or nothing can be read.

        ``otherwise``: what the agent does then, in a few words.

        Raises:
            ChatModelError: one that only a person can mend, e.g. a key that is refused, before any call has worked.
            BudgetExhaustedError: the day's tokens were used up before this question began.
        """
        messages = [
            Message("system", render(f"{stage}_system", **values)),
            Message("user", render(f"{stage}_user", **values)),
        ]
        if (yield from self.exhausted(sum(estimate_tokens(message.content) for message in messages))):
            return None
        prompt, started = asking(messages, self.question.search_text, shape), time.perf_counter()
        claim = self.spending.claim()
        model = ClaimedChatModel(self.chat_model, claim)
        try:
            with time_limit(self.cancel, self.spending.seconds_left(self._share)) as limited:
                asked = ask(model, prompt, shape, limited, stage=stage)
        except (BudgetExhaustedError, CallsUsedUpError) as error:
            claim.settle(StepTiming.since(stage, started, model.usage))
            if isinstance(error, BudgetExhaustedError) and not self.spending.usage_so_far.calls:
                raise
            yield from self.stop("calls") if claim.refused else self.stop("tokens", error.message)
            return None
        claim.settle(*asked.steps)
        if asked.error is not None and not self.may_go_on(asked.error):
            raise asked.error
        if asked.value is None and not self.cancel.cancelled:
            yield self.step(stage, f"{otherwise}: {asked.why}", failed=True)
            if limited.cancelled:
                yield from self.stop("seconds")
        return asked.value

    def may_go_on(self, error: ChatModelError) -> bool:
        """Whether a failed call leaves anything to hope for, or to show: it may pass, or others have worked."""
        usage = self.spending.usage_so_far
        worked = usage.calls > usage.failed_calls
        passes = error.retry_after is not None or error.reason == NOTHING_WRITTEN
        return worked or passes or isinstance(error, ContextLengthError)

    def within_seconds(
        self, work: Callable[[Cancellation], T], share: float = EXPLORING_SHARE
    ) -> Generator[StepEvent, None, T | None]:
        """What ``work`` comes to, in this thread; None where the budget's seconds ended it."""
        done: T | None = None
        with time_limit(self.cancel, self.spending.seconds_left(share)) as limited, breakable(limited):
            try:
                done = work(limited)
            except ChatbotError:
                if not limited.cancelled or self.cancel.cancelled:
                    raise
        if limited.cancelled and not self.cancel.cancelled:
            yield from self.stop("seconds")
        return done

    def search(
        self, searches: Sequence[Search], *, planning: bool = False
    ) -> Generator[StepEvent, None, list[Retrieval | None]]:
        """All of them at once; None for each that failed or was too slow, which the path names.

        ``planning``: a look before the plan is made; others have seconds of their own.

        Raises:
            DependencyError: nothing was found yet, and not one of these worked.
        """
        self._share = PLANNING_SHARE if planning else EXPLORING_SHARE
        found: list[Retrieval | None] = [None] * len(searches)
        left, most = self.spending.seconds_left(self._share), self.parts.search_seconds
        if left is not None and left <= 0:
            yield from self.stop("seconds")
            return found
        seconds = most if left is None else min(most, left)
        failures, started = list[Outcome[Retrieval]](), time.perf_counter()
        claims = [self.spending.claim() for _ in searches]
        work = [
            lambda cancel, one=one, claim=claim: self._in_thread(one, claim, cancel)
            for one, claim in zip(searches, claims, strict=True)
        ]
        for outcome in in_parallel(work, threads=self.parts.search_threads, cancel=self.cancel, seconds=seconds):
            label = searches[outcome.place].label
            if outcome.result is None:
                failures.append(outcome)
                claims[outcome.place].give_up("rerank", started)
                why = outcome.error.message if outcome.error else f"No answer within {round(seconds, 1):g} s."
                yield self.step("found", f"{label}: {why}", failed=True)
                continue
            found[outcome.place] = outcome.result
            claims[outcome.place].settle(*outcome.result.steps)
            yield self.step("found", label, hits=outcome.result.hits)
        if any(claim.refused for claim in claims):
            yield from self.stop("calls")
        late = any(failure.error is None for failure in failures)
        if seconds < most and late:
            yield from self.stop("seconds")
        elif failures and len(failures) == len(searches) and not self._found:
            raise next((failure.error for failure in failures if failure.error), too_slow(seconds))
        self._found = self._found or len(failures) < len(searches)
        return found

    def _in_thread(self, search: Search, claim: Claim, cancel: Cancellation) -> Retrieval:
        begin_request()  # waits at the same time would add up in the request's own time limit
        return self.retrieve(search, claim, cancel)

    def retrieve(self, search: Search, claim: Claim, cancel: Cancellation) -> Retrieval:
        """One search, in this thread. Raises DependencyError, BudgetExhaustedError."""
        return retrieved(self.parts, self.question, search, self.spending, claim, cancel)
