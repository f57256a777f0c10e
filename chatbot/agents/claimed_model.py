"""The chat model as one step of an agent sees it: within the question's budget of calls, and counted."""

from __future__ import annotations

from collections.abc import Iterator

from ..cancellation import Cancellation
from ..errors import ChatbotError, ChatModelError
from ..model_output.heard import Heard
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
        heard = Heard(prompt)
        try:
            for delta in self._inner.stream(prompt, cancel=cancel):
                heard.hear(delta)
                yield delta
        except ChatModelError as error:
            self.usage += heard.usage_of_failed(error)
            raise
        self.usage += heard.usage
