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
from functools import lru_cache
from math import log
from threading import Lock
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ..domain import Chunk, Matrix, Scope
from ..domain.figures import SAMPLE_GLOSSARY, GlossaryEntry
from ..domain.protocols import Catalog, Embedder, Store
from ..domain.request import RequestContext
from ..language import YEAR_PATTERN, Analyzer
from ..questions.reading import COUNTRY

WORDS = 0.5
"""Weight of equal words beside a cosine."""
SURE = 1.0
"""The score from which words alone name a heading."""
KEPT_LABELS = 20_000
"""Labels of the data whose words are kept."""
ALMOST_SAID, SAID = 0.95, 0.5
"""The cosine from which the question says a phrase itself, and what that adds to its score."""
LABEL_LEAD = 0.05
"""By how much a label's phrase must be nearer to the question than its heading's own to be meant instead of it."""
_WORD = re.compile(r"\w[\w'’.%-]*")


@dataclass(frozen=True, slots=True)
class Near:
    """How near a phrase is to what is asked: their cosine, and the weight of common words as a share of all."""

    cosine: float
    words: float

    @property
    def score(self) -> float:
        """Up to 1 + `WORDS` + `SAID`."""
        return self.cosine + WORDS * self.words + SAID * self.is_said

    @property
    def is_said(self) -> bool:
        """Whether the question says the phrase itself."""
        return self.cosine >= ALMOST_SAID


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked for, as it is compared: as it is written, and its telling words alone."""

    vectors: NDArray[np.float32]
    """Shape (dimensions, 1 or 2)."""
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Group:
    """The phrases of one heading or label: their words, and their vectors in rows."""

    terms: Sequence[frozenset[str]]
    vectors: Matrix


class IndicatorIndex:
    """Compares questions with headings and labels. Thread-safe.

    ``glossary`` returns the library's entries, the same object until they change.
    """

    def __init__(
        self, embedder: Embedder, analyzer: Analyzer, glossary: Callable[[], Sequence[GlossaryEntry]] = tuple
    ) -> None:
        self._embedder = embedder
        self._terms = analyzer.terms
        self._glossary = glossary
        self._lock = Lock()
        self._entries: Sequence[GlossaryEntry] | None = None
        self._phrases: dict[tuple[str, str], list[str]] = {}
        """What the glossary says for a heading and label; the label "" is the heading itself."""
        self._groups: dict[tuple[str, str | None], _Group] = {}
        """By heading and label; the label None has the phrases of all labels too."""
        self._headings: Counter[str] = Counter()
        """In the phrases of how many headings each word is."""
        self._named = lru_cache(KEPT_LABELS)(lambda heading, label: frozenset(self._terms(f"{heading} {label}")))

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
        groups = self._of((name, None) for name in headings if name)
        asked = self._asked(topic, request)
        found: list[Near | None] = []
        for name in headings:
            near = self._best(asked, groups[name, None]) if name else None
            if near is not None:
                named = [self._named(name, label) for label in labels.get(name, ())]
                near = Near(near.cosine, max([near.words, *(self._shared(asked.terms, terms) for terms in named)]))
            found.append(near)
        return found

    def label(self, topic: str, heading: str, labels: Mapping[str, int], request: RequestContext | None = None) -> str:
        """Return which of a heading's labels is meant; ``labels`` with the number of subjects that have each.

        The heading's own figure, else the label that most subjects have, where the question names none of them.
        Raises EmbeddingError.
        """
        default = "" if "" in labels else max(labels, key=lambda one: (labels[one], -len(one)))
        groups, asked = self._of((heading, label) for label in labels), self._asked(topic, request)
        near = {label: self._best(asked, groups[heading, label]).score for label in labels}
        best = max(near, key=lambda label: (near[label], labels[label]))
        return best if near[best] > near[default] + LABEL_LEAD else default

    def names_one(self, words: str, headings: Iterable[str], beside: str = "") -> bool:
        """Return whether words surely mean a heading, and none of the labels below the heading ``beside``.

        Raises EmbeddingError.
        """
        groups = self._of([(beside, ""), *((name, None) for name in [*headings, beside])])
        asked = self._asked(words, None)
        whole = [group for (_, label), group in list(groups.items()) if label is None]
        near = [group for group in whole if (group.vectors @ asked.vectors).max() >= SURE - WORDS]
        best = max((self._best(asked, group).score for group in near), default=0.0)
        if best < SURE or not beside:
            return best >= SURE
        own, part = (self._best(asked, groups[beside, label]).score for label in ("", None))
        return part <= own or part < best - LABEL_LEAD

    def _asked(self, topic: str, request: RequestContext | None) -> _Asked:
        without_years = YEAR_PATTERN.sub("", topic)  # which no heading names
        topic = without_years if self._terms(without_years) else topic
        telling = " ".join(word for word in _WORD.findall(topic) if self._terms(word))
        texts = dict.fromkeys(filter(None, [topic, telling]))
        vectors = [self._embedder.embed_query(text, request=request) for text in texts]
        return _Asked(np.stack(vectors, axis=1), frozenset(self._terms(topic)))

    def _best(self, asked: _Asked, group: _Group) -> Near:
        cosines = (group.vectors @ asked.vectors).max(axis=1)
        words = [self._shared(asked.terms, terms) for terms in group.terms]
        place = int(np.argmax(cosines + WORDS * np.array(words)))
        return Near(float(cosines[place]), words[place])

    def _shared(self, asked: frozenset[str], terms: frozenset[str]) -> float:
        """The weight of the common words as a share of that of all words (Jaccard)."""
        both = asked & terms
        return self._weight(both) / self._weight(asked | terms) if both else 0.0

    def _weight(self, terms: Iterable[str]) -> float:
        count = len(self._groups)
        return sum(log(1 + count / (1 + self._headings[term])) for term in sorted(terms))

    def _of(self, keys: Iterable[tuple[str, str | None]]) -> Mapping[tuple[str, str | None], _Group]:
        """Return a mapping with the phrases of at least these; a changed glossary is taken over first."""
        entries = self._glossary()
        with self._lock:
            if entries is not self._entries:
                self._entries, self._phrases, self._groups, self._headings = entries, {}, {}, Counter()
                for entry in entries:
                    if entry.heading:
                        said = self._phrases.setdefault((entry.heading, entry.label), [])
                        said += [entry.term, *entry.other_words]
                self._add(dict.fromkeys((heading, None) for heading, _ in self._phrases))
            self._add([key for key in dict.fromkeys(keys) if key not in self._groups])
            return self._groups

    def _add(self, keys: Iterable[tuple[str, str | None]]) -> None:
        texts = {key: self._texts(*key) for key in keys}
        every = list(dict.fromkeys(text for group in texts.values() for text in group))
        if not every:
            return
        vectors = self._embedder.embed_documents(every)
        places = {text: place for place, text in enumerate(every)}
        for (heading, label), group in texts.items():
            terms = [frozenset(self._terms(text)) for text in group]
            self._groups[heading, label] = _Group(terms, vectors[[places[text] for text in group]])
            if label is None:
                self._headings.update(frozenset().union(*terms))

    def _texts(self, heading: str, label: str | None) -> list[str]:
        """What is said for a label, "" for the heading alone, None for all of its labels."""
        labels = [label] if label is not None else ["", *(own for name, own in self._phrases if name == heading)]
        texts: dict[str, None] = {}
        for one in labels:
            name = f"{heading}: {one}" if one else heading
            texts |= dict.fromkeys([name, *self._phrases.get((heading, one), ())])
        return list(texts)


Definition = tuple[GlossaryEntry, Chunk | None]
"""An entry, and the passage that defines it, if a report does."""
_MEANING = {
    "mean", "means", "meaning", "stand", "stands", "define", "definition", "significa", "significado", "definición",
    "definir", "signifie", "signification", "définition", "définir",
}  # fmt: skip
"""Words that ask for a meaning, in the languages of the page."""
_OPENING, _GENERIC = {"what", "whats"}, {"a", "an"}
_OTHERS = {"s", "is", "are", "does", "do", "for", "of", "the", "term", "word", "abbreviation", "acronym"}
_ASKING = _MEANING | _OPENING | _GENERIC | _OTHERS | {"qué", "que", "de", "la", "el", "le", "du"}
_EVERY_WORD = re.compile(r"\w+")
LONGEST = 8
"""Words of a term."""


class Glossary:
    """Looks terms up. Thread-safe."""

    def __init__(
        self, entries: Callable[[], Sequence[GlossaryEntry]], catalog: Catalog, store: Callable[[], Store]
    ) -> None:
        self._entries = entries
        self._catalog = catalog
        self._store = store
        self._index: tuple[Sequence[GlossaryEntry], Mapping[str, Sequence[GlossaryEntry]]] = ((), {})

    def entries(self, scope: Scope) -> Sequence[GlossaryEntry]:
        """Return the entries without those of reports outside of the scope."""
        entries = self._entries()
        if all(entry.source in {"", SAMPLE_GLOSSARY} for entry in entries):
            return entries
        sources = {"", SAMPLE_GLOSSARY, *(record.id for record in self._catalog.all(scope) if record.visible_version)}
        return [entry for entry in entries if entry.source in sources]

    def define(self, text: str, scope: Scope) -> list[Definition]:
        """Return the meanings that a question asks for; none unless it names one term and nothing else.

        "What is X?" asks for a meaning where no scope says of which country.
        """
        words = _EVERY_WORD.findall(text.casefold())
        named = _without_asking(words)
        asking = set(words) - set(named)
        is_generic = bool(asking & _OPENING) and "the" not in asking
        asks_meaning = asking & _MEANING or (is_generic and (asking & _GENERIC or scope.get(COUNTRY) is None))
        if not asks_meaning or len(named) > LONGEST or not (entries := self._by_name().get(" ".join(named))):
            return []
        visible = set(self.entries(scope))
        by_meaning = {entry.meaning: entry for entry in entries[::-1] if entry in visible}
        return [(entry, self._passage(entry, scope)) for entry in [*by_meaning.values()][::-1]]

    def _by_name(self) -> Mapping[str, Sequence[GlossaryEntry]]:
        """Index the entries by term, those of the samples last.

        Other words are names only of entries without a heading: those of a heading are ways to ask for its figures.
        """
        entries = self._entries()
        if self._index[0] is not entries:
            names: defaultdict[str, list[GlossaryEntry]] = defaultdict(list)
            for entry in sorted(entries, key=lambda entry: entry.source == SAMPLE_GLOSSARY):
                for name in (entry.term, *(() if entry.heading else entry.other_words)):
                    names[" ".join(_without_asking(_EVERY_WORD.findall(name.casefold())))].append(entry)
            self._index = entries, names
        return self._index[1]

    def _passage(self, entry: GlossaryEntry, scope: Scope) -> Chunk | None:
        record = next((record for record in self._catalog.all(scope) if record.id == entry.source), None)
        if record is None or entry.passage is None:
            return None
        found = self._store().get([Chunk.make_id(record.id, record.visible_version, entry.passage)])
        return next((chunk for chunk in found if scope.matches(chunk.about)), None)


def _without_asking(words: Sequence[str]) -> Sequence[str]:
    """Leave out the asking words before and after the others."""
    kept = [place for place, word in enumerate(words) if word not in _ASKING]
    return words[kept[0] : kept[-1] + 1] if kept else []
