"""A chat model under a daily budget (R-D9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from ..cancellation import Cancellation
from ..errors import BudgetExhaustedError
from ..protocols import ChatModel
from ..schema import Delta, Prompt, Usage
from ..text import estimate_tokens


class Meter(Protocol):
    """Tokens by day, of all workers."""

    def add(self, tokens: int) -> None: ...

    def today(self) -> int: ...


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
        usage: Usage | None = None
        pieces: list[str] = []
        try:
            for delta in self._inner.stream(prompt, cancel=cancel):
                pieces.append(delta.text)
                usage = delta.usage or usage
                yield delta
        finally:
            # Also what was broken off has been paid for; where nobody counted it, it is estimated.
            asked = sum(estimate_tokens(message.content) for message in prompt.messages)
            counted = usage.prompt_tokens + usage.completion_tokens if usage else 0
            self._meter.add(counted or asked + estimate_tokens("".join(pieces)))

    def close(self) -> None:
        if close := getattr(self._inner, "close", None):
            close()
