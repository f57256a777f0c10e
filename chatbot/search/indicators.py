"""The index of indicators: which heading, and which label below it, a question means.

A heading is known by its name and by the phrases that the library's glossary has for it
("how old people are" for "Median age"). A question is compared with each phrase by
vectors and by words; the best phrase counts. Words are weighed by how few headings have
them, and a phrase loses for what it says beyond the question: a heading that is the
term asked for stands above one that contains it ("GDP" above "GDP per capita").
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from math import log
from threading import Lock
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ..domain import Chunk, Scope
from ..domain.documents import Matrix, ScoreArray, Vector
from ..domain.figures import DEFAULT_GLOSSARY, GlossaryEntry
from ..domain.protocols import Catalog, Embedder, Passages
from ..domain.request import RequestContext
from ..domain.turns import give_way
from ..language.analysis import YEAR_PATTERN, Analyzer
from ..questions.reading import COUNTRY, MEANING_WORDS, SHARE_WORDS
from .weights import read_weight

WORDS = read_weight("labels.words")
SURE = read_weight("labels.sure")
SURELY_ASKED = read_weight("labels.least")
KEPT_TOPICS = int(read_weight("labels.topics"))
KEPT_LABELS, KEPT_PHRASES = 20_000, 20_000
"""Labels whose words are kept, and phrases of headings whose vectors are: 30 MB at 384
dimensions.
"""
REST = {"other", "unspecified", "none"}
"""Labels of what a list does not name."""
TOTAL = "total"
"""The word of the label of a whole."""
LABEL_LEAD = read_weight("labels.lead")
STEM_CHARACTERS = int(read_weight("sets.stem"))

Key = tuple[str, str | None]
"""A heading and one of its labels: "" is the heading itself, None the heading with all
of its labels.
"""


class Near(NamedTuple):
    """The closeness of a phrase to the question: their cosine, and the weight of common
    words as a share of all.
    """

    cosine: float
    words: float

    @property
    def score(self) -> float:
        return self.cosine + WORDS * self.words


class _Group(NamedTuple):
    """The phrases of one heading or label: the words of each and of all, and the row of
    the first one's vector. ``number``: of the group, from 0. ``broad``: the positions
    of the phrases that stand for several headings.
    """

    terms: Sequence[frozenset[str]]
    every: frozenset[str]
    start: int
    number: int
    broad: Sequence[int]

    def best(self, scores: ScoreArray) -> int:
        """Return the position of the best phrase. "What life is like" is a little like
        any question: a broad one counts only where it is asked.
        """
        for place in self.broad:
            scores[place] *= scores[place] >= SURELY_ASKED
        return int(scores.argmax())


class Topic(NamedTuple):
    """The words that are asked for, and how much each word weighs."""

    terms: frozenset[str]
    weight: Callable[[str], float]

    def shared(self, terms: frozenset[str]) -> float:
        """Return the weight of the common words as a share of that of all words
        (Jaccard).
        """
        if self.terms.isdisjoint(terms):
            return 0.0
        common, every = (
            sum(map(self.weight, sorted(some)))
            for some in (self.terms & terms, self.terms | terms)
        )
        return common / every


class _Phrases:
    """Glossary entries by heading and label. ``groups``: the phrases embedded so
    far.
    """

    def __init__(
        self, entries: Sequence[GlossaryEntry], terms: Callable[[str], Sequence[str]]
    ) -> None:
        self.entries = entries
        self.groups: dict[Key, _Group] = {}
        self.vectors: Matrix = np.empty((0, 0), np.float32)
        self._terms = terms
        self._cosines: dict[str, tuple[ScoreArray, list[float]]] = {}
        self._phrases: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._uses = Counter[str]()
        for entry in entries:
            if entry.heading:
                texts = (entry.term, *entry.other_words)
                self._phrases[entry.heading, entry.label] += texts
                self._uses.update(texts)
        self.headings = frozenset(heading for heading, _ in self._phrases)
        words = (
            {term for text in self.of(heading, None) for term in terms(text)}
            for heading in self.headings
        )
        self.counts = Counter(term for heading_terms in words for term in heading_terms)
        self.abbreviations: dict[str, str] = {}
        """As headings have them ("GDP"), by what they stand for ("gross domestic
        product").
        """
        for entry in entries:
            if not entry.heading and entry.term.isupper():
                self._add_abbreviation(entry)

    def _add_abbreviation(self, entry: GlossaryEntry) -> None:
        if not self.counts.keys() >= set(self._terms(entry.term)):
            return
        for words in entry.other_words:
            if " " in words:
                self.abbreviations[words] = entry.term

    def add(self, keys: Sequence[Key], embedder: Embedder) -> None:
        """Embed the phrases of these headings and labels. Raises EmbeddingError."""
        texts = {key: self.of(*key) for key in keys}
        vectors = embedder.embed_documents(
            [text for phrases in texts.values() for text in phrases]
        )
        start = len(self.vectors)
        # Another matrix, of which all rows are there: other threads may be reading this
        # one.
        self.vectors = np.concatenate([self.vectors, vectors]) if start else vectors
        for key, phrases in texts.items():
            terms = [frozenset(self._terms(text)) for text in phrases]
            every = frozenset().union(*terms)
            # Two may be names of one thing.
            broad = [one for one, text in enumerate(phrases) if self._uses[text] > 2]
            self.groups[key] = _Group(terms, every, start, len(self.groups), broad)
            start += len(phrases)

    def cosines(self, topic: str, vector: Vector) -> tuple[ScoreArray, list[float]]:
        """Return the cosine of a topic's vector to each phrase, and the highest of each
        group. A question compares a few topics, each several times.
        """
        vectors = self.vectors
        kept = self._cosines.get(topic)
        if kept is None or len(kept[0]) < len(vectors):
            starts = [group.start for group in self.groups.values()]
            # All at once, and not by `@`: its threads take 27 ms of CPU while they
            # wait.
            near = np.vecdot(vectors, vector)
            kept = near, np.maximum.reduceat(near, starts).tolist()
            self._cosines = dict([*self._cosines.items()][-KEPT_TOPICS:])
            self._cosines[topic] = kept
        return kept

    def of(self, heading: str, label: str | None) -> list[str]:
        """Return the phrases of a key."""
        labels = (
            [label]
            if label is not None
            else ["", *(other for name, other in self._phrases if name == heading)]
        )
        texts: dict[str, None] = {}
        for one in labels:
            name = f"{heading}: {one}" if one else heading
            texts |= dict.fromkeys([name, *self._phrases.get((heading, one), ())])
        return list(texts)


class IndicatorIndex:
    """Compares questions with headings and labels. Thread-safe.

    ``glossary`` returns the library's entries, the same object until they change."""

    def __init__(
        self,
        embedder: Embedder,
        analyzer: Analyzer,
        glossary: Callable[[], Sequence[GlossaryEntry]] = tuple,
    ) -> None:
        self._embedder = embedder
        self.multilingual = embedder.multilingual
        self._terms = analyzer.terms
        self._glossary = glossary
        self._lock = Lock()
        self._phrases = _Phrases((), self._terms)
        self._named = lru_cache(KEPT_LABELS)(
            lambda heading, label: frozenset(self._terms(f"{heading} {label}"))
        )

    def near(
        self,
        topic: str,
        headings: Sequence[str],
        request: RequestContext | None = None,
        *,
        labels: Mapping[str, Iterable[str]] = MappingProxyType({}),
    ) -> list[Near | None]:
        """Return how near each heading is to what is asked, by its best phrase or one
        of its labels'.

        ``labels``: those of each heading in the data, compared by words alone. None for
        an empty heading. Raises EmbeddingError.
        """
        give_way()
        topic_words, compared = self._compared(
            topic, [(name, None) for name in headings if name], request
        )
        nearness: dict[str, Near] = {}
        for (name, _), near in compared.items():
            named = [self._named(name, label) for label in labels.get(name, ())]
            nearness[name] = Near(
                near.cosine, max([near.words, *map(topic_words.shared, named)])
            )
        return [nearness.get(name) for name in headings]

    def label(
        self,
        topic: str,
        heading: str,
        labels: Mapping[str, int],
        request: RequestContext | None = None,
    ) -> str:
        """Return which of a heading's labels is meant; ``labels`` with the number of
        subjects that have each. The heading's own figure, else the label that most
        subjects have, where the question names none of them. Raises EmbeddingError.
        """
        default = (
            ""
            if "" in labels
            else max(labels, key=lambda one: _label_rank(one, labels[one]))
        )
        keys = [(heading, label) for label in labels]
        best = default
        # Words of the heading say nothing of a label: "urbanised".
        for words in (topic, self._beside(topic, heading)):
            if not self._terms(words):
                # "Refugees" under "Refugees and displaced persons" is a label.
                is_label = set(self._terms(best)) <= set(self._terms(topic))
                return best if is_label else default
            _, compared = self._compared(words, keys, request)
            near = {label: compared[heading, label].score for label in labels}
            if near[best] > near[default] + LABEL_LEAD:
                continue
            best = max(near, key=lambda label: (near[label], labels[label]))
            if near[best] <= near[default] + LABEL_LEAD:
                return default
        is_told = self._is_told(topic, heading, best, labels)
        return best if is_told or not _is_whole(default) else default

    def _is_told(
        self, topic: str, heading: str, label: str, labels: Iterable[str]
    ) -> bool:
        """Return whether a topic has a word of a label that no other label has."""
        phrases = self._current()
        own = set(self._terms(" ".join(phrases.of(heading, label))))
        for other in labels:
            if other != label:
                own.difference_update(self._terms(" ".join(phrases.of(heading, other))))
        return not own.isdisjoint(self._terms(topic))

    def _beside(self, topic: str, heading: str) -> str:
        """Return the words of a topic that the heading does not have."""
        own = {term[:STEM_CHARACTERS] for term in self._terms(heading)}
        words = []
        for word in _EVERY_WORD.findall(topic):
            if own.isdisjoint(term[:STEM_CHARACTERS] for term in self._terms(word)):
                words.append(word)
        return " ".join(words)

    def phrases(self, heading: str) -> Sequence[str]:
        """Return a heading with what the glossary has for it and its labels."""
        return self._current().of(heading, None)

    def sure_headings(
        self, topic: str, but: Collection[str], request: RequestContext | None = None
    ) -> list[str]:
        """Return the headings, other than ``but``, that a question surely means by
        their phrases in the glossary. Raises EmbeddingError.
        """
        keys = [
            (name, None) for name in sorted(self._current().headings.difference(but))
        ]
        compared = self._compared(topic, keys, request, least=SURE)[1] if keys else {}
        return [name for (name, _), near in compared.items() if near.score >= SURE]

    def names_one(self, words: str, headings: Iterable[str], beside: str = "") -> bool:
        """Return whether words surely mean a heading, and none of the labels below the
        heading ``beside``. Raises EmbeddingError.
        """
        whole = [
            (name, None) for name in [*headings, *self._current().headings, beside]
        ]
        best = max(
            (
                near.score
                for near in self._compared(words, whole, least=SURE)[1].values()
            ),
            default=0.0,
        )
        if best < SURE or not beside:
            return best >= SURE
        itself, part = (
            near.score
            for near in self._compared(words, [(beside, ""), (beside, None)])[
                1
            ].values()
        )
        return part <= itself or part < best - LABEL_LEAD

    def _current(self) -> _Phrases:
        """Return the phrases of the glossary as it is now."""
        entries = self._glossary()
        with self._lock:
            if (
                entries is not self._phrases.entries
                or len(self._phrases.vectors) > KEPT_PHRASES
            ):
                self._phrases = _Phrases(entries, self._terms)
            return self._phrases

    def _compared(
        self,
        topic: str,
        keys: Sequence[Key],
        request: RequestContext | None = None,
        least: float = 0.0,
    ) -> tuple[Topic, Mapping[Key, Near]]:
        """Return what is asked, and how near the best phrase of each key is to it,
        without keys that cannot score ``least``. Words are weighed by the headings of
        the glossary and of ``keys``: the same question weighs the same.
        """
        phrases = self._current()
        topic = self.compared_text(topic)
        vector = self._embedder.embed_query(topic, request=request)
        with self._lock:
            if new := [key for key in dict.fromkeys(keys) if key not in phrases.groups]:
                phrases.add(new, self._embedder)
            groups = {key: phrases.groups[key] for key in keys}
            cosines, nearest = phrases.cosines(topic, vector)
        others = [
            group
            for (name, label), group in groups.items()
            if label is None and name not in phrases.headings
        ]
        counts = Counter(term for group in others for term in group.every)
        headings = len(phrases.headings) + len(others)

        @cache
        def weight(term: str) -> float:
            used = phrases.counts[term] + counts[term]
            return log(2 + headings / (1 + used))

        topic_words = Topic(frozenset(self._terms(topic)), weight)
        nearness: dict[Key, Near] = {}
        for key, group in groups.items():
            if nearest[group.number] < least - WORDS:
                continue
            if not group.broad and topic_words.terms.isdisjoint(group.every):
                # Most groups, of which only the nearest phrase counts.
                nearness[key] = Near(nearest[group.number], 0.0)
                continue
            shared = list(map(topic_words.shared, group.terms))
            end = group.start + len(shared)
            rows = cosines[group.start : end]
            words = WORDS * np.array(shared)
            place = group.best(rows + words)
            nearness[key] = Near(float(rows[place]), shared[place])
        return topic_words, nearness

    def compared_text(self, topic: str) -> str:
        """Return what of a topic is embedded: abbreviations as headings have them, no
        years, which no heading names. Of a question for a share only the other words
        that say something: most headings are a share of something.
        """
        lower = topic.lower()
        for in_full, abbreviation in self._current().abbreviations.items():
            if in_full.lower() not in lower:
                continue
            topic = re.sub(
                rf"\b{re.escape(in_full)}\b", abbreviation, topic, flags=re.IGNORECASE
            )
        words = _EVERY_WORD.findall(without_years := YEAR_PATTERN.sub("", topic))
        if not SHARE_WORDS.isdisjoint(map(str.lower, words)):
            without_years = " ".join(
                word
                for word in words
                if word.lower() not in SHARE_WORDS and self._terms(word)
            )
        return without_years if self._terms(without_years) else topic


Definition = tuple[GlossaryEntry, Chunk | None]
"""An entry, and the passage that defines it, if a report does."""
_OPENING, _GENERIC = {"what", "whats"}, {"a", "an"}
_OTHERS = {
    "s",
    "is",
    "are",
    "does",
    "do",
    "for",
    "of",
    "the",
    "term",
    "word",
    "abbreviation",
    "acronym",
}
_ASKING = (
    MEANING_WORDS
    | _OPENING
    | _GENERIC
    | _OTHERS
    | {"qué", "que", "de", "la", "el", "le", "du"}
)
_EVERY_WORD = re.compile(r"\w+")


class Glossary:
    """Looks terms up. Thread-safe."""

    def __init__(
        self,
        entries: Callable[[], Sequence[GlossaryEntry]],
        catalog: Catalog,
        store: Callable[[], Passages],
    ) -> None:
        self._entries = entries
        self._catalog = catalog
        self._store = store
        self._index: tuple[
            Sequence[GlossaryEntry], Mapping[str, Sequence[GlossaryEntry]]
        ] = ((), {})

    def entries(self, scope: Scope) -> Sequence[GlossaryEntry]:
        """Return the entries without those of reports outside of the scope."""
        entries = self._entries()
        if all(entry.source in {"", DEFAULT_GLOSSARY} for entry in entries):
            return entries
        sources = {
            "",
            DEFAULT_GLOSSARY,
            *(
                record.id
                for record in self._catalog.all(scope)
                if record.visible_version
            ),
        }
        return [entry for entry in entries if entry.source in sources]

    def define(self, text: str, scope: Scope) -> list[Definition]:
        """Return the meanings that a question asks for; none unless it names one term
        and nothing else. "What is X?" asks for a meaning where no scope says of which
        country.
        """
        words = _EVERY_WORD.findall(text.casefold())
        named = _without_asking(words)
        asking = set(words) - set(named)
        is_generic = bool(asking & _OPENING) and "the" not in asking
        asks_meaning = asking & MEANING_WORDS or (
            is_generic and (asking & _GENERIC or scope.get(COUNTRY) is None)
        )
        # A term of more than eight words is a sentence.
        if (
            not asks_meaning
            or len(named) > 8
            or not (entries := self._by_name().get(" ".join(named)))
        ):
            return []
        visible = set(self.entries(scope))
        by_meaning = {
            entry.meaning: entry for entry in entries[::-1] if entry in visible
        }
        return [
            (entry, self._passage(entry, scope))
            for entry in [*by_meaning.values()][::-1]
        ]

    def _by_name(self) -> Mapping[str, Sequence[GlossaryEntry]]:
        """Index the entries by term, the shipped ones last. Other words are names
        only of entries without a heading: those of a heading are ways to ask for its
        figures.
        """
        entries = self._entries()
        if self._index[0] is not entries:
            names: defaultdict[str, list[GlossaryEntry]] = defaultdict(list)
            for entry in sorted(
                entries, key=lambda entry: entry.source == DEFAULT_GLOSSARY
            ):
                for name in (entry.term, *(() if entry.heading else entry.other_words)):
                    names[
                        " ".join(_without_asking(_EVERY_WORD.findall(name.casefold())))
                    ].append(entry)
            self._index = entries, names
        return self._index[1]

    def _passage(self, entry: GlossaryEntry, scope: Scope) -> Chunk | None:
        record = next(
            (
                record
                for record in self._catalog.all(scope)
                if record.id == entry.source
            ),
            None,
        )
        if record is None or entry.passage is None:
            return None
        chunks = self._store().get(
            [Chunk.make_id(record.id, record.visible_version, entry.passage)]
        )
        return next((chunk for chunk in chunks if scope.matches(chunk.about)), None)


def _is_whole(label: str) -> bool:
    return TOTAL in label.split()


def _label_rank(label: str, subjects: int) -> tuple[bool, int, bool, int]:
    """Return the place of a label that stands for its heading: of those that most
    subjects have the total.
    """
    return label not in REST, subjects, _is_whole(label), -len(label)


def _without_asking(words: Sequence[str]) -> Sequence[str]:
    """Leave out the asking words before and after the others."""
    kept = [place for place, word in enumerate(words) if word not in _ASKING]
    return words[kept[0] : kept[-1] + 1] if kept else []
