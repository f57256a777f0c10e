"""The stored forms of rows: ids, vectors, fields of older systems, and what they mean.

Ids are strings here, ObjectIds in collections that an older system wrote. Vectors are BinData subtype 9, float32 (two
header bytes, then little-endian floats), a third of the space of an array of doubles; arrays (older systems) and
plain bytes (servers and files that lose the subtype) are read too. Older rows have no report id, and years as digits.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
from bson import Decimal128, ObjectId

from ..errors import DatabaseError
from ..schema import NO_VALUE, Value, Vector

EMBEDDING_FIELD = "data_embedding"
SLOTS = ("", "_b")
"""Two places for a chunk's vector, so that `reembed` can fill one while the other serves; appended to the names of
the field and of the vector index."""
TEXT_FIELD = "data"
WITHOUT_EMBEDDING = {f"{EMBEDDING_FIELD}{slot}": 0 for slot in SLOTS}
BYTE_FIELDS = (*WITHOUT_EMBEDDING, TEXT_FIELD)
"""Where large values are bytes: vectors, and the ``data`` of a file's piece (of a passage it is text)."""


def embedding_field(slot: str) -> str:
    """The field that holds the vectors of a slot."""
    return f"{EMBEDDING_FIELD}{slot}"


def id_forms(ids: Iterable[str], *, embedded: bool = False) -> list[Any]:
    """Every id as a string, and as the ObjectId it may stand for: what a lookup by ``_id`` has to try.

    The embedded database has no ObjectIds, and refuses to be asked for one.
    """
    if embedded:
        return list(ids)
    return [form for id in ids for form in ((id, ObjectId(id)) if ObjectId.is_valid(id) else (id,))]


FLOAT32_HEADER = b"\x27\x00"
VECTOR_SUBTYPE = 9


def encode_payload(vector: Vector) -> bytes:
    """The bytes of BSON's float32 vector, for either driver's binary type."""
    return FLOAT32_HEADER + np.ascontiguousarray(vector, dtype="<f4").tobytes()


def decode_vector(value: Any) -> Vector:
    """The stored embedding as float32, shape (dimensions,).

    Raises:
        DatabaseError: the value is neither an array of numbers nor a float32 vector.
    """
    if isinstance(value, (bytes, bytearray)):
        if len(value) % 4 == 2 and bytes(value[:2]) == FLOAT32_HEADER:
            return np.frombuffer(value, dtype="<f4", offset=2)
        if len(value) % 4 == 0:
            return np.frombuffer(value, dtype="<f4")
    elif isinstance(value, (list, tuple)):
        return np.asarray(value, dtype=np.float32)
    raise DatabaseError(
        f"A stored embedding has the unexpected form {type(value).__name__}.",
        remedy="It should be an array of numbers or a float32 vector: ingest the document again.",
    )


DIGEST_BYTES = 16


def with_string_ids(document: Mapping[str, Any]) -> dict[str, Any]:
    """ObjectIds and decimals, also nested ones, as strings: SQLite's JSON has neither."""
    converted: dict[str, Any] = _without_bson(document)
    return converted


def _without_bson(value: Any) -> Any:
    if isinstance(value, (ObjectId, Decimal128)):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _without_bson(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_bson(item) for item in value]
    return value


def content_digest(document: Mapping[str, Any]) -> int:
    """A number for the content: the same for the same document in either database. Sums compare sets of them."""
    text = json.dumps(_without_bson(document), sort_keys=True, default=_plain)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).digest(), "big")


def _plain(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, datetime):
        moment = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return {"date": moment.isoformat(timespec="milliseconds")}  # what BSON keeps of it
    return repr(value)


OLDER_PREFIX = "legacy-"
RETIRED_PREFIX = "retired-"
"""Put in front of the report's id in rows that wait to be deleted."""
UNREGISTERED = {"document_id": {"$exists": False}}
"""The filter for rows that belong to no registered report."""
KEY_FIELDS = ("document_name", "country_name", "year")
"""What such rows have in common when they belong to one report."""
NAMING = dict.fromkeys(("document_id", *KEY_FIELDS), 1)
"""A projection: all that `document_id_of` reads."""


def document_id_of(row: Mapping[str, Any]) -> str:
    """The id of the row's report; where none is stored, one that all rows of the report share."""
    if known := row.get("document_id"):
        return str(known)
    key = json.dumps([str(row.get(field) or "") for field in KEY_FIELDS])
    return OLDER_PREFIX + hashlib.sha256(key.encode()).hexdigest()[:16]


def filter_value(field: str, value: Any) -> Any:
    """A metadata value as scopes compare it: years are ints, however they were written; None = there is none."""
    if value == NO_VALUE:
        return None
    if field == "year":
        if isinstance(value, str) and value.strip().isdigit():
            return int(value)
        if isinstance(value, float) and value.is_integer():
            return int(value)
    return value


def row_metadata(row: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Value]:
    """The row's filter values but its name."""
    found = {field: filter_value(field, row.get(field)) for field in fields if field != "document_name"}
    return {field: value for field, value in found.items() if value is not None}
