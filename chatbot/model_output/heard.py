"""A reply while it comes: what was said so far, and what it has cost (R-C7)."""

from __future__ import annotations

import re
from dataclasses import replace

from ..errors import TIMEOUT, ChatModelError
from ..schema import Delta, Prompt, Usage
from ..text import estimate_tokens

_HALF = re.compile("[\ud800-\udfff]")
_FIRST_HALF = re.compile("[\ud800-\udbff]\\Z")


class Heard:
    """The reply to one ``prompt``. Of what fails in the middle it is all there is."""

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._pieces: list[str] = []
        self._half = ""
        self._counted: Usage | None = None

    def hear(self, delta: Delta) -> str:
        """What of ``delta`` can be sent and stored; half a character waits for the next, which may complete it."""
        text, self._half = _writable(self._half + delta.text)
        if text:
            self._pieces.append(text)
        self._counted = delta.usage or self._counted  # some servers count anew with every piece
        return text

    @property
    def text(self) -> str:
        """Thoughts too."""
        return "".join(self._pieces)

    @property
    def usage(self) -> Usage:
        """As the server counted it; an estimate where it does not, or was stopped before it said so."""
        if self._counted is not None:
            return self._counted
        asked = sum(estimate_tokens(message.content) for message in self._prompt.messages)
        return Usage(asked, estimate_tokens(self.text), calls=1)

    def usage_of_failed(self, error: ChatModelError) -> Usage:
        """What broke off has been paid for, as far as it came; what was refused has not."""
        paid = bool(self._pieces) or self._counted is not None or error.reason == TIMEOUT
        return replace(self.usage if paid else Usage(calls=1), failed_calls=1)


def _writable(text: str) -> tuple[str, str]:
    """The text without lone surrogates, and half a character at its end."""
    if not _HALF.search(text):
        return text, ""
    half = text[-1:] if _FIRST_HALF.search(text) else ""
    whole = text[: len(text) - len(half)]
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), half
