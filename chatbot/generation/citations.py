"""Which passages an answer cites, and whether each one bears what is said with it.

A deterministic check: every figure and every quotation in a cited sentence must stand in its passage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..schema import Citation, Context, Passage
from ..text import sentences

_GROUP = r"\[\d{1,3}(?:\s*,\s*\d{1,3})*\]"
_NUMBERS = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_FIGURE = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")
_QUOTE = re.compile(r"“([^“”\n]{3,})”|\"([^\"\n]{3,})\"")
_LIST_MARK = re.compile(r"^[ \t]*(?:[-*+]|\d{1,2}[.)])[ \t]+", re.MULTILINE)
_AFTER_STOP = re.compile(rf"([.!?…。！？][\"'”’)*_]*)[ \t]*((?:{_GROUP}[ \t]*)+)")
_GROUPING = re.compile("(?<=\\d)[,\u00a0\u2009\u202f](?=\\d{3}\\b)")
_QUOTATION_MARKS = str.maketrans("’‘", "''")
_KEPT = "\ue000"
"""Stands for white space at which no sentence ends."""
SNIPPET_CHARACTERS = 400


def cited_numbers(response: str) -> list[int]:
    """The numbers in square brackets, in order of first appearance."""
    found = [int(number) for group in _NUMBERS.findall(response) for number in group.split(",")]
    return list(dict.fromkeys(found))


def citations(response: str, context: Context) -> tuple[Citation, ...]:
    """One citation per number that occurs in the answer and belongs to a passage, in order of appearance."""
    passages = {passage.number: passage for passage in context.passages}
    cited = [passages[number] for number in cited_numbers(response) if number in passages]
    claims = _claims(response)
    return tuple(
        Citation(passage.number, passage.hit, _snippet(passage), _supported(claims.get(passage.number, ()), passages))
        for passage in cited
    )


def _claims(response: str) -> dict[int, list[tuple[str, list[int]]]]:
    """For each number the sentences that cite it, each with all the numbers it cites."""
    claims: dict[int, list[tuple[str, list[int]]]] = {}
    for sentence in _sentences(response):
        numbers = cited_numbers(sentence)
        for number in numbers:
            claims.setdefault(number, []).append((_NUMBERS.sub(" ", sentence), numbers))
    return claims


def _sentences(response: str) -> list[str]:
    """The answer's sentences: a quotation is never cut, and numbers after a full stop belong to what precedes them."""
    text = _LIST_MARK.sub("", response)
    text = _QUOTE.sub(lambda quote: re.sub(r"\s", _KEPT, quote[0]), text)
    text = _AFTER_STOP.sub(rf"\1{_KEPT}\2\n", text)
    return [sentence.replace(_KEPT, " ") for sentence in sentences(text)]


def _supported(claims: Sequence[tuple[str, list[int]]], passages: dict[int, Passage]) -> bool:
    """A sentence that cites several passages may take each figure from any of them."""
    for sentence, numbers in claims:
        evidence = " ".join(_evidence(passages[number]) for number in numbers if number in passages)
        if not _bears(sentence, evidence):
            return False
    return True


def _evidence(passage: Passage) -> str:
    chunk = passage.hit.chunk
    where = [chunk.title, chunk.section, str(chunk.page or ""), *map(str, chunk.metadata.values())]
    return _plain(" ".join([*where, passage.wider_text]))


def _bears(sentence: str, evidence: str) -> bool:
    plain = _plain(sentence)
    figures = set(_FIGURE.findall(evidence))
    if any(figure not in figures for figure in _FIGURE.findall(plain)):
        return False
    quotes = [_plain(first or second) for first, second in _QUOTE.findall(sentence)]
    parts = [part.strip(" .,;:!?") for quote in quotes for part in re.split(r"…|\.\.\.", quote)]
    return all(part in evidence for part in parts if part)


def _plain(text: str) -> str:
    """Without Markdown marks and case, white space folded, one apostrophe, digits without grouping marks."""
    text = re.sub(r"\\([\\`*_\[\]<>|#])", r"\1", text)
    text = re.sub(r"[*_`]", "", text).casefold().translate(_QUOTATION_MARKS)
    text = _GROUPING.sub("", text)
    return " ".join(text.split())


def _snippet(passage: Passage) -> str:
    text = passage.hit.chunk.text
    return text if len(text) <= SNIPPET_CHARACTERS else text[:SNIPPET_CHARACTERS].rsplit(" ", 1)[0] + " …"
