"""A chat model under a daily budget (R-D9), whose calls can be recorded for one question (R-C7)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Protocol

from ..cancellation import Cancellation
from ..errors import BudgetExhaustedError, ChatModelError
from ..model_output.heard import Heard
from ..protocols import ChatModel
from ..schema import Delta, Prompt, Usage


class Meter(Protocol):
    """Tokens by day, of all workers."""

    def add(self, tokens: int) -> None: ...

    def today(self) -> int: ...


class Spent:
    """What has reached the metered model since `begin_recording`. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usage = Usage()

    @property
    def usage(self) -> Usage:
        with self._lock:
            return self._usage

    def add(self, usage: Usage) -> None:
        with self._lock:
            self._usage += usage


_spent: ContextVar[Spent | None] = ContextVar("spent", default=None)


def begin_recording() -> Spent:
    """From now on in this context, and in the copies of it that threads work in."""
    spent = Spent()
    _spent.set(spent)
    return spent


class MeteredChatModel:
    """Implements `protocols.ChatModel`. ``limit`` tokens a day; the call that crosses it is finished, the next is not.

    ``reset`` gives the seconds until the next day.
    """

    def __init__(self, inner: ChatModel, meter: Meter, *, limit: int | None, reset: Callable[[], int]) -> None:
        self._inner = inner
        self._meter = meter
        self._limit = limit
        self._reset = reset
        self.model_id = inner.model_id

    def stream(self, prompt: Prompt, *, cancel: Cancellation) -> Iterator[Delta]:
        """Raises BudgetExhaustedError, ChatModelError."""
        if self._limit is not None and (used := self._meter.today()) >= self._limit:
            raise BudgetExhaustedError(used=used, limit=self._limit, retry_after=self._reset())
        heard, failed = Heard(prompt), None
        try:
            for delta in self._inner.stream(prompt, cancel=cancel):
                heard.hear(delta)
                yield delta
        except ChatModelError as error:
            failed = error
            raise
        finally:  # also where the listener leaves in the middle
            self._book(heard.usage_of_failed(failed) if failed else heard.usage)

    def _book(self, usage: Usage) -> None:
        if (spent := _spent.get()) is not None:
            spent.add(usage)
        self._meter.add(usage.tokens)

    def close(self) -> None:
        if close := getattr(self._inner, "close", None):
            close()
