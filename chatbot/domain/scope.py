"""The metadata filter a person chose; and what a question names, of which one is made:
countries, years and reports.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from pydantic import model_serializer

Value = str | int
"""A metadata value that a scope can name: years are ints, the rest strings."""
NO_VALUE = ""
"""The value of a filter field in a stored row whose passage lacks it, because engines
differ in how they filter missing fields. It is text also in `year`, so no range of
numbers contains it. It occurs in rows only.
"""
YEAR_IN_REVIEW = "year_in_review"
"""The type of reports about a year (seed 003)."""
MOST_NUMBER = 2**31 - 1
"""Above every value of a numeric filter field."""


class Several(str):
    """The values of a field that has more than one: a condition matches any of them,
    people read all of them.
    """

    values: tuple[Value, ...]

    def __new__(cls, values: Iterable[Value]) -> "Several":
        each = tuple(values)
        text = super().__new__(cls, ", ".join(map(str, each)))
        text.values = each
        return text

    def __getnewargs__(self) -> tuple[tuple[Value, ...]]:  # type: ignore[override]  # for copies and pickles
        return (self.values,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Several) and self.values == other.values

    def __hash__(self) -> int:
        return hash(self.values)


def each_value(value: Value | None) -> tuple[Value | None, ...]:
    """Return the values that a condition is compared with."""
    return value.values if isinstance(value, Several) else (value,)


@dataclass(frozen=True, slots=True)
class Values:
    """Any of these values (OR within a field). Never empty. ``or_none``: passages
    without the field are inside too.
    """

    values: tuple[Value, ...]
    or_none: bool = False

    def matches(self, value: Value | None) -> bool:
        return (
            self.or_none
            if value is None
            else any(one in self.values for one in each_value(value))
        )

    def to_mql(self) -> dict[str, Any]:
        return (
            {"$eq": self.values[0]}
            if len(self.values) == 1
            else {"$in": list(self.values)}
        )

    def to_json(self) -> Any:
        return list(self.values)


@dataclass(frozen=True, slots=True)
class Range:
    """A closed range of ints; at least one end is given."""

    gte: int | None = None
    lte: int | None = None
    or_none: ClassVar[bool] = False

    def matches(self, value: Value | None) -> bool:
        numbers = (one for one in each_value(value) if isinstance(one, int))
        return any(
            (self.gte is None or n >= self.gte) and (self.lte is None or n <= self.lte)
            for n in numbers
        )

    def to_mql(self) -> dict[str, Any]:
        # An upper bound always: SQLite takes text, as `NO_VALUE`, for greater than
        # every number.
        ends = (
            ("gte", self.gte),
            ("lte", MOST_NUMBER if self.lte is None else self.lte),
        )
        return {f"${name}": end for name, end in ends if end is not None}

    def to_json(self) -> Any:
        return {
            name: end
            for name, end in (("gte", self.gte), ("lte", self.lte))
            if end is not None
        }


Condition = Values | Range


def both(one: Condition, other: Condition) -> Condition | None:
    """Return the condition that admits what both admit, None if that is nothing;
    without ``or_none``.
    """
    if isinstance(one, Range) and isinstance(other, Range):
        least = max(
            (end for end in (one.gte, other.gte) if end is not None), default=None
        )
        most = min(
            (end for end in (one.lte, other.lte) if end is not None), default=None
        )
        if least is not None and most is not None and least > most:
            return None
        return Range(least, most)
    values, rest = (one, other) if isinstance(one, Values) else (other, one)
    assert isinstance(values, Values)
    common = tuple(value for value in values.values if rest.matches(value))
    if common:
        return Values(common)
    return None


def by_type(values: Iterable[Value]) -> list[tuple[Value, ...]]:
    """Return the values in groups of one type: an engine takes no others in a list."""
    texts = tuple(one for one in values if isinstance(one, str))
    numbers = tuple(one for one in values if not isinstance(one, str))
    return [group for group in (numbers, texts) if group]


def _alternatives(condition: Condition) -> list[dict[str, Any]]:
    """Return the filters of a field of which one holds."""
    if isinstance(condition, Range):
        return [condition.to_mql()]
    alternatives = [Values(group).to_mql() for group in by_type(condition.values)]
    if condition.or_none:
        empty = {"$eq": NO_VALUE}
        alternatives += [] if empty in alternatives else [empty]
        # Rows of older systems and of other programs lack the field.
        alternatives.append({"$exists": False})
    return alternatives


def covers(wide: Condition, narrow: Condition) -> bool:
    """Return whether ``wide`` admits all that ``narrow`` admits."""
    if narrow.or_none and not wide.or_none:
        return False
    if isinstance(narrow, Values):
        return all(map(wide.matches, narrow.values))
    if isinstance(wide, Range):
        from_below = wide.gte is None or (
            narrow.gte is not None and narrow.gte >= wide.gte
        )
        to_above = wide.lte is None or (
            narrow.lte is not None and narrow.lte <= wide.lte
        )
        return from_below and to_above
    if narrow.gte is None or narrow.lte is None:
        return False
    # A longer range is not compared one by one.
    if narrow.lte - narrow.gte > 1_000:
        return False
    return all(map(wide.matches, range(narrow.gte, narrow.lte + 1)))


@dataclass(frozen=True, slots=True)
class Scope:
    """The metadata filter a person chose: AND across fields. Hashable; no conditions =
    everything.

    ``collections``: only passages of these, sorted; none = of all. No metadata, so no
    part of `to_mql` and `to_json`. ``limit`` and ``limit_collections`` are what who
    asks may see: no wider scope is made of this one.
    """

    conditions: tuple[tuple[str, Condition], ...] = ()
    collections: tuple[str, ...] = ()
    limit: tuple[tuple[str, Condition], ...] = ()
    limit_collections: tuple[str, ...] = ()

    @classmethod
    def of(cls, conditions: Mapping[str, Condition]) -> "Scope":
        """Sorted by field, so that equal scopes are equal."""
        return cls(tuple(sorted(conditions.items())))

    def __bool__(self) -> bool:
        """Return whether it narrows the search."""
        return bool(self.conditions or self.collections)

    def get(self, name: str) -> Condition | None:
        return dict(self.conditions).get(name)

    def without(self, name: str) -> "Scope":
        """Return the scope without its own condition on a field; its limit stays."""
        conditions = [item for item in self.conditions if item[0] != name]
        limit = [item for item in self.limit if item[0] == name]
        return replace(
            self, conditions=Scope.of(dict((*conditions, *limit))).conditions
        )

    def widest(self) -> "Scope":
        """Return the scope of all that the caller may see."""
        return replace(self, conditions=self.limit, collections=self.limit_collections)

    @property
    def is_limited(self) -> bool:
        """True if the caller may not see everything."""
        return bool(self.limit or self.limit_collections)

    def limited_to(self, limit: "Scope") -> "Scope | None":
        """Return the part of the scope that is inside of a caller's ``limit``, and
        carries it from now on; None if there is no such part.
        """
        conditions = dict(self.conditions)
        for name, condition in limit.conditions:
            common: Condition | None = condition
            if name in conditions:
                common = both(condition, conditions[name])
            if common is None:
                return None
            conditions[name] = common
        collections = self.collections or limit.collections
        if limit.collections:
            collections = tuple(filter(limit.holds, collections))
            if not collections:
                return None
        return Scope(
            Scope.of(conditions).conditions,
            collections,
            limit.conditions,
            limit.collections,
        )

    def covers(self, other: "Scope") -> bool:
        """Return whether everything that is in ``other`` is in this scope, too."""
        for name, condition in self.conditions:
            narrower = other.get(name)
            if narrower is None or not covers(condition, narrower):
                return False
        if not self.collections:
            return True
        return bool(other.collections) and set(other.collections) <= set(
            self.collections
        )

    def having(
        self, name: str, values: Iterable[Value], *, or_none: bool = False
    ) -> "Scope":
        """Return the scope with these values of a field instead of its own; itself if
        there are none.
        """
        chosen = tuple(values)
        if not chosen:
            return self
        conditions = {**dict(self.conditions), name: Values(chosen, or_none)}
        return replace(self, conditions=Scope.of(conditions).conditions)

    def beyond(self, other: "Scope") -> "Scope":
        """Return its conditions on the fields that ``other`` does not restrict."""
        return Scope(
            tuple(item for item in self.conditions if other.get(item[0]) is None)
        )

    def minus(self, other: "Scope") -> "Scope":
        """Return its conditions without the values that ``other`` admits in the same
        field.
        """
        conditions: dict[str, Condition] = {}
        for name, condition in self.conditions:
            taken = other.get(name)
            if taken is None:
                conditions[name] = condition
            elif isinstance(condition, Values):
                values = [one for one in condition.values if not taken.matches(one)]
                if values:
                    conditions[name] = replace(condition, values=tuple(values))
        return replace(self, conditions=Scope.of(conditions).conditions)

    def and_(self, other: "Scope") -> "Scope":
        """Return the conditions of both scopes, where ``other`` wins, in its own
        collections.
        """
        return replace(
            self,
            conditions=Scope.of(dict((*self.conditions, *other.conditions))).conditions,
        )

    def strict(self) -> "Scope":
        """Return the scope without passages that lack one of its fields."""
        kept = (
            (name, Values(one.values) if isinstance(one, Values) else one)
            for name, one in self.conditions
        )
        return replace(self, conditions=tuple(kept))

    def within(self, collections: Iterable[str]) -> "Scope":
        """Return the same conditions in these collections; none = all that its limit
        allows.
        """
        return replace(
            self, collections=tuple(sorted(set(collections))) or self.limit_collections
        )

    def holds(self, collection: str) -> bool:
        return not self.collections or collection in self.collections

    def matches(self, metadata: Mapping[str, Value | None]) -> bool:
        return all(
            condition.matches(metadata.get(name)) for name, condition in self.conditions
        )

    def to_mql(self) -> dict[str, Any]:
        """Return the filter for `$vectorSearch.filter` and `find`."""
        strict: dict[str, Any] = {}
        either: list[dict[str, Any]] = []
        for name, condition in self.conditions:
            alternatives = _alternatives(condition)
            if len(alternatives) == 1:
                strict[name] = alternatives[0]
            else:
                either.append({"$or": [{name: one} for one in alternatives]})
        if either:
            return {**strict, "$and": either}
        return strict

    @model_serializer
    def to_json(self) -> dict[str, list[Value] | dict[str, int]]:
        """The conditions as the ``filters`` of a request."""
        return {name: condition.to_json() for name, condition in self.conditions}


Kind = Literal[
    "value", "series", "comparison", "ranking", "filter", "count", "aggregate", "prose"
]
"""``series``: one thing over time. ``filter``, ``count``: the countries for which a
bound holds, or their number.
"""


@dataclass(frozen=True, slots=True)
class NamedCountry:
    """``keys``: ISO-3 codes, one but for short names of two countries; a normalised
    name where it has no code.
    """

    keys: tuple[str, ...]
    text: str
    start: int
    end: int
    by_people: bool = False
    """Named by what belongs to it ("Kenyan")."""
    taken_as: str = ""
    """The usual name, where a misspelt one was taken for it."""


@dataclass(frozen=True, slots=True)
class NamedYears:
    """A year, or a range of which one end may be open. ``of_report``: of an edition
    ("in the 2023 report"), not of a figure ("in 2023"). ``written``: as it stands in
    the text.
    """

    gte: int
    lte: int | None
    start: int
    end: int
    of_report: bool = False
    written: str = ""

    @property
    def words(self) -> str:
        """The years as they are written, or as a number where that is "the latest
        report".
        """
        if self.written[-1:].isdigit():
            return self.written
        return self.text

    @property
    def text(self) -> str:
        """In words, for a person."""
        if self.lte is None:
            return f"{self.gte} and later"
        if self.gte == self.lte:
            return str(self.gte)
        return f"{self.gte} to {self.lte}"

    @property
    def ends(self) -> tuple[int, ...]:
        """The year, or both ends of a range; none where one is open."""
        if self.lte is None:
            return ()
        return tuple(dict.fromkeys((self.gte, self.lte)))

    @property
    def condition(self) -> Condition:
        """For the field of a scope."""
        if self.gte == self.lte:
            return Values((self.gte,))
        return Range(self.gte, self.lte)


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A title in the text, and the names of the reports that have it; several editions
    may.
    """

    names: tuple[str, ...]
    text: str
    start: int
    end: int

    def holds(self, name: NamedCountry | NamedYears) -> bool:
        """Return whether a name stands in the title."""
        return self.start <= name.start < self.end


@dataclass(frozen=True, slots=True)
class CountryGroup:
    """``members`` are ISO-3 codes. ``other_words`` mean the group wherever they stand,
    ``adjectives`` only beside a word for countries ("African countries"). ``source``
    and ``date`` say where the members are from, and of when they are.
    """

    name: str
    members: tuple[str, ...]
    other_words: tuple[str, ...] = ()
    adjectives: tuple[str, ...] = ()
    source: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class NamedGroup:
    """A group in a text, as it is written there."""

    group: CountryGroup
    text: str
    start: int
    end: int


Named = NamedCountry | NamedYears | NamedGroup


@dataclass(frozen=True, slots=True)
class Reading:
    """The names in ``text``; those of a kind are in text order.

    ``about``: the ``countries`` that the question is about. ``figure_years``: years of
    figures ("in 2023"); ``editions``: years of reports ("the 2023 report"). ``refers``:
    it speaks of a country without its name ("its imports"). ``groups``: of countries,
    whose members it asks of; none where it is about a country.
    """

    text: str = ""
    countries: tuple[NamedCountry, ...] = ()
    about: tuple[NamedCountry, ...] = ()
    figure_years: tuple[NamedYears, ...] = ()
    editions: tuple[NamedYears, ...] = ()
    refers: bool = False
    document: NamedDocument | None = None
    groups: tuple[NamedGroup, ...] = ()

    @property
    def every_year(self) -> list[NamedYears]:
        """The years of reports and of figures, in text order."""
        return sorted(
            [*self.editions, *self.figure_years], key=lambda years: years.start
        )

    @property
    def names(self) -> list[Named | NamedDocument]:
        """All that is named, in text order."""
        documents = [self.document] if self.document else []
        named: list[Named | NamedDocument] = [
            *self.countries,
            *self.every_year,
            *self.groups,
            *documents,
        ]
        return sorted(named, key=lambda name: name.start)

    def with_years_of_reports(self) -> "Reading":
        """Return the reading with every year taken for one of reports."""
        return replace(self, editions=tuple(self.every_year), figure_years=())


@dataclass(frozen=True, slots=True)
class SearchText:
    """What a question is searched with under a scope.

    ``question`` reads as one, for vectors of passages; ``topic`` has nothing of what
    the scope says, for words.

    ``figure_years`` and ``editions`` are those the question names, whether or not the
    scope has them. ``foreign``: it is in another language than the keywords of the
    reports. ``prose``: it asks why or how, which no heading names.
    """

    question: str
    topic: str
    figure_years: tuple[NamedYears, ...] = ()
    editions: tuple[NamedYears, ...] = ()
    foreign: bool = False
    prose: bool = False
