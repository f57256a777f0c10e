"""One completion of a chat model, as the events of an answer."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from ..cancellation import Cancellation
from ..errors import ChatModelError, ContextLengthError
from ..protocols import ChatModel
from ..schema import Prompt, TokenEvent, Usage
from .heard import Heard
from .thoughts import Spoken, without_thoughts


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote and what it cost. ``truncated``: it would have gone on, but for the limit."""

    text: str
    usage: Usage
    truncated: bool = False


def completion(
    model: ChatModel, prompt: Prompt, cancel: Cancellation, heard: Heard | None = None
) -> Generator[TokenEvent, None, Completion]:
    """Yields tokens; returns the whole. What a model thinks aloud is neither (R-C8).

    ``heard`` has all that came, thoughts too, for whoever goes on with it after a failure.

    Raises:
        ContextLengthError: the prompt is too long; nothing was written yet.
        ChatModelError: the model failed.
    """
    heard = heard or Heard(prompt)
    spoken, truncated = Spoken(), False
    try:
        for delta in model.stream(prompt, cancel=cancel):
            if (text := heard.hear(delta)) and (said := spoken.hear(text)):
                yield TokenEvent(said)
            truncated = truncated or delta.truncated
    except ContextLengthError as error:
        if not heard.text:
            raise
        raise ChatModelError(
            f"{model.model_id} had no room left in the middle of its answer.", remedy="Lower CONTEXT_TOKENS."
        ) from error
    if rest := spoken.rest():
        yield TokenEvent(rest)
    return Completion(without_thoughts(heard.text), heard.usage, truncated)


def completed(model: ChatModel, prompt: Prompt, cancel: Cancellation, heard: Heard | None = None) -> Completion:
    """The same at once, for what nobody reads while it is written."""
    writing = completion(model, prompt, cancel, heard)
    while True:
        try:
            next(writing)
        except StopIteration as ended:
            done: Completion = ended.value
            return done
