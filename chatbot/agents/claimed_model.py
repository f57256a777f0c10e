"""The chat model as one step of an agent sees it: within the question's budget of calls, and counted."""

from __future__ import annotations

from collections.abc import Iterator

from ..cancellation import Cancellation
from ..errors import ChatbotError, ChatModelError
from ..protocols import ChatModel
from ..schema import Delta, Prompt, Usage
from .spending import Claim


class CallsUsedUpError(ChatbotError):
    """The budget has no call left for this. Never leaves the agents: they answer with what there is."""


class ClaimedChatModel:
    """Implements `protocols.ChatModel`. ``usage`` is what was spent, also where an error hides it."""

    def __init__(self, inner: ChatModel, claim: Claim) -> None:
        self._inner = inner
        self._claim = claim
        self.model_id = inner.model_id
        self.usage = Usage()

    def stream(self, prompt: Prompt, *, cancel: Cancellation) -> Iterator[Delta]:
        """Raises CallsUsedUpError, BudgetExhaustedError, ChatModelError."""
        if not self._claim.take():
            raise CallsUsedUpError("The budget of model calls is used up.")
        counted: Usage | None = None
        try:
            for delta in self._inner.stream(prompt, cancel=cancel):
                if delta.usage is not None:
                    counted = delta.usage  # some servers count anew with every piece
                yield delta
        except ChatModelError:
            self.usage += Usage(calls=1, failed_calls=1)
            raise
        self.usage += counted or Usage(calls=1)
