"""What a question names: countries and years, each as what it is about or in passing ("imports from France").

Rules over the words around a name give it a `Role`. In the part of a sentence that asks, a name is what is asked about
unless a rule says otherwise or another country has the greater part; in any other part it is named in passing: a
question that is refused by mistake cannot be answered at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from ..domain import Scope, Value, Values
from ..domain.protocols import Catalog
from ..domain.reading import NamedCountry, NamedYears, Reading
from ..language.countries import ISO_CODE_LENGTH, country_code, normalise
from .english import pattern, words
from .names import MOST, country_key, find_countries, find_years
from .relative_years import find_relative_years, relative_years

COUNTRY = "country_name"
YEAR = "year"
LABEL_WORDS = 3
LONGEST_WORD = 40
LONGEST_CLAUSE = 300
"""Characters before a name that a rule reads."""
_REFERS = pattern(r"\b{nameless}\b")
_SENTENCE_END = re.compile(r"[?!]+\s*|\.\s+(?=[A-Z])|\n+")
_CLAUSE_END = pattern(r"[;:()–—]|(?<!\d),|,(?!\d)|\s-\s|\band\s+(?=(?:{wh}|{auxiliary})\b)")
_HEAD = pattern(
    r"^\W*(?:(?:and|but|or|so|then|please|in|on|of|at|to|from|by|for)\s+)*"
    r"(?:{wh}|{auxiliary}|{tell})\b"
)
_SUBORDINATE = pattern(r"^\W*(?:where|when)\b")
_LABEL = pattern(r"(?:\b{label}\b|['’]s\b|[\d\W_])*")
_GOES_ON = pattern(r"^\W*(?:and|or)\s+(?:in|for|of|about)\b")
_ASIDE = pattern(r"\b{aside}\b")
_ABOUT = pattern(r"\b{about}\s+{wider}$")
_ELSEWHERE = pattern(
    r"\b{elsewhere_in}\s+(?:\w+\s+)?in\s+(?:the\s+)?$|\b{times_the}\s+size\s+of\s+(?:the\s+)?$"
    r"|\b{elsewhere_on}\s+(?:up)?on\s+(?:the\s+)?$|\b(?:visas?|market|route|transit)\s+for\s+$|\b{apart}\s+{wider}$"
)
"""Words that make "in", "of", "on" or "for" say something of somebody else."""
_BESIDE = pattern(
    r"\ban?\s+(?:\w+\s+)?{someones}\s+of\s+{wider}$|\b{beside}\s+of\s+{wider}$|\b{hostile}\s+(?:up)?on\s+{wider}$"
    r"|\b{upheaval}\s+in\s+{wider}$|\b{introduces}\s+{wider}$"
)
"""Words that may do so, or else say where the thing asked for is."""
_OPENED = pattern(
    r"(?:^|\b(?:{auxiliary}|when|where|why|how|describe|summari[sz]e|explain|show|list|compare|whether|and|or|but|so"
    r"|then|me|between|countries border))\s*(?:on\s+)?{wider}$"
)
_RELATION = pattern(r"\b{related}\s+{wider}$")
_COMPARES = pattern(
    r"^\W*(?:(?:please\s+)?compare|how (?:do|does|did) (?!(?:it|this|that|they|these)\b).*\bcompare"
    r"|.*\bdifferences?\s+between)\b"
)
_VERB = pattern(r"\b(?:{wh}|{auxiliary}|{tell}|be|been)\b")
_ASKS = pattern(r"^\W*(?:please\s+)?(?:{tell}|find|i want)\b")
_CONJUNCTION = pattern(r"\b(?:and|or|vs|versus)\b|[&/]")
_JOINED = pattern(r"(?:['’]s)?\s*(?:,|(?:,\s*)?(?:and|or|&|/|vs\.?|versus)|\+|/)\s*(?:the\s+|in\s+)?")
_PEOPLE_ELSEWHERE = pattern(r"^\s*{people_elsewhere}\b")
_MONEY = pattern(r"^\s*(?:{money}\b|\$)")
_NO_NOUN = pattern(r"^\s*(?:$|[^\w\s]|{after_language}\b)")
_LANGUAGES = words("languages")
_SOMETHING_ELSE = pattern(r"\b(?:{nameless}|{it})\b")
_TRAFFIC = pattern(r"\b{traffic}\b")
_WHICH_COUNTRIES = pattern(r"^\W*(?:who\b|(?:which|what|how many)\s+(?:\w+\s+)?(?:countr|nation|neighbou?r|state))")
_THAT_OF = pattern(r"^['’]s?\s*(?:$|[^\w\s])")
_POLITE = pattern(r"^\W*(?:please\s+)?(?:(?:can|could|would|will) you|do you know|tell me|tell us)(?:\s+\w+){0,3}\W*$")


class Role(IntEnum):
    """What a name does in its question; the greater wins over the smaller."""

    PASSING = 0
    RELATED = 1
    """Beside something else ("runs through Mali"): the subject where no other country is one."""
    NAMED = 2
    """In the part that asks, and no rule knows more: the subject unless the sentence has a plain one."""
    SUBJECT = 3


def read_names(text: str, catalog: Catalog, scope: Scope = Scope()) -> Reading:  # noqa: B008  # frozen and empty
    """Countries as ISO 3166 has them, and those that only the data has. "The latest report": of those in ``scope``."""
    known = _by_key(tuple(catalog.values(COUNTRY)))
    found = _reading(text, known.without_code, frozenset(known.values))
    if not find_relative_years(text):
        return found
    others = _relative(text, found, catalog, scope)
    of_reports = tuple(years for years in others if years.of_report)
    of_figures = tuple(years for years in others if not years.of_report)
    return replace(found, editions=found.editions + of_reports, figure_years=found.figure_years + of_figures)


def _relative(text: str, reading: Reading, catalog: Catalog, scope: Scope) -> list[NamedYears]:
    """Each country has editions of its own; together where the question is about none."""
    countries = values_of(reading.about, catalog)
    inside = [scope.having(COUNTRY, [country]) for country in countries] or [scope]
    found = (years for one in inside for years in relative_years(text, editions(one, catalog)))
    return list(dict.fromkeys(found))


def editions(scope: Scope, catalog: Catalog) -> list[int]:
    """The years of the reports inside a scope, in order."""
    return sorted(map(int, catalog.values(YEAR, scope)))


@lru_cache(maxsize=128)
def _reading(text: str, also: tuple[str, ...], known: frozenset[str]) -> Reading:
    named = list(islice(find_countries(text, also), MOST))
    found = roles(text, named)
    about = [country for country, is_subject in zip(named, subjects(text, named, found), strict=True) if is_subject]
    if about and not any(known.intersection(country.keys) for country in about):
        # "How much does Germany buy from Kenya?": of these two the data may answer for the other one.
        about = [c for c, role in zip(named, found, strict=True) if c in about or (role and known.intersection(c.keys))]
    years = [years for years in find_years(text) if years.is_subject]
    of_reports = tuple(years for years in years if years.of_report)
    of_figures = tuple(years for years in years if not years.of_report)
    return Reading(text, tuple(named), tuple(about), of_figures, of_reports, _REFERS.search(text) is not None)


def keys_of(scope: Scope) -> set[str]:
    """The keys of the countries that a scope names."""
    countries = scope.get(COUNTRY)
    return {country_key(str(value)) for value in countries.values} if isinstance(countries, Values) else set()


def values_of(countries: Iterable[NamedCountry], catalog: Catalog) -> list[Value]:
    """The data's values for these countries, in text order. The short name of two is both, if both are there."""
    known = _by_key(tuple(catalog.values(COUNTRY))).values
    found = (value for country in countries for key in country.keys for value in known.get(key, ()))
    return list(dict.fromkeys(found))


class _Known(NamedTuple):
    """The data's countries by their keys; ``without_code``: those that are none for ISO 3166."""

    values: Mapping[str, Sequence[Value]]
    without_code: tuple[str, ...]


@lru_cache(maxsize=16)
def _by_key(countries: tuple[Value, ...]) -> _Known:
    found: dict[str, list[Value]] = {}
    for value in countries:
        found.setdefault(country_key(str(value)), []).append(value)
    return _Known(found, tuple(str(value) for value in countries if country_code(str(value)) is None))


def roles(text: str, named: Sequence[NamedCountry]) -> list[Role]:
    """What each country does in the question, in text order."""
    decided: list[Role] = []
    for first, last in _lists(text, named):
        role = _role(text, named[first], named)
        decided.append(role)
        is_list = _CONJUNCTION.search(text[named[first].end : named[last].start]) is not None
        for place in range(first + 1, last + 1):
            # "Unlike Kenya, Mali ..." is no list: the comma ends what is said in passing.
            decided.append(role if role or is_list else _role(text, named[place], named))
    return decided


def subjects(text: str, named: Sequence[NamedCountry], found: Sequence[Role]) -> list[bool]:
    """Of each country, in text order with its role, whether the question is about it."""
    sentence = [_sentence(text, country)[0] for country in named]
    plain = {start for start, role in zip(sentence, found, strict=True) if role is Role.SUBJECT}
    most = max(found, default=Role.PASSING)
    about = [
        role is Role.SUBJECT or (role is Role.NAMED and start not in plain) or (role and role == most)
        for start, role in zip(sentence, found, strict=True)
    ]
    by_name = any(is_subject and not c.by_people for is_subject, c in zip(about, named, strict=True))
    return [bool(is_subject) and not (c.by_people and by_name) for is_subject, c in zip(about, named, strict=True)]


def _lists(text: str, named: Sequence[NamedCountry]) -> list[tuple[int, int]]:
    """First and last of the countries that follow each other with commas, "and" or "or" in between."""
    found: list[tuple[int, int]] = []
    for place, country in enumerate(named):
        joined = place and _JOINED.fullmatch(text[named[place - 1].end : country.start])
        found.append((found.pop()[0], place) if joined else (place, place))
    return found


def _role(text: str, country: NamedCountry, named: Sequence[NamedCountry]) -> Role:
    begin, end = _sentence(text, country)
    before, sentence = text[begin : country.start], text[begin:end]
    lead = max((found.end() for found in _CLAUSE_END.finditer(before)), default=0)
    lead = max(lead, len(before) - LONGEST_CLAUSE)
    clause = before[lead:]
    if _is_heading(sentence, begin, country, named) or (_COMPARES.match(sentence) and not _ASIDE.search(before[:lead])):
        return Role.SUBJECT
    if _is_aside(text, begin, end, country, named) or _ASIDE.search(clause) or _ELSEWHERE.search(clause):
        return Role.PASSING
    if _BESIDE.search(clause) or _has_owner(text, country.start - len(clause), country, named):
        return Role.PASSING if _SOMETHING_ELSE.search(before) else Role.RELATED
    if _RELATION.search(clause) and not _ABOUT.search(clause):
        return _role_beside(text, country, before, clause) if _VERB.search(sentence) else Role.PASSING
    if _is_plain(text, country, sentence, clause):
        return Role.SUBJECT
    return Role.PASSING if _SOMETHING_ELSE.search(before) else Role.NAMED


def _is_plain(text: str, country: NamedCountry, sentence: str, clause: str) -> bool:
    """Whether the words before the name, or a possessive, make it the subject."""
    opens = _ABOUT.search(clause) or _OPENED.search(clause) or not _VERB.search(sentence)
    return bool(opens) or text[country.end :][:2].lower() in {"'s", "’s"}


def _role_beside(text: str, country: NamedCountry, before: str, clause: str) -> Role:
    """The role of a country behind "from", "with" and the like."""
    if _SOMETHING_ELSE.search(before) or _THAT_OF.match(text[country.end : country.end + LONGEST_WORD]):
        return Role.PASSING
    is_traffic = _TRAFFIC.search(clause) and not _WHICH_COUNTRIES.match(before)
    return Role.PASSING if is_traffic else Role.RELATED


def _has_owner(text: str, start: int, country: NamedCountry, named: Sequence[NamedCountry]) -> bool:
    """Whether a part of a sentence has its subject before the country: "Kenya's troops in Somalia"."""
    for other in named:
        if (
            start <= other.start
            and other.end < country.start
            and not _CONJUNCTION.search(text, other.end, country.start)
        ):
            is_owner = text[other.end :][:2].lower() in {"'s", "’s"} or _OPENED.search(text[start : other.start])
            if is_owner and not _ABOUT.search(text[start : other.start]):
                return True
    return False


def _is_aside(text: str, begin: int, end: int, country: NamedCountry, named: Sequence[NamedCountry]) -> bool:
    """Whether the name stands in brackets, in another sentence or in a part of it that asks nothing."""
    before, sentence = text[begin : country.start], text[begin:end]
    in_brackets = "(" in before and ")" not in before[before.rindex("(") :]
    if (in_brackets and _VERB.search(sentence)) or _is_statement(text, sentence):
        return True
    return _is_other_thing(text, country) or _is_beside_the_question(sentence, len(before), begin, named)


def _is_other_thing(text: str, country: NamedCountry) -> bool:
    """Whether the word is a language, a currency or what a people has abroad: "in French", "US dollars"."""
    after = text[country.end : country.end + LONGEST_WORD]
    if _MONEY.match(after):
        return True
    is_language = country.by_people and normalise(country.text) in _LANGUAGES and _NO_NOUN.match(after)
    if is_language and not text[: country.start].lower().endswith("the "):
        return True
    is_code = len(normalise(country.text)) < ISO_CODE_LENGTH
    return (country.by_people and after[:1] == "-") or (
        (country.by_people or is_code) and _PEOPLE_ELSEWHERE.match(after) is not None
    )


def _is_heading(sentence: str, begin: int, country: NamedCountry, named: Sequence[NamedCountry]) -> bool:
    """Whether the sentence begins with a label that has the name: "Kenya, 2023 report: I was born in France"."""
    colon = sentence.find(":")
    return country.end - begin <= colon and _is_label(sentence, 0, colon, begin, named)


def _sentence(text: str, country: NamedCountry) -> tuple[int, int]:
    """The places where the country's sentence begins and ends."""
    start, end = 0, len(text)
    for border_start, border_end in _sentence_ends(text):
        if border_end <= country.start:
            start = border_end
        elif border_start >= country.end:
            end = border_end
            break
    return start, end


@lru_cache(maxsize=4)
def _sentence_ends(text: str) -> list[tuple[int, int]]:
    return [found.span() for found in _SENTENCE_END.finditer(text)]


def _is_statement(text: str, sentence: str) -> bool:
    """Whether a sentence only says something beside a question: a label or keywords are none."""
    if "?" in sentence or "?" not in text or _ASKS.match(sentence):
        return False
    leads_to_it = "?" in text[text.index(sentence) + len(sentence) :]
    return _VERB.search(sentence) is not None or (leads_to_it and len(sentence.split()) > LABEL_WORDS)


def _is_beside_the_question(sentence: str, place: int, offset: int, named: Sequence[NamedCountry]) -> bool:
    """Whether the part of the sentence around ``place`` is not the one that asks, and more than a label to it."""
    parts, heads = _parts(sentence)
    if len(heads) > 1 and (_SUBORDINATE.match(sentence[heads[0][0] :]) or _POLITE.match(sentence[slice(*heads[0])])):
        heads = heads[1:]
    start, end = next(part for part in parts if part[0] <= place < part[1])
    if not heads or start == heads[0][0] or (start > heads[0][0] and _GOES_ON.match(sentence[start:end])):
        return False
    is_rest = len(parts) > 2 and end == len(sentence) and len(sentence[slice(*heads[0])].split()) <= LABEL_WORDS
    return not (is_rest or _is_label(sentence, start, end, offset, named))


@lru_cache(maxsize=4)
def _parts(sentence: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The start and end of each part of a sentence, and of those parts that ask."""
    ends = [found.end() for found in _CLAUSE_END.finditer(sentence)]
    parts = list(zip([0, *ends], [*ends, len(sentence)], strict=True))
    return parts, [(start, end) for start, end in parts if _HEAD.match(sentence[start:end])]


def _is_label(sentence: str, start: int, end: int, offset: int, named: Sequence[NamedCountry]) -> bool:
    """Whether a part of a sentence has names and what may stand beside them, no more."""
    left = start
    for name in [*(name for name in named if start <= name.start - offset < end), None]:
        rest = sentence[left : name.start - offset if name else end]
        if _LABEL.fullmatch(rest) is None:
            return False
        left = name.end - offset if name else end
    return True
