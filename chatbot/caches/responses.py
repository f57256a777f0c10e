"""The response level (R-B10): the same prompt to the same model is answered from the database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..cancellation import Cancellation
from ..protocols import Cache, ChatModel
from ..schema import ATTACHMENTS, Delta, Prompt, Question, Usage
from .keys import cache_key


class CachedChatModel:
    """Implements `protocols.ChatModel`. Only an answer that came to its end is kept.

    ``parameters``: what besides the prompt changes an answer (temperature, length).
    """

    def __init__(self, inner: ChatModel, cache: Cache, *, parameters: tuple[float, ...]) -> None:
        self._inner = inner
        self._cache = cache
        self._parameters = parameters
        self.model_id = inner.model_id

    def stream(self, prompt: Prompt, *, cancel: Cancellation) -> Iterator[Delta]:
        """Raises ChatModelError. A cached answer is one delta and no call; of attachments nothing is kept (R-A1)."""
        if any(passage.hit.chunk.collection == ATTACHMENTS for passage in prompt.context.passages):
            yield from self._inner.stream(prompt, cancel=cancel)
            return
        messages = [[message.role, message.content] for message in prompt.messages]
        key = cache_key(self.model_id, self._parameters, messages, prompt.json_schema)
        if (text := self._cache.get("response", key)) is not None:
            yield Delta(text, Usage(cached_calls=1))
            return
        pieces: list[str] = []
        truncated = False
        for delta in self._inner.stream(prompt, cancel=cancel):
            pieces.append(delta.text)
            truncated = truncated or delta.truncated
            yield delta
        if not truncated and not cancel.cancelled and (text := "".join(pieces)).strip():
            self._cache.put("response", key, text)

    def close(self) -> None:
        if close := getattr(self._inner, "close", None):
            close()


@dataclass(frozen=True, slots=True)
class ChatModels:
    """The one that remembers what it said, and the same for who wants a new answer."""

    cached: ChatModel
    uncached: ChatModel

    @property
    def model_id(self) -> str:
        return self.cached.model_id

    def of(self, question: Question) -> ChatModel:
        return self.cached if question.cache else self.uncached
