"""`$vectorSearch.filter`: a small part of MQL, type-strict, over declared fields only."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from bson import ObjectId

from tests.fakes.search_engine import refused

Predicate = Callable[[Mapping[str, Any]], bool]
LOGICAL = ("$and", "$or", "$nor")
MISSING = object()


def stored_kind(value: Any) -> str | None:
    """The engine's type of a value; values of different types never match. None: not indexed at all."""
    kinds: tuple[tuple[str, Any], ...] = (
        ("boolean", bool),
        ("number", (int, float)),
        ("string", str),
        ("date", datetime.datetime),
        ("objectId", ObjectId),
        ("uuid", uuid.UUID),
    )
    return next((kind for kind, types in kinds if isinstance(value, types)), None)


def kind_of(value: Any) -> str:
    """The type of a filter's operand."""
    kind = stored_kind(value)
    if kind is None:
        raise refused(f'"filter" value must be one of boolean, date, number, objectId, string, uuid: {value!r}')
    return kind


def compiled(filter: Any, declared: set[str]) -> Predicate:
    """A predicate over documents. Raises what the engine raises."""
    if not isinstance(filter, Mapping):
        raise refused("filter must be a document")
    clauses = [_clause(key, value, declared) for key, value in filter.items()]
    return lambda document: all(clause(document) for clause in clauses)


def _clause(key: str, value: Any, declared: set[str]) -> Predicate:
    if key in LOGICAL:
        if not isinstance(value, list) or not value:
            raise refused(f'"filter.{key}" cannot be empty')
        parts = [compiled(part, declared) for part in value]
        if key == "$and":
            return lambda document: all(part(document) for part in parts)
        matched = key == "$or"
        return lambda document: any(part(document) for part in parts) is matched
    if key.startswith("$"):
        raise refused(f'"filter.{key}" unrecognized field')
    test = _operators(key, value)
    if key not in declared:
        raise refused(f"Path '{key}' needs to be indexed as filter")
    return lambda document: test(_values(document, key))


def _operators(path: str, value: Any) -> Callable[[list[Any]], bool]:
    if not isinstance(value, Mapping) or not any(str(name).startswith("$") for name in value):
        value = {"$eq": value}
    tests = [_operator(path, str(name), operand) for name, operand in value.items()]
    return lambda values: all(test(values) for test in tests)


def _operator(path: str, name: str, operand: Any) -> Callable[[list[Any]], bool]:
    if name in ("$in", "$nin"):
        wanted = _in_values(path, name, operand)
        return lambda values: any(_equal(value, one) for value in values for one in wanted) is (name == "$in")
    if name == "$exists":
        return lambda values: bool(values) is bool(operand)
    if name == "$not":
        negated = _operators(path, operand)
        return lambda values: not negated(values)
    if name not in ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte"):
        raise refused(f'"filter.{path}.{name}" unrecognized field')
    kind_of(operand)
    if name in ("$eq", "$ne"):
        return lambda values: any(_equal(value, operand) for value in values) is (name == "$eq")
    compare: Callable[[Any], bool] = {
        "$gt": lambda value: bool(value > operand),
        "$gte": lambda value: bool(value >= operand),
        "$lt": lambda value: bool(value < operand),
        "$lte": lambda value: bool(value <= operand),
    }[name]
    return lambda values: any(compare(value) for value in values if stored_kind(value) == kind_of(operand))


def _in_values(path: str, name: str, operand: Any) -> list[Any]:
    if not isinstance(operand, list):
        raise refused(f'"filter.{path}.{name}" must be an array')
    if not operand:
        raise refused(f'"filter.{path}.{name}" cannot be empty')
    if len({kind_of(one) for one in operand}) > 1:
        raise refused(f'"filter.{path}.{name}" must have elements of the same type')
    return operand


def _values(document: Mapping[str, Any], path: str) -> list[Any]:
    """The indexed values of a field: an array is indexed value by value; none when it is missing."""
    value: Any = document
    for part in path.split("."):
        value = value.get(part, MISSING) if isinstance(value, Mapping) else MISSING
    if value is MISSING or value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _equal(stored: Any, wanted: Any) -> bool:
    return stored_kind(stored) == kind_of(wanted) and bool(stored == wanted)
