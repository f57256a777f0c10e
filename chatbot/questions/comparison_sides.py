"""What a comparison compares: a scope of its own for each country, year or report, and the question asked there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..protocols import Catalog
from ..schema import Condition, Range, Scope, Value, Values
from ..text import analyzer, is_foreign
from .comparisons import clean, compared_countries, compared_years, mark_names, names_beside, plain_question, topic
from .english import words
from .mentions import COUNTRY, YEAR, Mentions, find_mentions, values_of
from .names import Named, NamedYears, country_key

DOCUMENT = "document_name"
MOST = 8


@dataclass(frozen=True, slots=True)
class Side:
    """``query``: what is searched inside ``scope``. ``ready``: there is a report that can be searched."""

    name: str
    scope: Scope
    query: str = ""
    ready: bool = True


@dataclass(frozen=True, slots=True)
class Sides:
    """At least two ``compared``, or none. ``left_out``: names of those that were too many."""

    compared: tuple[Side, ...] = ()
    left_out: tuple[str, ...] = ()


def sides(text: str, scope: Scope, catalog: Catalog, most: int = MOST) -> Sides:
    """The sides of a question, at most ``most``.

    What the scope has several of, or, within it, what the question names: countries, years, or each in each where
    that is few enough. Then documents, then single reports. A country or year that the question names alone narrows
    every side. A side without a report that is ready is there too, marked so.
    """
    text = clean(text)
    mentions = Mentions() if is_foreign(text) else find_mentions(text, catalog)
    countries = _chosen(scope, COUNTRY, _named_countries(text, mentions, scope, catalog), catalog)
    narrowed = scope.having(COUNTRY, countries)
    years = _chosen(scope, YEAR, _named_years(text, mentions, narrowed, catalog), catalog)
    narrowed = narrowed.having(YEAR, years)
    found = _unasked(scope, narrowed, countries, years, catalog, most)
    if len(found) < 2:
        return Sides()
    query = topic(plain_question(mark_names(text, _said_by_scope(text, mentions, narrowed, catalog))))
    terms = analyzer("english").terms
    # Without a word beside those that compare there is nothing to search for.
    asks = not set(terms(" ".join(words("comparison_words")))).issuperset(terms(query))
    compared = (
        replace(
            side,
            query=query if asks else side.name,
            ready=any(record.status == "ready" for record in catalog.all(side.scope)),
        )
        for side in found[:most]
    )
    return Sides(tuple(compared), tuple(side.name for side in found[most:]))


def _unasked(
    scope: Scope, narrowed: Scope, countries: Sequence[Value], years: Sequence[Value], catalog: Catalog, most: int
) -> list[Side]:
    """The sides without their questions, perhaps too many; of single reports none where they are too many."""
    documents = scope.get(DOCUMENT)
    chosen = [field for field in (COUNTRY, YEAR) if len(_inside(scope, field, catalog)) > 1]
    if isinstance(documents, Values) and len(documents.values) > 1 and not chosen:
        return [Side(str(name), narrowed.having(DOCUMENT, [name])) for name in documents.values]
    if len(countries) > 1 and 1 < len(years) <= most // len(countries):
        pairs = [(country, year) for country in countries for year in years]
        return [Side(f"{c}, {y}", narrowed.having(COUNTRY, [c]).having(YEAR, [y])) for c, y in pairs]
    for field, values in ((COUNTRY, countries), (YEAR, years)):
        if len(values) > 1:
            return [Side(str(value), narrowed.having(field, [value])) for value in values]
    found = _by_report(narrowed, catalog)
    return found if len(found) <= most else []


def _by_report(scope: Scope, catalog: Catalog) -> list[Side]:
    """A side for each name, with the title of its report, unless another has that. Reports of one name are one side."""
    titles = {record.name: record.title for record in catalog.all(scope)}
    shared = [title for title in titles.values() if list(titles.values()).count(title) > 1]
    return [
        Side(name if not title or title in shared else title, scope.having(DOCUMENT, [name]))
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
    about = scope.without(DOCUMENT)
    parts = (part.metadata for record in catalog.all(scope) for part in record.parts if about.matches(part.metadata))
    return _sorted({part[field] for part in parts if field in part and condition.matches(part[field])})


def _sorted(values: Iterable[Value]) -> list[Value]:
    return sorted(values, key=lambda value: (isinstance(value, str), value))


def _named_countries(text: str, mentions: Mentions, scope: Scope, catalog: Catalog) -> list[Value]:
    """Those that are compared; a single one only where the question is about it."""
    condition = scope.get(COUNTRY)
    for named in (compared_countries(text, mentions), mentions.about):
        values = [v for v in values_of(named, catalog) if condition is None or condition.matches(v)]
        if len(values) > 1:
            break
    return values


def _named_years(text: str, mentions: Mentions, scope: Scope, catalog: Catalog) -> list[Value]:
    """The same; of a range only those that the scope's reports have."""
    condition = scope.get(YEAR)
    for named in (compared_years(text), mentions.years):
        values = _years_of(named, scope, catalog)
        values = [value for value in values if condition is None or condition.matches(value)]
        if len(values) > 1:
            break
    return values


def _years_of(named: Sequence[NamedYears], scope: Scope, catalog: Catalog) -> list[Value]:
    found: set[Value] = set()
    for years in named:
        if isinstance(years.condition, Range):
            found.update(_present(scope, YEAR, years.condition, catalog))
        else:
            found.update(value for value in catalog.values(YEAR) if years.condition.matches(value))
    return _sorted(found)


def _said_by_scope(text: str, mentions: Mentions, narrowed: Scope, catalog: Catalog) -> list[Named]:
    """The names in the text that the scopes of the sides say already, and those that they are compared with."""
    countries, years = narrowed.get(COUNTRY), narrowed.get(YEAR)
    keys = {country_key(str(value)) for value in countries.values} if isinstance(countries, Values) else set()
    compared, spans = compared_countries(text, mentions), compared_years(text)
    said = [name for name in compared if keys.intersection(name.keys)]
    inside = [year for year in catalog.values(YEAR) if years is not None and years.matches(year)]
    said_years = [span for span in spans if any(map(span.condition.matches, inside))]
    return [*names_beside(text, compared, said), *names_beside(text, spans, said_years)]
