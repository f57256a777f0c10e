"""One completion of a chat model, as the events of an answer."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from ..cancellation import Cancellation
from ..errors import ChatModelError, ContextLengthError
from ..protocols import ChatModel
from ..schema import Prompt, TokenEvent, Usage


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote and what it cost. ``truncated``: it would have gone on, but for the limit."""

    text: str
    usage: Usage
    truncated: bool = False


def completion(model: ChatModel, prompt: Prompt, cancel: Cancellation) -> Generator[TokenEvent, None, Completion]:
    """Yields tokens; returns the whole.

    Raises:
        ContextLengthError: the prompt is too long; nothing was written yet.
        ChatModelError: the model failed.
    """
    pieces: list[str] = []
    usage = Usage()
    truncated = False
    try:
        for delta in model.stream(prompt, cancel=cancel):
            if delta.text:
                pieces.append(delta.text)
                yield TokenEvent(delta.text)
            if delta.usage is not None:
                usage = usage + delta.usage
            truncated = truncated or delta.truncated
    except ContextLengthError as error:
        if not pieces:
            raise
        raise ChatModelError(
            f"{model.model_id} had no room left in the middle of its answer.", remedy="Lower CONTEXT_TOKENS."
        ) from error
    return Completion("".join(pieces).strip(), usage, truncated)
