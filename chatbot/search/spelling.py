"""Slips of the keyboard in an English question: words that nobody knows, a letter away from a word of the library.

A word is taken for another only where neither the library nor everyday English has it. Names are left alone."""

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain, filterfalse, islice

from rapidfuzz import process
from rapidfuzz.distance import OSA

from ..domain.figures import GlossaryEntry, Indicators
from ..domain.scope import Reading
from ..language import analyzer, is_foreign
from ..questions.reading import NAME, remove_names

LETTERS = 5
"""Of a word of so many letters one may be wrong, left out, added or have changed places with the next; of nine two."""
MOST_WORDS = 30
"""Of a question that are looked at."""
_WORD = re.compile(rf"[^\W\d_]{{{LETTERS},}}")


@cache
def english_words() -> frozenset[str]:
    """Return 22,000 frequent words: those that the built-in embedding model reads in one piece."""
    tokenizer = files("chatbot.models.embed").joinpath("models", "all-minilm-l6-v2", "tokenizer.json")
    return frozenset(json.loads(tokenizer.read_bytes())["model"]["vocab"])


class Spelling:
    """Knows the words of a library. Thread-safe.

    ``glossary`` and ``indicators`` return its entries, and its headings with their labels: the same objects until they
    change."""

    def __init__(self, glossary: Callable[[], Sequence[GlossaryEntry]], indicators: Callable[[], Indicators]) -> None:
        self._glossary = glossary
        self._indicators = indicators
        self._terms = analyzer("english").terms
        self._kept: tuple[Sequence[GlossaryEntry], Indicators, dict[str, str]] = ((), {}, {})

    def corrected(self, question: Reading) -> tuple[str, dict[str, str]]:
        """Return the text without its slips, and what each misspelt word was meant to be."""
        if is_foreign(question.text):
            return question.text, {}
        topic = remove_names(question.text, question.names)
        text, names, slips = question.text, NAME.findall(topic), dict[str, str]()
        for word in islice(filterfalse(names.__contains__, dict.fromkeys(_WORD.findall(topic))), MOST_WORDS):
            if meant := self._meant(word.lower()):
                slips[word] = meant
                text = re.sub(rf"\b{word}\b", meant, text)
        return text, slips

    def _meant(self, word: str) -> str:
        stems = self._terms(word)
        if not english_words().isdisjoint([word, *stems]) or not stems or word in (known := self._words()):
            return ""
        alike = process.extract(word, known, scorer=OSA.distance, score_cutoff=(len(word) + 1) // LETTERS, limit=None)
        # Rather a letter was left out than one too many written.
        near = [(slips, -len(one), one) for one, slips, _ in alike if one[0] == word[0]]
        meant = min(near)[-1] if near else ""
        return meant if self._terms(meant) != stems else ""

    def _words(self) -> dict[str, str]:
        """Return the words of the headings, of their labels and of the glossary."""
        entries, indicators = self._glossary(), self._indicators()
        if self._kept[0] is not entries or self._kept[1] is not indicators:
            headings = chain(indicators, *indicators.values())
            terms = chain.from_iterable((one.term, one.heading, one.label, *one.other_words) for one in entries)
            words = {word for text in {*headings, *terms} for word in _WORD.findall(text.lower())}
            words |= english_words().intersection(word.removesuffix("s") for word in words)
            self._kept = entries, indicators, {word: word for word in words}
        return self._kept[2]
