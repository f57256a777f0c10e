"""A chat model under a daily budget (R-D9), counted for one question, too (R-C7); each prompt has a mark of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

from ..errors import BudgetExhaustedError, ChatModelError
from ..model_output.stream import Reply
from ..prompts import sealed
from ..protocols import ChatModel
from ..request import RequestContext
from ..schema import Delta, Prompt


class Meter(Protocol):
    """Tokens by day, of all workers."""

    def add(self, tokens: int) -> None:
        """Count tokens to today (UTC)."""

    def today(self) -> int:
        """Tokens counted today."""


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
        self.is_language_model = inner.is_language_model

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        """Raises BudgetExhaustedError, ChatModelError."""
        if self._limit is not None and (used := self._meter.today()) >= self._limit:
            raise BudgetExhaustedError(used=used, limit=self._limit, retry_after=self._reset())
        heard, failed = Reply(prompt), None
        try:
            for delta in self._inner.stream(replace(prompt, messages=sealed(prompt.messages)), request=request):
                heard.hear(delta)
                yield delta
        except ChatModelError as error:
            failed = error
            raise
        finally:  # also where the listener leaves in the middle
            usage = heard.usage_of_failed(failed) if failed else heard.usage
            request.meter.add(usage)
            self._meter.add(usage.tokens)

    def close(self) -> None:
        """Close the inner model's connections, where it has any."""
        if close := getattr(self._inner, "close", None):
            close()
