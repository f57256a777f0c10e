"""Split a text into sentences."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass
_SENTENCE_END = re.compile(
    r"(?<=[.!?。！？؟])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9À-ÞЀ-Яء-ي])|\n+"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|vs|etc|est|approx|incl|No|Gen|Lt|Col|Maj|Capt|Gov|Sen|Rep|Fig|Vol|ca|pp?|e\.g|i\.e"
    r"|Jan|Feb|Aug|Sept?|Oct|Nov|Dec)|\b[A-Z]|\([a-z])\.$"
)
PROSE_SENTENCE = re.compile(r"[A-Z][^.:;]{40,}[^.]*[.]")
"""A sentence, which is no label with its value."""


def sentences(text: str) -> list[str]:
    """Return the sentences and lines, stripped, in order. Abbreviations and initials do
    not end a sentence.
    """
    result: list[str] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        # Searching the whole sentence for one would take minutes on a page of initials.
        near = max(start, match.start() - 12)
        if "\n" in match.group() or not _ABBREVIATION.search(text, near, match.start()):
            if text[start : match.start()].strip():
                result.append(text[start : match.end()].strip())
            start = match.end()
    tail = text[start:].strip()
    return [*result, tail] if tail else result
