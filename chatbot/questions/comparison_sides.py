"""What a comparison compares: a scope of its own for each country, year or report, and the question asked there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..domain import Condition, Range, Scope, Value, Values
from ..domain.protocols import Catalog
from ..domain.reading import Named, NamedYears, Reading
from ..language import YEAR_PATTERN, analyzer, is_foreign
from ..language.countries import country_code, usual_name
from .comparisons import (
    clean,
    compared_countries,
    compared_years,
    implied,
    mark_names,
    names_beside,
    plain_question,
    topic,
)
from .english import IMPLIED, words
from .names import country_key
from .reading import COUNTRY, YEAR, editions, read_names, values_of
from .wording import list_in_words

DOCUMENT = "document_name"
MOST = 8


@dataclass(frozen=True, slots=True)
class Side:
    """``query``: what is searched inside ``scope``. ``ready``: there is a report that can be searched.

    ``year``: of the figures that are compared; any edition may have them.
    """

    name: str
    scope: Scope
    query: str = ""
    ready: bool = True
    year: int | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question compares: values of the data, and years of figures where there are several.

    ``absent``: the names of countries without a report in scope that the one country is compared with.
    """

    countries: Sequence[Value]
    editions: Sequence[Value]
    figures: Sequence[int]
    absent: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Sides:
    """The sides of a comparison: at least two ``compared``, or none. ``left_out``: the names of those that were too
    many.

    ``bare``: the question does not say what of them is compared.
    """

    compared: tuple[Side, ...] = ()
    left_out: tuple[str, ...] = ()
    bare: bool = False


def sides(text: str, scope: Scope, catalog: Catalog, most: int = MOST) -> Sides:
    """The sides of a question, at most ``most``.

    What the scope has several of, or, within it, what the question names: countries, editions or years of figures, or
    countries in each of these where that is few enough. Then documents, then single reports. A country or edition that
    the question names alone narrows every side. A side without a report that is ready is there too, marked so: beside
    a country that is compared with such a one, its own reports are no sides.
    """
    text = clean(text)
    reading = Reading() if is_foreign(text) else read_names(text, catalog, scope)
    spans = [] if is_foreign(text) else compared_years(text, reading)
    countries = _chosen(scope, COUNTRY, _named_countries(text, reading, scope, catalog), catalog)
    narrowed = scope.having(COUNTRY, countries)
    reports = _chosen(scope, YEAR, _named_editions(spans, narrowed, catalog), catalog)
    asked = _Asked(countries, reports, [] if len(reports) > 1 else _figures(spans))
    said = _said_by_sides(text, reading, spans, asked, scope)
    query = _asked_for(text, topic(plain_question(mark_names(text, said))))
    if not query:
        asked = _as_editions(asked, spans, editions(narrowed, catalog))
    asked = replace(asked, absent=_absent(text, countries, scope, catalog))
    found = _unasked(scope, narrowed.having(YEAR, asked.editions), asked, catalog, most)
    if len(found) < 2:
        return Sides()
    compared = (
        replace(
            side,
            query=(f"{query.rstrip(' ?')} {side.query}" if side.query else query) if query else side.name,
            ready=side.ready and catalog.holdings(side.scope).ready > 0,
        )
        for side in found[:most]
    )
    return Sides(tuple(compared), tuple(side.name for side in found[most:]), bare=not query)


def _asked_for(text: str, query: str) -> str:
    """The text to search for in each side; "" where the question only compares, and names no figure of a year."""
    terms, idle = analyzer("english").terms, " ".join(words("comparison_words"))
    left = {term for term in terms(query) if term.isalpha()}
    thing = implied(text)
    if thing and left <= set(terms(" ".join([idle, *frozenset.union(*IMPLIED[thing])]))):
        return " in ".join([thing, *filter(None, [list_in_words(YEAR_PATTERN.findall(query))])])
    return "" if left <= set(terms(idle)) else query


def _absent(text: str, countries: Sequence[Value], scope: Scope, catalog: Catalog) -> list[str]:
    """What the question compares its one country with, where none of that is there."""
    named = compared_countries(text, read_names(text, catalog, scope))
    keys = {country_key(str(value)) for value in countries}
    if len(countries) != 1 or not any(keys.intersection(country.keys) for country in named):
        return []
    others = (country for country in named if keys.isdisjoint(country.keys))
    return list(dict.fromkeys(usual_name(c.keys[0]) if country_code(c.keys[0]) else c.text for c in others))


def _as_editions(asked: _Asked, spans: Sequence[NamedYears], have: Sequence[int]) -> _Asked:
    """Years that nothing is asked of are those of reports, where there are such ones: "What changed since 2021?".

    One alone is compared with the edition before it.
    """
    years = {year for named in spans for year in named.ends}
    for named in spans:
        later = [year for year in have if not named.ends and named.condition.matches(year)]
        years.update(later[:1] + later[-1:])
    if not years or len(asked.editions) > 1 or not years <= set(have):
        return asked
    if len(years) == 1 and len(asked.countries) < 2:
        years.update([year for year in have if year < min(years)][-1:])
    return replace(asked, editions=sorted(years), figures=())


def _unasked(scope: Scope, narrowed: Scope, asked: _Asked, catalog: Catalog, most: int) -> list[Side]:
    """The sides with their years for a question, perhaps too many; of single reports none where they are too many."""
    documents, years = scope.get(DOCUMENT), list(map(str, asked.figures))
    chosen = [field for field in (COUNTRY, YEAR) if len(_inside(scope, field, catalog)) > 1]
    if isinstance(documents, Values) and len(documents.values) > 1 and not chosen:
        return [Side(str(name), narrowed.having(DOCUMENT, [name]), " ".join(years)) for name in documents.values]
    by_country = [Side(str(name), narrowed.having(COUNTRY, [name])) for name in asked.countries]
    by_year = [Side(year, narrowed, year, year=int(year)) for year in years] or [
        Side(str(year), narrowed.having(YEAR, [year])) for year in asked.editions
    ]
    if len(by_country) > 1 and 1 < len(by_year) <= most // len(by_country):
        return [
            replace(in_year, name=f"{one.name}, {in_year.name}", scope=in_year.scope.having(COUNTRY, [country]))
            for one, country in zip(by_country, asked.countries, strict=True)
            for in_year in by_year
        ]
    if len(by_country) > 1:
        return [replace(one, query=" ".join(years)) for one in by_country]
    if len(by_year) > 1:
        return by_year
    absent = [Side(name, narrowed.having(COUNTRY, [name]), ready=False) for name in asked.absent]
    return [*by_country, *absent] if absent else _by_report(narrowed, catalog, most)


def _by_report(scope: Scope, catalog: Catalog, most: int) -> list[Side]:
    """A side for each name, with the title of its report, unless another has that. Reports of one name are one side."""
    titles = {record.name: record.title for record in catalog.all(scope)}
    if len(titles) > most:
        return []
    counts = Counter(titles.values())
    return [
        Side(name if not title or counts[title] > 1 else title, scope.having(DOCUMENT, [name]))
        for name, title in titles.items()
    ]


def _chosen(scope: Scope, field: str, named: Sequence[Value], catalog: Catalog) -> list[Value]:
    """Several that the question names, else what the scope has, else the one that the question names."""
    inside = _inside(scope, field, catalog)
    return list(named) if len(named) > 1 or not inside else inside


def _inside(scope: Scope, field: str, catalog: Catalog) -> list[Value]:
    """The values that the scope gives a field; of a range those in the data. None where it says nothing of it."""
    condition = scope.get(field)
    if isinstance(condition, Range):
        return _present(scope, field, condition, catalog)
    return list(condition.values) if condition else []


def _present(scope: Scope, field: str, condition: Condition, catalog: Catalog) -> list[Value]:
    """The values inside a condition that the scope's reports have, in order."""
    return _sorted(value for value in catalog.values(field, scope) if condition.matches(value))


def _sorted(values: Iterable[Value]) -> list[Value]:
    return sorted(values, key=lambda value: (isinstance(value, str), value))


def _named_countries(text: str, reading: Reading, scope: Scope, catalog: Catalog) -> list[Value]:
    """The countries that are compared; a single one only where the question is about it."""
    condition = scope.get(COUNTRY)
    for named in (compared_countries(text, reading), reading.about):
        values = [v for v in values_of(named, catalog) if condition is None or condition.matches(v)]
        if len(values) > 1:
            break
    return values


def _named_editions(spans: Sequence[NamedYears], scope: Scope, catalog: Catalog) -> list[Value]:
    """The editions that are compared; of a range only those that the scope's reports have. Where the scope has
    editions, any year names one.
    """
    condition = scope.get(YEAR)
    spans = [named for named in spans if named.of_report or condition is not None]
    for named in (spans, [named for named in spans if named.is_subject]):
        values = _years_of(named, scope, catalog)
        values = [value for value in values if condition is None or condition.matches(value)]
        if len(values) > 1:
            break
    return values


def _figures(spans: Sequence[NamedYears]) -> list[int]:
    """Years of figures, of a range its ends; none where there is one alone: it stays in the question."""
    found = sorted({year for named in spans if not named.of_report for year in named.ends})
    return found if len(found) > 1 else []


def _years_of(named: Sequence[NamedYears], scope: Scope, catalog: Catalog) -> list[Value]:
    found: set[Value] = set()
    for years in named:
        if isinstance(years.condition, Range):
            found.update(_present(scope, YEAR, years.condition, catalog))
        else:
            found.update(value for value in catalog.values(YEAR) if years.condition.matches(value))
    return _sorted(found)


def _said_by_sides(
    text: str, reading: Reading, spans: Sequence[NamedYears], asked: _Asked, scope: Scope
) -> list[Named]:
    """The names in the text that the sides say already, and those that they are compared with."""
    keys = {country_key(str(value)) for value in asked.countries}
    compared = compared_countries(text, reading)
    said = [name for name in compared if keys.intersection(name.keys)]
    is_chosen = scope.get(YEAR) is not None
    said_years = [
        named
        for named in spans
        if any(map(named.condition.matches, asked.editions if named.of_report or is_chosen else asked.figures))
    ]
    return [*names_beside(text, compared, said), *names_beside(text, spans, said_years)]
