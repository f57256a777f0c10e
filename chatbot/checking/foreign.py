"""What a sentence says that neither the cited passages nor the question do: countries, names, speakers, all of it.
Words are compared by how they begin, so that "Islamic" is in a passage about Islam."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property, lru_cache
from itertools import chain

from ..domain import Question
from ..domain.figures import GlossaryEntry
from ..language import language_of, lowered
from ..questions.names import find_countries, keys_in
from .evidence import BEGINNING, CAPITAL, GENERAL, WORD, Evidence, Sentence, label_key
from .wording import QUOTATION, normalise, pattern, stem, stems

_SPEAKER = r"(?:[Tt]he )?(?P<speaker>[A-Z][\w.'’&-]*(?:(?: (?:of|for|the|and|on|de))* [A-Z][\w.'’&-]*)*)"
_ATTRIBUTES, _NAMED_BEHIND = pattern("{attributes} "), re.compile(_SPEAKER)
_SAYS = re.compile(rf"(?:^|[,;] ){_SPEAKER} {pattern('{says}').pattern} that\b")
_NO_NAMES, _NO_SPEAKERS = stems("no_name"), stems("no_speaker") | stems("stand_in")
_ASIDE = re.compile(r"\([^()]*\)")
_NO_TOPIC = GENERAL | stems("rises") | stems("falls")
_NO_HEADINGS = stems("small") | stems("no_heading")
MIN_FOREIGN_WORDS, FOREIGN_SHARE = 3, 0.75
"""Telling words of a sentence that no passage has; their share of all."""


class Headings:
    """The headings that the glossary has, by the words that name them."""

    def __init__(self, glossary: Sequence[GlossaryEntry] = ()) -> None:
        self._phrases = defaultdict[str, set[frozenset[str]]](set)
        for entry in glossary:
            for phrase in (entry.heading, entry.term, *entry.other_words):
                self._phrases[entry.heading].add(_name_keys(phrase))
        terms = (one.term for one in glossary if one.heading and not one.label)
        self._names = defaultdict[str, list[frozenset[str]]](list)
        for name in {_name_keys(phrase) for phrase in (*self._phrases, *terms)} - {frozenset()}:
            self._names[max(name, key=len)].append(name)

    def words(self, heading: str) -> frozenset[str]:
        """Return the keys of the telling words that name a heading."""
        return frozenset[str]().union(_name_keys(heading), *self._phrases.get(heading, ())) - GENERAL

    def named(self, keys: Set[str]) -> list[frozenset[str]]:
        """Return the names of headings that are among the words with these keys."""
        return [name for key in keys for name in self._names.get(key, ()) if name <= keys]

    def names(self, heading: str, keys: Set[str]) -> bool:
        """Return whether words with these keys name a heading, as itself or in other words."""
        return any(phrase <= keys for phrase in (_name_keys(heading), *self._phrases.get(heading, ())) if phrase)


@lru_cache(maxsize=4096)
def _name_keys(phrase: str) -> frozenset[str]:
    return frozenset(key for key in map(stem, WORD.findall(_ASIDE.sub("", phrase))) if key not in _NO_HEADINGS)


headings_of = lru_cache(maxsize=4)(Headings)
"""Returns the headings of a glossary, made once."""


class Foreign:
    """Finds what is in none of the cited passages, ``evidence`` by number, nor in the question."""

    def __init__(
        self, evidence: Mapping[int, Evidence], question: Question | None, response: str, headings: Headings
    ) -> None:
        self._evidence = evidence
        query = f"{question.query}\n{question.search_text}" if question else ""
        scope = " ".join(map(str, question.scope.to_json().values())) if question else ""
        self.query = normalise(query)
        self._countries = {key for country in find_countries(f"{query} {scope}") for key in country.keys}
        self._given = frozenset(stem(word)[:BEGINNING] for word in WORD.findall(f"{query} {scope}"))
        self._all = self._given.union(*(one.beginnings for one in evidence.values()))
        self._headings = headings
        languages = (language_of(response), *(language_of(one.full) for one in evidence.values()))
        self._is_english = set(languages) == {"english"}

    def countries(self, sentence: Sentence, cited: Sequence[Evidence]) -> Iterator[str]:
        """Yield the countries that neither ``cited`` nor the question mention."""
        for country in sentence.countries:
            words = set(map(stem, WORD.findall(country.text)))
            named = (words <= one.keys or not keys_in(one.full).isdisjoint(country.keys) for one in cited)
            if self._countries.isdisjoint(country.keys) and not any(named):
                yield country.text

    def names(self, sentence: Sentence, cited: Sequence[Evidence] | None = None) -> Iterator[str]:
        """Yield the names in an English sentence that neither ``cited`` (else any passage) nor the question have."""
        beginnings = self._all if cited is None else self._given.union(*(one.beginnings for one in cited))
        cited = list(self._evidence.values()) if cited is None else cited
        names = CAPITAL.finditer(sentence.text) if self._is_english else ()
        unknown = [one for one in names if (key := stem(one[0])) not in _NO_NAMES and key[:BEGINNING] not in beginnings]
        quotes = QUOTATION.finditer(sentence.text) if unknown else ()
        skipped = [*(quote.span() for quote in quotes), *((one.figure.start, one.end) for one in sentence.amounts)]
        for match in unknown:
            name, place = match[0], match.start()
            if any(start <= place < end for start, end in skipped) or any(name in c.text for c in sentence.countries):
                continue
            plain = normalise(name)
            if not any(plain in one.words or one.mentions([name], frozenset()) for one in cited):
                yield name

    def is_all(self, sentence: Sentence) -> bool:
        """Return whether hardly a telling word of the sentence is in the cited passages or the question."""
        is_other_script = not sentence.text.isascii() and language_of(sentence.text) in {"", "arabic"}
        if not self._is_english or is_other_script or QUOTATION.search(sentence.text):
            return False
        countries = {stem(word) for country in sentence.countries for word in WORD.findall(country.text)}
        keys = {label_key(word) for word in WORD.findall(sentence.text) if word.isalpha()} - _NO_TOPIC - countries
        least = max(MIN_FOREIGN_WORDS, FOREIGN_SHARE * len(keys))
        foreign = [key[:BEGINNING] for key in keys if key[:BEGINNING] not in self._all]
        return len(foreign) >= least and sum(key not in self.words_of_headings for key in foreign) >= least

    @cached_property
    def words_of_headings(self) -> frozenset[str]:
        """The beginnings of the words that name the passages' headings."""
        of_headings = (self._headings.words(heading) for one in self._evidence.values() for heading in one.headings)
        return frozenset(key[:BEGINNING] for words in of_headings for key in words)


def foreign_speakers(words: str, cited: Sequence[Evidence]) -> Iterator[str]:
    """Yield the sources to which a sentence attributes its words, and that no passage names."""
    behind = (_NAMED_BEHIND.match(words, match.end()) for match in _ATTRIBUTES.finditer(lowered(words)))
    for match in chain(filter(None, behind), _SAYS.finditer(words) if " that" in words else ()):
        named = [word for word in WORD.findall(match["speaker"]) if word[0].isupper()]
        is_named = any(one.mentions(named, _NO_SPEAKERS) for one in cited)
        if not is_named and not _NO_SPEAKERS.issuperset(map(stem, named)):
            yield match["speaker"]
