"""Corrects typing errors in an English question, by the words of the library.

A word is replaced only if neither the library nor everyday English has it. Names are
not changed.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain, filterfalse, islice

from rapidfuzz import process
from rapidfuzz.distance import OSA

from ..domain.figures import GlossaryEntry, Indicators
from ..domain.scope import Reading
from ..language.analysis import analyzer
from ..language.detection import is_foreign
from ..models.embed import MINILM_FOLDER
from ..questions.reading import NAME, remove_names

LETTERS_PER_ERROR = 5
"""Minimum letters of a word. One may be wrong, missing, added or swapped with the next;
two from nine letters on.
"""
MAX_WORDS = 30
"""Words of a question that are checked."""
_WORD = re.compile(rf"[^\W\d_]{{{LETTERS_PER_ERROR},}}")


@cache
def english_words() -> frozenset[str]:
    """Return 22,000 frequent words: those that the built-in embedding model reads in
    one piece.
    """
    return frozenset(
        json.loads((MINILM_FOLDER / "tokenizer.json").read_bytes())["model"]["vocab"]
    )


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

    def corrected(self, question: Reading) -> tuple[str, dict[str, str]]:
        """Return the corrected text, and the correction of each misspelt word."""
        if is_foreign(question.text):
            return question.text, {}
        topic = remove_names(question.text, question.names)
        text = question.text
        names = NAME.findall(topic)
        corrections = dict[str, str]()
        for word in islice(
            filterfalse(names.__contains__, dict.fromkeys(_WORD.findall(topic))),
            MAX_WORDS,
        ):
            if meant := self._meant(word.lower()):
                corrections[word] = meant
                text = re.sub(rf"\b{word}\b", meant, text)
        return text, corrections

    def _meant(self, word: str) -> str:
        stems = self._terms(word)
        if (
            not english_words().isdisjoint([word, *stems])
            or not stems
            or word in (known := self._words())
        ):
            return ""
        most = (len(word) + 1) // LETTERS_PER_ERROR
        alike = process.extract(
            word, known, scorer=OSA.distance, score_cutoff=most, limit=None
        )
        # A missing letter is more likely than an added one.
        near = [
            (errors, -len(one), one) for one, errors, _ in alike if one[0] == word[0]
        ]
        meant = min(near)[-1] if near else ""
        return meant if self._terms(meant) != stems else ""

    def _words(self) -> frozenset[str]:
        """Return the words of the headings, of their labels and of the glossary."""
        entries = self._glossary()
        indicators = self._indicators()
        if self._kept[0] is not entries or self._kept[1] is not indicators:
            headings = chain(indicators, *indicators.values())
            terms = chain.from_iterable(
                (one.term, one.heading, one.label, *one.other_words) for one in entries
            )
            words = {
                word
                for text in {*headings, *terms}
                for word in _WORD.findall(text.lower())
            }
            words |= english_words().intersection(
                word.removesuffix("s") for word in words
            )
            self._kept = entries, indicators, frozenset(words)
        return self._kept[2]
