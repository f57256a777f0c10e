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
from itertools import chain
from typing import Any, NamedTuple

from ..domain.errors import DatabaseError
from .rows import BYTE_FIELDS

COLUMNS = ("_id", "doc", *BYTE_FIELDS)
LAYOUT = ", ".join(
    (
        "_id NOT NULL PRIMARY KEY",
        "doc TEXT NOT NULL",
        *(f'"{name}" BLOB' for name in BYTE_FIELDS),
    )
)
BYTES, DATE = "$report-chat:bytes", "$report-chat:date"
Json = dict[str, Any]
Row = tuple[Any, ...]
Sql = tuple[str, list[Any]]
"""A condition and the values of its parameters."""
Update = Mapping[str, Mapping[str, Any]]
STRICT = " AND {kind} NOT IN ('true', 'false', 'array', 'object')"
_decode = json.JSONDecoder().raw_decode
"""For texts of `to_row`, which begin and end without a blank: saves a tenth of the time
of reading a row.
"""


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def to_row(document: Mapping[str, Any]) -> Row:
    """Return the values of COLUMNS. Raises DatabaseError: the document has no ``_id``,
    or a value that cannot be stored.
    """
    if "_id" not in document:
        raise DatabaseError("A document for the embedded database lacks its _id.")
    blobs = list(map(as_bytes, map(document.get, BYTE_FIELDS)))
    columns = {
        "_id",
        *(
            name
            for name, blob in zip(BYTE_FIELDS, blobs, strict=True)
            if blob is not None
        ),
    }
    rest = {name: value for name, value in document.items() if name not in columns}
    try:
        text = _encode(rest)
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        text = json.dumps(rest, allow_nan=False, default=_tag)
    except (TypeError, ValueError) as error:
        raise DatabaseError(
            f"A document cannot be stored in the embedded database: {error}."
        ) from error
    return document["_id"], text, *blobs


def as_bytes(value: Any) -> bytes | None:
    """Return bytes; None where the value is anything else."""
    return bytes(value) if isinstance(value, (bytes, bytearray)) else None


def to_document(row: Sequence[Any]) -> Json:
    id, text, *blobs = row
    tagged = '{"$report-chat:' in text
    document = {
        "_id": id,
        **(json.loads(text, object_hook=_untag) if tagged else _decode(text)[0]),
    }
    for name, blob in zip(BYTE_FIELDS, blobs, strict=True):
        if blob is not None:
            document[name] = blob
    return document


def _tag(value: Any) -> Json:
    if (blob := as_bytes(value)) is not None:
        return {BYTES: base64.b64encode(blob).decode()}
    if isinstance(value, datetime):
        return {DATE: value.isoformat()}
    raise TypeError(f"JSON has no form for a {type(value).__name__}")


def _untag(value: Json) -> Any:
    if BYTES in value:
        return base64.b64decode(value[BYTES])
    return datetime.fromisoformat(value[DATE]) if DATE in value else value


_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, default=_tag, separators=(",", ":")
).encode


def projected(
    projection: Mapping[str, int] | None,
) -> tuple[str, Callable[[Sequence[Any]], Json]]:
    """Return the columns to read in place of COLUMNS, and a function that makes the
    reduced document of such a row.
    """
    included = {name for name, value in (projection or {}).items() if value}
    excluded = set(projection or ()) - included
    left_out = set(BYTE_FIELDS) - included if included else excluded
    blobs = ("NULL" if name in left_out else f'"{name}"' for name in BYTE_FIELDS)
    columns = ", ".join(("_id", "'{}'" if included == {"_id"} else "doc", *blobs))
    if included and "_id" not in excluded:
        included.add("_id")

    def read(row: Sequence[Any]) -> Json:
        document = to_document(row)
        if included:
            return {name: value for name, value in document.items() if name in included}
        for name in excluded:
            document.pop(name, None)
        return document

    return columns, read if projection else to_document


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
    value, kind = f"json_extract(doc, {path})", f"json_type(doc, {path})"
    if name in BYTE_FIELDS:
        value, kind = (
            f'ifnull("{name}", {value})',
            f"CASE WHEN \"{name}\" IS NULL THEN {kind} ELSE 'blob' END",
        )
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
            conditions.append(_join(f" {name[1:].upper()} ", map(where, condition)))
            continue
        tests: list[Sql] = []
        for operator, value in (
            condition if isinstance(condition, Mapping) else {"$eq": condition}
        ).items():
            _check_operator(operator, FILTERS, ["$and", "$or", *FILTERS])
            tests.append(FILTERS[operator](field(name), value))
        conditions.append(_join(" AND ", tests))
    return _join(" AND ", conditions)


def _join(word: str, conditions: Iterable[Sql]) -> Sql:
    texts, values = zip(*conditions, strict=True)
    return f"({word.join(texts)})", list(chain.from_iterable(values))


def _check_operator(
    operator: str, operators: Mapping[str, Any], names: Iterable[str]
) -> None:
    if operator not in operators:
        names = ", ".join(names)
        raise DatabaseError(
            f"The embedded database does not know the operator {operator!r}. "
            f"Known: {names}."
        )


def _equal(of: Field, value: Any) -> Sql:
    match value:
        case None:
            return of.meets("{value} IS NULL")
        case bool():
            return of.meets(f"{{kind}} = '{str(value).lower()}'")
        # parsed by the same code as the stored one, so that equal texts are equal
        # numbers
        case float():
            return of.meets("{value} = json_extract(?, '$')", [json.dumps(value)])
        case int() | str():
            return of.meets("{value} = ?" + STRICT * _is_ambiguous(value), [value])
    raise _not_comparable(value)


def _is_ambiguous(value: Any) -> bool:
    """Return whether SQL takes a value for equal to another one: 1 to true, or a text
    to a list.
    """
    return value in {0, 1} or str(value)[:1] in {"[", "{"}


def _in(of: Field, values: Sequence[Any]) -> Sql:
    plain = [
        value
        for value in values
        if isinstance(value, (int, float, str)) and not isinstance(value, bool)
    ]
    rest = [
        _equal(of, value)
        for value in values
        if value is None or isinstance(value, bool)
    ]
    if len(plain) + len(rest) < len(values):
        raise _not_comparable(values)
    test = "{value} IN (SELECT value FROM json_each(?))" + STRICT * any(
        map(_is_ambiguous, plain)
    )
    return _join(" OR ", [of.meets(test, [json.dumps(plain)]), *rest])


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
        kind = (
            "typeof({value}) = 'text'"
            if isinstance(value, str)
            else "{kind} IN ('integer', 'real')"
        )
        return of.meets(f"{{value}} {sign} ? AND {kind}", [value])

    return compared


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
    # The first half of the negation is implied; it finds the rows by the index.
    "$exists": lambda of, yes: (
        f"{of.kind} IS NOT NULL"
        if yes
        else f"({of.value} IS NULL AND {of.kind} IS NULL)",
        [],
    ),
}


def apply(document: Json, update: Update, *, inserting: bool = False) -> Json:
    """Change the document as MongoDB's update operators say, and return it. Raises
    DatabaseError: the stored value has the wrong type.
    """
    for operator, fields in update.items():
        if operator != "$setOnInsert" or inserting:
            for name, value in fields.items():
                try:
                    UPDATES[operator](document, name, value)
                except TypeError as error:
                    kind = type(document.get(name)).__name__
                    raise DatabaseError(
                        f"{operator} cannot change the field {name!r}, which is a "
                        f"{kind}."
                    ) from error
    return document


def check_update(update: Update) -> None:
    """Raises DatabaseError: an unknown operator, or a path into a nested document."""
    for operator, fields in update.items():
        _check_operator(operator, UPDATES, UPDATES)
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
    options: Mapping[str, Any] = (
        value if isinstance(value, Mapping) and "$each" in value else {"$each": [value]}
    )
    values = [*document.get(name, ()), *options["$each"]]
    document[name] = values[options["$slice"] :] if "$slice" in options else values


UPDATES: dict[str, Callable[[Json, str, Any], Any]] = {
    "$set": dict.__setitem__,
    "$setOnInsert": dict.__setitem__,
    "$unset": lambda document, name, value: document.pop(name, None),
    "$inc": lambda document, name, by: document.update(
        {name: document.get(name, 0) + by}
    ),
    "$push": _push,
}
