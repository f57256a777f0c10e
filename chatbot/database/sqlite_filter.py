"""MongoDB's filters as SQL over documents in JSON: the operators the product uses, with MongoDB's meaning.

The text of a condition depends on its fields and operators only, so that SQLite's prepared statements are used again,
and a field is written the same everywhere, so that an index on the expression is found. A list matches by any of its
elements; `arrays` is the condition for that half, for which an index of its own is kept, empty almost always.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..errors import DatabaseError
from .rows import BYTE_FIELDS

Sql = tuple[str, list[Any]]
"""A condition and the values of its parameters."""
EXACT = " AND {kind} NOT IN ('true', 'false', 'array', 'object')"
NUMBER, TEXT = "'integer', 'real'", "'text'"


@dataclass(frozen=True, slots=True)
class Field:
    """Of the stored documents, in SQL: its ``value``, its ``kind`` (as json_type names it; NULL = missing)."""

    value: str
    kind: str
    path: str = ""

    @property
    def arrays(self) -> str:
        """True where it holds a list."""
        return f"{self.kind} = 'array'"


@cache
def field(name: str) -> Field:
    """Raises DatabaseError: a name that cannot be a path, or is one into a nested document."""
    if name == "_id":
        return Field("_id", "typeof(_id)")
    if not name or any(char in name for char in '."\\$'):
        raise DatabaseError(f"The embedded database cannot look for a field {name!r}: it knows top-level fields only.")
    path = "'$.\"{}\"'".format(name.replace("'", "''"))
    value, kind = f"json_extract(doc, {path})", f"json_type(doc, {path})"
    if name in BYTE_FIELDS:
        value, kind = f'ifnull("{name}", {value})', f"CASE WHEN \"{name}\" IS NULL THEN {kind} ELSE 'blob' END"
    return Field(value, kind, path)


def where(filter: Mapping[str, Any]) -> Sql:
    """The rows that match.

    Raises:
        DatabaseError: an operator, or a value, that is not known here.
    """
    return _join(" AND ", (_clause(name, condition) for name, condition in filter.items())) if filter else ("1", [])


def _join(word: str, conditions: Iterable[Sql]) -> Sql:
    texts, values = zip(*conditions, strict=True)
    return f"({word.join(texts)})", [value for some in values for value in some]


def _clause(name: str, condition: Any) -> Sql:
    if name in {"$and", "$or"}:
        return _join(f" {name[1:].upper()} ", map(where, condition))
    operators = condition if isinstance(condition, Mapping) else {"$eq": condition}
    for operator in operators:
        if operator not in OPERATORS:
            known = ", ".join(["$and", "$or", *OPERATORS])
            raise DatabaseError(f"The embedded database does not know the operator {operator!r}. Known: {known}.")
    return _join(" AND ", (OPERATORS[operator](field(name), value) for operator, value in operators.items()))


def _any(of: Field, test: str, values: Sequence[Any] = ()) -> Sql:
    """``test`` of the field's {value} and {kind}, or of those of any element of its list."""
    own = test.format(value=of.value, kind=of.kind)
    if not of.path:
        return f"({own})", list(values)
    element = test.format(value="part.value", kind="part.type")
    elements = f"EXISTS (SELECT 1 FROM json_each(doc, {of.path}) AS part WHERE {element})"
    return f"({own} OR {of.arrays} AND {elements})", [*values, *values]


def _equal(of: Field, value: Any) -> Sql:
    match value:
        case None:
            return _any(of, "{value} IS NULL")
        case bool():
            return _any(of, f"{{kind}} = '{str(value).lower()}'")
        case float():  # read by the same code as the stored one, so that equal texts are equal numbers
            return _any(of, "{value} = json_extract(?, '$')", [json.dumps(value)])
        case int() | str():
            return _any(of, "{value} = ?" + _exact([value]), [value])
    raise _not_comparable(value)


def _exact(values: Iterable[Any]) -> str:
    """To SQL, true is 1 and a list is its text."""
    return EXACT if any(value in {0, 1} or str(value)[:1] in {"[", "{"} for value in values) else ""


def _in(of: Field, values: Sequence[Any]) -> Sql:
    plain = [value for value in values if isinstance(value, (int, float, str)) and not isinstance(value, bool)]
    rest = [_equal(of, value) for value in values if value is None or isinstance(value, bool)]
    if len(plain) + len(rest) < len(values):
        raise _not_comparable(values)
    test = "{value} IN (SELECT value FROM json_each(?))" + _exact(plain)
    return _join(" OR ", [_any(of, test, [json.dumps(plain)]), *rest])


def _not(condition: Callable[[Field, Any], Sql]) -> Callable[[Field, Any], Sql]:
    def negated(of: Field, value: Any) -> Sql:
        text, values = condition(of, value)
        return f"{text} IS NOT TRUE", values

    return negated


def _ordered(sign: str) -> Callable[[Field, Any], Sql]:
    """Numbers are compared with numbers only, texts with texts."""

    def compared(of: Field, value: Any) -> Sql:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise _not_comparable(value)
        kinds = TEXT if isinstance(value, str) else NUMBER
        return _any(of, f"{{value}} {sign} ? AND {{kind}} IN ({kinds})", [value])

    return compared


def _exists(of: Field, wanted: Any) -> Sql:
    # The first half is implied, and finds the rows by the index.
    return (f"{of.kind} IS NOT NULL" if wanted else f"({of.value} IS NULL AND {of.kind} IS NULL)"), []


def _not_comparable(value: Any) -> DatabaseError:
    return DatabaseError(f"The embedded database cannot compare fields with a {type(value).__name__}.")


OPERATORS: dict[str, Callable[[Field, Any], Sql]] = {
    "$eq": _equal,
    "$ne": _not(_equal),
    "$in": _in,
    "$nin": _not(_in),
    "$lt": _ordered("<"),
    "$lte": _ordered("<="),
    "$gt": _ordered(">"),
    "$gte": _ordered(">="),
    "$exists": _exists,
}
