"""Answers by quoting, for machines without a key: the sentences that answer, the best first, with their numbers.

No small model that ships in a package may answer people (measured: invented facts), so none is used;
the answer says that it quotes. Sentences are chosen by their vectors and by words (benchmarks/README.md).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from ...config.settings import Settings
from ...domain import ATTACHMENTS, Delta, Passage, Prompt, Quotation, Usage
from ...domain.protocols import Embedder
from ...domain.request import RequestContext
from ...domain.scores import KnownVectors, standard
from ...language import Analyzer, analyzer, is_foreign, quotation_item
from ...language.words import speaking
from .answer_types import answer_type
from .statements import Statement, statements

MOST = 3
"""Quotations of an answer."""
LONGEST_QUOTE = 600
CONSIDERED, SHARE, LEAST = 60, 0.6, 8
"""Statements whose vectors are compared: of those with the best words and places this share, so many at least. A
vector costs more than all else (measured: as many answers first in the list at 6 to 8 tenths of the vectors)."""
EMBEDDED = 300
"""Characters of each."""
CLOSE = 0.5
"""A passage is quoted if its cosine to the question is at least this share of the best one's."""
WORDS, PLACE, LATER, NOTE, NUMBERS, HEADING, TYPE = 0.5, 1.5, 0.06, 2.0, 1.0, 0.75, 2.5
"""In standard deviations of the cosines: what words weigh, the place of the passage (1 / n of it), a line further down,
a note, the numbers that are asked for, how near the passage's heading is to the question, the type of what is asked."""
FIRST_PLACE = 2.0
"""The place, for the choice of what is compared by vectors."""
FOREIGN_PLACE = 4.0
"""The place, where the question is in another language: the search has read headings too, words say nothing."""
LATER_LINES = 10
FURTHER = 3.0
"""As far behind the best one a statement is quoted, too."""
PARTS, AHEAD = 2, 0.001
"""Lines below a total that are its parts, and how far it then stands before them."""
REPEATED = 0.75
"""How far a line comes behind each one of its series that is quoted before it: another year of the same."""
_TOTALS = (
    (re.compile(r"\W*(?:[\w ]{1,30} - )?total\b", re.IGNORECASE), re.compile(r"\W*([^\W\d][\w -]{1,30}):")),
    (re.compile(r"\W*\d"), re.compile(r"\W*((?:from|of which)\b[^:]{1,60}):", re.IGNORECASE)),
)
"""A total, or a figure that needs no name, and its parts below."""
_SEXES = (
    (re.compile(r"\b(?:wom[ae]n|girls?)\b", re.IGNORECASE), " female"),
    (re.compile(r"\b(?:m[ae]n|boys?)\b", re.IGNORECASE), " male"),
)
"""Who is asked about, and what their figures are called."""
_FIGURE = re.compile(r"\d[\d,.]*(?: est\b\.?)?")
_NOTE = re.compile(r"\W*note\b", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
HEADER = "Quoted from the reports:"
_Scores = NDArray[np.float64]


class ExtractiveChatModel:
    """Implements `protocols.ChatModel` and `protocols.Quoter`. Deterministic.

    Sentences are embedded only by an embedder that computes here; with another one the passages' own cosines count.
    """

    model_id = "extractive"
    is_language_model = False

    def __init__(self, language: str, embedder: Callable[[], Embedder]) -> None:
        """``embedder``: the one of the passages, asked for each time."""
        self._analyzer: Analyzer = analyzer(language)
        self._embedder = embedder
        self._known: KnownVectors | None = None

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        """One piece per quotation. Nothing is counted: it costs nothing."""
        quotes = self.quotes(prompt.question, prompt.context.passages, request=request)
        say = speaking(prompt.language)
        if not quotes:
            yield Delta(say("No passage was given to quote from."))
            return
        yield Delta(f"{say(HEADER)}\n")
        for quote in quotes:
            if request.cancelled:
                return
            yield Delta(f"\n{quotation_item(quote, say)}\n")
        yield Delta(usage=Usage())

    def quotes(
        self, question: str, passages: Sequence[Passage], *, request: RequestContext | None = None
    ) -> list[Quotation]:
        """Implements `protocols.Quoter`."""
        closest = max(map(_cosine, passages), default=0.0)
        found = statements([passage for passage in passages if _cosine(passage) >= CLOSE * closest])
        if not found:
            return []
        embedder = self._embedder()
        by_vectors = embedder.local and embedder.multilingual and is_foreign(question)
        asked = self._asked(question)
        words = np.zeros(len(found)) if by_vectors else self._by_words(asked, found)
        typed = _of_type(question, found)
        first = _scores(question, found, standard(words) + TYPE * typed, FIRST_PLACE)
        first = self._totals_first(asked, found, first)
        chosen = _promising(first, CONSIDERED if by_vectors else int(SHARE * len(found)))
        found, words, typed = [found[place] for place in chosen], words[chosen], typed[chosen]
        similar = standard(self._similar(embedder, question, found, request)) + WORDS * standard(words)
        if not by_vectors:
            similar = similar + HEADING * _by_heading(found) + TYPE * typed
        scores = _scores(question, found, similar, FOREIGN_PLACE if by_vectors else PLACE)
        scores = self._totals_first(asked, found, scores)
        return [_quotation(one) for one in _best(found, scores)]

    def _totals_first(self, asked: set[str], found: Sequence[Statement], scores: _Scores) -> _Scores:
        """A total before the parts below it ("total: 24.4 years", "male: 24.3 years"), unless one of these is asked."""
        for place, total in enumerate(found):
            parts = next((parts for form, parts in _TOTALS if form.match(total.text)), None)
            if parts is None:
                continue
            for below, one in enumerate(found[place + 1 : place + 1 + PARTS], start=place + 1):
                part = parts.match(one.text)
                if part is None or (one.passage.number, one.heading) != (total.passage.number, total.heading):
                    break
                if not asked.issuperset(self._analyzer.terms(part[1])):
                    scores[place] = max(scores[place], scores[below] + AHEAD)
        return scores

    def _asked(self, question: str) -> set[str]:
        """The terms that a question asks for."""
        return set(self._analyzer.terms(question + "".join(name for words, name in _SEXES if words.search(question))))

    def _by_words(self, asked: set[str], found: Sequence[Statement]) -> _Scores:
        """The question's words in each, rare ones more; not those that only name the country of the passage."""
        about = {str(one.passage.hit.chunk.metadata.get("country_name", "")) for one in found}
        asked = asked.difference(*map(self._analyzer.terms, about))
        terms = [asked.intersection(self._analyzer.terms(one.whole)) for one in found]
        counts = Counter(term for own in terms for term in own)
        weights = {term: log(1 + len(found) / count) for term, count in counts.items()}
        shares = [sum(weights[term] for term in sorted(own)) for own in terms]
        return np.array(shares) / [1 + len(one.whole) / 400 for one in found]

    def _similar(
        self, embedder: Embedder, question: str, found: Sequence[Statement], request: RequestContext | None
    ) -> _Scores:
        """Cosines to the question: of the statements, or of their passages where a vector has its price."""
        if not embedder.local:
            return np.array([_cosine(one.passage) for one in found])
        known = self._known
        if any(one.passage.hit.chunk.collection == ATTACHMENTS for one in found):
            known = KnownVectors(embedder)  # nothing of these is kept (R-A1)
        elif known is None or known.embedder is not embedder:
            self._known = known = KnownVectors(embedder)
        texts = [one.whole[:EMBEDDED] for one in found]
        if not _DIGITS.search(question):  # else the row of that year is the nearest
            # Without its figures: countries and editions share a line's vector, and no figure is near what is asked.
            texts = [_FIGURE.sub("0", text) for text in texts]
        vectors, asked = known.of(texts, request), embedder.embed_query(question, request=request)
        return np.array([float(asked @ vectors[text]) for text in texts])


def _promising(scores: _Scores, count: int) -> list[int]:
    """The places of those whose vectors are compared, in text order."""
    return sorted(np.argsort(-scores, kind="stable")[: min(CONSIDERED, max(LEAST, count))].tolist())


def _scores(question: str, found: Sequence[Statement], scores: _Scores, place_weight: float) -> _Scores:
    """What vectors and words say of each, with what its place, its form and its numbers add."""
    # Places among those given, and on a page: a comparison's side may have the first, seventh and ninth.
    numbers = [one.passage.number for one in found]
    places = {number: place for place, number in enumerate(sorted(set(numbers)), start=1)}
    scores = scores + place_weight / np.array([places[number] for number in numbers])
    scores = _of_series(found, scores)
    scores -= LATER * np.minimum(_lines(numbers), LATER_LINES)
    scores -= NOTE * np.array([_NOTE.match(one.text) is not None for one in found])
    return scores + NUMBERS * _numbers_said(question, found)


def _by_heading(found: Sequence[Statement]) -> _Scores:
    """How near the heading of each one's passage is to what is asked; one without is taken for an average one."""
    scores = np.array([one.passage.hit.heading_score for one in found], np.float64)
    known = scores[~np.isnan(scores)]
    return standard(np.where(np.isnan(scores), known.mean(), scores)) if known.size else np.zeros(len(found))


def _of_type(question: str, found: Sequence[Statement]) -> _Scores:
    """1 for each that says something of the type that is asked for, else 0."""
    wanted = answer_type(question)
    return np.array([float(wanted is not None and wanted.is_said(one.text)) for one in found])


def _of_series(found: Sequence[Statement], scores: _Scores) -> _Scores:
    """Lines that differ only in figures ("5% (2019)", "4% (2018)") are equally good: vectors cannot tell them apart."""
    keys = list(map(_series, found))
    best: dict[object, float] = {}
    for key, score in zip(keys, scores, strict=True):
        best[key] = max(best.get(key, score), score)
    return np.array([best[key] for key in keys])


def _numbers_said(question: str, found: Sequence[Statement]) -> _Scores:
    """The share of the question's numbers, a year, "aged 45-54", that stand in each statement."""
    asked = set(_DIGITS.findall(question))
    return np.array([len(asked.intersection(_DIGITS.findall(one.text))) for one in found]) / max(len(asked), 1)


def _lines(numbers: Sequence[int]) -> list[int]:
    """For each statement how many of its passage stand before it."""
    seen: Counter[int] = Counter()
    lines = []
    for number in numbers:
        lines.append(seen[number])
        seen[number] += 1
    return lines


def _best(found: Sequence[Statement], scores: _Scores) -> list[Statement]:
    """Those that are quoted, the best first; a further line of a series where no other is nearly as good."""
    said, series = list(map(_said, found)), list(map(_series, found))
    left = {place: float(score) for place, score in enumerate(scores) if score >= scores.max() - FURTHER}
    chosen: list[Statement] = []
    while left and len(chosen) < MOST:
        place = max(left, key=lambda place: (left[place], -place))
        del left[place]
        chosen.append(found[place])
        for other in list(left):
            if said[other] == said[place]:
                del left[other]
            elif series[other] == series[place]:
                left[other] -= REPEATED
    return chosen


def _said(one: Statement) -> tuple[object, ...]:
    """Equal for what is said of one country under one heading: in another edition, in another chapter."""
    return one.passage.hit.chunk.metadata.get("country_name"), one.heading, " ".join(one.text.split())


def _series(one: Statement) -> tuple[object, ...]:
    return one.passage.number, one.heading, one.label, _FIGURE.sub("0", one.text)


def _cosine(passage: Passage) -> float:
    score = passage.hit.score
    return 0.0 if score is None else 2 * score - 1


def _quotation(one: Statement) -> Quotation:
    chunk = one.passage.hit.chunk
    text = " ".join(one.text.split())
    if len(text) > LONGEST_QUOTE:
        text = text[:LONGEST_QUOTE].rsplit(" ", 1)[0] + " …"
    elif one.cut:
        text = f"… {text} …"
    about = one.heading or one.label
    where = f"{chunk.title}, {about}" if about else chunk.title
    page = f", page {chunk.page}" if chunk.page is not None else ""
    return Quotation(one.passage.number, f"{where}{page}", text, one.passage.hit.general)


def build(settings: Settings, *, model: str, embedder: Callable[[], Embedder]) -> ExtractiveChatModel:
    return ExtractiveChatModel(settings.language, embedder)
