"""Where a text names countries and years.

Countries by name or alias, by ISO code, by what their people are called. Of years also whether the text asks for their
reports: "in 2023", not "the 2010 constitution".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from ..domain.reading import NamedCountry, NamedYears
from ..language import is_foreign
from ..language.countries import ISO_CODE_LENGTH, country_code, country_names, foreign_names, normalise, usual_name
from .english import country_table, pattern
from .spelling import meant_country

MOST = 30
"""Names of each form that are looked at; a question is about fewer."""
MOST_WORDS = 8
"""Of the longest name: "Korea, Democratic People's Republic of" and the like."""
_WORD = re.compile(
    r"(?:[A-Za-z]\.){2,}[A-Za-z]?|&|[ld]['’](?=[aeiouyhà-öø-ÿœ])|[^\W_]+(?:['’][^\W_]+)*",
    re.IGNORECASE,
)
"""What French writes with the word behind it is none of the name: "de l'Égypte", "d'Haïti"."""
_ARTICLE = re.compile(r"^the\b|(?<!\bof)\s+the$", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s?$", re.IGNORECASE)
_WORDS_TOO, _TWO_LETTERS, _NO_CODES, _FOREIGN_WORDS = (
    frozenset(country_table(name)) for name in ("words_too", "two_letters", "no_codes", "foreign_words")
)
_ARABIC_LEADS = frozenset("وفبكل")
"""Arabic writes "and", "in", "for" and the like with the word behind them."""
SEVERAL = {"congo": ("COD", "COG"), "korea": ("KOR", "PRK")}
"""Short names of two countries: whichever the reports have is meant."""
_RANGE = pattern(
    r"(?:\b(?:from|between)\s+)?{year}\s*(?:-|–|to|until|till|through|and)\s*((?:19|20)\d\d|\d\d)(?![\d%]|[.,]\d)"
)
_SINCE = pattern(r"\bsince\s+(?:the\s+)?{year}")
_SINGLE = pattern("{year}")
_AMOUNT_AFTER = pattern(r"^\s*{amount}")
_AMOUNT_BEFORE = pattern(
    r"(?:\b(?:more|less|fewer|other) than|\b(?:approximately|roughly|nearly|almost|exactly|over|usd|us\$))\s*$"
)
_EVENT_AFTER = pattern(r"^\s+(?:\w+\s+){0,2}?{event}\w*\b")
_OTHER_THING = pattern(r"^\s+(?!(?:{edition}|{figure}{figure_ends}|for|from|with|than|versus|compared?)\b)[a-z]{3,}")
_MORE_YEARS = pattern(r"^(?:{and_year}(?:19|20)\d\d\b)+")
_YEARS_BEFORE = pattern(r"(?:\b(?:19|20)\d\d{and_year})+$")
"""Years in a list share what stands before and behind it: "the 2021 and 2023 reports"."""
_ITS = pattern(r"(?:\b(?:the|its|their|his|her|this|that)|['’]s)\s+$")
_HAPPENED = pattern(r"\b{happened}\b")
_MONTH = pattern(r"\b{month}\.?,?\s*$")
_ASIDE_BEFORE = pattern(
    r"\b(?:by|before|after|until|till|compar(?:ed|ison)\s+(?:with|to)|(?:than|unlike)(?:\s+in)?|as in|est\.?)\s+$"
)
_REPORT_AFTER = pattern(r"^(?:['’]s)?\s+(?:{report}|(?:(?!{no_noun}\b|the\b)[\w'’-]+\s+){1,2}{edition_noun})\b")
_REPORT_BEFORE = pattern(
    r"\b{report}(?:\s+(?:on|about|for|of)(?-i:(?:\s+(?:the|of|and))*\s+[A-Z][\w'’-]*){1,4})?[\s:(]+"
    r"(?:{published}\s+(?:in\s+)?|(?:of|for|from)\s+)?(?:the\s+)?$"
)
_ESTIMATED = pattern(r"^\s*(?:est\b|estimates?\b|census\b|/)")


def find_countries(text: str, also: tuple[str, ...] = ()) -> Iterator[NamedCountry]:
    """In text order, the longest name at each place. ``also``: names that are no countries of ISO 3166."""
    return _find(text, _lookup(also, is_foreign(text)))


def country_key(name: str) -> str:
    """What `NamedCountry.keys` has for a value of the data."""
    return country_code(name) or normalise(name)


@lru_cache(maxsize=4096)
def keys_in(text: str) -> frozenset[str]:
    """The keys of all countries that a text names."""
    return frozenset(key for country in find_countries(text) for key in country.keys)


@dataclass(frozen=True, slots=True)
class _Lookup:
    """Keys by normalised name, and of how many words a name is at most that begins with a word."""

    keys: dict[str, tuple[str, ...]]
    words: dict[str, int]


@lru_cache(maxsize=8)
def _lookup(also: tuple[str, ...], foreign: bool) -> _Lookup:
    others = {name: (code,) for name, code in foreign_names().items() if foreign or name not in _FOREIGN_WORDS}
    named = {name: (code,) for name, code in country_names().items()}
    own = {normalise(name): (country_key(name),) for name in also}
    keys = {**others, **dict.fromkeys(country_table("elsewhere"), ()), **named, **SEVERAL, **own}
    longest: dict[str, int] = {}
    for name in filter(None, [*keys, *demonyms()]):
        words = name.split()
        longest[words[0]] = max(longest.get(words[0], 0), len(words) + 1)  # and an article behind it: "Gambia, The"
    return _Lookup(keys, longest)


def _find(text: str, lookup: _Lookup) -> Iterator[NamedCountry]:
    words = list(_WORD.finditer(text))
    all_capitals = text.isupper()
    place = 0
    while place < len(words):
        found, count = _at(text, words[place : place + MOST_WORDS], lookup, all_capitals)
        if found is not None and found.keys:
            yield found
        place += count


def _at(text: str, words: list[re.Match[str]], lookup: _Lookup, all_capitals: bool) -> tuple[NamedCountry | None, int]:
    """The name at the beginning of these words, and how many of them it has."""
    written = words[0][0]
    first = {normalise(written), normalise(_POSSESSIVE.sub("", written))}
    longest = max(lookup.words.get(word, not word.isascii()) for word in first)
    for count in range(min(longest, len(words)), 0, -1):
        if found := _named(text, words[:count], lookup.keys):
            return found, count
    if not all_capitals and (found := _coded(words[0])):
        return found, 1
    for count in (2, 1):
        if len(words) >= count and (found := _misspelt(text, words[:count], lookup.keys)):
            return found, count
    return None, 1


def _misspelt(text: str, span: list[re.Match[str]], names: dict[str, tuple[str, ...]]) -> NamedCountry | None:
    start, end = span[0].start(), span[-1].end()
    written = _POSSESSIVE.sub("", text[start:end])
    name = meant_country(tuple(map(normalise, written.split())))
    if name is None or name not in names:
        return None
    return NamedCountry(names[name], written, start, start + len(written), taken_as=usual_name(names[name][0]))


def _named(text: str, span: list[re.Match[str]], names: dict[str, tuple[str, ...]]) -> NamedCountry | None:
    start, end = span[0].start(), span[-1].end()
    if any(mark in text[start:end] for mark in ";:?!") or _ARTICLE.search(text[start:end]):
        return None
    end += text[start:end].count("(") > 0 and text[end : end + 1] == ")"
    written = text[start:end]
    bare = _POSSESSIVE.sub("", written)
    for wording in dict.fromkeys((written, bare)):
        name = normalise(wording)
        if not name or (name in _WORDS_TOO and wording == wording.lower()):
            continue
        if name in demonyms():
            return NamedCountry(demonyms()[name], wording, start, start + len(wording), by_people=True)
        if name in names:
            return NamedCountry(names[name], wording, start, start + len(wording))
        lead = next((cut for cut in (1, 2) if name[cut:] in names and _ARABIC_LEADS.issuperset(name[:cut])), 0)
        if lead:
            return NamedCountry(names[name[lead:]], wording, start, start + len(wording))
    return None


def _coded(word: re.Match[str]) -> NamedCountry | None:
    written = _POSSESSIVE.sub("", word[0])
    code = written.replace(".", "")
    if code in {"US", "USA"}:
        return NamedCountry(("USA",), written, word.start(), word.start() + len(written))
    is_three = len(code) == ISO_CODE_LENGTH and code.isupper() and code not in _NO_CODES
    known = is_three or code in _TWO_LETTERS
    found = country_code(code) if known else None
    return NamedCountry((found,), written, word.start(), word.start() + len(written)) if found else None


@lru_cache(maxsize=1)
def demonyms() -> dict[str, tuple[str, ...]]:
    """ISO-3 codes by demonym; the plural of one that can have it is there too. What is also a name is no demonym."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in country_table("demonyms"):
        words = entry.split()
        codes = tuple(word for word in words if word.isupper())
        demonym = " ".join(words[: -len(codes)])
        found[demonym] = codes
        if not demonym.endswith(("ese", "ish", "ch", "s", "shman", "chman")):
            found[f"{demonym}s"] = codes
    return {normalise(demonym): codes for demonym, codes in found.items() if country_code(demonym) is None}


def find_years(text: str) -> list[NamedYears]:
    """In text order. "Last year" is not resolved: nobody knows from when the question is."""
    found: list[NamedYears] = []
    for match in islice(_RANGE.finditer(text), MOST):
        first, last = int(match[1]), match[2]
        ended = int(last) if len(last) == 4 else first // 100 * 100 + int(last)
        joins = "and" in match[0].lower() and "between" not in match[0].lower()
        if first < ended and not joins:
            found.append(_years(text, first, ended, match))
    for form in (_SINCE, _SINGLE):
        for match in islice(form.finditer(text), MOST):
            if not any(known.start < match.end() and match.start() < known.end for known in found):
                year = int(match[1])
                found.append(_years(text, year, None if form is _SINCE else year, match))
    return sorted(found, key=lambda years: years.start)


def _years(text: str, first: int, last: int | None, match: re.Match[str]) -> NamedYears:
    start, end = match.start(), match.end()
    before, after = _YEARS_BEFORE.sub("", text[:start]), _MORE_YEARS.sub("", text[end:])
    of_report = _REPORT_AFTER.match(after) is not None or _REPORT_BEFORE.search(before) is not None
    return NamedYears(first, last, start, end, _is_subject(text, start, end, of_report=of_report), of_report)


def _is_subject(text: str, start: int, end: int, *, of_report: bool) -> bool:
    sentence_start = max(text.rfind(mark, 0, start) for mark in "?!\n") + 1
    before, after = text[sentence_start:start], text[end:]
    if _AMOUNT_AFTER.search(after) or _AMOUNT_BEFORE.search(before) or _MONTH.search(before):
        return False
    if of_report:
        return True
    if _ASIDE_BEFORE.search(before) or _ESTIMATED.search(after) or _EVENT_AFTER.search(_MORE_YEARS.sub("", after)):
        return False
    if _ITS.search(_YEARS_BEFORE.sub("", before)) and _OTHER_THING.search(_MORE_YEARS.sub("", after)):
        return False
    clause = before[max(before.rfind(mark) for mark in ",;:(") + 1 :]
    return not _HAPPENED.search(clause)
