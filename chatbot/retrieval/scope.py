"""From what a client sends to a Scope: typed, whitelisted, checked against the data (R-D4).

An unknown field, type or value is an error that lists the valid ones, never a wider search. Where a model may choose
among collections by their descriptions (R-C5), the general one and those without a description are always searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import shorten
from typing import Any

from ..countries import country_code
from ..errors import LONGEST_SHOWN, InvalidRequestError
from ..prompts import on_one_line
from ..protocols import Catalog
from ..schema import YEAR_IN_REVIEW, Condition, DocumentRecord, Range, Scope, ScopeSummary, Value, Values
from ..schema.scope import both
from ..text import count_of
from ..words import Say, counted, in_english

REPORT_CONTEXT_FIELDS = {"country": "country_name", YEAR_IN_REVIEW: "year"}
"""The seed's `report_context.type`, and the field each one filters."""
YEAR_DIGITS = 6
"""What is longer is no year, and may be more than the database's integers hold."""
MOST_NAMED = 40
"""Countries, or editions, in a prompt."""
LONGEST_TITLE = 80
FILTERS = "filters."
MOST_VALID = 10
"""Values that a message lists; ``details`` have all."""
EMPTY = "an empty list would match nothing; leave the field out instead."
CONTRADICTION = "contradicts report_context: no report can satisfy both."
OUTSIDE = "is outside of what this key may see."
FilterValue = Value | Sequence[Value] | Mapping[Any, Value]


class ScopeResolver:
    """Builds scopes over the filter fields of one catalog. ``collections`` = those that are searched.

    ``limit``: all scopes are inside of it, and nothing else is known to errors.
    """

    def __init__(
        self,
        catalog: Catalog,
        filter_fields: Sequence[str],
        collections: Sequence[str] = (),
        limit: Scope = Scope(),  # noqa: B008  # frozen and empty
    ) -> None:
        self._catalog = catalog
        self._fields = tuple(filter_fields)
        self._every = tuple(dict.fromkeys(collections))
        self._collections = tuple(name for name in self._every if limit.holds(name))
        self._limit = limit

    def inside(self, limit: Scope) -> ScopeResolver:
        """The resolver for somebody who may see only what is inside of ``limit``."""
        return ScopeResolver(self._catalog, self._fields, self._every, limit) if limit else self

    def _values(self, field: str) -> Sequence[Value]:
        return self._catalog.values(field, self._limit or None)

    def resolve(
        self,
        filters: Mapping[str, FilterValue] | None = None,
        report_context: tuple[str, Value] | None = None,
        collections: Sequence[str] | None = None,
        *,
        prefix: str = FILTERS,
    ) -> Scope:
        """The scope of a request: OR within a field, AND across fields and with ``report_context``.

        ``collections``: only in these; None = in all. ``prefix``: what stands before a field where it was sent.

        Raises:
            InvalidRequestError: a field, type, value or collection is unknown, a list is empty, or nothing can
                satisfy both.
        """
        conditions: dict[str, Condition] = {}
        for field, value in (filters or {}).items():
            if field not in self._fields:
                raise InvalidRequestError.for_field(
                    f"{prefix}{field}", f"unknown filter. Valid: {', '.join(self._fields)}.", self._fields
                )
            conditions[field] = self._condition(f"{prefix}{field}", field, value)
        if report_context is not None:
            for field, condition in self._of_context(*report_context).items():
                conditions[field] = _both(f"{prefix}{field}", conditions.get(field), condition, CONTRADICTION)
        for field, condition in self._limit.conditions:
            conditions[field] = _both(f"{prefix}{field}", conditions.get(field), condition, OUTSIDE)
        scope = replace(Scope.of(conditions), limit=self._limit.conditions, limit_collections=self._limit.collections)
        return scope.within(self._known_collections(collections))

    def _known_collections(self, names: Sequence[str] | None) -> Sequence[str]:
        if names is None:
            return ()
        if not names:
            raise InvalidRequestError.for_field("collections", EMPTY)
        for name in names:
            if name not in self._collections:
                message = f"unknown collection {name[:LONGEST_SHOWN]!r}. Valid: {', '.join(self._collections)}."
                raise InvalidRequestError.for_field("collections", message, self._collections)
        return names

    def _of_context(self, context_type: str, value: Value) -> dict[str, Condition]:
        field = REPORT_CONTEXT_FIELDS.get(context_type)
        if field is None:
            valid = sorted(REPORT_CONTEXT_FIELDS)
            message = f"{context_type[:LONGEST_SHOWN]!r} is not a report type. Valid: {', '.join(valid)}."
            raise InvalidRequestError.for_field("report_context.type", message, valid)
        conditions = {field: self._condition("report_context.value", field, value)}
        # Country reports have years too: where the data tells the types apart, the year means the yearly review.
        if context_type == YEAR_IN_REVIEW and YEAR_IN_REVIEW in self._values("type"):
            conditions["type"] = Values((YEAR_IN_REVIEW,))
        return conditions

    def _condition(self, name: str, field: str, value: FilterValue) -> Condition:
        if isinstance(value, Mapping):
            return self._range(name, field, value)
        values = [value] if isinstance(value, (str, int)) else list(value)
        if not values:
            raise InvalidRequestError.for_field(name, EMPTY)
        known = self._values(field)
        return Values(tuple(dict.fromkeys(_known_value(name, field, item, known) for item in values)))

    def _range(self, name: str, field: str, value: Mapping[Any, Value]) -> Range:
        if field != "year":
            raise InvalidRequestError.for_field(name, "only year takes a range.")
        if not value or set(value) - {"gte", "lte"}:
            raise InvalidRequestError.for_field(name, "a range has gte, lte or both.", ["gte", "lte"])
        ends = {end: _year(f"{name}.{end}", item) for end, item in value.items()}
        found = Range(ends.get("gte"), ends.get("lte"))
        if found.gte is not None and found.lte is not None and found.gte > found.lte:
            raise InvalidRequestError.for_field(name, f"gte ({found.gte}) is greater than lte ({found.lte}).")
        years = self._values("year")
        if not any(found.matches(year) for year in years):
            raise InvalidRequestError.for_field(name, f"no report in this range. Years: {_listed(years)}.", years)
        return found


def _both(name: str, chosen: Condition | None, other: Condition, problem: str) -> Condition:
    common = other if chosen is None else both(other, chosen)
    if common is None:
        valid = list(other.values) if isinstance(other, Values) else [other.to_json()]
        raise InvalidRequestError.for_field(name, problem, valid)
    return common


def _known_value(name: str, field: str, value: Value, known: Sequence[Value]) -> Value:
    """The value as the data spells it."""
    if field == "year":
        year = _year(name, value)
        if year in known:
            return year
        raise InvalidRequestError.for_field(name, f"no report for {year}. Years: {_listed(known)}.", known)
    if not isinstance(value, str) or not value.strip():
        raise InvalidRequestError.for_field(name, f"must be text, one of: {_listed(known)}.", known)
    wanted = value.strip()
    for candidate in known:
        if str(candidate).casefold() == wanted.casefold():
            return candidate
    code = country_code(wanted) if field == "country_name" else None
    for candidate in known if code else ():
        if country_code(str(candidate)) == code:
            return candidate
    what = "there is no report on" if code else f"unknown {field}:"
    raise InvalidRequestError.for_field(name, f"{what} {wanted[:LONGEST_SHOWN]!r}. Valid: {_listed(known)}.", known)


def _year(name: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**YEAR_DIGITS:
        return value
    if isinstance(value, str) and value.strip().isdecimal() and len(value.strip()) <= YEAR_DIGITS:
        return int(value)
    raise InvalidRequestError.for_field(name, "must be a year, as a number or its digits.")


def _listed(values: Sequence[Value]) -> str:
    named = ", ".join(map(str, values[:MOST_VALID])) or "none yet"
    return named if len(values) <= MOST_VALID else f"{named} and {len(values) - MOST_VALID:,} more"


def nearest_scope(catalog: Catalog, scope: Scope, say: Say = in_english) -> str:
    """A sentence that names the widest part of an empty scope that has reports, and what there is in it.

    Drops one condition at a time, keeping the country before the collections, and these before the year.
    """
    parts_of = [scope.without(name) for name in ("year", "type", "document_name")]
    for rest in (*parts_of, scope.within(()), scope.without("country_name")):
        if rest == scope or not rest:
            continue
        if records := catalog.all(rest):
            years = values_inside(records, rest, "year")
            reports = say(
                "{reports} for {scope}", reports=counted(say, len(records), "report"), scope=describe(rest, say)
            )
            reports = say("{reports}, of {years}", reports=reports, years=_listed(years)) if years else reports
            return _there_are(len(records), reports, say)
    rest = scope.widest()
    count = catalog.holdings(rest).documents
    return _there_are(count, say("{reports} without a scope", reports=counted(say, count, "report")), say)


def summarise(catalog: Catalog, scope: Scope) -> ScopeSummary:
    """Reports in the scope that can be searched, and their passages in it."""
    held = catalog.holdings(scope)
    return ScopeSummary(scope, held.ready, held.ready_chunks)


def _there_are(count: int, reports: str, say: Say) -> str:
    return f"{say('There is {reports}' if count == 1 else 'There are {reports}', reports=reports)}."


def describe(scope: Scope, say: Say = in_english) -> str:
    """The scope in words: "Kenya or Mali, 2023 in the collection news". On one line and without tags, for prompts."""
    parts: list[str] = []
    for _, condition in scope.conditions:
        if isinstance(condition, Values):
            parts.append(f" {say('or')} ".join(on_one_line(str(value)) for value in condition.values))
        elif condition.gte == condition.lte:
            parts.append(str(condition.gte))
        elif condition.gte is None or condition.lte is None:
            parts.append(
                say("up to {year}", year=condition.lte)
                if condition.gte is None
                else say("from {year}", year=condition.gte)
            )
        else:
            parts.append(say("{first} to {last}", first=condition.gte, last=condition.lte))
    if not scope.collections:
        return ", ".join(parts) or say("all reports")
    names = f" {say('and')} ".join(scope.collections)
    where = say("the collections {names}" if len(scope.collections) > 1 else "the collection {names}", names=names)
    return say("{values} in {collections}", values=", ".join(parts), collections=where) if parts else where


def inventory(catalog: Catalog, scope: Scope) -> str:
    """What a scope holds, for prompts: reports, countries, the newest editions first. On one line and without tags."""
    records = [record for record in catalog.all(scope) if record.status == "ready"]
    example = f' (one is called "{shorten(on_one_line(records[0].title), LONGEST_TITLE)}")' if records else ""
    parts = [f"{count_of(len(records), 'report')}{example}"]
    if countries := values_inside(records, scope, "country_name"):
        parts.append(f"countries: {_first(countries)}")
    if editions := values_inside(records, scope, "year"):
        parts.append(f"editions: {_first(editions[::-1])}")
    return "; ".join(parts)


def _first(values: Sequence[Value]) -> str:
    more = f" and {len(values) - MOST_NAMED:,} more" if len(values) > MOST_NAMED else ""
    return ", ".join(on_one_line(str(value)) for value in values[:MOST_NAMED]) + more


def values_inside(records: Iterable[DocumentRecord], scope: Scope, field: str) -> list[Value]:
    """What the parts of these reports that the scope admits have in a field, sorted."""
    about = scope.without("document_name")
    parts = (part.metadata for record in records for part in record.parts)
    return sorted({part[field] for part in parts if field in part and about.matches(part)}, key=str)


@dataclass(frozen=True, slots=True)
class KnowledgeCollection:
    """A collection of passages; ``description`` says what is in it, "" = nothing is said."""

    name: str
    description: str = ""


def knowledge_collections(names: Sequence[str], descriptions: Mapping[str, str]) -> tuple[KnowledgeCollection, ...]:
    """Each name once, in this order: the first is the general collection."""
    return tuple(KnowledgeCollection(name, descriptions.get(name, "")) for name in dict.fromkeys(names))


def selectable_collections(
    collections: Sequence[KnowledgeCollection], allowed: Sequence[str] = ()
) -> list[KnowledgeCollection]:
    """The collections that a model may choose among; empty = there is no choice, so no call is needed.

    ``allowed``: the question's own (`Scope.collections`), none = all. One that is to choose alone is no choice.
    """
    found = [one for one in collections[1:] if one.description and (not allowed or one.name in allowed)]
    return found if len(found) > 1 else []
