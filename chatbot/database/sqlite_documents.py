"""MongoDB's documents in SQLite: their stored form, filters as SQL, projections and
updates, with MongoDB's meaning.

A row has the id, the document as JSON, and the bytes of known fields as they are. What
JSON lacks (other bytes, dates) is stored under a tag.

The text of a condition depends only on its fields and operators, so that SQLite reuses
prepared statements, and a field is always written the same way, so that an index on the
expression is used. Unlike in MongoDB a list matches no value: no field that filters
name holds one.
"""

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from pydantic_core import PydanticSerializationError, to_json

from ..domain.errors import DatabaseError
from .failures import sqlite_failure
from .rows import BYTE_FIELDS

COLUMNS = ("_id", "doc", *BYTE_FIELDS)
ALL_COLUMNS = ", ".join(f'"{name}"' for name in COLUMNS)
_BLOBS = ", ".join(f'"{name}" BLOB' for name in BYTE_FIELDS)
LAYOUT = f"_id NOT NULL PRIMARY KEY, doc TEXT NOT NULL, {_BLOBS}"
TABLES_OF_ROWS = """
SELECT tables.name
FROM sqlite_master AS tables, pragma_table_info(tables.name) AS fields
WHERE tables.type = 'table' AND fields.name = 'doc'
"""
"""Names of the tables that have this layout."""
BYTES = "$report-chat:bytes"
DATE = "$report-chat:date"
"""Keys of the objects that stand for values that JSON lacks."""
_PLAIN_TYPES = frozenset({str, int, bool, type(None)})
"""Types of which every value has one form in JSON."""
Json = dict[str, Any]
Row = tuple[Any, ...]
Sql = tuple[str, list[Any]]
"""A condition and the values of its parameters."""
Update = Mapping[str, Mapping[str, Any]]
_decode = json.JSONDecoder().raw_decode
"""For texts of `to_row`, which begin and end without a blank: saves a tenth of the time
of reading a row.
"""


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def row_that_cannot_be_read(table: str) -> str:
    """Return the query for a row of a table whose fields are damaged."""
    return f"SELECT 1 FROM {quoted(table)} WHERE NOT json_valid(doc) LIMIT 1"


def to_row(document: Mapping[str, Any]) -> Row:
    """Return the values of COLUMNS. Raises DatabaseError: the document has no ``_id``,
    or a value that cannot be stored.
    """
    if "_id" not in document:
        raise DatabaseError("A document for the embedded database lacks its _id.")
    fields = dict(document)
    id = fields.pop("_id")
    blobs = []
    for name in BYTE_FIELDS:
        blob = as_bytes(fields.get(name))
        blobs.append(blob)
        if blob is not None:
            del fields[name]
    try:
        if _PLAIN_TYPES.issuperset(map(type, fields.values())):
            # A wide table has hundreds of thousands of such rows: this takes a third of
            # the time.
            text = to_json(fields).decode()
        else:
            text = _encode(fields)
            text.encode()
    except (UnicodeEncodeError, PydanticSerializationError):
        # Half of a surrogate pair.
        text = json.dumps(fields, allow_nan=False, default=_tag)
    except (TypeError, ValueError, RecursionError) as error:
        raise DatabaseError(
            f"A document cannot be stored in the embedded database: {error}."
        ) from error
    return id, text, *blobs


def as_bytes(value: Any) -> bytes | None:
    """Return bytes; None where the value is anything else."""
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    return None


def to_document(row: Sequence[Any]) -> Json:
    """Return the document of a row of COLUMNS."""
    id, text, *blobs = row
    try:
        if '{"$report-chat:' in text:
            fields = json.loads(text, object_hook=_untag)
        else:
            fields, _ = _decode(text)
    except (TypeError, ValueError) as error:  # a damaged page, whose form is right
        raise sqlite_failure(
            "broken", name="", problem="a row cannot be read"
        ) from error
    document = {"_id": id, **fields}
    for name, blob in zip(BYTE_FIELDS, blobs, strict=True):
        if blob is not None:
            document[name] = blob
    return document


def _tag(value: Any) -> Json:
    blob = as_bytes(value)
    if blob is not None:
        return {BYTES: base64.b64encode(blob).decode()}
    if isinstance(value, datetime):
        return {DATE: value.isoformat()}
    raise TypeError(f"JSON has no form for a {type(value).__name__}")


def _untag(value: Json) -> Any:
    if BYTES in value:
        return base64.b64decode(value[BYTES])
    if DATE in value:
        return datetime.fromisoformat(value[DATE])
    return value


# Looking for a document in itself takes a quarter of the time.
_encode = json.JSONEncoder(
    ensure_ascii=False,
    check_circular=False,
    allow_nan=False,
    default=_tag,
    separators=(",", ":"),
).encode


def projected(
    projection: Mapping[str, int] | None,
) -> tuple[str, Callable[[Sequence[Any]], Json]]:
    """Return the columns to read in place of COLUMNS, and a function that makes the
    reduced document of such a row.
    """
    if not projection:
        return ALL_COLUMNS, to_document
    included = {name for name, value in projection.items() if value}
    excluded = projection.keys() - included
    # Values of bytes are large, and the JSON takes time to read: neither is read for
    # nothing.
    blobs = set(BYTE_FIELDS) - excluded
    if included:
        blobs &= included
    columns = []
    for name in COLUMNS:
        if name == "doc" and included == {"_id"}:
            columns.append("'{}'")
        elif name in BYTE_FIELDS and name not in blobs:
            columns.append("NULL")
        else:
            columns.append(quoted(name))
    if not included:

        def without_excluded(row: Sequence[Any]) -> Json:
            document = to_document(row)
            for name in excluded:
                document.pop(name, None)
            return document

        return ", ".join(columns), without_excluded
    if "_id" not in excluded:
        included.add("_id")

    def only_included(row: Sequence[Any]) -> Json:
        document = to_document(row)
        return {name: value for name, value in document.items() if name in included}

    return ", ".join(columns), only_included


class Field(NamedTuple):
    """A field of the documents in SQL: its ``value`` and its ``kind`` (as json_type
    names it; NULL = missing).
    """

    value: str
    kind: str

    def meets(self, test: str, values: Sequence[Any] = ()) -> Sql:
        """Apply ``test`` to the field's {value} and {kind}."""
        return f"({test.format(value=self.value, kind=self.kind)})", list(values)


@cache
def field(name: str) -> Field:
    """Return a field. Raises DatabaseError: the name cannot be a path, or points into a
    nested document.
    """
    if name == "_id":
        return Field("_id", "typeof(_id)")
    if not name or any(char in name for char in '."\\$'):
        raise DatabaseError(
            f"The embedded database filters by top-level fields only, not by {name!r}."
        )
    path = "'$.\"{}\"'".format(name.replace("'", "''"))
    value = f"json_extract(doc, {path})"
    kind = f"json_type(doc, {path})"
    if name in BYTE_FIELDS:
        value = f'ifnull("{name}", {value})'
        kind = f"CASE WHEN \"{name}\" IS NULL THEN {kind} ELSE 'blob' END"
    return Field(value, kind)


def where(filter: Mapping[str, Any]) -> Sql:
    """Return the condition for the rows that match. Raises DatabaseError: the filter
    has an unknown operator, or a value that cannot be compared.
    """
    if not filter:
        return "1", []
    conditions: list[Sql] = []
    for name, condition in filter.items():
        if name in {"$and", "$or"}:
            word = f" {name[1:].upper()} "
            conditions.append(_join(word, [where(filter) for filter in condition]))
            continue
        if not isinstance(condition, Mapping):
            condition = {"$eq": condition}  # noqa: PLW2901
        tests: list[Sql] = []
        for operator, value in condition.items():
            if operator not in FILTERS:
                raise _unknown_operator(operator, ["$and", "$or", *FILTERS])
            tests.append(FILTERS[operator](field(name), value))
        conditions.append(_join(" AND ", tests))
    return _join(" AND ", conditions)


def _join(word: str, conditions: Sequence[Sql]) -> Sql:
    """Return the conditions as one, with AND or OR between them."""
    texts: list[str] = []
    values: list[Any] = []
    for text, values_of_text in conditions:
        texts.append(text)
        values += values_of_text
    return f"({word.join(texts)})", values


def _unknown_operator(operator: str, operators: Iterable[str]) -> DatabaseError:
    return DatabaseError(
        f"The embedded database does not know the operator {operator!r}. "
        f"Known: {', '.join(operators)}."
    )


def _equal(of: Field, value: Any) -> Sql:
    """Compare with one value; numbers and texts only with their own type."""
    match value:
        case None:
            return of.meets("{value} IS NULL")
        case bool():
            return of.meets(f"{{kind}} = '{str(value).lower()}'")
        # Parsed by the same code as the stored one, so that equal texts are equal
        # numbers.
        case float():
            return of.meets("{value} = json_extract(?, '$')", [json.dumps(value)])
        case int() | str():
            return of.meets("{value} = ?" + _strict([value]), [value])
    raise _not_comparable(value)


def _strict(values: Iterable[Any]) -> str:
    """Return what a comparison needs besides where SQL takes one of the values for
    equal to another one: 1 to true, or a text to a list.
    """
    for value in values:
        if value in {0, 1} or str(value)[:1] in {"[", "{"}:
            return " AND {kind} NOT IN ('true', 'false', 'array', 'object')"
    return ""


def _in(of: Field, values: Sequence[Any]) -> Sql:
    """Compare with any of these values."""
    plain = []
    tests = []
    for value in values:
        if value is None or isinstance(value, bool):
            tests.append(_equal(of, value))
        elif isinstance(value, (int, float, str)):
            plain.append(value)
        else:
            raise _not_comparable(values)
    # All in one parameter, so that the text does not depend on their number.
    among = "{value} IN (SELECT value FROM json_each(?))" + _strict(plain)
    return _join(" OR ", [of.meets(among, [json.dumps(plain)]), *tests])


def _not(condition: Callable[[Field, Any], Sql]) -> Callable[[Field, Any], Sql]:
    def negated(of: Field, value: Any) -> Sql:
        text, values = condition(of, value)
        return f"{text} IS NOT TRUE", values

    return negated


def _ordered(sign: str) -> Callable[[Field, Any], Sql]:
    """Compare numbers with numbers only, and texts with texts."""

    def compared(of: Field, value: Any) -> Sql:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise _not_comparable(value)
        # The type of a text is in the index of its values; that of a number has to be
        # read, as it may be true or false.
        same_kind = "{kind} IN ('integer', 'real')"
        if isinstance(value, str):
            same_kind = "typeof({value}) = 'text'"
        return of.meets(f"{{value}} {sign} ? AND {same_kind}", [value])

    return compared


def _exists(of: Field, expected: Any) -> Sql:
    if expected:
        return f"{of.kind} IS NOT NULL", []
    # The first half is implied by the second; it finds the rows by the index.
    return f"({of.value} IS NULL AND {of.kind} IS NULL)", []


def _not_comparable(value: Any) -> DatabaseError:
    return DatabaseError(
        f"The embedded database cannot compare fields with a {type(value).__name__}."
    )


FILTERS: dict[str, Callable[[Field, Any], Sql]] = {
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


def apply(document: Json, update: Update, *, inserting: bool = False) -> Json:
    """Change the document as MongoDB's update operators say, and return it. Raises
    DatabaseError: the stored value has the wrong type.
    """
    for operator, fields in update.items():
        if operator == "$setOnInsert" and not inserting:
            continue
        for name, value in fields.items():
            try:
                UPDATES[operator](document, name, value)
            except TypeError as error:
                kind = type(document.get(name)).__name__
                raise DatabaseError(
                    f"{operator} cannot change the field {name!r}, which is a {kind}."
                ) from error
    return document


def check_update(update: Update) -> None:
    """Raises DatabaseError: an unknown operator, or a path into a nested document."""
    for operator, fields in update.items():
        if operator not in UPDATES:
            raise _unknown_operator(operator, UPDATES)
        for name in fields:
            if "." in name:
                raise DatabaseError(
                    "The embedded database updates top-level fields only, not "
                    f"{name!r}."
                )


def _push(document: Json, name: str, value: Any) -> None:
    """Append a value, or those of `$each`; a negative `$slice` keeps the last so
    many.
    """
    values = [*document.get(name, ())]
    if isinstance(value, Mapping) and "$each" in value:
        values += value["$each"]
        if "$slice" in value:
            values = values[value["$slice"] :]
    else:
        values.append(value)
    document[name] = values


def _set(document: Json, name: str, value: Any) -> None:
    document[name] = value


def _unset(document: Json, name: str, value: Any) -> None:
    document.pop(name, None)


def _increment(document: Json, name: str, value: Any) -> None:
    document[name] = document.get(name, 0) + value


UPDATES: dict[str, Callable[[Json, str, Any], None]] = {
    "$set": _set,
    "$setOnInsert": _set,
    "$unset": _unset,
    "$inc": _increment,
    "$push": _push,
}
