"""The index of indicators: which heading, and which label below it, a question means.

A heading is known by its name and by the phrases that the library's glossary has for it ("how old people are" for
"Median age"). A question is compared with each phrase by vectors and by words; the best phrase counts. Words are
weighed by how few headings have them, and a phrase loses for what it says beyond the question: a heading that is the
term asked for stands above one that contains it ("GDP" above "GDP per capita").
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from threading import Lock
from types import MappingProxyType

from ..domain import Vector
from ..domain.glossary import GlossaryEntry
from ..domain.protocols import Embedder
from ..domain.request import RequestContext
from ..domain.scores import KnownVectors
from ..language import Analyzer

WORDS = 0.5
"""Weight of equal words beside a cosine."""
LABEL_LEAD = 0.05
"""By how much a label's phrase must be nearer to the question than its heading's own to be meant instead of it."""
_WORD = re.compile(r"\w[\w'’.%-]*")


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A phrase with its words."""

    text: str
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Near:
    """How near a phrase is to what is asked: their cosine, and the weight of common words as a share of all."""

    cosine: float
    words: float

    @property
    def score(self) -> float:
        """Up to 1 + `WORDS`."""
        return self.cosine + WORDS * self.words


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked for, as it is compared: as it is written, and its telling words alone."""

    vectors: tuple[Vector, ...]
    terms: frozenset[str]


class IndicatorIndex:
    """Compares questions with headings and labels. Thread-safe.

    ``glossary`` returns the library's entries, the same object until they change.
    """

    def __init__(
        self, embedder: Embedder, analyzer: Analyzer, glossary: Callable[[], Sequence[GlossaryEntry]] = tuple
    ) -> None:
        self._vectors = KnownVectors(embedder)
        self._embedder = embedder
        self._terms = analyzer.terms
        self._glossary = glossary
        self._lock = Lock()
        self._entries: Sequence[GlossaryEntry] | None = None
        self._phrases: dict[tuple[str, str], list[str]] = {}
        """What the glossary says for a heading and label; the label "" is the heading itself."""
        self._whole: dict[str, Sequence[_Weighed]] = {}
        """The phrases of each heading and of its labels."""
        self._headings: Counter[str] = Counter()
        """In the phrases of how many headings each word is."""

    def near(
        self,
        topic: str,
        headings: Sequence[str],
        request: RequestContext | None = None,
        *,
        labels: Mapping[str, Iterable[str]] = MappingProxyType({}),
    ) -> list[Near | None]:
        """Return how near each heading is to what is asked, by its best phrase or one of its labels'.

        ``labels``: those of each heading in the data, compared by words alone. None for an empty heading. Raises
        EmbeddingError.
        """
        self._refresh(headings)
        asked = self._asked(topic, request)
        found = [self._best(asked, self._whole[name], request) if name else None for name in headings]
        for place, name in enumerate(headings):
            if (near := found[place]) is not None:
                worded = (self._shared(asked.terms, self._named(name, label)) for label in labels.get(name, ()))
                found[place] = Near(near.cosine, max(near.words, *worded, 0.0))
        return found

    def _named(self, heading: str, label: str) -> frozenset[str]:
        return frozenset(self._terms(f"{heading} {label}"))

    def label(self, topic: str, heading: str, labels: Mapping[str, int], request: RequestContext | None = None) -> str:
        """Return which of a heading's labels is meant; ``labels`` with the number of subjects that have each.

        The heading's own figure, else the label that most subjects have, where the question names none of them.
        Raises EmbeddingError.
        """
        self._refresh([heading])
        default = "" if "" in labels else max(labels, key=lambda one: (labels[one], -len(one)))
        asked = self._asked(topic, request)
        near = {label: self._best(asked, self._of(heading, label), request).score for label in labels}
        best = max(near, key=lambda label: (near[label], labels[label]))
        return best if near[best] > near[default] + LABEL_LEAD else default

    def _asked(self, topic: str, request: RequestContext | None) -> _Asked:
        telling = " ".join(word for word in _WORD.findall(topic) if self._terms(word))
        texts = dict.fromkeys(filter(None, [topic, telling]))
        vectors = tuple(self._embedder.embed_query(text, request=request) for text in texts)
        return _Asked(vectors, frozenset(self._terms(topic)))

    def _best(self, asked: _Asked, phrases: Sequence[_Weighed], request: RequestContext | None) -> Near:
        vectors = self._vectors.of([one.text for one in phrases], request)

        def near(phrase: _Weighed) -> Near:
            cosine = max(float(vector @ vectors[phrase.text]) for vector in asked.vectors)
            return Near(cosine, self._shared(asked.terms, phrase.terms))

        return max(map(near, phrases), key=lambda one: one.score)

    def _shared(self, asked: frozenset[str], terms: frozenset[str]) -> float:
        """The weight of the common words as a share of that of all words (Jaccard)."""
        both = asked & terms
        return self._weight(both) / self._weight(asked | terms) if both else 0.0

    def _weight(self, terms: Iterable[str]) -> float:
        return sum(log(1 + len(self._whole) / (1 + self._headings[term])) for term in sorted(terms))

    def _refresh(self, headings: Iterable[str]) -> None:
        """Take over the glossary where it changed, and add headings that it does not have."""
        entries = self._glossary()
        with self._lock:
            if entries is not self._entries:
                self._entries, self._phrases = entries, {}
                self._whole, self._headings = {}, Counter()
                labels = defaultdict[str, dict[str, None]](dict)
                for entry in entries:
                    if entry.heading:
                        self._phrases.setdefault((entry.heading, entry.label), []).extend(
                            [entry.term, *entry.other_words]
                        )
                        labels[entry.heading][entry.label] = None
                for heading, own in labels.items():
                    self._add(heading, [one for label in own for one in self._of(heading, label)])
            for heading in headings:
                if heading and heading not in self._whole:
                    self._add(heading, self._of(heading, ""))

    def _add(self, heading: str, phrases: Sequence[_Weighed]) -> None:
        self._whole[heading] = list({one.text: one for one in [*self._of(heading, ""), *phrases]}.values())
        self._headings.update(frozenset().union(*(one.terms for one in self._whole[heading])))

    def _of(self, heading: str, label: str) -> list[_Weighed]:
        """The phrases of one label, "" for the heading alone."""
        name = f"{heading}: {label}" if label else heading
        texts = dict.fromkeys([name, *self._phrases.get((heading, label), ())])
        return [_Weighed(text, frozenset(self._terms(text))) for text in texts]
