"""What one question has cost so far, and whether it may cost more (R-C7)."""

from __future__ import annotations

import threading
import time

from ..schema import Budget, StepTiming, Stopper, Usage

EXPLORING_SHARE = 0.7
"""Of the seconds: what is left is for writing the answer."""


class Spending:
    """Thread-safe. ``reserve`` tokens are kept for the answer, at most half of the budget."""

    def __init__(self, budget: Budget, *, reserve: int) -> None:
        self._budget = budget
        self._reserve = reserve if budget.tokens is None else min(reserve, budget.tokens // 2)
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._steps: list[StepTiming] = []

    def add(self, *steps: StepTiming) -> None:
        with self._lock:
            self._steps += steps

    @property
    def steps(self) -> tuple[StepTiming, ...]:
        with self._lock:
            return tuple(self._steps)

    @property
    def usage(self) -> Usage:
        return Usage.total(step.usage for step in self.steps)

    def stops_exploring(self, tokens: int = 0) -> Stopper:
        """What forbids one more call that reads ``tokens``; "" where nothing does. One call is left for the answer."""
        return self._stops(calls=1, tokens=tokens + self._reserve, share=EXPLORING_SHARE)

    def stops_answer(self) -> Stopper:
        """What forbids even the answer."""
        return self._stops(calls=0, tokens=0, share=1.0)

    def seconds_left(self, share: float = 1.0) -> float | None:
        """Until the budget's seconds, or a share of them, are over; None without a limit."""
        if self._budget.seconds is None:
            return None
        return self._budget.seconds * share - (time.monotonic() - self._started)

    @property
    def tokens_left(self) -> int | None:
        return None if self._budget.tokens is None else max(0, self._budget.tokens - self.usage.tokens)

    def left(self) -> Budget:
        """The budget of somebody who goes on with this question."""
        calls = None if self._budget.calls is None else max(0, self._budget.calls - self.usage.calls)
        return Budget(calls, self.tokens_left, self.seconds_left())

    def told(self, stopper: Stopper) -> str:
        """What ended, in words."""
        if stopper == "calls":
            return f"The budget of {self._budget.calls:,} model calls is used up."
        if stopper == "tokens":
            return f"The budget of {self._budget.tokens:,} tokens is used up."
        return f"The budget of {self._budget.seconds:g} seconds is used up."

    def _stops(self, *, calls: int, tokens: int, share: float) -> Stopper:
        usage, budget = self.usage, self._budget
        if budget.calls is not None and usage.calls + calls >= budget.calls:
            return "calls"
        if budget.tokens is not None and usage.tokens + tokens >= budget.tokens:
            return "tokens"
        left = self.seconds_left(share)
        return "seconds" if left is not None and left <= 0 else ""
