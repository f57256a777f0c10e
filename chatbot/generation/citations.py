"""Which passages an answer cites, and whether each one bears what is said with it.

A deterministic check: every figure and every quotation in a cited sentence must stand in its passage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..schema import Citation, Context, Passage
from ..text import sentences

_NUMBERS = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_FIGURE = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")
_QUOTE = re.compile(r"“([^”]{3,})”|\"([^\"]{3,})\"")
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
    for sentence in sentences(response):
        numbers = cited_numbers(sentence)
        for number in numbers:
            claims.setdefault(number, []).append((_NUMBERS.sub(" ", sentence), numbers))
    return claims


def _supported(claims: Sequence[tuple[str, list[int]]], passages: dict[int, Passage]) -> bool:
    """A sentence that cites several passages may take each figure from any of them."""
    for sentence, numbers in claims:
        evidence = " ".join(_evidence(passages[number]) for number in numbers if number in passages)
        if not _bears(sentence, evidence):
            return False
    return True


def _evidence(passage: Passage) -> str:
    chunk = passage.hit.chunk
    return _plain(f"{chunk.title} {chunk.section} {passage.wider_text}")


def _bears(sentence: str, evidence: str) -> bool:
    plain = _plain(sentence)
    figures = set(_FIGURE.findall(evidence))
    if any(figure not in figures for figure in _FIGURE.findall(plain)):
        return False
    quotes = [_plain(first or second) for first, second in _QUOTE.findall(sentence)]
    parts = [part.strip() for quote in quotes for part in quote.split("…")]
    return all(part in evidence for part in parts if part)


def _plain(text: str) -> str:
    """Without Markdown marks and case, white space folded, digits without grouping commas."""
    text = re.sub(r"\\([\\`*_\[\]<>|#])", r"\1", text)
    text = re.sub(r"[*_`]", "", text).casefold()
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    return " ".join(text.split())


def _snippet(passage: Passage) -> str:
    text = passage.hit.chunk.text
    return text if len(text) <= SNIPPET_CHARACTERS else text[:SNIPPET_CHARACTERS].rsplit(" ", 1)[0] + " …"
