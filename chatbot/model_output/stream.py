"""A model's reply while it comes: what of it is said aloud (R-C8), and what it has cost (R-C7)."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass, replace

from ..errors import TIMEOUT, ChatModelError, ContextLengthError
from ..protocols import ChatModel
from ..request import RequestContext
from ..schema import Delta, Prompt, TokenEvent, Usage
from ..text import estimate_tokens

MOST_READ = 20_000
"""Characters of a reply that are looked at."""
_TAG = re.compile(r"(</?think(?:ing)?\s*>)", re.IGNORECASE)
_BEGUN_TAG = re.compile(r"<(?:/?(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?\s*)?$", re.IGNORECASE)
_HALF = re.compile("[\ud800-\udfff]")
_FIRST_HALF = re.compile("[\ud800-\udbff]\\Z")


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote and what it cost. ``truncated``: it would have gone on, but for the limit."""

    text: str
    usage: Usage
    truncated: bool = False


class Reply:
    """The reply to one ``prompt``, thoughts too. Of what fails in the middle it is all there is."""

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._pieces: list[str] = []
        self._half = ""
        self._counted: Usage | None = None

    def hear(self, delta: Delta) -> str:
        """The part of ``delta`` that can be sent and stored; half a character waits for the next, which may complete
        it.
        """
        text, self._half = _writable(self._half + delta.text)
        if text:
            self._pieces.append(text)
        self._counted = delta.usage or self._counted  # some servers count anew with every piece
        return text

    @property
    def text(self) -> str:
        """All that was written so far, thoughts included."""
        return "".join(self._pieces)

    @property
    def usage(self) -> Usage:
        """Tokens as the server counted them; an estimate where it does not, or was stopped before it said so."""
        if self._counted is not None:
            return self._counted
        asked = sum(estimate_tokens(message.content) for message in self._prompt.messages)
        return Usage(asked, estimate_tokens(self.text), calls=1)

    def usage_of_failed(self, error: ChatModelError) -> Usage:
        """What broke off has been paid for, as far as it came; what was refused has not."""
        paid = bool(self._pieces) or self._counted is not None or error.reason == TIMEOUT
        return replace(self.usage if paid else Usage(calls=1), failed_calls=1)


def completion(
    model: ChatModel, prompt: Prompt, request: RequestContext, reply: Reply | None = None
) -> Generator[TokenEvent, None, Completion]:
    """Yields tokens; returns the whole. What a model thinks aloud is neither (R-C8).

    ``reply`` has all that came, thoughts too, for whoever goes on with it after a failure.

    Raises:
        ContextLengthError: the prompt is too long; nothing was written yet.
        ChatModelError: the model failed.
    """
    reply = reply or Reply(prompt)
    spoken, truncated = ThoughtFilter(), False
    try:
        for delta in model.stream(prompt, request=request):
            if (text := reply.hear(delta)) and (shown := spoken.hear(text)):
                yield TokenEvent(shown)
            truncated = truncated or delta.truncated
    except ContextLengthError as error:
        if not reply.text:
            raise
        raise ChatModelError(
            f"{model.model_id} had no room left in the middle of its answer.", remedy="Lower CONTEXT_TOKENS."
        ) from error
    if rest := spoken.rest():
        yield TokenEvent(rest)
    return Completion(without_thoughts(reply.text), reply.usage, truncated)


def complete(model: ChatModel, prompt: Prompt, request: RequestContext, reply: Reply | None = None) -> Completion:
    """The whole reply at once, for what nobody reads while it is written."""
    writing = completion(model, prompt, request, reply)
    while True:
        try:
            next(writing)
        except StopIteration as ended:
            done: Completion = ended.value
            return done


def without_thoughts(reply: str) -> str:
    """The reply without its thoughts, also where only one of the two tags is there.

    A closing tag without its opening one ends thoughts that began with the reply: many chat templates write the
    opening tag into the prompt. Within thoughts the first closing tag ends them, since models mention the tag there.
    """
    spoken: list[str] = []
    thinking = False
    for place, piece in enumerate(_TAG.split(reply)):
        if place % 2 == 0:  # text; the tags stand between
            spoken += [] if thinking else [piece]
            continue
        closes = piece.startswith("</")
        if closes and not thinking:
            spoken.clear()
        thinking = not closes
    return "".join(spoken).strip()


def readable(reply: str) -> str:
    """What there is to read of a reply: no thoughts, at most `MOST_READ` characters."""
    return without_thoughts(reply)[:MOST_READ]


class ThoughtFilter:
    """`without_thoughts` while a reply is written: the part of it that may be shown already.

    What stands before a closing tag that was never opened has been shown by then; the finished text is without it.
    """

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        self._begun = True

    def hear(self, piece: str) -> str:
        """What ``piece`` adds; "" while the model thinks. The beginning of what may become a tag is held back."""
        pieces = _TAG.split(self._held + piece)
        self._held = ""
        if match := _BEGUN_TAG.search(pieces[-1]):
            pieces[-1], self._held = pieces[-1][: match.start()], match[0]
        spoken = ""
        for place, part in enumerate(pieces):
            if place % 2:
                self._thinking = not part.startswith("</")
                self._begun = self._thinking and self._begun
            elif not self._thinking:
                spoken += part
        return self._shown(spoken)

    def rest(self) -> str:
        """What was held back and became no tag."""
        held, self._held = self._held, ""
        return "" if self._thinking else self._shown(held)

    def _shown(self, text: str) -> str:
        """The text, without white space before the first word that is shown."""
        text = text if self._begun else text.lstrip()
        self._begun = self._begun or bool(text)
        return text


def _writable(text: str) -> tuple[str, str]:
    """The text without lone surrogates, and half a character at its end."""
    if not _HALF.search(text):
        return text, ""
    half = text[-1:] if _FIRST_HALF.search(text) else ""
    whole = text[: len(text) - len(half)]
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), half
