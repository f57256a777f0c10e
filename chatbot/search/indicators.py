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
from itertools import accumulate, pairwise
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
class _Group:
    """The phrases of one heading or label: their words, and their vectors in rows."""

    terms: Sequence[frozenset[str]]
    vectors: Matrix


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked for, as it is compared: as it is written, and its telling words alone."""

    vectors: NDArray[np.float32]
    """Shape (dimensions, 1 or 2)."""
    terms: frozenset[str]
    counts: Mapping[str, int]
    """In the phrases of how many headings each word is."""
    headings: int

    def best(self, groups: Sequence[_Group]) -> list[Near]:
        """Compare with the phrases of each group, all at once: one by one takes four times as long."""
        if not groups:
            return []
        cosines = (np.concatenate([group.vectors for group in groups]) @ self.vectors).max(axis=1)
        words = [self.shared(terms) for group in groups for terms in group.terms]
        scores, found = cosines + WORDS * np.array(words), list[Near]()
        for start, end in pairwise([0, *accumulate(len(group.terms) for group in groups)]):
            place = start + int(scores[start:end].argmax())
            found.append(Near(float(cosines[place]), words[place]))
        return found

    def shared(self, terms: frozenset[str]) -> float:
        """Return the weight of the common words as a share of that of all words (Jaccard)."""
        if self.terms.isdisjoint(terms):
            return 0.0
        return self._weight(self.terms & terms) / self._weight(self.terms | terms)

    def _weight(self, terms: Iterable[str]) -> float:
        return sum(log(2 + self.headings / (1 + self.counts.get(term, 0))) for term in sorted(terms))


class _Phrases:
    """What the entries of a glossary say for headings and labels; the label "" is the heading itself.

    ``groups``: the phrases embedded so far, by heading and label; the label None has those of all labels too.
    """

    def __init__(self, entries: Sequence[GlossaryEntry], terms: Callable[[str], Sequence[str]]) -> None:
        self.entries = entries
        self.groups: dict[tuple[str, str | None], _Group] = {}
        self._phrases: dict[tuple[str, str], list[str]] = defaultdict(list)
        for entry in entries:
            if entry.heading:
                self._phrases[entry.heading, entry.label] += [entry.term, *entry.other_words]
        self.headings = frozenset(heading for heading, _ in self._phrases)
        words = ({term for text in self.of(heading, None) for term in terms(text)} for heading in self.headings)
        self.counts = Counter(term for own in words for term in own)

    def of(self, heading: str, label: str | None) -> list[str]:
        """Return what is said for a label, "" for the heading alone, None for all of its labels."""
        labels = [label] if label is not None else ["", *(own for name, own in self._phrases if name == heading)]
        texts: dict[str, None] = {}
        for one in labels:
            name = f"{heading}: {one}" if one else heading
            texts |= dict.fromkeys([name, *self._phrases.get((heading, one), ())])
        return list(texts)


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
        self._phrases = _Phrases((), self._terms)
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
        asked, groups = self._compared(topic, [(name, None) for name in headings if name], request)
        names = list(dict.fromkeys(filter(None, headings)))
        found: dict[str, Near] = {}
        for name, near in zip(names, asked.best([groups[name, None] for name in names]), strict=True):
            named = [self._named(name, label) for label in labels.get(name, ())]
            found[name] = Near(near.cosine, max([near.words, *map(asked.shared, named)]))
        return [found.get(name) for name in headings]

    def label(self, topic: str, heading: str, labels: Mapping[str, int], request: RequestContext | None = None) -> str:
        """Return which of a heading's labels is meant; ``labels`` with the number of subjects that have each.

        The heading's own figure, else the label that most subjects have, where the question names none of them.
        Raises EmbeddingError.
        """
        default = "" if "" in labels else max(labels, key=lambda one: (labels[one], -len(one)))
        asked, groups = self._compared(topic, [(heading, label) for label in labels], request)
        compared = asked.best([groups[heading, label] for label in labels])
        near = {label: one.score for label, one in zip(labels, compared, strict=True)}
        best = max(near, key=lambda label: (near[label], labels[label]))
        return best if near[best] > near[default] + LABEL_LEAD else default

    def names_one(self, words: str, headings: Iterable[str], beside: str = "") -> bool:
        """Return whether words surely mean a heading, and none of the labels below the heading ``beside``.

        Raises EmbeddingError.
        """
        whole = dict.fromkeys((name, None) for name in [*headings, *self._current().headings, beside])
        asked, groups = self._compared(words, [(beside, ""), *whole])
        best = max((near.score for near in asked.best([groups[key] for key in whole])), default=0.0)
        if best < SURE or not beside:
            return best >= SURE
        own, part = (near.score for near in asked.best([groups[beside, label] for label in ("", None)]))
        return part <= own or part < best - LABEL_LEAD

    def _current(self) -> _Phrases:
        """Return the phrases of the glossary as it is now."""
        entries = self._glossary()
        with self._lock:
            if entries is not self._phrases.entries:
                self._phrases = _Phrases(entries, self._terms)
            return self._phrases

    def _compared(
        self, topic: str, keys: Sequence[tuple[str, str | None]], request: RequestContext | None = None
    ) -> tuple[_Asked, Mapping[tuple[str, str | None], _Group]]:
        """Return what is asked and the groups of these keys.

        Words are weighed by the headings of the glossary and of ``keys``, so the same question always weighs the same.
        """
        phrases = self._current()
        with self._lock:
            if new := {key: phrases.of(*key) for key in keys if key not in phrases.groups}:
                vectors = self._embedder.embed_documents([text for texts in new.values() for text in texts])
                for key, texts in new.items():
                    terms = [frozenset(self._terms(text)) for text in texts]
                    phrases.groups[key], vectors = _Group(terms, vectors[: len(texts)]), vectors[len(texts) :]
        groups = {key: phrases.groups[key] for key in keys}
        own = [name for name, label in groups if label is None and name not in phrases.headings]
        counts = Counter(phrases.counts)
        counts.update(term for name in own for term in frozenset().union(*groups[name, None].terms))
        without_years = YEAR_PATTERN.sub("", topic)  # which no heading names
        topic = without_years if self._terms(without_years) else topic
        telling = " ".join(word for word in _WORD.findall(topic) if self._terms(word))
        ways = dict.fromkeys(filter(None, [topic, telling]))
        asked = np.stack([self._embedder.embed_query(text, request=request) for text in ways], axis=1)
        return _Asked(asked, frozenset(self._terms(topic)), counts, len(phrases.headings) + len(own)), groups


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
