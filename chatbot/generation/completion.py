"""One completion of a chat model, as the events of an answer."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from ..cancellation import Cancellation
from ..errors import TIMEOUT, ChatModelError, ContextLengthError
from ..model_output.thoughts import Spoken, without_thoughts
from ..protocols import ChatModel
from ..schema import Prompt, TokenEvent, Usage
from ..text import estimate_tokens

_HALF = re.compile("[\ud800-\udfff]")
_FIRST_HALF = re.compile("[\ud800-\udbff]\\Z")


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote and what it cost. ``truncated``: it would have gone on, but for the limit."""

    text: str
    usage: Usage
    truncated: bool = False


def completion(
    model: ChatModel, prompt: Prompt, cancel: Cancellation, pieces: list[str] | None = None
) -> Generator[TokenEvent, None, Completion]:
    """Yields tokens; returns the whole. What a model thinks aloud is neither (R-C8).

    ``pieces`` gets all that was heard, thoughts too: of what fails in the middle it is all there is.

    Raises:
        ContextLengthError: the prompt is too long; nothing was written yet.
        ChatModelError: the model failed.
    """
    pieces = [] if pieces is None else pieces
    usage: Usage | None = None
    truncated, half = False, ""
    try:
        spoken = Spoken()
        for delta in model.stream(prompt, cancel=cancel):
            text, half = _writable(half + delta.text)
            if text:
                pieces.append(text)
            if text and (heard := spoken.hear(text)):
                yield TokenEvent(heard)
            usage = delta.usage or usage  # some servers count anew with every piece
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


def completed(model: ChatModel, prompt: Prompt, cancel: Cancellation, pieces: list[str] | None = None) -> Completion:
    """The same at once, for what nobody reads while it is written."""
    writing = completion(model, prompt, cancel, pieces)
    while True:
        try:
            next(writing)
        except StopIteration as ended:
            done: Completion = ended.value
            return done


def of_failed(prompt: Prompt, pieces: Sequence[str], error: ChatModelError) -> Usage:
    """What broke off has been paid for, as far as it came; what was refused has not."""
    usage = _estimated(prompt, pieces) if pieces or error.reason == TIMEOUT else Usage(calls=1)
    return replace(usage, failed_calls=1)


def _writable(text: str) -> tuple[str, str]:
    """What can be sent and stored of it, and half a character that the next piece may complete."""
    if not _HALF.search(text):
        return text, ""
    half = text[-1:] if _FIRST_HALF.search(text) else ""
    whole = text[: len(text) - len(half)]
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), half


def _estimated(prompt: Prompt, pieces: Sequence[str]) -> Usage:
    """For a server that does not count, or was stopped before it said what it had counted."""
    asked = sum(estimate_tokens(message.content) for message in prompt.messages)
    return Usage(asked, estimate_tokens("".join(pieces)), calls=1)
