"""From a client's filters to a Scope: typed, allowlisted, checked against the data
(R-D4); and scopes in words. An unknown field, type or value is an error that lists the
valid ones, never a wider search.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import shorten
from typing import Any

from ..domain import DocumentRecord, Range, Scope
from ..domain.chat import ScopeSummary
from ..domain.documents import Holdings
from ..domain.errors import LONGEST_SHOWN, InvalidRequestError
from ..domain.protocols import Catalog
from ..domain.scope import YEAR_IN_REVIEW, Condition, CountryGroup, Value, Values, both
from ..domain.tables import Texts
from ..language.countries import country_code
from ..language.counts import count_of
from ..language.groups import group_named, groups_like
from ..language.words import Say, counted, in_english
from ..models.prompts import on_one_line

REPORT_CONTEXT_FIELDS = {"country": "country_name", YEAR_IN_REVIEW: "year"}
"""The filter field of each `report_context.type` of the seed."""
MAX_YEAR_DIGITS = 6
"""A longer number may exceed the database's integers."""
MAX_NAMES_IN_PROMPT = 40
"""Countries, or editions."""
FILTERS = "filters."
EMPTY = "an empty list would match nothing; leave the field out instead."
COUNTRY = "country_name"
GROUP = "group"
"""The filter by a group of countries: those of its members that have reports."""
OWN_FIELDS = frozenset({COUNTRY, "year", "document_name", "type"})
"""Filter fields that the program itself reads from reports; the others are those of an
operator.
"""
FilterValue = Value | Sequence[Value] | Mapping[Any, Value]


class ScopeResolver:
    """Builds scopes over the filter fields of one catalog. ``collections``: those that
    are searched. All scopes are inside of ``limit``, and errors name no values outside
    of it.
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

    def inside(self, limit: Scope) -> "ScopeResolver":
        """Return the resolver of a caller who may see only what is inside of
        ``limit``.
        """
        return (
            ScopeResolver(self._catalog, self._fields, self._every, limit)
            if limit
            else self
        )

    def resolve(
        self,
        filters: Mapping[str, FilterValue] | None = None,
        report_context: tuple[str, Value] | None = None,
        collections: Sequence[str] | None = None,
        *,
        prefix: str = FILTERS,
        for_key: bool = False,
    ) -> Scope:
        """Return the scope of a request: OR within a field, AND across fields and with
        ``report_context``.

        ``collections``: only in these; None = in all. ``prefix``: the path of the
        filters in the request, for errors. ``for_key``: the scope limits a key, which
        may come before the first report of an organisation.

        Raises: InvalidRequestError: a field, type, value or collection is unknown, a
            list is empty, or no report can
                satisfy both.
        """
        conditions: dict[str, Condition] = {}
        members: Condition | None = None
        for field, value in (filters or {}).items():
            if field == GROUP and COUNTRY in self._fields:
                members = self._members(f"{prefix}{field}", value)
                continue
            if field not in self._fields:
                message = f"unknown filter. Valid: {', '.join(self._fields)}."
                raise InvalidRequestError.for_field(
                    f"{prefix}{field}", message, self._fields
                )
            name = f"{prefix}{field}"
            is_new = for_key and field not in OWN_FIELDS
            conditions[field] = self._condition(name, field, value, is_new=is_new)
        context = (
            self._of_context(*report_context) if report_context is not None else {}
        )
        of_groups = {COUNTRY: members} if members is not None else {}
        for others, problem in (
            (of_groups, "no country of it is in the group."),
            (context, "contradicts report_context: no report can satisfy both."),
            (dict(self._limit.conditions), "is outside of what this key may see."),
        ):
            _narrow(conditions, others, prefix, problem)
        self._check_collections(collections)
        scope = replace(
            Scope.of(conditions),
            limit=self._limit.conditions,
            limit_collections=self._limit.collections,
        )
        return scope.within(collections or ())

    def _check_collections(self, names: Sequence[str] | None) -> None:
        """Raises InvalidRequestError: one is unknown, or the list is empty."""
        if names is not None and not names:
            raise InvalidRequestError.for_field("collections", EMPTY)
        for name in names or ():
            if name not in self._collections:
                message = (
                    f"unknown collection {name[:LONGEST_SHOWN]!r}. Valid: "
                    f"{', '.join(self._collections)}."
                )
                raise InvalidRequestError.for_field(
                    "collections", message, self._collections
                )

    def groups(
        self, filters: Mapping[str, FilterValue] | None, *, prefix: str = FILTERS
    ) -> tuple[CountryGroup, ...]:
        """Return the groups of countries that filters name. Raises
        InvalidRequestError.
        """
        value = (filters or {}).get(GROUP)
        if value is None:
            return ()
        return tuple(self._named_groups(f"{prefix}{GROUP}", value))

    def _named_groups(self, name: str, value: FilterValue) -> list[CountryGroup]:
        if isinstance(value, Mapping):
            raise InvalidRequestError.for_field(name, "only year takes a range.")
        names = [value] if isinstance(value, str | int) else list(value)
        if not names:
            raise InvalidRequestError.for_field(name, EMPTY)
        every = self._catalog.groups()
        groups = []
        for text in map(str, names):
            group = group_named(text, every)
            if group is None:
                similar = groups_like(text, every)
                hint = f" Did you mean {', '.join(similar)}?" if similar else ""
                raise InvalidRequestError.for_field(
                    name,
                    f"unknown group of countries {text[:LONGEST_SHOWN]!r}.{hint}",
                    similar or sorted(group.name for group in every),
                )
            groups.append(group)
        return groups

    def _members(self, name: str, value: FilterValue) -> Condition:
        """Return the condition of the countries with a report that are members of one
        of the groups.
        """
        groups = self._named_groups(name, value)
        codes = {code for group in groups for code in group.members}
        countries = [
            country
            for country in self._values(COUNTRY)
            if country_code(str(country)) in codes
        ]
        if not countries:
            names = ", ".join(group.name for group in groups)
            raise InvalidRequestError.for_field(
                name, f"no country of {names} has a report."
            )
        return Values(tuple(countries))

    def _of_context(self, context_type: str, value: Value) -> dict[str, Condition]:
        field = REPORT_CONTEXT_FIELDS.get(context_type)
        if field is None:
            valid = sorted(REPORT_CONTEXT_FIELDS)
            message = (
                f"{context_type[:LONGEST_SHOWN]!r} is not a report type. Valid: "
                f"{', '.join(valid)}."
            )
            raise InvalidRequestError.for_field("report_context.type", message, valid)
        conditions = {field: self._condition("report_context.value", field, value)}
        # Country reports have years too: where the data tells the types apart, the year
        # means the yearly review.
        if context_type == YEAR_IN_REVIEW and YEAR_IN_REVIEW in self._values("type"):
            conditions["type"] = Values((YEAR_IN_REVIEW,))
        return conditions

    def _values(self, field: str) -> Sequence[Value]:
        return self._catalog.values(field, self._limit or None)

    def _condition(
        self, name: str, field: str, value: FilterValue, *, is_new: bool = False
    ) -> Condition:
        """Return the condition of one field; ``is_new``: a text that no report has is
        taken as it is.
        """
        valid = self._values(field)
        if not isinstance(value, Mapping):
            values = [value] if isinstance(value, (str, int)) else list(value)
            if not values:
                raise InvalidRequestError.for_field(name, EMPTY)
            return Values(
                tuple(
                    dict.fromkeys(
                        _valid_value(name, field, item, valid, is_new=is_new)
                        for item in values
                    )
                )
            )
        if field != "year":
            raise InvalidRequestError.for_field(name, "only year takes a range.")
        if not value or set(value) - {"gte", "lte"}:
            raise InvalidRequestError.for_field(
                name, "a range has gte, lte or both.", ["gte", "lte"]
            )
        ends = {end: _year(f"{name}.{end}", item) for end, item in value.items()}
        years = Range(ends.get("gte"), ends.get("lte"))
        if years.gte is not None and years.lte is not None and years.gte > years.lte:
            raise InvalidRequestError.for_field(
                name, f"gte ({years.gte}) is greater than lte ({years.lte})."
            )
        if not any(map(years.matches, valid)):
            raise InvalidRequestError.for_field(
                name, f"no report in this range. Years: {_listed(valid)}.", valid
            )
        return years


def _narrow(
    conditions: dict[str, Condition],
    others: Mapping[str, Condition],
    prefix: str,
    problem: str,
) -> None:
    """Narrow the conditions on fields by others. Raises InvalidRequestError: no value
    of a field satisfies both.
    """
    for field, condition in others.items():
        common: Condition | None = condition
        if field in conditions:
            common = both(condition, conditions[field])
        if common is None:
            valid = (
                list(condition.values)
                if isinstance(condition, Values)
                else [condition.to_json()]
            )
            raise InvalidRequestError.for_field(f"{prefix}{field}", problem, valid)
        conditions[field] = common


def _valid_value(
    name: str, field: str, value: Value, valid: Sequence[Value], *, is_new: bool
) -> Value:
    """Return the value as the data spells it."""
    if field == "year":
        year = _year(name, value)
        if year in valid:
            return year
        raise InvalidRequestError.for_field(
            name, f"no report for {year}. Years: {_listed(valid)}.", valid
        )
    if not isinstance(value, str) or not value.strip():
        raise InvalidRequestError.for_field(
            name, f"must be text, one of: {_listed(valid)}.", valid
        )
    text = value.strip()
    for candidate in valid:
        if str(candidate).casefold() == text.casefold():
            return candidate
    if is_new:
        return text
    code = country_code(text) if field == "country_name" else None
    for candidate in valid if code else ():
        if country_code(str(candidate)) == code:
            return candidate
    problem = "there is no report on" if code else f"unknown {field}:"
    raise InvalidRequestError.for_field(
        name, f"{problem} {text[:LONGEST_SHOWN]!r}. Valid: {_listed(valid)}.", valid
    )


def _year(name: str, value: object) -> int:
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and abs(value) < 10**MAX_YEAR_DIGITS
    ):
        return value
    if (
        isinstance(value, str)
        and value.strip().isdecimal()
        and len(value.strip()) <= MAX_YEAR_DIGITS
    ):
        return int(value)
    raise InvalidRequestError.for_field(
        name, "must be a year, as a number or its digits."
    )


def _listed(values: Sequence[Value], most: int = 10) -> str:
    named = ", ".join(map(str, values[:most])) or "none yet"
    return named if len(values) <= most else f"{named} and {len(values) - most:,} more"


def nearest_scope(catalog: Catalog, scope: Scope, say: Say = in_english) -> str:
    """Return a sentence about the widest part of an empty scope that has reports, and
    what there is in it. Conditions are dropped one at a time: the year first, then the
    collections, the country last.
    """
    widened = [scope.without(name) for name in ("year", "type", "document_name")]
    for rest in (*widened, scope.within(()), scope.without("country_name")):
        if rest and rest != scope and (records := catalog.all(rest)):
            count = len(records)
            years = values_inside(records, rest, "year")
            reports = say(
                "{reports} for {scope}",
                reports=counted(say, count, "report"),
                scope=describe(rest, say),
            )
            reports = (
                say("{reports}, of {years}", reports=reports, years=_listed(years))
                if years
                else reports
            )
            break
    else:
        count = catalog.holdings(scope.widest()).documents
        reports = say(
            "{reports} without a scope", reports=counted(say, count, "report")
        )
    return f"{say('There is {reports}' if count == 1 else 'There are {reports}', reports=reports)}."  # noqa: E501


def summarise(catalog: Catalog, scope: Scope) -> ScopeSummary:
    """Count the reports in the scope that can be searched, and their passages in it."""
    held = named_holdings(catalog, scope)
    return ScopeSummary(scope, held.ready, held.ready_chunks)


def named_holdings(catalog: Catalog, scope: Scope) -> Holdings:
    """Count the reports that have what the scope names, as the scope panel does; those
    without a country or year, which are searched beside them, only where there are no
    others.
    """
    named = catalog.holdings(scope.strict())
    return named if named.documents else catalog.holdings(scope)


def describe(scope: Scope, say: Say = in_english) -> str:
    """Return the scope in words, on one line and without tags: "Kenya or Mali, 2023 in
    the collection news".
    """
    parts: list[str] = []
    for _, condition in scope.conditions:
        if isinstance(condition, Values):
            parts.append(
                f" {say('or')} ".join(map(on_one_line, map(str, condition.values)))
            )
        elif condition.gte == condition.lte:
            parts.append(str(condition.gte))
        elif condition.gte is None:
            parts.append(say("up to {year}", year=condition.lte))
        elif condition.lte is None:
            parts.append(say("from {year}", year=condition.gte))
        else:
            parts.append(
                say("{first} to {last}", first=condition.gte, last=condition.lte)
            )
    if not scope.collections:
        return say(", ").join(parts) or say("all reports")
    names = f" {say('and')} ".join(scope.collections)
    where = say(
        "the collections {names}"
        if len(scope.collections) > 1
        else "the collection {names}",
        names=names,
    )
    return (
        say(
            "{values} in {collections}", values=say(", ").join(parts), collections=where
        )
        if parts
        else where
    )


def inventory(catalog: Catalog, scope: Scope) -> str:
    """Return what a scope holds, for prompts: how many reports, the countries with
    their editions, the newest first. On one line, without tags.
    """
    records = [record for record in catalog.all(scope) if record.status == "ready"]
    example = (
        f' (one is called "{shorten(on_one_line(records[0].title), 80)}")'
        if records
        else ""
    )
    parts = [f"{count_of(len(records), 'report')}{example}"]
    editions: dict[str, set[str]] = defaultdict(set)
    for about in _parts_inside(records, scope):
        country = about.get("country_name")
        name = "reports of no country" if country is None else on_one_line(str(country))
        editions[name] |= (
            {on_one_line(str(about["year"]))} if "year" in about else set()
        )
    alike: dict[Texts, list[str]] = defaultdict(list)
    for name, years in sorted(editions.items()):
        alike[tuple(sorted(years, reverse=True))].append(name)
    for newest_first, names in alike.items():
        of = (
            f", editions {_listed(newest_first, MAX_NAMES_IN_PROMPT)}"
            if newest_first
            else ""
        )
        parts.append(f"{_listed(names, MAX_NAMES_IN_PROMPT)}{of}")
    return "; ".join(parts)


def values_inside(
    records: Iterable[DocumentRecord], scope: Scope, field: str
) -> list[Value]:
    """Return the values of a field in the parts of these reports that are in the scope,
    sorted.
    """
    return sorted(
        {part[field] for part in _parts_inside(records, scope) if field in part},
        key=str,
    )


def _parts_inside(
    records: Iterable[DocumentRecord], scope: Scope
) -> Iterator[Mapping[str, Value]]:
    about = scope.without("document_name")
    return (
        part.metadata
        for record in records
        for part in record.parts
        if about.matches(part.metadata)
    )


@dataclass(frozen=True, slots=True)
class KnowledgeCollection:
    """A collection of passages; ``description`` says what is in it, "" = not
    described.
    """

    name: str
    description: str = ""


def selectable_collections(
    collections: Sequence[KnowledgeCollection], allowed: Sequence[str] = ()
) -> list[KnowledgeCollection]:
    """Return the collections that a model may choose among (R-C5); empty = there is no
    choice, so no call is needed. The general one and those without a description are
    always searched. ``allowed``: `Scope.collections`, none = all.
    """
    choice = [
        one
        for one in collections[1:]
        if one.description and (not allowed or one.name in allowed)
    ]
    return choice if len(choice) > 1 else []
