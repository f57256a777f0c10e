"""Messages that ask nothing: hello, thanks, goodbye."""

from __future__ import annotations

from ..language import WORD_PATTERN
from .english import pattern, words

_GREETS = pattern(r"^\W*{greeting}\b")
_GREETING_WORDS = words("greeting_words")
_ASKS_OF_IT = pattern(r"\b(?:how|is|was)\b(?!\s+are\s+you\b)(?=.*\?)")
"""Asks that of something said before: "ok, how is it today?"."""


def is_small_talk(text: str) -> bool:
    """Return whether a message says hello, thanks or goodbye, and nothing else: "ok thanks, bye!"."""
    greets = _GREETS.match(text) is not None and _GREETING_WORDS.issuperset(WORD_PATTERN.findall(text.lower()))
    return greets and not _ASKS_OF_IT.search(text)
