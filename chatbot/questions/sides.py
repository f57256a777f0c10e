"""The sides of a comparison, and the parts of a question: each country, year, report or
thing on its own.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from ..domain import Range, Scope
from ..domain.protocols import Catalog
from ..domain.scope import NamedCountry, Reading, Value, Values
from ..domain.tables import Texts
from ..language.analysis import LETTERS_PATTERN, YEAR_PATTERN, analyzer
from ..language.countries import usual_name
from .english import pattern, words
from .names import lists
from .operations import measured, says_nothing
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
MOST_SIDES = 8
MOST_PARTS = 4
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
    r",?\s+(?:and|but)\s+(?:also\s+|then\s+)?(?=(?:what|which|who|when|where|why|how)\b(?:\W+\w+){2,})",
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
    countries = _inside(scope, COUNTRY, values_of(named, catalog), catalog)
    narrowed = scope.having(COUNTRY, countries)
    topic = tidy(remove_names(reading.text, reading.names))
    bare = not terms_of_topic(topic)
    years = reading.every_year if bare else reading.editions
    of_reports = [
        year
        for year in editions(narrowed, catalog)
        if any(y.condition.matches(year) for y in years)
    ]
    reports = _inside(narrowed, YEAR, of_reports, catalog)
    figures = sorted({year for one in reading.figure_years for year in one.ends})
    absent = (
        [usual_name(one.keys[0]) for one in named if not values_of([one], catalog)]
        if named
        else []
    )
    within = scope.having(YEAR, reports) if len(reports) == 1 else scope
    by_country = [
        Side(str(name), within.having(COUNTRY, [name]))
        for name in [*countries, *absent]
        if countries
    ]
    candidates = [
        Side(f"{one.name}, {year}", one.scope.having(YEAR, [year]))
        for one in by_country[: len(countries)]
        for year in reports
    ]
    if min(len(countries), len(reports)) < 2 or len(candidates) > MOST_SIDES:
        candidates = by_country
    if len(candidates) < 2:
        candidates = [
            Side(str(year), narrowed.having(YEAR, [year])) for year in reports
        ]
    if len(candidates) < 2:
        candidates = [Side(str(year), narrowed, year=year) for year in figures]
    compares = COMPARES.search(reading.text) is not None
    if len(candidates) < 2 and (compares or any_reports):
        candidates = _reports(narrowed, catalog, editions_of_one=compares)
    if len(candidates) < 2:
        return Sides()
    compared = []
    for one in candidates[:MOST_SIDES]:
        query = one.name if bare else f"{topic.rstrip(' ?')} {one.year or ''}".strip()
        compared.append(
            replace(one, query=query, ready=catalog.holdings(one.scope).ready > 0)
        )
    return Sides(
        tuple(compared), tuple(one.name for one in candidates[MOST_SIDES:]), bare
    )


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
        for one in names:
            is_end = is_end or bool(
                _OTHER_END.search(text[: one.start])
                or _NOUN_LEFT_OUT.fullmatch(text, one.end)
            )
            countries += [one] if is_end or one in reading.about else []
    return countries


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


def _inside(
    scope: Scope, field: str, named: Sequence[Value], catalog: Catalog
) -> list[Value]:
    """The named values that the scope admits; those of the scope, where it has several
    and the question names none.
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
    if not 1 < len(records) <= MOST_SIDES:
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


def sub_questions(
    reading: Reading, things: Callable[[str], Sequence[str]], most: int = MOST_PARTS
) -> list[str]:
    """Return the question in parts that can each be searched alone, at most ``most``;
    ``[text]`` where it is one. By sentence, else by thing and country. ``things``
    returns the things that a topic lists, itself where it is one.
    """
    text = reading.text
    clauses = list(_clauses(reading.text))
    parts = list[str]()
    named = list_in_words(name_in_words(text, one, usual=True) for one in reading.about)
    if len(clauses) > 1:
        terms = analyzer("english").terms
        first = text[slice(*clauses[0])]
        words = re.findall(
            r"[\w-]+",
            remove_names(
                first, [name for name in reading.names if name.end <= len(first)]
            ),
        )
        topic = " ".join(word for word in words if terms(word))
        for start, end in clauses[:most]:
            clause = text[start:end]
            # So short a clause may be about the thing of the one before.
            if (
                start and _NO_NOUN.search(clause) and len(terms(clause)) < 4
            ):  # about the first one's thing
                clause = f"{clause.rstrip(' ?.!')}? ({topic})"
            has_place = not named or any(
                start <= name.start < end for name in reading.countries
            )
            parts.append(as_sentence(clause if has_place else add_name(clause, named)))
        return parts
    years = list_in_words(text[year.start : year.end] for year in reading.every_year)
    for whole, name in _by_country(reading):
        for thing in things(whole):
            missing = [
                one for one in (name or named, years) if one and one not in thing
            ]
            parts.append(as_sentence(reduce(add_name, missing, thing)))
    return parts[:most] if len(parts) > 1 else [text]


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
