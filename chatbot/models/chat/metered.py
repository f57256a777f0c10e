"""A chat model with a daily budget (R-D9) that counts tokens for each question too (R-C7), and marks each prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

from ...domain import Delta, Prompt
from ...domain.errors import BudgetExhaustedError, ChatModelError
from ...domain.protocols import ChatModel
from ...domain.request import RequestContext
from ..prompts import sealed
from ..replies.stream import Reply


class Meter(Protocol):
    """Counts the tokens of a day (UTC) of all workers."""

    def add(self, tokens: int) -> None:
        """Add to today's tokens."""

    def today(self) -> int:
        """Return everybody's tokens of today."""


class Shares(Protocol):
    """Counts the tokens of a day (UTC) by account, of all workers."""

    def add_tokens(self, account: str, tokens: int) -> None:
        """Add to an account's tokens of today."""

    def tokens_today(self, account: str) -> int:
        """Return an account's tokens of today."""


class MeteredChatModel:
    """Implements `protocols.ChatModel`. ``limit``: tokens a day for everybody; accounts have limits of their own.

    The call that crosses a limit is finished, the next is refused. ``reset`` returns the seconds until the next day.
    """

    def __init__(
        self, inner: ChatModel, meter: Meter, shares: Shares, *, limit: int | None, reset: Callable[[], int]
    ) -> None:
        self._inner = inner
        self._meter = meter
        self._shares = shares
        self._limit = limit
        self._reset = reset
        self.model_id = inner.model_id
        self.is_language_model = inner.is_language_model

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        """Yield the inner model's reply and count it. Raises BudgetExhaustedError, ChatModelError."""
        who = request.caller
        if self._limit is not None and (used := self._meter.today()) >= self._limit:
            raise BudgetExhaustedError(used=used, limit=self._limit, retry_after=self._reset())
        most = who.daily_tokens
        if most is not None and (used := self._shares.tokens_today(who.account)) >= most:
            raise BudgetExhaustedError(used=used, limit=most, retry_after=self._reset(), whose="Your")
        response, failed = Reply(prompt), None
        try:
            for delta in self._inner.stream(replace(prompt, messages=sealed(prompt.messages)), request=request):
                response.add(delta)
                yield delta
        except ChatModelError as error:
            failed = error
            raise
        finally:  # also if the generator is closed in the middle
            usage = response.usage_of_failed(failed) if failed else response.usage
            request.meter.add(usage)
            self._meter.add(usage.tokens)
            if most is not None:
                self._shares.add_tokens(who.account, usage.tokens)

    def close(self) -> None:
        """Close the inner model's connections if it has any."""
        if close := getattr(self._inner, "close", None):
            close()
