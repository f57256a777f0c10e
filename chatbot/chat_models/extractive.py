"""Answers by quoting, for machines without a key: the best sentences of the best passages, with their numbers.

No small model that ships in a package may answer people (measured: invented facts), so none is used;
the answer says that it quotes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log

from ..request import RequestContext
from ..schema import SECTION_SEPARATOR, Delta, Passage, Prompt, Quotation, Usage
from ..settings import Settings
from ..text import Analyzer, analyzer, quotation_item, sentences

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
    is_language_model = False

    def __init__(self, language: str) -> None:
        self._analyzer: Analyzer = analyzer(language)

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        """One piece per quotation. Nothing is counted: it costs nothing."""
        quotes = self.quotes(prompt.question, prompt.context.passages)
        if not quotes:
            yield Delta("No passage was given to quote from.")
            return
        yield Delta(f"{HEADER}\n")
        for quote in quotes:
            if request.cancelled:
                return
            yield Delta(f"\n{quotation_item(quote)}\n")
        yield Delta(usage=Usage())

    def quotes(self, question: str, passages: Sequence[Passage]) -> list[Quotation]:
        """Implements `protocols.Quoter`: passages weigh by the question's words in them, rare ones more."""
        asked, terms_of = set(self._analyzer.terms(question)), self._analyzer.terms
        # Counts where words do not decide; among these: a comparison's side may have the first, seventh and ninth.
        places = {number: place for place, number in enumerate(sorted(p.number for p in passages), start=1)}
        telling = self._telling(passages, asked)
        texts = {passage.number: set(terms_of(passage.hit.chunk.search_text)) for passage, _ in telling}
        found = Counter(term for terms in texts.values() for term in terms & asked)
        # A term that every passage has says little about which one answers.
        weights = {term: log(1 + len(telling) / found[term]) for term in found}
        closest = max((_cosine(passage) for passage, _ in telling), default=0.0)
        near = []
        for passage, said in telling:
            if _cosine(passage) >= CLOSE * closest:
                covered = sum(weights[term] for term in texts[passage.number] & asked)
                best = self._best_sentences(said, weights)
                near.append(_Quote(passage, best, covered + 1.0 / places[passage.number]))
        chosen = _distinct(sorted(near, key=lambda quote: (-quote.weight, quote.passage.number)))[:PASSAGES]
        return [_quotation(quote) for quote in chosen if quote.weight >= RELATED * chosen[0].weight]

    def _telling(self, passages: Sequence[Passage], question: set[str]) -> list[tuple[Passage, list[str]]]:
        """Passages with what they say: those with a word of the question in it, or in their heading; else all."""
        saying, others, sharing = [], [], []
        for passage in passages:
            every, statements = _sentences(passage)
            if statements:
                saying.append((passage, statements))
            elif every:  # source lines and headings: quoted only where nobody says more
                others.append((passage, every))
        for passage, said in saying or others:
            words = "\n".join([passage.hit.chunk.section, *(said if saying else ())])
            if question & set(self._analyzer.terms(words)):
                sharing.append((passage, said))
        return sharing or saying or others

    def _best_sentences(self, found: Sequence[str], weights: dict[str, float]) -> tuple[str, ...]:
        """In text order."""
        scores = [sum(weights.get(t, 0.0) for t in set(self._analyzer.terms(s))) / (1 + len(s) / 400) for s in found]
        best = sorted(range(len(found)), key=lambda i: (-scores[i], i))[:SENTENCES]
        return tuple(found[i] for i in sorted(best))


def _distinct(quotes: Sequence[_Quote]) -> list[_Quote]:
    """Without those that say of the same country the same under the same heading: another edition, another chapter."""
    first: dict[tuple[object, ...], _Quote] = {}
    for quote in quotes:
        chunk = quote.passage.hit.chunk
        heading = chunk.section.rpartition(SECTION_SEPARATOR)[2]
        first.setdefault((chunk.metadata.get("country_name"), heading, quote.sentences), quote)
    return list(first.values())


def _sentences(passage: Passage) -> tuple[list[str], list[str]]:
    """Those with a letter or a digit (a full stop that a layout left alone is none); and of them the statements.

    A statement is no source line and no repeated heading.
    """
    chunk = passage.hit.chunk
    headings = {_letters(part) for part in (chunk.title, *chunk.section.split(SECTION_SEPARATOR))}
    found = [(sentence, letters) for sentence in sentences(chunk.text) if (letters := _letters(sentence))]
    statements = [s for s, letters in found if letters not in headings and not _SOURCE_LINE.match(s)]
    return [sentence for sentence, _ in found], statements


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
