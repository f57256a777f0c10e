"""Answers by quoting, for machines without a key: the best sentences of the best passages, with their numbers.

No small model that ships in a package may answer people (measured, MODELS.md: invented facts), so none is used;
the answer says that it quotes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log

from ..cancellation import Cancellation
from ..schema import SECTION_SEPARATOR, Delta, Passage, Prompt, Quotation, Usage
from ..settings import Settings
from ..text import Analyzer, analyzer, quoted_line, sentences

PASSAGES = 3
SENTENCES = 3
LONGEST_QUOTE = 600
RELATED = 0.6
"""A further passage is quoted if it covers the question at least this well, relative to the best one."""
CLOSE = 0.5
"""... and if its cosine to the question is at least this share of the best one's."""
_SOURCE_LINE = re.compile(
    r"\W*(?:(?:data |photo )?(?:sources?|quellen?|fuentes?|fonti?) ?:|copyright\b|©|\(c\)|all rights reserved"
    r"|page \d+$)[^.!?%]{0,200}\W*$",
    re.IGNORECASE,
)
"""Says where something comes from, and nothing itself."""
HEADER = "Quoted from the reports (no language model is configured):"


@dataclass(frozen=True, slots=True)
class _Quote:
    passage: Passage
    sentences: tuple[str, ...]
    weight: float


class ExtractiveChatModel:
    """Implements `protocols.ChatModel` and `protocols.Quoter`. Deterministic."""

    model_id = "extractive"

    def __init__(self, language: str) -> None:
        self._analyzer: Analyzer = analyzer(language)

    def stream(self, prompt: Prompt, *, cancel: Cancellation) -> Iterator[Delta]:
        quotes = self.quotes(prompt.question, prompt.context.passages)
        if not quotes:
            yield Delta("No passage was given to quote from.")
            return
        yield Delta(f"{HEADER}\n")
        for quote in quotes:
            if cancel.cancelled:
                return
            yield Delta(f"\n{quoted_line(quote)}\n")
        yield Delta(usage=Usage())

    def quotes(self, question: str, passages: Sequence[Passage]) -> list[Quotation]:
        return [_quotation(quote) for quote in self._best(question, passages)]

    def _best(self, asked: str, passages: Sequence[Passage]) -> list[_Quote]:
        question = set(self._analyzer.terms(asked))
        # Counts where words do not decide; among these: a comparison's side may have the first, seventh and ninth.
        places = {number: place for place, number in enumerate(sorted(p.number for p in passages), start=1)}
        passages = self._telling(passages, question)
        texts = {p.number: set(self._analyzer.terms(p.hit.chunk.search_text)) for p in passages}
        found = Counter(term for terms in texts.values() for term in terms & question)
        # A term that every passage has says little about which one answers.
        weights = {term: log(1 + len(passages) / found[term]) for term in found}
        covered = {p.number: sum(weights[t] for t in texts[p.number] & question) for p in passages}
        quotes = [self._quote(p, weights, covered[p.number] + 1.0 / places[p.number]) for p in passages]
        closest = max((_cosine(passage) for passage in passages), default=0.0)
        near = [quote for quote in quotes if _cosine(quote.passage) >= CLOSE * closest]
        best = _distinct(sorted(near, key=lambda quote: (-quote.weight, quote.passage.number)))[:PASSAGES]
        return [quote for quote in best if quote.weight >= RELATED * best[0].weight]

    def _telling(self, passages: Sequence[Passage], question: set[str]) -> list[Passage]:
        """Those with a sentence, or under a heading, that has a word of the question; else all that say anything."""
        saying = [p for p in passages if _statements(p)] or [p for p in passages if _sentences(p)]
        sharing = [
            passage
            for passage in saying
            if question & set(self._analyzer.terms("\n".join([passage.hit.chunk.section, *_statements(passage)])))
        ]
        return sharing or saying

    def _quote(self, passage: Passage, weights: dict[str, float], weight: float) -> _Quote:
        """The passage's best sentences in text order."""
        found = _statements(passage) or _sentences(passage)
        scores = [sum(weights.get(t, 0.0) for t in set(self._analyzer.terms(s))) / (1 + len(s) / 400) for s in found]
        best = sorted(range(len(found)), key=lambda i: (-scores[i], i))[:SENTENCES]
        return _Quote(passage, tuple(found[i] for i in sorted(best)), weight)


def _distinct(quotes: Sequence[_Quote]) -> list[_Quote]:
    """Without those that say of the same country the same under the same heading: another edition, another chapter."""
    first: dict[tuple[object, ...], _Quote] = {}
    for quote in quotes:
        chunk = quote.passage.hit.chunk
        heading = chunk.section.rpartition(SECTION_SEPARATOR)[2]
        first.setdefault((chunk.metadata.get("country_name"), heading, quote.sentences), quote)
    return list(first.values())


def _statements(passage: Passage) -> list[str]:
    """The passage's sentences without source lines and repeated headings."""
    chunk = passage.hit.chunk
    headings = {_letters(part) for part in (chunk.title, *chunk.section.split(SECTION_SEPARATOR))}
    return [s for s in _sentences(passage) if not _SOURCE_LINE.match(s) and _letters(s) not in headings]


def _sentences(passage: Passage) -> list[str]:
    """Those with a letter or a digit: a full stop that a layout left alone is none."""
    return [sentence for sentence in sentences(passage.hit.chunk.text) if _letters(sentence)]


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _cosine(passage: Passage) -> float:
    score = passage.hit.score
    return 0.0 if score is None else 2 * score - 1


def _quotation(quote: _Quote) -> Quotation:
    chunk = quote.passage.hit.chunk
    text = " ".join(" … ".join(quote.sentences).split())
    if len(text) > LONGEST_QUOTE:
        text = text[:LONGEST_QUOTE].rsplit(" ", 1)[0] + " …"
    section = chunk.section.rpartition(SECTION_SEPARATOR)[2]
    where = f"{chunk.title}, {section}" if section else chunk.title
    page = f", page {chunk.page}" if chunk.page is not None else ""
    return Quotation(quote.passage.number, f"{where}{page}", text)


def build(settings: Settings, *, model: str) -> ExtractiveChatModel:
    return ExtractiveChatModel(settings.language)
