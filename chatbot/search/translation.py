"""Reads a question in another language as an English one: names, numbers and what is
wanted by the phrases of `questions/tongues.py`, its topic by the library's glossary.

Nothing else is translated: a question whose topic the glossary does not have stays as
it is.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import log

from ..domain.figures import GlossaryEntry
from ..domain.scope import Reading
from ..questions.tongues import CODES, Piece, read_pieces, telling_keys, word_keys
from .indicators import Topic
from .weights import read_weight

__all__ = ["Translation", "Translator"]

SURE = read_weight("translation.sure")
LEAD = read_weight("translation.lead")
LONGEST = read_weight("translation.longest")
UNKNOWN = read_weight("translation.unknown")
WRITTEN = read_weight("translation.written")
_ENDS_OPEN = re.compile(r"(?:\b(?:than|and|or|between|compare|is|with|of|in)|:)$")
_DROPPED = re.compile(
    r"\b(?:how many(?! countries| times)|and(?= of| in|$| \w+ than)) "
)
"""Words that English needs elsewhere, or not at all."""
_HOW_MANY = re.compile(r"\bhow many(?=.*\b(?:grew|fell|changed)\b)")
_SUPERLATIVE = re.compile(r"\b(?:(most)|(least)|(\w{3,}e)st)\b")
_WHICH_ONE = re.compile(r"^which country(?= \w+er\b| more\b| less\b)")
_THAN = re.compile(r"\bthan\b")
_ASKS = re.compile("which|how|compare|what|difference|between")
_OF_BEHIND = re.compile(r"(?<=with|than) of |(?<=\band) of ")
"""A message names a country without "of": "and Mali?"."""
ALIKE = ("spanish", "portuguese", "french")
"""Languages whose short questions are taken for one another."""
STORY = {"why", "how did", "what happened"}
_LAST = ("in ", "over ", "between 1", "between 2")
"""How times and units begin, which stand last."""
PERSONS = {"who", "when", "where"}
_PERSON_OR_TIME = re.compile(r"^(who|when|where)\b")


@dataclass(frozen=True, slots=True)
class Translation:
    """A question in English. ``unused``: its words that it does not say."""

    text: str
    unused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Meant:
    """The English of a topic, the keys of the words that say it, and how near they are
    to those of the question.
    """

    english: str
    keys: frozenset[str]
    score: float


class _Phrases:
    """The phrases of a glossary in one language, by the keys of their words. A word
    says the more, the fewer entries have it; an unknown one may say nothing.
    """

    def __init__(self, entries: Sequence[GlossaryEntry], language: str) -> None:
        self.entries = entries
        self.language = language
        self.pairs: list[tuple[frozenset[str], frozenset[str], GlossaryEntry]] = []
        self.counts = Counter[str]()
        for entry in entries:
            if not (entry.heading or entry.formula):
                # A word that is only explained is no figure.
                continue
            texts = [*entry.translations.get(CODES[language], ()), *entry.other_words]
            phrases = [telling_keys(text, language) for text in texts]
            self.pairs += [(keys, every, entry) for keys, every in phrases]
            self.counts.update(frozenset().union(*(keys for keys, _ in phrases)))

    def weight(self, key: str) -> float:
        full = log(2 + len(self.entries) / (1 + self.counts[key]))
        return full if self.counts[key] else UNKNOWN * full


class Translator:
    """Reads questions in other languages. Thread-safe.

    ``glossary`` returns the library's entries, the same object until they change.
    """

    def __init__(self, glossary: Callable[[], Sequence[GlossaryEntry]]) -> None:
        self._glossary = glossary
        self._phrases: Mapping[str, _Phrases] = {}

    def in_english(self, reading: Reading, language: str) -> Translation | None:
        """Return a question in English; None where the glossary does not have its
        topic, or where it asks for reasons or a story, of which no figure tells.
        """
        found = self._read(reading, language)
        if found is None:
            return None
        pieces, topics, phrases = found
        names = sum(piece.is_name for piece in pieces)
        text = _question(" ".join(_said(pieces, topics, names)), names)
        return Translation(text, _unused(pieces, topics, phrases))

    def message(self, reading: Reading, language: str) -> str:
        """Return a message of a conversation in English, which may leave out what it
        is about: "And lowest?"; "" where the glossary does not have all of it.
        """
        found = self._read(reading, language)
        if found is None or _unused(*found):
            return ""
        pieces, topics, _ = found
        names = sum(piece.is_name for piece in pieces)
        text = " ".join(_said(pieces, topics, names))
        return f"{_OF_BEHIND.sub(' ', text)}?"

    def _read(
        self, reading: Reading, language: str
    ) -> tuple[list[Piece], Mapping[int, _Meant], _Phrases] | None:
        """Return the pieces of a text and what its topics mean; None where the glossary
        does not have them, or a story is asked for.
        """
        if language not in CODES:
            return None
        # A short question has few signs of its language.
        others = ALIKE if language in ALIKE else ()
        for candidate in (language, *others):
            pieces, phrases = self._pieces(reading, candidate)
            if not STORY.isdisjoint(piece.english for piece in pieces):
                return None
            topics = _topics(reading.text, pieces, phrases)
            if topics is not None:
                return pieces, topics, phrases
        return None

    def _pieces(self, reading: Reading, language: str) -> tuple[list[Piece], _Phrases]:
        phrases = self._of(language)
        pieces = _without_relatives(read_pieces(reading, language, phrases.counts))
        return pieces, phrases

    def _of(self, language: str) -> _Phrases:
        entries = self._glossary()
        kept = self._phrases.get(language)
        if kept is None or kept.entries is not entries:
            kept = _Phrases(entries, language)
            self._phrases = {**self._phrases, language: kept}
        return kept


def _without_relatives(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the pieces without each "than" that compares nothing: in other languages
    the same word begins clauses, too.
    """
    kept: list[Piece] = []
    is_ranked = False
    for place, piece in enumerate(pieces):
        if _SUPERLATIVE.search(piece.english):
            is_ranked = True
        followers = pieces[place + 1 : place + 2]
        compares = is_ranked and any(piece.is_name for piece in followers)
        if compares or piece.english != "than":
            kept.append(piece)
    return kept


def _topics(
    text: str, pieces: Sequence[Piece], phrases: _Phrases
) -> Mapping[int, _Meant] | None:
    """Return what the topics of a question mean, by the position of the first word of
    each; None where one is not found. Two topics are joined by "and".
    """
    words = [place for place, piece in enumerate(pieces) if not piece.english]
    if not words:
        return {}
    if len(words) > LONGEST:
        return None
    parts = _joined_by_and(pieces, words)
    meant = {}
    for part in parts:
        of_part = _meant(text, pieces, part, phrases)
        if of_part is not None:
            meant[part[0]] = of_part
    whole = _meant(text, pieces, words, phrases)
    if whole is None and len(meant) < len(parts):
        return None
    if whole is None:
        return meant
    terms = {of_part.english for of_part in meant.values()}
    least = min((of_part.score for of_part in meant.values()), default=0.0)
    if len(terms) == len(parts) and least > whole.score:
        return meant
    return {words[0]: whole}


def _joined_by_and(pieces: Sequence[Piece], words: Sequence[int]) -> list[list[int]]:
    """Return the positions of ``words``, those between two "and" together."""
    parts: list[list[int]] = [[]]
    for place in range(words[0], words[-1] + 1):
        if pieces[place].english == "and":
            parts.append([])
        elif place in words:
            parts[-1].append(place)
    return [part for part in parts if part]


def _meant(
    text: str, pieces: Sequence[Piece], words: Collection[int], phrases: _Phrases
) -> _Meant | None:
    """Return the entry of the glossary whose phrase is nearest to some words; None
    where none is near, or another one is as near. Words for what is wanted may belong
    to the phrase ("mean" in "mean age").
    """
    content = {key for place in words for key in pieces[place].keys}
    wanted = {key for piece in pieces if piece.english for key in piece.keys}
    best: dict[tuple[str, str], _Meant] = {}
    written = word_keys(text, phrases.language)
    for keys, every, entry in phrases.pairs:
        if keys.isdisjoint(content):
            continue
        terms = frozenset(content | (wanted & keys))
        score = Topic(terms, phrases.weight).shared(keys)
        # Of two phrases that fit as well the one that is written counts.
        score *= 1 + WRITTEN * (2 * len(every & written) - len(every))
        name = (entry.heading or entry.term, entry.term)
        if name not in best or score > best[name].score:
            best[name] = _Meant(entry.term, every, score)
    if not best:
        return None
    return _clearly_first(best)


def _clearly_first(meant: Mapping[tuple[str, str], _Meant]) -> _Meant | None:
    """Return the nearest entry, by heading and term; None where it is not near, or one
    of another heading is nearly as near.
    """
    first = max(meant, key=lambda name: meant[name].score)
    nearest = meant[first]
    if nearest.score < SURE:
        return None
    for (heading, term), other in meant.items():
        is_other = heading != first[0] and term != first[1]
        if is_other and nearest.score - other.score < LEAD:
            return None
    return nearest


def _said(
    pieces: Sequence[Piece], topics: Mapping[int, _Meant], names: int
) -> list[str]:
    """Return the English of the pieces, in their order; ``names``: how many of them
    are names.
    """
    said: list[str] = []
    last: list[str] = []
    for place, piece in enumerate(pieces):
        english = piece.english
        if place in topics:
            said.append(topics[place].english)
        elif _is_said_by(topics, piece):
            continue
        elif piece.is_name and names == 1:
            # It stands last, whatever the order of the other language.
            last.insert(0, f"of {english}")
        elif piece.is_name:
            said.append(_placed(english, said))
        elif english.startswith(_LAST):
            last.append(english)
        else:
            # A word with a capital that no table has is a name.
            is_name = not english and piece.text[0].isupper()
            said.append(piece.text if is_name else english)
    return [*filter(None, said), *last]


def _placed(name: str, said: Sequence[str]) -> str:
    """Return a name with "in", unless a word before it leads to it."""
    words_before = [word for word in said if word]
    if not words_before or _ENDS_OPEN.search(words_before[-1]):
        return name
    return f"in {name}"


def _is_said_by(topics: Mapping[int, _Meant], piece: Piece) -> bool:
    """Return whether the topics say what a piece says, or English needs no word for
    it.
    """
    if piece.english in {"is", "has"}:
        # English rules need them at the beginning, or not at all.
        return True
    if not piece.keys or piece.english in PERSONS:
        return False
    said = frozenset[str]()
    for meant in topics.values():
        said |= meant.keys
    return said.issuperset(piece.keys)


def _unused(
    pieces: Sequence[Piece], topics: Mapping[int, _Meant], phrases: _Phrases
) -> tuple[str, ...]:
    """Return the words of topics that are not said, and that the glossary does not
    have: those that it has are other words for what is said.
    """
    unused = []
    for place, piece in enumerate(pieces):
        if piece.english or place in topics or piece.text[0].isupper():
            continue
        if not any(phrases.counts[key] for key in piece.keys):
            unused.append(piece.text)
    return tuple(unused)


def _question(text: str, names: int) -> str:
    """Return words as a question that the rules of English read; ``names``: how many
    there are in it.
    """
    text = _HOW_MANY.sub("how much", text)
    text = _DROPPED.sub("", f"{text} ").strip()
    text = text.removeprefix("and ").removesuffix(" and")
    if names > 1:
        text = _SUPERLATIVE.sub(_comparative, text)
        text = _WHICH_ONE.sub("which is", text)
    if _THAN.search(text) and not _ASKS.match(text):
        text = f"is {text}"
    elif _PERSON_OR_TIME.match(text):
        text = _PERSON_OR_TIME.sub(r"\1 is the", text)
    elif not _ASKS.match(text):
        text = f"what is the {text}"
    return f"{text[:1].upper()}{text[1:]}?"


def _comparative(match: re.Match[str]) -> str:
    if match[3]:
        return f"{match[3]}r"
    return "more" if match[1] else "less"
