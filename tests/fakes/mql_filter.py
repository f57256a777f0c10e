"""`$vectorSearch.filter`: the part of MQL that the product sends, type-strict, over
declared fields only.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes.search_engine import refused

Predicate = Callable[[Mapping[str, Any]], bool]
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$gte": operator.ge,
    "$lte": operator.le,
}


def kind_of(value: Any) -> str:
    """The engine's type of a value; values of different types never match."""
    for kind, types in (("boolean", bool), ("number", (int, float)), ("string", str)):
        if isinstance(value, types):  # type: ignore[arg-type]
            return kind
    raise refused(
        '"filter" value must be one of boolean, date, number, objectId, string, '
        f"uuid: {value!r}"
    )


def compiled(filter: Any, declared: set[str]) -> Predicate:
    """A predicate over documents. What the engine would refuse is a mistake of the
    program.
    """
    clauses = [_clause(key, value, declared) for key, value in filter.items()]
    return lambda document: all(clause(document) for clause in clauses)


def _clause(key: str, value: Any, declared: set[str]) -> Predicate:
    if key in ("$and", "$or"):
        assert isinstance(value, list)
        assert value
        parts, combine = (
            [compiled(part, declared) for part in value],
            all if key == "$and" else any,
        )
        return lambda document: combine(part(document) for part in parts)
    assert not key.startswith("$")
    absent = value == {"$exists": False}
    plain = not isinstance(value, Mapping) or not any(
        str(name).startswith("$") for name in value
    )
    operators = {} if absent else {"$eq": value} if plain else value
    tests = [_test(name, operand) for name, operand in operators.items()]
    if key not in declared:
        raise refused(f"Path '{key}' needs to be indexed as filter")

    def matches(document: Mapping[str, Any]) -> bool:
        stored: Any = document
        for name in key.split(
            "."
            # mongodb.com/docs/vector-search/indexes/vector-search-type: dots into objects  # noqa: E501
        ):
            stored = stored.get(name) if isinstance(stored, Mapping) else None
        if absent:
            return stored is None
        # Of an array each value is indexed.
        values = (
            stored if isinstance(stored, list) else [] if stored is None else [stored]
        )
        return all(any(test(one) for one in values) for test in tests)

    return matches


def _test(name: str, operand: Any) -> Callable[[Any], bool]:
    if name == "$in":
        assert isinstance(operand, list)
        assert len({kind_of(one) for one in operand}) == 1
        return lambda value: kind_of(value) == kind_of(operand[0]) and value in operand
    kind = kind_of(operand)
    return lambda value: kind_of(value) == kind and COMPARE[name](value, operand)
