"""An answer's sentences, and the numbers of the passages that each cites."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from ..text import sentences
from .wording import QUOTATION, unmarked

_GROUP = r"\[\d{1,3}(?:\s*,\s*\d{1,3})*\]"
_NUMBERS = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_WITH_SPACE = re.compile(rf"(?:(?<![ \t])[ \t]+)?{_NUMBERS.pattern}")
_LIST_MARK = re.compile(
    r"^[ \t>]*(?:[-*+]|#{1,6}|\(?\d{1,2}[.)])[ \t]+|^[ \t]*\|[ \t]*\d{1,2}[ \t]*(?=\|)", re.MULTILINE
)
_STRONG_MARK = re.compile(r"^[ \t>]*(?:\*\*|__)\d{1,2}[.)](?:\*\*|__)?[ \t]+", re.MULTILINE)
_AFTER_STOP = re.compile(rf"([.!?…。！？][\"'”’»)*_]*)[ \t]*((?:{_GROUP}[ \t]*)+)")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,300})\]\([^()\s]{1,2000}\)")
_KEPT = "\ue000"
"""Stands for white space at which no sentence ends."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """``text`` as it is read, with its numbers; ``words`` is the same without them."""

    text: str
    words: str
    numbers: tuple[int, ...]


def cited_numbers(response: str) -> list[int]:
    """The numbers in square brackets, in order of first appearance."""
    found = [int(number) for group in _NUMBERS.findall(response) for number in group.split(",")]
    return list(dict.fromkeys(found))


def without_numbers(text: str) -> str:
    """The text without what it cites."""
    return _NUMBERS.sub("", text)


def with_numbers_of(text: str, numbers: Collection[int]) -> str:
    """The text with these of its citations only."""

    def own(group: re.Match[str]) -> str:
        cited = group[1].split(",")
        kept = [number for number in cited if int(number) in numbers]
        return group[0] if len(kept) == len(cited) else f" [{','.join(kept).strip()}]" if kept else ""

    return _WITH_SPACE.sub(own, text)


def cited_sentences(response: str) -> list[Sentence]:
    """Those that cite something. A quotation is never cut; numbers after a full stop belong to what precedes them."""
    text = _LIST_MARK.sub("", _STRONG_MARK.sub("", _LINK.sub(r"\1", response)))
    text = QUOTATION.sub(lambda quote: re.sub(r"\s", _KEPT, quote[0]), text)
    text = _AFTER_STOP.sub(rf"\1{_KEPT}\2\n", text)
    found = [sentence.replace(_KEPT, " ") for sentence in sentences(text)]
    return [
        Sentence(_read(sentence), unmarked(_NUMBERS.sub(" ", sentence)), tuple(numbers))
        for sentence in found
        if (numbers := cited_numbers(sentence))
    ]


def _read(sentence: str) -> str:
    return " ".join(unmarked(sentence).replace("|", " ").split())
