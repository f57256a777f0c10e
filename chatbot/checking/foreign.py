"""What a sentence says that neither the cited passages nor the question do: countries,
names, speakers, all of it. Words are compared by how they begin, so that "Islamic" is
in a passage about Islam.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property, lru_cache
from itertools import chain

from ..domain import Question
from ..domain.figures import GlossaryEntry
from ..domain.scope import NamedCountry
from ..language.characters import lowered
from ..language.countries import normalise as normalise_name
from ..language.country_names import find_countries, keys_in
from ..language.detection import language_of
from .evidence import (
    BEGINNING,
    CAPITAL,
    GENERAL,
    REST,
    WORD,
    Evidence,
    PassageRow,
    Sentence,
    beginning,
    keys_of,
    label_key,
)
from .wording import (
    QUOTATION,
    normalise,
    pattern,
    stem,
    stems,
    without_quotations,
)

_SPEAKER = (
    r"(?:[Tt]he )?(?P<speaker>[A-Z][\w.'’&-]*(?:(?: (?:of|for|the|and|on|de))* "
    r"[A-Z][\w.'’&-]*)*)"
)
_ATTRIBUTES, _NAMED_BEHIND = pattern("{attributes} "), re.compile(_SPEAKER)
_SAYS = re.compile(rf"(?:^|[,;] ){_SPEAKER} {pattern('{says}').pattern} that\b")
_NO_NAMES, _NO_SPEAKERS = stems("no_name"), stems("no_speaker") | stems("stand_in")
_ASIDE = re.compile(r"\([^()]*\)")
_NO_TOPIC = GENERAL | stems("rises") | stems("falls")
_NO_HEADINGS = stems("small") | stems("no_heading")
LABEL_SHARE = 1 / 3
_Labels = frozenset[frozenset[str]]
"""Share of the words of a label that names it."""
MIN_FOREIGN_WORDS, FOREIGN_SHARE = 3, 2 / 3
"""Telling words of a sentence that no passage has; their share of all."""


@lru_cache(maxsize=1_000)
def _shared_keys(labels: _Labels) -> frozenset[str]:
    """Return the words that tell none of several labels from another: "border
    countries" of each neighbour.
    """
    if len(labels) > 1:
        return frozenset.intersection(*labels)
    return frozenset()


class Headings:
    """The headings and labels of the reports, with the words that the glossary has for
    them.

    Whether words are for a heading is decided leniently for that of a figure, and
    strictly for another.
    """

    def __init__(self, glossary: Sequence[GlossaryEntry] = ()) -> None:
        self._entries = defaultdict[
            tuple[str, frozenset[str] | None], list[GlossaryEntry]
        ](list)
        self._phrases = dict[
            tuple[str, frozenset[str] | None], frozenset[frozenset[str]]
        ]()
        self._names = defaultdict[str, set[tuple[frozenset[str], str]]](set)
        for entry in glossary:
            for label in {None, keys_of(entry.label) if entry.label else None}:
                self._entries[entry.heading, label].append(entry)
            for name in map(
                _name_keys,
                {entry.heading, entry.heading if entry.label else entry.term},
            ):
                if name and entry.heading:
                    self._names[max(name, key=len)].add((name, entry.heading))

    def phrases(
        self, heading: str, label: frozenset[str] | None = None
    ) -> frozenset[frozenset[str]]:
        """Return the phrases that name a heading (its entries are those of its labels,
        too) or a label under it, each as beginnings of words: each word of its name,
        and each text of the glossary. Of a label's texts without the words of the
        heading, which say nothing of the label.
        """
        if (heading, label) in self._phrases:
            return self._phrases[heading, label]
        words_of_heading = _beginnings(heading)
        if label is None:
            own_words = words_of_heading
            words_left_out = frozenset[str]()
        else:
            own_words = frozenset(beginning(key) for key in label)
            words_left_out = words_of_heading
        phrases = {frozenset([word]) for word in own_words}
        for entry in self._entries.get((heading, label), ()):
            for text in (entry.term, *entry.other_words):
                phrases.add(_beginnings(text) - words_left_out)
        phrases.discard(frozenset())
        self._phrases[heading, label] = frozenset(phrases)
        return self._phrases[heading, label]

    def names_label(
        self, row: PassageRow, sibling: frozenset[str], keys: Set[str]
    ) -> bool:
        """Return whether words are for a row's label, in any form, and not for its
        sibling's.
        """
        phrases, others = (
            self.phrases(row.heading, label) for label in (row.label, sibling)
        )
        exact = row.label - sibling
        beginnings = set(map(beginning, keys))
        years_beside = {
            str(int(key) + step)
            for key in exact
            if key.isdecimal() and not sibling <= keys
            for step in (-1, 1)
        }
        names = (phrases - others) | {
            frozenset([word]) for word in {*map(beginning, exact), *years_beside}
        }
        return any(name <= beginnings for name in names)

    def names_row(self, row: PassageRow, keys: Set[str]) -> bool:
        """Return whether words are for a row's label, in any form, and for no
        sibling's.
        """
        return bool(row.label) and all(
            self.names_label(row, sibling, keys) for sibling in row.siblings
        )

    def name_sibling(self, row: PassageRow, keys: Set[str]) -> bool:
        """Return whether words have a telling word of a sibling's label, and none of
        the row's own in any form; what the others leave is told by all of them.
        """
        share = 1 if row.label == REST else LABEL_SHARE
        # "Borders" may be of the total, too.
        known = row.label or _shared_keys(row.siblings)
        return any(
            len(other & keys) >= share * len(other)
            and not self.names_label(row, sibling, keys)
            for sibling in row.siblings
            if (other := sibling - known) and other & keys
        )

    def name_another(self, row: PassageRow, keys: Set[str], present: Set[str]) -> bool:
        """Return whether words name a heading that is not among those ``present``, and
        the row's own in no form.
        """
        named = {
            (name, of)
            for key in keys
            for name, of in self._names.get(key, ())
            if name <= keys
        }
        if not named or any(of == row.heading for _, of in named):
            return False
        beginnings = set(map(beginning, keys))
        phrases = self.phrases(row.heading) | {
            frozenset([beginning(key)]) for key in row.label
        }
        fits = [phrase for phrase in phrases if phrase <= beginnings]
        others = [set(map(beginning, name)) for name, _ in named]
        return any(
            not other <= present and all(phrase < other for phrase in fits)
            for other in others
        )


@lru_cache(maxsize=4096)
def _name_keys(phrase: str) -> frozenset[str]:
    return frozenset(
        key
        for key in map(stem, WORD.findall(_ASIDE.sub("", phrase)))
        if key not in _NO_HEADINGS
    )


def _beginnings(phrase: str) -> frozenset[str]:
    return frozenset(map(beginning, _name_keys(phrase) - GENERAL))


headings_of = lru_cache(maxsize=4)(Headings)
"""Returns the headings of a glossary, made once."""


class Foreign:
    """Finds what is in none of the cited passages, ``evidence`` by number, nor in the
    question.
    """

    def __init__(
        self,
        evidence: Mapping[int, Evidence],
        question: Question | None,
        response: str,
        headings: Headings,
    ) -> None:
        self.evidence = evidence
        asked = ""
        given = ""
        if question is not None:
            asked = f"{question.query}\n{question.search_text}"
            conditions = question.scope.to_json().values()
            given = " ".join([asked, *(str(condition) for condition in conditions)])
        self.query = normalise(asked)
        self._countries = {
            key for country in find_countries(given) for key in country.keys
        }
        self._given_words = frozenset(
            beginning(stem(word)) for word in WORD.findall(given)
        )
        self._known_words = self._given_words.union(
            *(source.beginnings for source in evidence.values())
        )
        self.headings = headings
        texts = [response, *(source.full for source in evidence.values())]
        self._are_all_english = {language_of(text) for text in texts} == {"english"}

    def countries(self, sentence: Sentence, cited: Sequence[Evidence]) -> Iterator[str]:
        """Yield the countries that neither ``cited`` nor the question mention."""
        for country in sentence.countries:
            if not self._countries.isdisjoint(country.keys):
                continue
            if not any(_names_country(evidence, country) for evidence in cited):
                yield country.text

    def names(
        self, sentence: Sentence, cited: Sequence[Evidence] | None = None
    ) -> Iterator[str]:
        """Yield the names in an English sentence that neither ``cited`` (else any
        passage) nor the question have.
        """
        if not self._are_all_english:
            return
        beginnings = self._known_words
        if cited is None:
            cited = list(self.evidence.values())
        else:
            beginnings = self._given_words.union(
                *(source.beginnings for source in cited)
            )
        unknown = [
            match
            for match in CAPITAL.finditer(sentence.text)
            if _is_unknown(stem(match[0]), beginnings)
        ]
        if not unknown:
            return
        text = without_quotations(sentence.text)
        for match in unknown:
            if text[match.start()] == " " or _is_in_other(sentence, match.start()):
                continue
            if not any(_has_name(source, match[0]) for source in cited):
                yield match[0]

    def is_all(self, sentence: Sentence) -> bool:
        """Return whether hardly a telling word of the sentence is in the cited passages
        or the question.
        """
        if not self._are_all_english or QUOTATION.search(sentence.text):
            return False
        countries = {
            stem(word)
            for country in sentence.countries
            for word in WORD.findall(country.text)
        }
        keys = (
            {label_key(word) for word in WORD.findall(sentence.text) if word.isalpha()}
            - _NO_TOPIC
            - countries
        )
        min_foreign = max(MIN_FOREIGN_WORDS, FOREIGN_SHARE * len(keys))
        foreign = [
            start for start in map(beginning, keys) if start not in self._known_words
        ]
        return (
            len(foreign) >= min_foreign
            and sum(key not in self.words_of_headings for key in foreign) >= min_foreign
        )

    @cached_property
    def words_of_headings(self) -> frozenset[str]:
        """The beginnings of the words that name the passages' headings."""
        of_headings = (
            self.headings.phrases(heading)
            for source in self.evidence.values()
            for heading in source.headings
        )
        return frozenset(
            word for phrases in of_headings for phrase in phrases for word in phrase
        )


def _is_unknown(key: str, beginnings: Set[str]) -> bool:
    """Return whether a word is a name that begins like no word that is known."""
    if key in _NO_NAMES:
        return False
    return beginnings.isdisjoint((beginning(key), key[: BEGINNING - 1]))


def _is_in_other(sentence: Sentence, position: int) -> bool:
    """Return whether a word is in a figure or a country's name, which are checked by
    themselves.
    """
    for amount in sentence.amounts:
        if amount.figure.start <= position < amount.end:
            return True
    return any(
        country.start <= position < country.end for country in sentence.countries
    )


def _has_name(source: Evidence, name: str) -> bool:
    return normalise(name) in source.words or source.mentions([name], set())


def _names_country(evidence: Evidence, country: NamedCountry) -> bool:
    """Return whether a passage names a country. The words of its name are not enough
    where they stand in a longer one: "South Sudan" does not name Sudan.
    """
    if not keys_in(evidence.full).isdisjoint(country.keys):
        return True
    if not set(map(stem, WORD.findall(country.text))) <= evidence.keys:
        return False
    name = f" {normalise_name(country.text)} "
    return not any(
        name in f" {normalise_name(other.text)} "
        for other in find_countries(evidence.full, misspelt=False)
    )


def foreign_speakers(words: str, cited: Sequence[Evidence]) -> Iterator[str]:
    """Yield the sources to which a sentence attributes its words, and that no passage
    names.
    """
    behind = (
        _NAMED_BEHIND.match(words, match.end())
        for match in _ATTRIBUTES.finditer(lowered(words))
    )
    for match in chain(
        filter(None, behind), _SAYS.finditer(words) if " that" in words else ()
    ):
        named = [word for word in WORD.findall(match["speaker"]) if word[0].isupper()]
        is_named = any(source.mentions(named, _NO_SPEAKERS) for source in cited)
        if not is_named and not _NO_SPEAKERS.issuperset(map(stem, named)):
            yield match["speaker"]
