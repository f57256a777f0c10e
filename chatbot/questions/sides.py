"""The sides of a comparison, and the parts of a question: each country, year, report or
thing on its own.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from ..domain import Range, Scope
from ..domain.chat import QUERY_CHARACTERS
from ..domain.protocols import Catalog
from ..domain.scope import NamedCountry, NamedYears, Reading, Value, Values
from ..domain.tables import Texts
from ..language.analysis import LETTERS_PATTERN, YEAR_PATTERN, analyzer
from ..language.countries import usual_name
from .counted import says_nothing
from .english import pattern, words
from .names import lists
from .operations import measured
from .reading import (
    COUNTRY,
    YEAR,
    add_name,
    as_sentence,
    editions,
    list_in_words,
    name_in_words,
    remove_names,
    tidy,
    values_of,
)

DOCUMENT = "document_name"
MIN_SIDES = 2
MAX_SIDES = 8
"""Sides of one comparison: each has a search and a column of its own."""
MAX_PARTS = 4
"""Parts of one question, each of which is searched."""
MIN_OWN_TERMS = 4
"""A clause with fewer terms may be about the thing of the one before."""
COMPARES = pattern(r"\b{compares}\b")
"""Words of a comparison, whatever is compared."""
_ASKS = pattern(r"^\W*(?:and\W+)?(?:{wh}|{auxiliary})\b")
_OTHER_END = pattern(r"\b{beside}\W+(?:\w+\W+){0,3}$")
_THAN = re.compile(r"\b(?:than|as)\W+(?:\w+\W+){0,2}$", re.IGNORECASE)
_NOUN_LEFT_OUT = re.compile(r"['’]s?\W*")
"""Behind the last name: "Kenya's coastline and Somalia's"."""
_LISTED = re.compile(
    r"(?:['’]s)?\s*(?:,|and|or|vs\.?|versus|[&/+])\s*(?:(?:and|or|in|of|for|the)\s+)*",
    re.IGNORECASE,
)
_UNTOLD = frozenset().union(
    *map(words, ("idle_words", "form_words", "title_words", "comparing_words"))
)
_COMMAND = re.compile(r"^\W*(?:please\s+)?(?:compare|contrast|rank)\s+", re.IGNORECASE)
_QUESTION_END = re.compile(r"(?<=[?])\s+(?!\()")
_CLAUSE = re.compile(
    r",?\s+(?:and|but)\s+(?:also\s+|then\s+)?(?=(?:(?:in|at|of|for|by|to|from|since)\s+)?(?:what|which|who|when|where|why|how)\b(?:\W+\w+){2,})",
    re.IGNORECASE,
)

_NO_NOUN = re.compile(
    r"\b(?:it|they|them|these|those|that|he|she|his|her)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Side:
    """``query`` is searched inside ``scope``. ``ready``: it has a report that can be
    searched.

    ``year``: of the figures that are compared; any edition may have them.
    """

    name: str
    scope: Scope
    query: str = ""
    ready: bool = True
    year: int | None = None


@dataclass(frozen=True, slots=True)
class Sides:
    """At least two ``compared``, or none. ``left_out``: the names of those that were
    too many.

    ``bare``: the question does not say what of them is compared.
    """

    compared: tuple[Side, ...] = ()
    left_out: Texts = ()
    bare: bool = False


def sides(
    reading: Reading, scope: Scope, catalog: Catalog, *, any_reports: bool = False
) -> Sides:
    """Return the sides of a question: countries, else editions, else years of figures,
    else the reports in scope. A country or year that the question names alone narrows
    every side; the scope is never left. ``any_reports``: also the reports of a question
    that compares nothing.
    """
    named = compared_countries(reading)
    countries = _in_scope(scope, COUNTRY, values_of(named, catalog), catalog)
    narrowed = scope.having(COUNTRY, countries)
    topic = tidy(remove_names(reading.text, reading.names))
    bare = not terms_of_topic(topic)
    years = reading.every_year if bare else reading.editions
    reports = _editions_of(years, narrowed, catalog)
    candidates = _of_reports(scope, countries, reports)
    if countries and not candidates:
        absent = _without_report(named, catalog)
        candidates = _of_countries(scope, [*countries, *absent], reports)
    if len(candidates) < MIN_SIDES:
        candidates = [Side(str(one), narrowed.having(YEAR, [one])) for one in reports]
    if len(candidates) < MIN_SIDES:
        candidates = _of_figure_years(reading, narrowed)
    compares = COMPARES.search(reading.text) is not None
    if len(candidates) < MIN_SIDES and (compares or any_reports):
        candidates = _reports(narrowed, catalog, editions_of_one=compares)
    if len(candidates) < MIN_SIDES:
        return Sides()
    query = "" if bare else topic.rstrip(" ?")
    compared = [_with_query(side, query, catalog) for side in candidates[:MAX_SIDES]]
    left_out = tuple(side.name for side in candidates[MAX_SIDES:])
    return Sides(tuple(compared), left_out, bare)


def _editions_of(
    years: Sequence[NamedYears], scope: Scope, catalog: Catalog
) -> list[Value]:
    """Return the editions in scope that a question means."""
    named: list[Value] = []
    for edition in editions(scope, catalog):
        if any(named_years.condition.matches(edition) for named_years in years):
            named.append(edition)
    return _in_scope(scope, YEAR, named, catalog)


def _of_reports(
    scope: Scope, countries: Sequence[Value], reports: Sequence[Value]
) -> list[Side]:
    """Return a side for each report of each country; none where a question does not
    name several of both, or where there would be too many.
    """
    if min(len(countries), len(reports)) < MIN_SIDES:
        return []
    if len(countries) * len(reports) > MAX_SIDES:
        return []
    of_reports: list[Side] = []
    for side in _of_countries(scope, countries, reports):
        for year in reports:
            of_report = side.scope.having(YEAR, [year])
            of_reports.append(Side(f"{side.name}, {year}", of_report))
    return of_reports


def _of_countries(
    scope: Scope, countries: Sequence[Value], reports: Sequence[Value]
) -> list[Side]:
    """Return a side for each country, in one edition if the question names one."""
    if len(reports) == 1:
        scope = scope.having(YEAR, reports)
    return [Side(str(name), scope.having(COUNTRY, [name])) for name in countries]


def _without_report(named: Sequence[NamedCountry], catalog: Catalog) -> list[str]:
    """Return the names of the countries that the data does not have."""
    absent: list[str] = []
    for country in named:
        if not values_of([country], catalog):
            absent.append(usual_name(country.keys[0]))
    return absent


def _of_figure_years(reading: Reading, scope: Scope) -> list[Side]:
    """Return a side for each year of figures that a question names."""
    years: set[int] = set()
    for named in reading.figure_years:
        years.update(named.ends)
    return [Side(str(year), scope, year=year) for year in sorted(years)]


def _with_query(side: Side, topic: str, catalog: Catalog) -> Side:
    """Return a side with what is searched for it: its name, where the question has no
    ``topic``.
    """
    query = side.name
    if topic:
        query = f"{topic} {side.year or ''}".strip()
    ready = catalog.holdings(side.scope).ready > 0
    return replace(side, query=query, ready=ready)


def terms_of_topic(text: str) -> set[str]:
    """Return the terms of a comparison that say what is compared."""
    words = LETTERS_PATTERN.findall(COMPARES.sub(" ", text).lower())
    return set(
        analyzer("english").terms(
            " ".join(word for word in words if word not in _UNTOLD)
        )
    )


def compared_countries(reading: Reading) -> list[NamedCountry]:
    """Return what the question is about and the other end of its comparison ("higher
    than in Mali"), in text order.
    """
    text = reading.text
    countries = list[NamedCountry]()
    for names in lists(text, reading.countries, _LISTED):
        is_end = False
        for name in names:
            is_end = is_end or bool(
                _OTHER_END.search(text[: name.start])
                or _NOUN_LEFT_OUT.fullmatch(text, name.end)
            )
            countries += [name] if is_end or name in reading.about else []
    return countries


def others_named(reading: Reading) -> list[NamedCountry]:
    """Return the countries that a question names and is not about: those of "the border
    with Russia".
    """
    about = {named.keys for named in compared_countries(reading)}
    # "My American readers" are nothing that is asked.
    return [
        named
        for named in reading.countries
        if not named.by_people and named.keys not in about
    ]


def by_comparison(reading: Reading) -> list[NamedCountry]:
    """Return what is compared, of two the one that is compared with behind the other:
    "How many times larger than Mali is Chad?".
    """
    countries = compared_countries(reading)
    if len(countries) != 2:
        return countries
    first, second = countries
    if not _THAN.search(reading.text, 0, first.start):
        return countries
    if _THAN.search(reading.text, first.end, second.start):
        return countries
    return [second, first]


def _in_scope(
    scope: Scope, field: str, named: Sequence[Value], catalog: Catalog
) -> list[Value]:
    """Return the named values that the scope admits. Where there are none, return those
    that were chosen in it: several values, or what the reports have of a range.
    """
    chosen = scope.get(field)
    admitted = [value for value in named if chosen is None or chosen.matches(value)]
    if not admitted and isinstance(chosen, Values) and len(chosen.values) > 1:
        return list(chosen.values)
    if not admitted and isinstance(chosen, Range):
        return [
            value for value in catalog.values(field, scope) if chosen.matches(value)
        ]
    return admitted


def _reports(scope: Scope, catalog: Catalog, *, editions_of_one: bool) -> list[Side]:
    """The two newest editions of one country, else the single reports in scope, where
    they are few.
    """
    years = editions(scope, catalog)
    if editions_of_one and len(catalog.values(COUNTRY, scope)) == 1 and len(years) > 1:
        return [
            Side(str(year), scope.having(YEAR, [year]))
            for year in (years[-2], years[-1])
        ]
    records = catalog.all(scope)
    if not 1 < len(records) <= MAX_SIDES:
        return []
    return [
        Side(record.title, scope.having(DOCUMENT, [record.name])) for record in records
    ]


def asks_several(reading: Reading) -> bool:
    """Return whether a text asks several questions, whatever else it says: "Roughly
    half, or what?", "I think Haiti".
    """
    asking = 0
    for start, end in _clauses(reading.text):
        clause = reading.text[start:end]
        may_ask = not start or "?" in clause
        tells = may_ask and not says_nothing(measured(clause))
        asking += bool(_ASKS.match(clause)) or tells
    return asking > 1


def asks_of_each(reading: Reading) -> bool:
    """Return whether each clause of a question asks something of another country: "What
    is the capital of Chad, and how many people live in Mali?".
    """
    if COMPARES.search(reading.text) or _NO_NOUN.search(reading.text):
        return False
    places = []
    for start, end in _clauses(reading.text):
        places.append(
            [name.keys for name in reading.countries if start <= name.start < end]
        )
    return len(places) > 1 and all(places) and places[0] != places[1]


def sub_questions(
    reading: Reading, things: Callable[[str], Sequence[str]], most: int = MAX_PARTS
) -> list[str]:
    """Return the question in parts that can each be searched alone, at most ``most``;
    ``[text]`` where it is one. By sentence, else by thing and country. ``things``
    returns the things that a topic lists, itself where it is one.
    """
    named = list_in_words(
        name_in_words(reading.text, country, usual=True) for country in reading.about
    )
    clauses = list(_clauses(reading.text))
    if len(clauses) > 1:
        return _by_clause(reading, clauses[:most], named)
    years = list_in_words(
        reading.text[year.start : year.end] for year in reading.every_year
    )
    parts: list[str] = []
    for whole, country in _by_country(reading):
        for thing in things(whole):
            parts.append(as_sentence(_with_names(thing, (country or named, years))))
    parts = parts[:most]
    # Each part repeats the rest of the question: together they are searched in no more
    # time than the longest question.
    length = sum(len(part) for part in parts)
    if len(parts) < 2 or length > QUERY_CHARACTERS:
        return [reading.text]
    return parts


def _with_names(text: str, names: Iterable[str]) -> str:
    """Return a text with the names that it does not have."""
    missing = [name for name in names if name and name not in text]
    return reduce(add_name, missing, text)


def _by_clause(
    reading: Reading, clauses: Sequence[tuple[int, int]], named: str
) -> list[str]:
    """Return the clauses of a question as questions of their own, with what they need
    of the first one. ``named``: the countries that it is about.
    """
    text = reading.text
    terms = analyzer("english").terms
    first_end = clauses[0][1]
    names = [name for name in reading.names if name.end <= first_end]
    words = re.findall(r"[\w-]+", remove_names(text[:first_end], names))
    topic = " ".join(word for word in words if terms(word))
    parts: list[str] = []
    for start, end in clauses:
        clause = text[start:end]
        is_short = len(terms(clause)) < MIN_OWN_TERMS
        if start and is_short and _NO_NOUN.search(clause):
            clause = f"{clause.rstrip(' ?.!')}? ({topic})"
        has_place = any(start <= name.start < end for name in reading.countries)
        if named and not has_place:
            clause = add_name(clause, named)
        parts.append(as_sentence(clause))
    return parts


def _by_country(reading: Reading) -> list[tuple[str, str]]:
    """The question for each of the countries that it lists, and the country; itself
    where it lists none.
    """
    countries = compared_countries(reading)
    text = reading.text
    if len(countries) < 2:
        return [(text, "")]
    start = countries[0].start
    end = countries[-1].end
    names = list(dict.fromkeys(name_in_words(text, one) for one in countries))
    if len(lists(text, countries, _LISTED)) == 1:
        return [
            (_COMMAND.sub("", f"{text[:start]}{name}{text[end:]}"), name)
            for name in names
        ]
    rest = tidy(remove_names(text, countries))
    return [(add_name(rest, name), name) for name in names]


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in sorted(
        [*_QUESTION_END.finditer(text), *_CLAUSE.finditer(text)],
        key=lambda one: one.start(),
    ):
        if analyzer("english").terms(YEAR_PATTERN.sub("", text[start : match.start()])):
            yield start, match.start()
            start = match.end()
    yield start, len(text)
