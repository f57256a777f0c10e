"""The budget of one question: what was spent, whether more may be, and a chat model that keeps within it (R-C7)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..errors import ChatbotError, ChatModelError
from ..model_output.stream import Reply
from ..protocols import ChatModel
from ..request import RequestContext
from ..schema import Budget, Delta, Prompt, StepTiming, Stopper, Usage
from ..words import Say, counted, in_english

PLANNING_SHARE = 0.4
"""The share of the budget's seconds that may have passed when the first search begins."""
EXPLORING_SHARE = 0.7
"""The share of the budget's seconds after which no more is searched; the rest is for writing the answer."""


@dataclass(frozen=True, slots=True)
class RemainingBudget(Budget):
    """What is left of the budget ``whole`` after ``spent``."""

    whole: Budget = field(default_factory=Budget)
    spent: Usage = field(default_factory=Usage)
    begun: bool = False
    """Whether an agent has begun the question. Reading it in `ChatService` does not count."""


class Spending:
    """Thread-safe. ``reserve`` tokens are kept for the answer, at most half of the budget.

    Calls and seconds are kept to. Tokens are counted after a call, so the last one may exceed the budget.
    """

    def __init__(self, budget: Budget, *, reserve: int) -> None:
        self._budget = self._whole = budget
        self._before = Usage()
        self.goes_on = False
        """Whether another agent has begun this question."""
        if isinstance(budget, RemainingBudget):
            self._whole, self._before, self.goes_on = budget.whole, budget.spent, budget.begun
        self._reserve = reserve if self._whole.tokens is None else min(reserve, self._whole.tokens // 2)
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self.steps: tuple[StepTiming, ...] = ()
        """This agent's finished steps, in the order they were done."""
        self.usage = Usage()
        """Calls and tokens of this agent's steps."""
        self._calls_under_way = 0

    def add(self, *steps: StepTiming, calls: int = 0) -> None:
        """Record finished steps; what they used counts from now on, and ``calls`` are no longer under way."""
        with self._lock:
            self._calls_under_way -= calls
            self.steps += steps
            for step in steps:
                self.usage += step.usage

    def take_call(self, *, keep: int) -> bool:
        """Whether one more call may be made that leaves ``keep``; if so, it counts as under way from now on."""
        with self._lock:
            most = self._budget.calls
            if most is not None and self.usage.calls + self._calls_under_way + keep >= most:
                return False
            self._calls_under_way += 1
            return True

    def allowance(self, *, keep: int = 1) -> Allowance:
        """An allowance for calls of the model that leaves ``keep`` calls of the budget unused: by default one, for
        the answer.
        """
        return Allowance(self, keep)

    @property
    def usage_so_far(self) -> Usage:
        """Calls and tokens of the whole question, with what was spent before this agent began."""
        return self._before + self.usage

    def stops_exploring(self, tokens: int = 0, share: float = EXPLORING_SHARE) -> Stopper:
        """What forbids one more call that reads ``tokens``; "" where nothing does. One call is left for the answer."""
        return self.stops_answer(calls=1, tokens=tokens + self._reserve, share=share)

    def stops_answer(self, *, calls: int = 0, tokens: int = 0, share: float = 1.0) -> Stopper:
        """The limit that is reached, so that not even the answer may be written; "" = none.

        With the arguments: the limit that so much more would reach.
        """
        budget = self._budget
        if budget.calls is not None and self.usage.calls + self._calls_under_way + calls >= budget.calls:
            return "calls"
        if budget.tokens is not None and self.usage.tokens + tokens >= budget.tokens:
            return "tokens"
        left = self.seconds_left(share)
        return "seconds" if left is not None and left <= 0 else ""

    def seconds_left(self, share: float = 1.0) -> float | None:
        """Seconds until the budget's time, or this share of it, is over; negative once it is; None without a limit."""
        if self._budget.seconds is None or self._whole.seconds is None:
            return None
        kept = (1 - share) * self._whole.seconds
        return self._budget.seconds - kept - (time.monotonic() - self._started)

    @property
    def tokens_left(self) -> int | None:
        """Tokens that may still be used; None where the budget does not limit them."""
        return None if self._budget.tokens is None else max(0, self._budget.tokens - self.usage.tokens)

    def left(self, *, begun: bool = False) -> RemainingBudget:
        """The budget of what goes on with this question, which an agent has ``begun``."""
        calls = None if self._budget.calls is None else max(0, self._budget.calls - self.usage.calls)
        return RemainingBudget(calls, self.tokens_left, self.seconds_left(), self._whole, self.usage_so_far, begun)

    def describe(self, stopper: Stopper, say: Say = in_english) -> str:
        """A sentence that says which limit of the budget is used up."""
        whole = self._whole
        parts = {"calls": (whole.calls, "model call"), "tokens": (whole.tokens, "token")}
        amount, noun = parts.get(stopper, (whole.seconds, "second"))
        is_whole = amount is not None and not amount % 1
        shown = counted(say, int(amount or 0), noun) if is_whole else say(f"{{number}} {noun}s", number=f"{amount:g}")
        return say("The budget of {amount} is used up.", amount=shown)


class Allowance:
    """Calls of the model for one piece of work: they count from before they are made. One thread at a time."""

    def __init__(self, spending: Spending, keep: int) -> None:
        self._spending = spending
        self._keep = keep
        self._taken = 0
        self.refused = False
        """Whether a call was not made because of the budget."""

    def take(self) -> bool:
        """Whether one more call may be made; if so, it counts from now on."""
        if not self._spending.take_call(keep=self._keep):
            self.refused = True
            return False
        self._taken += 1
        return True

    def settle(self, *steps: StepTiming) -> None:
        """The work is done: this is what it took. Left out where nobody knows; then the calls count as they are."""
        self._spending.add(*steps, calls=self._taken)
        self._taken = 0

    def give_up(self, stage: str, started: float) -> None:
        """The work failed, or nobody waits for it: its calls were made, their tokens are unknown."""
        if calls := self._taken:
            self.settle(StepTiming.since(stage, started, Usage(calls=calls, failed_calls=calls)))


class CallsUsedUpError(ChatbotError):
    """The budget has no call left for this. Never leaves the agents: they answer with what there is."""


class SecondsUsedUpError(ChatbotError):
    """The budget has no time left for this. Never leaves the agents either."""


class BudgetedChatModel:
    """Implements `protocols.ChatModel`. ``usage`` is what was spent, also where an error hides it."""

    def __init__(self, inner: ChatModel, allowance: Allowance) -> None:
        self._inner = inner
        self._allowance = allowance
        self.model_id = inner.model_id
        self.is_language_model = inner.is_language_model
        self.usage = Usage()

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        """The inner model's reply, if the budget has a call left.

        Raises CallsUsedUpError, BudgetExhaustedError, ChatModelError.
        """
        if not self._allowance.take():
            raise CallsUsedUpError("The budget of model calls is used up.")
        response = Reply(prompt)
        try:
            for delta in self._inner.stream(prompt, request=request):
                response.add(delta)
                yield delta
        except ChatModelError as error:
            self.usage += response.usage_of_failed(error)
            raise
        self.usage += response.usage
