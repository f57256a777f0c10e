"""A passage prepared for the citation check: its statements, and where its amounts, words and dates stand."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import islice

from ..questions.names import find_countries
from ..schema import ATTACHMENTS, Passage
from ..text import sentences
from .amounts import CLOSELY, ROUGHLY, Amount, amounts
from .claim_words import UNITS, stem, words
from .dates import dates
from .figures import comma_decimals, figures, scales_named
from .reported_figures import stated
from .wording import normalise

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
KEPT = 256
"""Passages whose dates and figures stay in memory: some 100 KB each."""
MOST_PLACES = 500
"""At which one amount is looked at, and sentences that have one word."""
AROUND = 2
"""Lines before and behind one of a list."""
MOST_TOKENS = 100
"""Tokens of a sentence that is compared with another, at most."""
_CAPITAL = re.compile(r"(?<=[a-z,)] )[A-Z][^\W_]+")
_ABBREVIATION = re.compile(r"[A-Z](?:\.?[A-Z])+\.?")
_WRAPPED = re.compile(
    r"(?:(?<=[^\n]{60}[\w,;&%])[ \t]*\n[ \t]*(?=[\w($€£])|(?<=[\w,;&%])[ \t]*\n[ \t]*(?=[a-z(]))(?![^\n:]{0,40}:)"
)
"""The end of a line in the middle of a sentence, as PDFs have them; not in front of an item ("male: 20.6 years")."""
_LABEL = re.compile(r"[A-Z][\w ,&/()-]{0,60}: (?=[A-Z][^\n:]{40}|[\"“„«‘])")
"""In front of prose, or of a quotation: "Economic overview: Iraq's growth slowed …"."""
_SMALL_WORDS = words("small")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, or an amount. ``key``: what is compared, "#" for each amount and "#y" for a year.

    ``is_capital``: it has one and is no small word, which says little of the first one of a sentence (``is_first``).
    """

    key: str
    text: str
    is_capital: bool = False
    is_first: bool = False
    amount: Amount | None = None


class Sentence:
    """A sentence or line, of an answer or of a passage."""

    def __init__(self, text: str, found: Sequence[Amount]) -> None:
        self.text = text
        self.amounts = found

    @cached_property
    def tokens(self) -> list[Token]:
        """The tokens of the sentence in order, of a long one the first; a bare number word counts as a word."""
        label, found = _LABEL.match(self.text), list[Token]()
        place = label.end() if label else 0
        for amount in (
            *(one for one in self.amounts if one.figure.start >= place and not (one.figure.word and one.figure.bare)),
            None,
        ):
            until = amount.figure.start if amount else len(self.text)
            found += self._words(place, until, first=not found)
            if amount is None or len(found) >= MOST_TOKENS:
                break
            year = amount.figure.year is not None and amount.figure.bare
            found.append(Token("#y" if year else "#", self.text[amount.figure.start : amount.end], amount=amount))
            place = amount.end
        return found[:MOST_TOKENS]

    def _words(self, start: int, end: int, *, first: bool) -> Iterator[Token]:
        for match in WORD.finditer(self.text, start, max(start, end)):
            word, key = match[0], stem(match[0])
            yield Token(key, word, is_capital=word[0].isupper() and key not in _SMALL_WORDS, is_first=first)
            first = False

    @cached_property
    def keys(self) -> frozenset[str]:
        """The stems of its words, but for the small ones."""
        return frozenset(map(stem, WORD.findall(self.text))) - _SMALL_WORDS


class Evidence:
    """A passage as evidence. ``around``: the numbers, years and the like, of its title, section, page and metadata,
    which are no amounts. ``comma``: its decimals have one (`comma_decimals`).
    """

    def __init__(self, where: str, text: str) -> None:
        self.full = f"{where}\n{text}"
        self.where = where
        self.words = f"{normalise(where)}\n{normalise(text)}"
        self.dates = list({(one.year, one.month, one.day): one for one in dates(where) + dates(text)}.values())
        named = figures(where)
        self.around = frozenset(value for figure in named for value in (*figure.values, *figure.parts))
        self.comma = comma_decimals(text)
        self.statements = list(_statements(text, scales_named(where, named), comma=self.comma))
        self._places = _places(self.statements, text)
        self._sorted = sorted(self._places)
        self._sentences = defaultdict[str, list[int]](list)
        self._at = dict[Decimal, int]()
        for place, statement in enumerate(self.statements):
            for amount in statement.amounts:
                for value in amount.figure.values:
                    self._at.setdefault(value, place)
            for key in statement.keys:
                self._sentences[key].append(place)

    @cached_property
    def keys(self) -> frozenset[str]:
        """Stems of all its words, and of those around it."""
        return frozenset(map(stem, WORD.findall(self.full)))

    @cached_property
    def names(self) -> frozenset[str]:
        """Stems of names of whatever: words with a capital in the middle of a sentence."""
        return frozenset(map(stem, _CAPITAL.findall(self.full)))

    @cached_property
    def about(self) -> frozenset[str]:
        """Stems of its title, section and metadata."""
        return frozenset(map(stem, WORD.findall(self.where)))

    @cached_property
    def countries(self) -> frozenset[str]:
        """The codes of those that it names, however it is called there."""
        return frozenset(key for country in find_countries(self.full) for key in country.keys)

    @cached_property
    def initials(self) -> str:
        """First letters of its words, small words left out: where an abbreviation may stand for some of them."""
        found = WORD.findall(self.full)
        return "".join(word[0] if word.lower() not in _SMALL_WORDS else "" for word in found).upper()

    @cached_property
    def abbreviations(self) -> frozenset[str]:
        """Its abbreviations, without points: "WHO", "US"."""
        return frozenset(word.replace(".", "") for word in _ABBREVIATION.findall(self.full))

    def __contains__(self, number: Decimal) -> bool:
        """Whether the passage has this number, whatever it counts, or what is around the passage has it."""
        return number in self._places or number in self.around

    def amounts_like(self, amount: Amount) -> list[Amount]:
        """The amounts that say the same, in whatever unit."""
        near = dict.fromkeys(value for said in amount.values for value in self._values_near(said, amount))
        found = (one for value in near for one in self._places[value][:MOST_PLACES])
        return [one for one in islice(found, MOST_PLACES) if amount.agrees(one)]

    def listed_with(self, amount: Amount) -> list[Amount]:
        """The amounts in its unit of the lines around the one where it stands: a list of years, or of parts."""
        place = next((self._at[value] for value in amount.figure.values if value in self._at), None)
        lines = self.statements[max(0, place - AROUND) : place + AROUND + 1] if place is not None else ()
        unit = (amount.measure, amount.size)
        return [one for line in lines for one in line.amounts if unit == (one.measure, one.size) and unit[0]]

    def _values_near(self, said: Decimal, amount: Amount) -> Iterator[Decimal]:
        if said in self._places:
            yield said
        for factor in _factors(amount):
            low, high = sorted((said * factor * (1 - ROUGHLY - CLOSELY), said * factor * (1 + ROUGHLY + CLOSELY)))
            start, end = bisect_left(self._sorted, low), bisect_right(self._sorted, high)
            yield from self._sorted[start : min(end, start + MOST_PLACES)]

    def nearest(self, keys: Collection[str], *, most: int) -> list[Sentence]:
        """The statements that have most of these words; rare ones count more."""
        scores = Counter[int]()
        for key in keys:
            places = self._sentences.get(key, ())
            for place in places[:MOST_PLACES]:
                scores[place] += 1 / (1 + len(places))  # type: ignore[assignment]  # counts by weight
        return [self.statements[place] for place, _ in scores.most_common(most)]


def evidence_of(passage: Passage) -> Evidence:
    """Read once: the same passages are cited by many answers. Of attachments nothing stays (R-A1)."""
    chunk = passage.hit.chunk
    where = " \n".join([chunk.title, chunk.section, str(chunk.page or ""), *map(str, chunk.metadata.values())])
    text = passage.wider_text if chunk.text in passage.wider_text else f"{passage.wider_text}\n{chunk.text}"
    return (Evidence if chunk.collection == ATTACHMENTS else _read)(where, text)


@lru_cache(maxsize=KEPT)
def _read(where: str, text: str) -> Evidence:
    return Evidence(where, text)


def _factors(amount: Amount) -> set[Decimal]:
    """The factors by which the same value may differ in another unit of its kind."""
    sizes = UNITS.get(amount.measure, {}).values()
    return {Decimal(1), *(amount.size / size for size in sizes if size)}


def _statements(text: str, headed: set[Decimal], *, comma: bool) -> Iterator[Sentence]:
    for sentence in sentences(_WRAPPED.sub(" ", text)):
        found = amounts(sentence, comma=comma)
        factors = headed | scales_named(sentence, [one.figure for one in found])
        yield Sentence(sentence, [_scaled(one, factors) for one in found])


def _scaled(amount: Amount, factors: set[Decimal]) -> Amount:
    if amount.figure.scaled or not factors:
        return amount
    also = frozenset((value * factor).normalize() + 0 for value in amount.figure.values for factor in factors)
    return replace(amount, also=also)


def _places(statements: Sequence[Sentence], text: str) -> dict[Decimal, list[Amount]]:
    """The amounts by value. Those of a list have the years that its lines share."""
    shared = defaultdict[Decimal, set[int]](set)
    for figure in stated(text):
        shared[figure.value].update(figure.years)
    found = defaultdict[Decimal, list[Amount]](list)
    for statement in statements:
        for amount in statement.amounts:
            years = amount.years or frozenset(shared.get(min(amount.figure.values, default=Decimal(0)), ()))
            dated = amount if years == amount.years else replace(amount, years=years)
            for value in {*amount.figure.values, *amount.figure.parts, *amount.also}:
                found[value].append(dated)
    return dict(found)
