"""`$vectorSearch.filter`: the part of MQL that the product sends, type-strict, over
declared fields only.

What it believes is in mongot's source (github.com/mongodb/mongot,
src/main/java/com/xgen/mongot):
- the operators and their values: index/query/operators/mql; an `$in` holds no null, is
  not empty, and all of its values are of one type (InOperator.java);
- values of another type never match, because each type is a field of its own
  (index/lucene/query/EqualsQueryFactory.java, InQueryFactory.java);
- a field has to be declared as a filter, but for null, which is indexed for all fields
  (index/lucene/query/util/MappingCompatibilityValidator.java);
- a field with null exists (index/ingestion/BsonDocumentProcessor.java marks the name of
  a field before it looks at the value), and `$eq` null finds it, but no document
  without the field (EqualsQueryFactory.nullQuery);
- each value of an array is indexed by itself (BsonDocumentProcessor.java, ARRAY).
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


MISSING = object()
"""In place of the value of a field that a document does not have."""


def kind_of(value: Any) -> str:
    """The engine's type of a value; values of different types never match."""
    if value is None:
        return "null"
    for kind, types in (("boolean", bool), ("number", (int, float)), ("string", str)):
        if isinstance(value, types):  # type: ignore[arg-type]
            return kind
    raise refused(
        '"filter" value must be one of boolean, objectId, number, string, date, uuid, '
        f"or null: {value!r}"
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
        stored = stored_value(document, key)
        if absent:
            return stored is MISSING
        values = stored if isinstance(stored, list) else [stored]
        return stored is not MISSING and all(
            any(test(one) for one in values) for test in tests
        )

    return matches


def stored_value(document: Mapping[str, Any], path: str) -> Any:
    """The value at a path, whose dots lead into objects
    (mongodb.com/docs/vector-search/indexes/vector-search-type); MISSING where there is
    none.
    """
    stored: Any = document
    for name in path.split("."):
        if not isinstance(stored, Mapping) or name not in stored:
            return MISSING
        stored = stored[name]
    return stored


def _test(name: str, operand: Any) -> Callable[[Any], bool]:
    if name == "$in":
        assert isinstance(operand, list)
        assert len({kind_of(one) for one in operand} - {"null"}) == 1
        assert None not in operand
        return lambda value: kind_of(value) == kind_of(operand[0]) and value in operand
    kind = kind_of(operand)
    assert kind != "null" or name == "$eq"
    return lambda value: kind_of(value) == kind and COMPARE[name](value, operand)
