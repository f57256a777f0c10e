"""One completion of a chat model, as the events of an answer."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from ..cancellation import Cancellation
from ..errors import ChatModelError, ContextLengthError
from ..model_output.thoughts import Spoken, without_thoughts
from ..protocols import ChatModel
from ..schema import Prompt, TokenEvent, Usage
from ..text import estimate_tokens


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote and what it cost. ``truncated``: it would have gone on, but for the limit."""

    text: str
    usage: Usage
    truncated: bool = False


def completion(model: ChatModel, prompt: Prompt, cancel: Cancellation) -> Generator[TokenEvent, None, Completion]:
    """Yields tokens; returns the whole. What a model thinks aloud is neither (R-C8).

    Raises:
        ContextLengthError: the prompt is too long; nothing was written yet.
        ChatModelError: the model failed.
    """
    pieces: list[str] = []
    usage: Usage | None = None
    truncated = False
    try:
        spoken = Spoken()
        for delta in model.stream(prompt, cancel=cancel):
            if delta.text:
                pieces.append(delta.text)
            if delta.text and (heard := spoken.hear(delta.text)):
                yield TokenEvent(heard)
            if delta.usage is not None:
                usage = (usage or Usage()) + delta.usage
            truncated = truncated or delta.truncated
    except ContextLengthError as error:
        if not pieces:
            raise
        raise ChatModelError(
            f"{model.model_id} had no room left in the middle of its answer.", remedy="Lower CONTEXT_TOKENS."
        ) from error
    if rest := spoken.rest():
        yield TokenEvent(rest)
    return Completion(without_thoughts("".join(pieces)), usage or _estimated(prompt, pieces), truncated)


def completed(model: ChatModel, prompt: Prompt, cancel: Cancellation) -> Completion:
    """The same at once, for what nobody reads while it is written."""
    writing = completion(model, prompt, cancel)
    while True:
        try:
            next(writing)
        except StopIteration as ended:
            done: Completion = ended.value
            return done


def _estimated(prompt: Prompt, pieces: Sequence[str]) -> Usage:
    """For a server that does not count, or was stopped before it said what it had counted."""
    asked = sum(estimate_tokens(message.content) for message in prompt.messages)
    return Usage(asked, estimate_tokens("".join(pieces)), calls=1)
