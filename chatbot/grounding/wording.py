"""The wording of an answer: its sentences with the passages they cite, its quotations, words as they are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import replace

from ..invisible import visible
from ..schema import Context
from ..text import sentences

_STRAIGHT = r"\"([^\"\n]{3,})\""
_SINGLE = r"(?<![\w'’])['‘]((?:[^'‘’\n]|(?<=\w)['’](?=\w)){3,}?)['’](?!\w)"
QUOTATION = re.compile(
    rf"“([^“”\n]{{3,}})”|„([^„“”\n]{{3,}})[“”]|«([^«»\n]{{3,}})»|‹([^‹›\n]{{3,}})›|「([^「」\n]{{2,}})」"
    rf"|『([^『』\n]{{2,}})』|{_STRAIGHT}|{_SINGLE}"
)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_MARKS = re.compile(r"(?<!\\)(?:[*`]+|~{2,}|(?<!\w)_+|(?<!_)_+(?!\w)|(?<=\\_)_+(?!\w))")
_QUOTES = dict.fromkeys(map(ord, "\"“”„‟«»‹›「」『』'‘’‚‛ʼ′`"), "'")
_DASH = re.compile(" ?[-\u2010-\u2015\u2212\ufe58\ufe63\uff0d]+ ?")
_GAP = re.compile(r"\[?\s?(?:\.\s?\.\s?\.|…)\s?\]?")
_INSERTION = re.compile(rf"{_GAP.pattern}|\[[^\[\]]*\]")
"""What somebody who quotes puts between brackets to make a sentence complete."""
_INSERTED = re.compile(r"\[(\w)\](?=\w)")
_UNSPACED = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
"""Scripts that do not part words by spaces."""
_OPEN_START, _OPEN_END = re.compile(rf"[{_UNSPACED}\W]"), re.compile(rf"[{_UNSPACED}\W]$")
"""Of a quotation: a sign before or behind which a word may stand."""
_MAY_BEGIN, _MAY_END = re.compile(r"(?<!\w)(?<!\d[.,])"), re.compile(r"(?!\w)(?![.,]\d)")
GROUP = r"\[\d{1,3}(?:\s*,\s*\d{1,3})*\]"
NUMBERS = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_WITH_SPACE = re.compile(rf"(?:(?<![ \t])[ \t]+)?{NUMBERS.pattern}")
_STYLES = re.compile(
    r"[【〔［]\s?(?:\w+ )?\d{1,3}(?:\s*[-–,;]\s*\d{1,3})*(?:†[^】]{0,40})?\s?[】〕］]"
    r"|\[\^?(?:(?:passages?|sources?|refs?\.?|citations?|quellen?|fuentes?)[: ]\s*)?\d{1,3}"
    r"(?:\s*(?:[-–,;&]|and)\s*(?:(?:passage|source) )?\d{1,3})*\]"
    r"|\((?:passages?|sources?) \d{1,3}(?:\s*(?:[-–,;&]|and)\s*\d{1,3})*\)",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(\d{1,3})(?!†)(?:\s*[-–]\s*(\d{1,3}))?(?![^【]*†\d)")
_BARE_STYLES = re.compile(
    r"(?<=[^\W\d]|[.,;:!?%)\"”’])(?<!\bm)(?<!\b[kcm]m)(?<!\bmi)(?<!\bft)([¹²³⁴⁵⁶⁷⁸⁹]{1,3})(?![\w⁰])"
    r"|(?<=[\w%.)\"”’])[ \t]?\((\d{1,2})\)(?=[.,;:!?]|[ \t]*(?:$|\(\d))",
    re.MULTILINE,
)
LONGEST_GROUP = 40
"""Characters of a bracket that may become a citation."""
LONGEST_SPAN = 10
"""Numbers of [1-3]."""


def cited_numbers(response: str) -> list[int]:
    """The numbers in square brackets, in order of first appearance."""
    found = [int(number) for group in NUMBERS.findall(response) for number in group.split(",")]
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
    """The text without its citations ("[1]")."""
    return _WITH_SPACE.sub("", text)


def with_numbers_of(text: str, numbers: Collection[int]) -> str:
    """The text with these of its citations only."""

    def own(group: re.Match[str]) -> str:
        cited = group[1].split(",")
        kept = [number for number in cited if int(number) in numbers]
        return group[0] if len(kept) == len(cited) else f" [{','.join(kept).strip()}]" if kept else ""

    return _WITH_SPACE.sub(own, text)


def unify_brackets(response: str, known: Collection[int]) -> str:
    """Citations in the styles that models have, as [1] or [1, 2]: 【1】, [Passage 1], [1-3]; ¹ and (1) where nothing is
    cited otherwise, and only ``known`` numbers.
    """
    text = _STYLES.sub(_in_brackets, response)
    if NUMBERS.search(text):
        return text
    return _BARE_STYLES.sub(lambda match: _of_bare(match, known), text)


def _in_brackets(match: re.Match[str]) -> str:
    found = list[int]()
    for first, last in _SPAN.findall(match[0]):
        end = int(last or first)
        found += range(int(first), end + 1) if 0 <= end - int(first) < LONGEST_SPAN else [int(first), end]
    return f"[{', '.join(map(str, found))}]"


def _of_bare(match: re.Match[str], known: Collection[int]) -> str:
    digits = unicodedata.normalize("NFKC", match[1] or match[2])
    numbers = [int(digits)] if match[2] else [int(digit) for digit in digits]
    return f" {numbers}" if set(numbers) <= set(known) else match[0]


def in_order_of_appearance(response: str, context: Context) -> tuple[str, Context]:
    """The answer with its citations numbered from 1, and the context with the same numbers: cited passages first.

    A number that no passage has stays above those that one has.
    """
    passages = {passage.number: passage for passage in context.passages}
    response = unify_brackets(response, passages)
    cited = [number for number in cited_numbers(response) if number in passages]
    order = [*cited, *(number for number in passages if number not in cited)]
    new = {number: place for place, number in enumerate(order, start=1)}
    missing = {number: number + len(order) for number in cited_numbers(response) if 0 < number <= len(order)}
    response = _renumbered(response, {**missing, **new})
    renamed = tuple(replace(passages[number], number=new[number]) for number in order)
    return response, Context(renamed, tuple(new[number] for number in context.order if number in new))


class NumberedStream:
    """`in_order_of_appearance` for a text that arrives in pieces. ``known``: the numbers of the passages."""

    def __init__(self) -> None:
        self.known: Collection[int] = ()
        self._new: dict[int, int] = {}
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown after this piece: all but a bracket that is still open, as it may be a citation."""
        text = self._held + piece
        start = text.rfind("[")
        is_open = start >= 0 and "]" not in text[start:] and len(text) - start < LONGEST_GROUP
        self._held = text[start:] if is_open else ""
        text = text[:start] if is_open else text
        for number in cited_numbers(text):
            if number in self.known:
                self._new.setdefault(number, len(self._new) + 1)
        return _renumbered(text, self._new)


def _renumbered(text: str, numbers: Mapping[int, int]) -> str:
    def own(number: re.Match[str]) -> str:
        return str(numbers.get(int(number[0]), number[0]))

    return NUMBERS.sub(lambda group: re.sub(r"\d+", own, group[0]), text)


def strip_marks(text: str) -> str:
    """The text without Markdown's marks and escapes."""
    return _ESCAPE.sub(r"\1", _MARKS.sub("", text))


def normalise(text: str) -> str:
    """A text for comparing words: without case, quotation marks and invisible characters, with one kind of dash and
    space.
    """
    text = unicodedata.normalize("NFKC", visible(text)).casefold().translate(_QUOTES)
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
        end = _end_of(piece, words, place)
        if end is None:
            return False
        place = end
    return True


def _end_of(piece: str, words: str, place: int) -> int | None:
    """Behind its first place from ``place`` on where it is no part of a longer word or number; None without any."""
    is_open, ends_open = _OPEN_START.match(piece), _OPEN_END.search(piece)
    while (start := words.find(piece, place)) >= 0:
        end, place = start + len(piece), start + 1
        if (is_open or _MAY_BEGIN.match(words, start)) and (ends_open or _MAY_END.match(words, end)):
            return end
    return None
