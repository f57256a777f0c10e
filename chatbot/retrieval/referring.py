"""What a question means by "its", "there" or "that country": the country of the question before it.

What may as well be something else stays as it is: "the exports of Kenya, and how do they ...". The rules know English.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..protocols import Catalog
from .agreement import to_one
from .country_names import NamedCountry
from .mentions import Mentions, find_mentions
from .names import joined, owned, placed, without

_I = re.IGNORECASE
_ITS = re.compile(r"\bits\b", _I)
_THEIR = re.compile(r"\btheir\b", _I)
_THEY = re.compile(r"\b(?P<verb>do|did|have|are|were|can|could|will|would|should)\s+they\b", _I)
_THAT_COUNTRY = re.compile(
    r"\b(?:this|that|the(?: same)?) country\b(?!\s+(?:with|that|which|who|whose|where|of|in|to|from|reports?)\b)", _I
)
_THERE = re.compile(
    r"(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bbe )(?<!\bbeen )\bthere\b"
    r"(?! (?:is|are|was|were|has|have|will|can)\b)",
    _I,
)
"""The place, not "is there"."""
_PLURAL = re.compile(
    r"(?<!\b[Ww]ho )(?<!\b[Ww]hat )(?!\b(?:does|goes|has)\b)\b[a-z]{2,}[^suiA-Z\W]s\b|\b(?:people|men|women|children)\b"
)
"""What "they" may be, other than a country."""
_ASKED_OF = re.compile(r"\b(?:do|does|did|has|have|is|are|was|were|can|will)\s+(?:the\s+)?$", _I)
_OBJECT_OF = re.compile(r"^\W*(?:who|what)\s+\w+\s+(?:the\s+)?$", _I)
_SINCE = re.compile(r"(?:since|from|between)\b", _I)


@dataclass(frozen=True, slots=True)
class Earlier:
    """What the questions before name: their countries, and those and their years as a list in words.

    Of the last, ``names_others``: it names countries that it is not about; ``is_subject``: it asks what a country does;
    ``has_several``: it has a plural noun.
    """

    countries: tuple[str, ...] = ()
    years: str = ""
    names_others: bool = False
    is_subject: bool = False
    has_several: bool = False

    @property
    def places(self) -> str:
        return joined(self.countries)


def earlier(question: str, known: Earlier, catalog: Catalog) -> Earlier:
    """What is known after one more question."""
    named = find_mentions(question, catalog)
    about = named.about or _object(question, named)
    years = joined([question[year.start : year.end] for year in named.years]) or known.years
    countries = tuple(dict.fromkeys(placed(question, country, usual=True) for country in about)) or known.countries
    return Earlier(
        countries,
        years,
        names_others=len(named.countries) > len(about),
        is_subject=len(about) == 1 and _ASKED_OF.search(question[: about[0].start]) is not None,
        has_several=_PLURAL.search(without(question, [*named.countries, *named.years])) is not None,
    )


def _object(question: str, named: Mentions) -> tuple[NamedCountry, ...]:
    """The country of "Who governs Haiti"."""
    if len(named.countries) != 1:
        return ()
    country = named.countries[0]
    ends = not re.search(r"[^\W\d]", question[country.end :])
    return named.countries if ends and _OBJECT_OF.match(question[: country.start]) else ()


def completed(question: str, known: Earlier) -> str:
    """With the names of the countries before it where it speaks of them; else as it is."""
    filled = _ITS.sub(lambda _: owned(known.places), question, count=1)
    if not known.has_several:
        filled = _THEIR.sub(lambda _: owned(known.places), filled, count=1)
    if known.names_others:
        return filled
    if len(known.countries) == 1:
        filled = _THAT_COUNTRY.sub(lambda _: known.places, filled)
        if known.is_subject and not known.has_several:
            filled = _THEY.sub(lambda match: f"{to_one(match['verb'])} {known.places}", filled)
    place = "" if filled != question else f"in {known.places}"
    return _THERE.sub(lambda _: place, filled)


def refers_still(question: str, mentions: Mentions) -> bool:
    """Whether it speaks of a country other than those that it names."""
    if _THEIR.search(question) and not mentions.countries:
        return True
    return _THERE.search(question) is not None or _THAT_COUNTRY.search(question) is not None


def with_name(question: str, name: str) -> str:
    preposition = "" if _SINCE.match(name) else "in "
    return f"{question.rstrip(' ?.!')} {preposition}{name}?"
