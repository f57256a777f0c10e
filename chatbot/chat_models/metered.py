"""A chat model under a daily budget (R-D9), whose calls can be recorded for one question (R-C7)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Protocol

from ..cancellation import Cancellation
from ..errors import TIMEOUT, BudgetExhaustedError, ChatModelError
from ..protocols import ChatModel
from ..schema import Delta, Prompt, Usage
from ..text import estimate_tokens


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
        counted: Usage | None = None
        pieces: list[str] = []
        failed = refused = False
        try:
            for delta in self._inner.stream(prompt, cancel=cancel):
                pieces.append(delta.text)
                counted = delta.usage or counted
                yield delta
        except ChatModelError as error:
            failed, refused = True, not pieces and error.reason != TIMEOUT
            raise
        finally:
            self._book(_used(prompt, pieces, counted, failed=failed, refused=refused))

    def _book(self, usage: Usage) -> None:
        if (spent := _spent.get()) is not None:
            spent.add(usage)
        self._meter.add(usage.tokens)

    def close(self) -> None:
        if close := getattr(self._inner, "close", None):
            close()


def _used(prompt: Prompt, pieces: Sequence[str], counted: Usage | None, *, failed: bool, refused: bool) -> Usage:
    """As the server counted it, else estimated: what broke off has been paid for, too, what was refused has not."""
    if counted is not None and counted.tokens:
        return Usage(counted.prompt_tokens, counted.completion_tokens, calls=1, failed_calls=int(failed))
    if refused:
        return Usage(calls=1, failed_calls=1)
    asked = sum(estimate_tokens(message.content) for message in prompt.messages)
    return Usage(asked, estimate_tokens("".join(pieces)), calls=1, failed_calls=int(failed))
