"""What a follow-up brings: other names ("and in Mali?", "two years earlier?", "the latest report?"), or a topic.

A year takes the place of one of its kind: an edition that of the edition, a figure's year that of the figure's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..domain.protocols import Catalog
from ..domain.reading import Named, NamedCountry, NamedYears, Reading
from .english import pattern, words
from .reading import read_names
from .sides import COMPARES, compared_countries
from .wording import ARTICLE, add_name, edition_in_words, list_in_words, name_in_words, placed, remove_names
from .years import find_years

Words = Callable[[str], Sequence[str]]
"""The words of a text that have a meaning of their own."""
RELATION = pattern(r"\b(?:from|with|to|by|against|than)\s+(?:the\s+)?$")
_REPLACED = pattern(r"\b(?:not|instead of|rather than|(?:forget|ignore|drop|leave)(?: about)?)\s+(?:the\s+)?$")
"""What makes a name the one before, not the new one: "Mali, not Kenya"."""
_IN_ITS_PLACE = pattern(r"\b{in_its_place}\b")
_LISTED = pattern(r"(?:\s|,|&|\b(?:and|or|both|the|in|of|for)\b)*")
_PLACED = pattern(r"(?:,\s*|\b(?:in|for|of|during|by|as of)\s+(?:the\s+)?)$")
_REPORT = pattern(r"\b{report}\b")


def exchange_names(query: str, reading: Reading, before: str, catalog: Catalog, meaning: Words) -> str:
    """``before`` with the names of ``query`` in the place of its own; "" where the query says more than names.

    After a comparison they are further sides of it, unless they are said to be "instead".
    """
    countries = [name for name in reading.countries if not _REPLACED.search(query[: name.start])]
    years = find_years(query)
    named: list[Named] = [*reading.countries, *years]
    if not named or meaning(unnamed(query, named)):
        return ""
    if countries:
        is_more = len(countries) == len(reading.countries) and not _IN_ITS_PLACE.search(query)
        further = _further(query, before, countries, catalog) if is_more else []
        added = _with_further(before, further, query, catalog)
        before = added or _with_countries(before, query, countries, catalog, meaning)
    if reports := [query[year.start : year.end] for year in years if year.of_report]:
        old = read_names(before, catalog).editions
        reports = [*_kept_years(query, before, old), *reports]
        report = edition_in_words(reports)
        as_written = old and before[old[0].end - 1].isdigit()
        new = list_in_words(reports) if as_written else report.removeprefix("the ")
        before = before and _replaced(before, old, new, report, meaning)
    if of_figures := [query[year.start : year.end] for year in years if not year.of_report]:
        asked = read_names(before, catalog)
        old = asked.figure_years or asked.editions
        figures = list_in_words([*_kept_years(query, before, old), *of_figures])
        before = before and _replaced(before, old, figures, figures, meaning)
    return before


def compares(text: str, named: Sequence[Named]) -> bool:
    """Whether a question compares several things that it names."""
    return len(named) > 1 and COMPARES.search(text) is not None


def _kept_years(query: str, before: str, old: Sequence[NamedYears]) -> list[str]:
    """The years that a comparison goes on to have: of several those before, unless others are asked for instead."""
    is_kept = compares(before, old) and not _IN_ITS_PLACE.search(query)
    return [before[year.start : year.end] for year in old] if is_kept else []


def _further(query: str, before: str, countries: Sequence[NamedCountry], catalog: Catalog) -> list[NamedCountry]:
    """Which of the countries are new sides of the comparison before; none where that is none."""
    sides = compared_countries(read_names(before, catalog))
    known = {key for side in sides for key in side.keys}
    if RELATION.search(query[: countries[0].start]) or not compares(before, sides):
        return []
    return [country for country in countries if known.isdisjoint(country.keys)]


def _with_further(before: str, further: Sequence[NamedCountry], query: str, catalog: Catalog) -> str:
    """The comparison with more sides, "" without any: in their list, or behind the last name where they stand apart."""
    if not further:
        return ""
    sides = compared_countries(read_names(before, catalog))
    start, end = sides[0].start, sides[-1].end
    new = [name_in_words(query, country, usual=True) for country in further]
    between = remove_names(before, sides)[start : end - sum(name.end - name.start - 1 for name in sides)]
    if not _LISTED.fullmatch(between):
        return f"{before[:end]} and {list_in_words(new)}{before[end:]}"
    listed = [before[sides[0].start : sides[0].end], *(name_in_words(before, side) for side in sides[1:]), *new]
    return f"{before[:start]}{list_in_words(listed)}{before[end:]}"


def unnamed(text: str, named: Sequence[Named]) -> str:
    """The text without the names, and without the "report" of an edition."""
    rest = remove_names(text, named)
    return _REPORT.sub(" ", rest) if any(isinstance(name, NamedYears) and name.of_report for name in named) else rest


def _with_countries(
    before: str, query: str, countries: Sequence[NamedCountry], catalog: Catalog, meaning: Words
) -> str:
    """What is only related ("and from Germany?") takes the place of what is related."""
    earlier = read_names(before, catalog)
    in_passing = [country for country in earlier.countries if country not in earlier.about]
    new = list_in_words(name_in_words(query, name, usual=True) for name in countries)
    if relation := RELATION.search(query[: countries[0].start]):
        return _replaced(before, in_passing, new, f"{relation[0].split()[0]} {new}", meaning)
    return _replaced(before, earlier.about or in_passing, new, new, meaning)


def _replaced(text: str, old: Sequence[Named], new: str, added: str, meaning: Words) -> str:
    """The text with new names; with ``added`` where it has none, "" where its own stand apart from each other."""
    if not old:
        return add_name(text, added)
    start, end = old[0].start, old[-1].end
    between = remove_names(text, old)[start : end - sum(name.end - name.start - 1 for name in old)]
    if meaning(between):
        return ""
    if isinstance(old[0], NamedCountry):
        start = len(ARTICLE.sub("", text[:start]))
    elif placed(new) == new:
        start = len(_PLACED.sub("", text[:start]).rstrip()) + 1
    return f"{text[:start]}{new}{text[end:]}"


POINTS_BACK = pattern(r"\b{points_back}\b")
FIGURE = pattern(r"\b{figure}")
COMPARING = pattern(r"\b{comparing}\b")
"""What was asked before is one side, the names here are the other: "Compare it with Mali"."""
OF_A_COUNTRY = pattern(r"\b{of_a_country}(?!\w)")
_THEIR = pattern(r"\b(?:their|they)\b")
_LEADS_TO_TOPIC = pattern(r"^\W*(?:{leads_to_topic}\b\W*)+")
_OF_THE_SAME = pattern(r"(?:\s*,)?\s*\b{of_the_same}(?=\s*(?:$|[?.!,]))")
_WHOSE = pattern(r"\b(?:its|their)\s+(?={figure})")
_OWNED = pattern(r"^(?:its|their)\s+")
_MORE_OR_LESS = pattern("{more_or_less}")
_NO_TOPIC = pattern(r"^\W*{no_topic}\b|^\W*$")
_DEPENDENT_WORDS = words("dependent_words")
_PLACE = re.compile(r"^(?:[A-Z][a-z]+\s*)+$")
"""A name behind "and": of a place, whose topic is the one before."""


def new_topic(query: str, meaning: Words) -> str:
    """What a message of a few words asks for, as a noun: "inflation" of "And their inflation?"; "" where it is none.

    ``meaning``: the words of a text that have one of their own; "and the causes?" has one that needs more.
    """
    rest = _OF_THE_SAME.sub("", _LEADS_TO_TOPIC.sub("", query, count=1)).strip(" ?.!")
    rest = _OWNED.sub("", rest)
    if _NO_TOPIC.search(rest) or POINTS_BACK.search(rest) or any(mark in rest for mark in "?!\n"):
        return ""
    if _LEADS_TO_TOPIC.match(query) and _PLACE.match(rest):
        return ""
    return "" if all(map(is_dependent, meaning(rest))) else rest


def is_of_figure(query: str) -> bool:
    """Whether a whole question names the figure that it asks for: "And how high is its inflation?"."""
    rest = _OF_THE_SAME.sub("", _LEADS_TO_TOPIC.sub("", query, count=1))
    if POINTS_BACK.search(_WHOSE.sub("", rest)):
        return False
    words = {word for figure in FIGURE.findall(rest) for word in figure.lower().split()}
    return not all(map(is_dependent, words - {"the", "its", "their"}))


def is_of_country(query: str, about: Sequence[NamedCountry], meaning: Words) -> bool:
    """Whether the question is complete except for its country: "How long is its coast?".

    ``about``: the countries asked about before. After a single one "their" may also mean its parties or farmers.
    """
    rest = OF_A_COUNTRY.sub(" ", query)
    if rest == query or POINTS_BACK.search(rest):
        return False
    is_of_several = len(about) > 1 or any(country.by_people for country in about)
    asked = meaning(COMPARING.sub(" ", rest))
    return (is_of_several or not _THEIR.search(query)) and not all(map(is_dependent, asked))


def is_dependent(word: str) -> bool:
    """Whether a word says nothing without the thing that it belongs to: "and the causes?", "and for men?"."""
    return word.lower() in _DEPENDENT_WORDS or _MORE_OR_LESS.fullmatch(word) is not None or not word[0].isalpha()
