"""A document as a row of SQLite: its id, the rest as JSON, the bytes of known fields as they are; and updates of it.

What JSON has not (other bytes, dates) is kept under a tag. Projections and update operators mean what they do in
MongoDB.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..errors import DatabaseError
from .rows import BYTE_FIELDS

COLUMNS = ("_id", "doc", *BYTE_FIELDS)
LAYOUT = ", ".join(("_id NOT NULL PRIMARY KEY", "doc TEXT NOT NULL", *(f'"{name}" BLOB' for name in BYTE_FIELDS)))
BYTES, DATE = "$report-chat:bytes", "$report-chat:date"
Json = dict[str, Any]
Row = tuple[Any, ...]


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def to_row(document: Mapping[str, Any]) -> Row:
    """The values of COLUMNS.

    Raises:
        DatabaseError: there is no ``_id``, or a value that neither JSON nor a tag can hold.
    """
    if "_id" not in document:
        raise DatabaseError("A document for the embedded database lacks its _id.")
    blobs = [as_bytes(document.get(name)) for name in BYTE_FIELDS]
    kept = {"_id", *(name for name, blob in zip(BYTE_FIELDS, blobs, strict=True) if blob is not None)}
    return document["_id"], _to_json({name: value for name, value in document.items() if name not in kept}), *blobs


def as_bytes(value: Any) -> bytes | None:
    """None where the value is anything else."""
    return bytes(value) if isinstance(value, (bytes, bytearray)) else None


_decode = json.JSONDecoder().raw_decode
"""Of what `to_row` wrote, which begins and ends without a blank: a tenth of the time of reading a row is saved."""


def to_document(row: Sequence[Any]) -> Json:
    """The document of a row of COLUMNS."""
    id, text, *blobs = row
    tagged = '{"$report-chat:' in text
    document = {"_id": id, **(json.loads(text, object_hook=_untag) if tagged else _decode(text)[0])}
    for name, blob in zip(BYTE_FIELDS, blobs, strict=True):
        if blob is not None:
            document[name] = blob
    return document


def _tag(value: Any) -> Json:
    if (blob := as_bytes(value)) is not None:
        return {BYTES: base64.b64encode(blob).decode()}
    if isinstance(value, datetime):
        return {DATE: value.isoformat()}
    raise TypeError(f"a {type(value).__name__} has no form in JSON")


def _untag(found: Json) -> Any:
    if BYTES in found:
        return base64.b64decode(found[BYTES])
    return datetime.fromisoformat(found[DATE]) if DATE in found else found


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_tag, separators=(",", ":")).encode


def _to_json(document: Json) -> str:
    try:
        text = _encode(document)
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(document, allow_nan=False, default=_tag)
    except (TypeError, ValueError) as error:
        raise DatabaseError(f"A document cannot be stored in the embedded database: {error}.") from error
    return text


def projected(projection: Mapping[str, int] | None) -> tuple[str, Callable[[Json], Json]]:
    """The columns that have to be read, in the place of COLUMNS, and what to do with the document."""
    wanted = {name for name, kept in (projection or {}).items() if kept}
    unwanted = set(projection or ()) - wanted
    if not wanted:
        return _columns(json=True, without=unwanted), lambda found: _without(found, unwanted)
    columns = _columns(json=wanted != {"_id"}, without=set(BYTE_FIELDS) - wanted)
    if "_id" not in unwanted:
        wanted.add("_id")
    return columns, lambda found: {name: value for name, value in found.items() if name in wanted}


def _columns(*, json: bool, without: Collection[str]) -> str:
    blobs = ("NULL" if name in without else f'"{name}"' for name in BYTE_FIELDS)
    return ", ".join(("_id", "doc" if json else "'{}'", *blobs))


def _without(document: Json, names: Iterable[str]) -> Json:
    for name in names:
        document.pop(name, None)
    return document


Update = Mapping[str, Mapping[str, Any]]


def apply(document: Json, update: Update, *, inserting: bool = False) -> Json:
    """Change the document as MongoDB's update operators say."""
    for operator, fields in update.items():
        if operator != "$setOnInsert" or inserting:
            for name, value in fields.items():
                OPERATORS[operator](document, name, value)
    return document


def check_update(update: Update) -> None:
    """Raises DatabaseError: an operator that is not known here, or a path into a nested document."""
    for operator, fields in update.items():
        if operator not in OPERATORS:
            known = ", ".join(OPERATORS)
            raise DatabaseError(f"The embedded database does not know the operator {operator!r}. Known: {known}.")
        for name in fields:
            if "." in name:
                raise DatabaseError(f"The embedded database updates top-level fields only, not {name!r}.")


def _increment(document: Json, name: str, by: float) -> None:
    document[name] = document.get(name, 0) + by


def _push(document: Json, name: str, value: Any) -> None:
    """Plain, or with `$each` and a negative `$slice`: the last so many are kept."""
    options: Mapping[str, Any] = value if isinstance(value, Mapping) and "$each" in value else {"$each": [value]}
    found = [*document.get(name, ()), *options["$each"]]
    document[name] = found[options["$slice"] :] if "$slice" in options else found


OPERATORS: dict[str, Callable[[Json, str, Any], Any]] = {
    "$set": dict.__setitem__,
    "$setOnInsert": dict.__setitem__,
    "$unset": lambda document, name, value: document.pop(name, None),
    "$inc": _increment,
    "$push": _push,
}
