"""The stored forms of rows: ids, vectors and fields, also those of older systems.

Ids are strings, in collections of an older system ObjectIds. Vectors are BinData subtype 9, float32 (two header bytes,
then little-endian floats), a third of the size of an array of doubles; arrays (older systems) and plain bytes (servers
and files that lose the subtype) are read too. Older rows have no report id, and years as text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, TypeVar

import numpy as np
from bson import Decimal128, ObjectId
from pydantic import TypeAdapter

from ..domain import NO_VALUE, Value, Vector
from ..domain.errors import DatabaseError

T = TypeVar("T")
EMBEDDING_FIELD = "data_embedding"
SLOTS = ("", "_b")
"""Two fields for a chunk's vector, so that `reembed` can fill one while the other serves; suffixes of the names of the
field and of the vector index."""
TEXT_FIELD = "data"
FLOAT32_HEADER, VECTOR_SUBTYPE = b"\x27\x00", 9
WITHOUT_EMBEDDING = {f"{EMBEDDING_FIELD}{slot}": 0 for slot in SLOTS}
BYTE_FIELDS = (*WITHOUT_EMBEDDING, TEXT_FIELD)
"""Fields with large values as bytes: vectors, and the ``data`` of a file's piece (in a passage it is text)."""


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def from_row(type_: type[T], row: Mapping[str, Any]) -> T:
    """Return a row as a dataclass whose ``id``, if it has one, is the row's ``_id``; other fields are left out."""
    value: T = _adapter(type_).validate_python({"id": row["_id"], **row})
    return value


def now(timespec: str = "milliseconds", *, days_ago: int = 0) -> str:
    """Return the time (UTC) as text that sorts."""
    return (datetime.now(UTC) - timedelta(days=days_ago)).isoformat(timespec=timespec)


def embedding_field(slot: str) -> str:
    return f"{EMBEDDING_FIELD}{slot}"


def id_forms(ids: Iterable[str], *, embedded: bool = False) -> list[Any]:
    """Return the forms that a lookup by ``_id`` has to try: each id as a string, and as the ObjectId it may mean.
    The embedded database has no ObjectIds and refuses them."""
    if embedded:
        return list(ids)
    return [form for id in ids for form in ((id, ObjectId(id)) if ObjectId.is_valid(id) else (id,))]


def encode_payload(vector: Vector) -> bytes:
    """Return the bytes of BSON's float32 vector, for either driver's binary type."""
    return FLOAT32_HEADER + np.ascontiguousarray(vector, dtype="<f4").tobytes()


def decode_vector(value: Any) -> Vector:
    """Return the stored embedding as float32, shape (dimensions,). Raises DatabaseError: the value is neither an
    array of numbers nor a float32 vector."""
    if isinstance(value, (bytes, bytearray)):
        if len(value) % 4 == 2 and bytes(value[:2]) == FLOAT32_HEADER:
            return np.frombuffer(value, dtype="<f4", offset=2)
        if len(value) % 4 == 0:
            return np.frombuffer(value, dtype="<f4")
    elif isinstance(value, (list, tuple)):
        return np.asarray(value, dtype=np.float32)
    raise DatabaseError(
        f"A stored embedding has the unexpected form {type(value).__name__}.",
        remedy="It must be an array of numbers or a float32 vector: ingest the document again.",
    )


def with_string_ids(value: Any) -> Any:
    """Return a document with ObjectIds and decimals, also nested ones, as strings: SQLite's JSON has neither."""
    if isinstance(value, (ObjectId, Decimal128)):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): with_string_ids(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_string_ids(item) for item in value]
    return value


def content_digest(document: Mapping[str, Any]) -> int:
    """Return a number for the content, the same in either database. Sums of them compare sets of documents."""
    text = json.dumps(with_string_ids(document), sort_keys=True, default=_plain)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big")


def _plain(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, datetime):
        moment = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return {"date": moment.isoformat(timespec="milliseconds")}  # BSON's precision
    return repr(value)


OLDER_PREFIX = "legacy-"
RETIRED_PREFIX = "retired-"
"""Prefix of the report's id in rows that wait to be deleted."""
UNREGISTERED = {"document_id": {"$exists": False}}
"""Filter for rows that belong to no registered report."""
KEY_FIELDS = ("document_name", "country_name", "year")
"""Fields that such rows share when they belong to one report."""
NAMING = dict.fromkeys(("document_id", *KEY_FIELDS), 1)
"""Projection for `document_id_of`."""


def document_id_of(row: Mapping[str, Any]) -> str:
    """Return the id of the row's report; where none is stored, one that all rows of the report share."""
    if stored := row.get("document_id"):
        return str(stored)
    key = json.dumps([str(row.get(field) or "") for field in KEY_FIELDS])
    return OLDER_PREFIX + hashlib.sha256(key.encode()).hexdigest()[:16]


def filter_value(field: str, value: Any) -> Any:
    """Return a metadata value as scopes compare it: years as ints; None = there is none."""
    if value == NO_VALUE:
        return None
    if field == "year":
        if isinstance(value, str) and value.strip().isdigit():
            return int(value)
        if isinstance(value, float) and value.is_integer():
            return int(value)
    return value


def row_metadata(row: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Value]:
    """Return the row's filter values, without the report's name."""
    values = {field: filter_value(field, row.get(field)) for field in fields if field != "document_name"}
    return {field: value for field, value in values.items() if value is not None}
