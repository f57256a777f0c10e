"""Messages that ask nothing: greetings and thanks. English."""

from __future__ import annotations

import re

_OPENS = re.compile(
    r"^\W*(?:hello|hi|hey|greetings|good (?:morning|afternoon|evening|day|night)|how are you|thanks?|thank you"
    r"|thx|cheers|bye|goodbye|see you|ok|okay|great|perfect|nice|cool|alright|all right|welcome)\b",
    re.IGNORECASE,
)
_SAID_TOO = """
hello hi hey greetings there again everyone all good morning afternoon evening day night how are you doing today
thanks thank thx very so much many a lot for the your this that help answer answers information cheers bye goodbye see
later soon ok okay great perfect nice cool alright right welcome helpful was is it well done i got have
"""
_WORDS = frozenset(_SAID_TOO.split())
_WORD = re.compile(r"\w+")
_ASKS = re.compile(r"\b(?:how|is|was)\b(?!\s+are\s+you\b)(?=.*\?)", re.IGNORECASE)
"""Asks that of something said before: "ok, how is it today?"."""


def is_small_talk(text: str) -> bool:
    """Whether a message says hello, thanks or goodbye, and nothing else: "ok thanks, bye!"."""
    is_said = _OPENS.match(text) is not None and _WORDS.issuperset(_WORD.findall(text.lower()))
    return is_said and not _ASKS.search(text)
