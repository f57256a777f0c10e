"""Corrects typing errors in an English question, by the words of the library.

A word is replaced only if everyday English does not have it, nor a heading, nor any
passage of the scope. Names are not changed.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import cache

from rapidfuzz import process
from rapidfuzz.distance import OSA

from ..config import VOCABULARY
from ..domain.figures import GlossaryEntry, Indicators
from ..domain.scope import Reading
from ..language.analysis import STOP_WORDS, analyzer
from ..language.detection import is_foreign
from ..questions.reading import NAME, OF_ANY_QUESTION, remove_names

LETTERS_PER_ERROR = 5
"""Minimum letters of a word. One may be wrong, missing, added or swapped with the next;
two from nine letters on.
"""
MAX_WORDS = 30
"""Words of a question that are checked."""
_OF_ANY_QUESTION = {*STOP_WORDS["english"], *OF_ANY_QUESTION}
_WORD = re.compile(rf"[^\W\d_]{{{LETTERS_PER_ERROR},}}")


@cache
def english_words() -> frozenset[str]:
    """Return 22,000 frequent words: those that the built-in embedding model reads in
    one piece.
    """
    return frozenset(json.loads(VOCABULARY.read_bytes())["model"]["vocab"])


def _everyday_word(word: str) -> str:
    """Return the one word of any question that differs from a word by one letter:
    "between" for "betwen"; "" without one, or with several.
    """
    alike = process.extract(
        word, _OF_ANY_QUESTION, scorer=OSA.distance, score_cutoff=1, limit=None
    )
    near = [other for other, _, _ in alike if other[0] == word[0]]
    return near[0] if len(near) == 1 else ""


class Spelling:
    """Knows the words of a library. Thread-safe.

    ``glossary`` and ``indicators`` return its entries, and its headings with their
    labels: the same objects until they change.
    """

    def __init__(
        self,
        glossary: Callable[[], Sequence[GlossaryEntry]],
        indicators: Callable[[], Indicators],
    ) -> None:
        self._glossary = glossary
        self._indicators = indicators
        self._terms = analyzer("english").terms
        self._kept: tuple[Sequence[GlossaryEntry], Indicators, frozenset[str]] = (
            (),
            {},
            frozenset(),
        )

    def corrected(
        self, question: Reading, is_written: Callable[[str], bool]
    ) -> tuple[str, dict[str, str]]:
        """Return the corrected text, and the correction of each misspelt word.

        ``is_written``: whether a passage has a word. It is asked only for words that
        would be replaced.
        """
        if is_foreign(question.text):
            return question.text, {}
        topic = remove_names(question.text, question.names)
        text = question.text
        names = NAME.findall(topic)
        corrections = dict[str, str]()
        words = [word for word in _WORD.findall(topic) if word not in names]
        words = list(dict.fromkeys(words))
        for word in words[:MAX_WORDS]:
            meant = self._meant(word.lower())
            if meant and not is_written(word):
                corrections[word] = meant
                text = re.sub(rf"\b{word}\b", meant, text)
        return text, corrections

    def _meant(self, word: str) -> str:
        stems = self._terms(word)
        if not stems:
            return ""
        if not english_words().isdisjoint([word, *stems]):
            return ""
        known = self._words()
        if word in known:
            return ""
        most = (len(word) + 1) // LETTERS_PER_ERROR
        alike = process.extract(
            word, known, scorer=OSA.distance, score_cutoff=most, limit=None
        )
        # A missing letter is more likely than an added one.
        near: list[tuple[float, int, str]] = []
        for other, errors, _ in alike:
            if other[0] == word[0]:
                near.append((errors, -len(other), other))
        if not near:
            return _everyday_word(word)
        meant = min(near)[-1]
        if self._terms(meant) == stems:
            return ""
        return meant

    def _words(self) -> frozenset[str]:
        """Return the words of the headings, of their labels and of the glossary."""
        entries = self._glossary()
        indicators = self._indicators()
        kept_entries, kept_indicators, kept_words = self._kept
        if kept_entries is entries and kept_indicators is indicators:
            return kept_words
        texts = set(indicators)
        for labels in indicators.values():
            texts.update(labels)
        for entry in entries:
            texts.update(entry.other_words)
            texts.add(entry.term)
            texts.add(entry.heading)
            texts.add(entry.label)
        words: set[str] = set()
        for text in texts:
            words.update(_WORD.findall(text.lower()))
        singular = {word.removesuffix("s") for word in words}
        words |= english_words() & singular
        known = frozenset(words)
        self._kept = entries, indicators, known
        return known
