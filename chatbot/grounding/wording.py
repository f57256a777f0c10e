"""The wording of an answer: its sentences with the passages they cite, its quotations, words as they are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass

from ..text import sentences

_STRAIGHT = r"\"([^\"\n]{3,})\""
_SINGLE = r"(?<![\w'’])['‘]((?:[^'‘’\n]|(?<=\w)['’](?=\w)){3,}?)['’](?!\w)"
QUOTATION = re.compile(
    rf"“([^“”\n]{{3,}})”|„([^„“”\n]{{3,}})[“”]|«([^«»\n]{{3,}})»|‹([^‹›\n]{{3,}})›|「([^「」\n]{{2,}})」"
    rf"|『([^『』\n]{{2,}})』|{_STRAIGHT}|{_SINGLE}"
)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_MARKS = re.compile(r"(?<!\\)(?:[*`]+|~{2,}|(?<!\w)_+|_+(?!\w))")
_QUOTES = dict.fromkeys(map(ord, "\"“”„‟«»‹›「」『』'‘’‚‛ʼ′`"), "'")
_UNSEEN = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_DASH = re.compile(" ?[-\u2010-\u2015\u2212\ufe58\ufe63\uff0d]+ ?")
_GAP = re.compile(r"\[?\s?(?:\.\s?\.\s?\.|…)\s?\]?")
_INSERTION = re.compile(rf"{_GAP.pattern}|\[[^\[\]]*\]")
"""What somebody who quotes puts between brackets to make a sentence complete."""
_INSERTED = re.compile(r"\[(\w)\](?=\w)")
_UNSPACED = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
"""Scripts that do not part words by spaces."""
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


def without_text_of(response: str, texts: Collection[str]) -> str:
    """The response with "…" for every sentence that stands in one of the texts."""
    compared = [normalise(text) for text in texts]
    for sentence in sentences(response):
        words = normalise(strip_marks(without_numbers(sentence))).strip("> -.'")
        if " " in words and any(words in text for text in compared):
            response = response.replace(sentence, "…", 1)
    return response


def without_numbers(text: str) -> str:
    """The text without what it cites."""
    return _WITH_SPACE.sub("", text)


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
        Sentence(
            " ".join(strip_marks(sentence).replace("|", " ").split()),
            strip_marks(_NUMBERS.sub(" ", sentence)),
            tuple(numbers),
        )
        for sentence in found
        if (numbers := cited_numbers(sentence))
    ]


def strip_marks(text: str) -> str:
    """Without Markdown's marks and escapes."""
    return _ESCAPE.sub(r"\1", _MARKS.sub("", text))


def normalise(text: str) -> str:
    """For comparing words: no case, one kind of dash and white space, no quotation marks, nothing invisible."""
    text = unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).casefold().translate(_QUOTES)
    text = re.sub(r"(?<!\w)'+|'+(?!\w)", "", text)
    text = re.sub(r"(?<=\d)[, ](?=\d{3}(?!\d))", "", text)
    text = _DASH.sub("-", " ".join(_MARKS.sub("", text).split()))
    return re.sub(r" (?=[,.;:!?%)\]])", "", text)


def quotations(sentence: str) -> list[str]:
    """What stands between quotation marks of any kind, as it is written."""
    return [next(filter(None, groups)).strip() for groups in QUOTATION.findall(sentence)]


def is_quoted(quotation: str, words: str) -> bool:
    """Whether ``words`` (normalised) has it: whole words, its pieces in order where "…" leaves something out."""
    without_insertions = _INSERTION.split(_INSERTED.sub(r"\1", quotation))
    return _in_order(_GAP.split(quotation), words) or _in_order(without_insertions, words)


def _in_order(pieces: list[str], words: str) -> bool:
    place = 0
    for piece in filter(None, (normalise(piece).strip(" .,;:!?-") for piece in pieces)):
        match = _whole(piece).search(words, place)
        if match is None:
            return False
        place = match.end()
    return True


def _whole(piece: str) -> re.Pattern[str]:
    """The piece, not as a part of a longer word or number."""
    before = "" if re.match(f"[{_UNSPACED}\\W]", piece) else r"(?<!\w)(?<!\d[.,])"
    after = "" if re.search(f"[{_UNSPACED}\\W]$", piece) else r"(?!\w)(?![.,]\d)"
    return re.compile(before + re.escape(piece) + after)
