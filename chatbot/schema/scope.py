"""The metadata filter a person chose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic import model_serializer

Value = str | int
"""A metadata value that a scope can name: years are ints, the rest strings."""
NO_VALUE = ""
"""What stored rows have in a filter field that their passage lacks: engines differ in what a filter finds where a
field is missing. Text in every field, also in `year`: no range of numbers holds it. Nowhere but in rows."""
YEAR_IN_REVIEW = "year_in_review"
"""The type of the reports that are about a year, as country reports are about a country (seed 003)."""
MOST_NUMBER = 2**31 - 1
"""Above every value of a numeric filter field."""


@dataclass(frozen=True, slots=True)
class Values:
    """Any of these values (OR within a field). Never empty.

    ``or_none``: passages without the field are inside too.
    """

    values: tuple[Value, ...]
    or_none: bool = False

    def matches(self, value: Value | None) -> bool:
        """Whether a value is one of these; None, a field that is not there, is only with ``or_none``."""
        return self.or_none if value is None else value in self.values

    def to_mql(self) -> dict[str, Any]:
        return {"$eq": self.values[0]} if len(self.values) == 1 else {"$in": list(self.values)}

    def to_json(self) -> Any:
        return list(self.values)


@dataclass(frozen=True, slots=True)
class Range:
    """A closed range of ints; at least one end is given."""

    gte: int | None = None
    lte: int | None = None
    or_none: ClassVar[bool] = False

    def matches(self, value: Value | None) -> bool:
        """Whether a value is in the range; only integers can be."""
        if not isinstance(value, int):
            return False
        return (self.gte is None or value >= self.gte) and (self.lte is None or value <= self.lte)

    def to_mql(self) -> dict[str, Any]:
        # An upper bound always: SQLite takes text, as `NO_VALUE`, for greater than every number.
        ends = (("gte", self.gte), ("lte", MOST_NUMBER if self.lte is None else self.lte))
        return {f"${name}": end for name, end in ends if end is not None}

    def to_json(self) -> Any:
        return {name: end for name, end in (("gte", self.gte), ("lte", self.lte)) if end is not None}


Condition = Values | Range


def both(one: Condition, other: Condition) -> Condition | None:
    """What both admit, where they are not about passages without the field; None for nothing."""
    if isinstance(one, Range) and isinstance(other, Range):
        least = max((end for end in (one.gte, other.gte) if end is not None), default=None)
        most = min((end for end in (one.lte, other.lte) if end is not None), default=None)
        return None if least is not None and most is not None and least > most else Range(least, most)
    values, rest = (one, other) if isinstance(one, Values) else (other, one)
    assert isinstance(values, Values)
    common = tuple(value for value in values.values if rest.matches(value))
    return Values(common) if common else None


@dataclass(frozen=True, slots=True)
class Scope:
    """The metadata filter a person chose: AND across fields. Hashable; no conditions = everything.

    ``collections``: only passages of these, sorted; none = of all. No metadata, so no part of `to_mql` and `to_json`.
    ``limit`` and ``limit_collections`` are what who asks may see: no wider scope is made of this one.
    """

    conditions: tuple[tuple[str, Condition], ...] = ()
    collections: tuple[str, ...] = ()
    limit: tuple[tuple[str, Condition], ...] = ()
    limit_collections: tuple[str, ...] = ()

    @classmethod
    def of(cls, conditions: Mapping[str, Condition]) -> Scope:
        """Sorted by field, so that equal scopes are equal."""
        return cls(tuple(sorted(conditions.items())))

    def __bool__(self) -> bool:
        """Whether it narrows the search: it has a condition, or names collections."""
        return bool(self.conditions or self.collections)

    def get(self, name: str) -> Condition | None:
        """The condition on a field; None where the field is not restricted."""
        return dict(self.conditions).get(name)

    def without(self, name: str) -> Scope:
        """The scope without its condition on a field; what its limit says of the field stays."""
        kept = {**{field: one for field, one in self.conditions if field != name}, **self._limit_of(name)}
        return replace(self, conditions=Scope.of(kept).conditions)

    def _limit_of(self, name: str) -> dict[str, Condition]:
        return {field: one for field, one in self.limit if field == name}

    def widest(self) -> Scope:
        """The scope without conditions of its own: all that the caller may see."""
        return replace(self, conditions=self.limit, collections=self.limit_collections)

    def having(self, name: str, values: Iterable[Value], *, or_none: bool = False) -> Scope:
        """The scope with these values of a field, in the place of its own; itself where there are none."""
        chosen = tuple(values)
        if not chosen:
            return self
        conditions = {**dict(self.conditions), name: Values(chosen, or_none)}
        return replace(self, conditions=Scope.of(conditions).conditions)

    def beyond(self, other: Scope) -> Scope:
        """Its conditions on the fields that ``other`` does not restrict."""
        return Scope(tuple(item for item in self.conditions if other.get(item[0]) is None))

    def and_(self, other: Scope) -> Scope:
        """The conditions of both scopes, where ``other`` wins on a field that both restrict; the collections are its
        own.
        """
        return replace(self, conditions=Scope.of(dict((*self.conditions, *other.conditions))).conditions)

    def strict(self) -> Scope:
        """The scope without passages that lack a field it names."""
        kept = ((name, Values(one.values) if isinstance(one, Values) else one) for name, one in self.conditions)
        return replace(self, conditions=tuple(kept))

    def within(self, collections: Iterable[str]) -> Scope:
        """The same conditions in these collections; none = in all that its limit allows."""
        return replace(self, collections=tuple(sorted(set(collections))) or self.limit_collections)

    def holds(self, collection: str) -> bool:
        """Whether passages of this collection are inside."""
        return not self.collections or collection in self.collections

    def matches(self, metadata: Mapping[str, Value | None]) -> bool:
        """Whether a passage with this metadata is inside, as far as its metadata goes."""
        return all(condition.matches(metadata.get(name)) for name, condition in self.conditions)

    def to_mql(self) -> dict[str, Any]:
        """The filter as MQL: what `$vectorSearch.filter` and `find` take. ``{}`` when empty."""
        strict = {name: condition.to_mql() for name, condition in self.conditions if not condition.or_none}
        # Not one `$in`: the engine wants all of its values to be of one type.
        wider = [
            {"$or": [{name: condition.to_mql()}, {name: {"$eq": NO_VALUE}}]}
            for name, condition in self.conditions
            if condition.or_none
        ]
        return {**strict, "$and": wider} if wider else strict

    @model_serializer
    def to_json(self) -> dict[str, list[Value] | dict[str, int]]:
        """The conditions as the ``filters`` of a request."""
        return {name: condition.to_json() for name, condition in self.conditions}
