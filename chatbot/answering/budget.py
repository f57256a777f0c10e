"""The budget of one question: what was spent, and whether more may be (R-C7)."""

import threading
import time

from ..domain.chat import Budget, StepTiming, Stopper
from ..domain.errors import ChatbotError
from ..language.words import Say, counted, in_english

PLANNING_SHARE = 0.4
"""Share of the budget's seconds in which the first search has to begin."""
EXPLORING_SHARE = 0.7
"""Share of the budget's seconds for searching; the rest is for writing the answer."""


class Spending:
    """The part of its budget that a question has spent. Thread-safe.

    ``reserve`` tokens are kept for the answer, at most half of the budget. Calls and
    seconds are never exceeded. Tokens are counted after a call, so the last call may
    exceed them.
    """

    def __init__(self, budget: Budget, *, reserve: int = 0) -> None:
        self._budget = budget
        self._reserve = (
            reserve if budget.tokens is None else min(reserve, budget.tokens // 2)
        )
        self._began = time.monotonic() if budget.began is None else budget.began
        self._lock = threading.Lock()
        self.steps: tuple[StepTiming, ...] = ()
        """The steps of the question so far."""
        self.usage = budget.spent
        """The calls and tokens of the whole question."""
        self._calls_under_way = 0

    def add(self, *steps: StepTiming, calls: int = 0) -> None:
        """Record finished steps; ``calls`` of those under way are over."""
        with self._lock:
            self._calls_under_way -= calls
            self.steps += steps
            for step in steps:
                self.usage += step.usage

    def take_call(self, *, keep: int) -> bool:
        """Return whether another call leaves ``keep`` calls; if so, count it as under
        way.
        """
        with self._lock:
            most = self._budget.calls
            if (
                most is not None
                and self.usage.calls + self._calls_under_way + keep >= most
            ):
                return False
            self._calls_under_way += 1
            return True

    def stops_exploring(
        self, tokens: int = 0, share: float = EXPLORING_SHARE
    ) -> Stopper:
        """Return the limit that forbids a call that reads ``tokens`` and leaves a call
        for the answer; "" = none.
        """
        return self.stops_answer(calls=1, tokens=tokens + self._reserve, share=share)

    def stops_answer(
        self, *, calls: int = 0, tokens: int = 0, share: float = 1.0
    ) -> Stopper:
        """Return the limit that is reached, or would be with so many more calls and
        tokens; "" = none.
        """
        budget = self._budget
        if (
            budget.calls is not None
            and self.usage.calls + self._calls_under_way + calls >= budget.calls
        ):
            return "calls"
        if budget.tokens is not None and self.usage.tokens + tokens >= budget.tokens:
            return "tokens"
        left = self.seconds_left(share)
        if left is not None and left <= 0:
            return "seconds"
        return ""

    def seconds_left(self, share: float = 1.0) -> float | None:
        """Seconds until this share of the budget's time is over, negative after that;
        None without a limit.
        """
        seconds = self._budget.seconds
        if seconds is None:
            return None
        return share * seconds - (time.monotonic() - self._began)

    @property
    def tokens_left(self) -> int | None:
        """The remaining amount; None without a limit."""
        if self._budget.tokens is None:
            return None
        return max(0, self._budget.tokens - self.usage.tokens)

    def describe(self, stopper: Stopper, say: Say = in_english) -> str:
        """A sentence that names the limit that is used up."""
        whole = self._budget
        parts = {
            "calls": (whole.calls, "model call"),
            "tokens": (whole.tokens, "token"),
        }
        amount, noun = parts.get(stopper, (whole.seconds, "second"))
        is_whole = amount is not None and not amount % 1
        shown = (
            counted(say, int(amount or 0), noun)
            if is_whole
            else say(f"{{number}} {noun}s", number=f"{amount:g}")
        )
        return say("The budget of {amount} is used up.", amount=shown)


class Allowance:
    """Calls of the model for one piece of work, by one thread: each counts before it is
    made.

    ``keep`` calls of the budget stay unused: by default one, for the answer.
    """

    def __init__(self, spending: Spending, keep: int = 1) -> None:
        self._spending = spending
        self._keep = keep
        self.taken = 0
        self.refused = False
        """True if the budget prevented a call."""

    def take(self) -> bool:
        """Return whether another call may be made; if so, it counts from now on."""
        if not self._spending.take_call(keep=self._keep):
            self.refused = True
            return False
        self.taken += 1
        return True

    def settle(self, *steps: StepTiming) -> None:
        """End the work, which took these steps."""
        self._spending.add(*steps, calls=self.taken)
        self.taken = 0


class SecondsUsedUpError(ChatbotError):
    """The budget's seconds ended a piece of work. Never leaves the tools: a
    question is answered with what there is.
    """
