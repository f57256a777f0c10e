"""The stored forms of rows: ids, vectors and fields, also those of older systems.

Ids are strings, in collections of an older system ObjectIds. Vectors are BinData
subtype 9, float32 (two header bytes, then little-endian floats), a third of the size of
an array of doubles; arrays (older systems) and plain bytes (servers and files that lose
the subtype) are read too. Older rows have no report id, and years as text.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar
from uuid import UUID

import numpy as np
from bson import Binary, Decimal128, ObjectId
from pydantic import TypeAdapter

from ..domain import Vector
from ..domain.documents import NAMELESS
from ..domain.errors import DatabaseError
from ..domain.scope import Several, Value
from ..domain.tables import Stated
from .failures import sqlite_failure

T = TypeVar("T")
Json = dict[str, Any]
Filter = Mapping[str, Any]
Projection = Mapping[str, int]
Sort = Sequence[tuple[str, int]]
UUID_TEXT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
EMBEDDING_FIELD = "data_embedding"
SLOTS = ("", "_b")
"""Two fields for a chunk's vector, so that `reembed` can fill one while the other
serves; suffixes of the names of the field and of the vector index.
"""
TEXT_FIELD = "data"
FLOAT32_HEADER = b"\x27\x00"
"""The start of a BSON vector: float32, without padding."""
WITHOUT_EMBEDDING = {f"{EMBEDDING_FIELD}{slot}": 0 for slot in SLOTS}
BYTE_FIELDS = (*WITHOUT_EMBEDDING, TEXT_FIELD)
"""Fields with large values as bytes: vectors, and the ``data`` of a file's piece (in a
passage it is text).
"""


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def from_row(type_: type[T], row: Mapping[str, Any]) -> T:
    """Return a row as a dataclass whose ``id``, if it has one, is the row's ``_id``;
    other fields are left out.
    """
    value: T = _adapter(type_).validate_python({"id": row["_id"], **row})
    return value


def now(timespec: str = "milliseconds", *, days_ago: float = 0) -> str:
    """Return the time (UTC) as text that sorts."""
    return (datetime.now(UTC) - timedelta(days=days_ago)).isoformat(timespec=timespec)


def embedding_field(slot: str) -> str:
    return f"{EMBEDDING_FIELD}{slot}"


def id_forms(ids: Iterable[str], *, embedded: bool = False) -> list[Any]:
    """Return the forms that a lookup by id has to try: each as a string, and as the
    ObjectId, UUID or int it may mean. The embedded database has strings only, and
    refuses ObjectIds.
    """
    if embedded:
        return list(ids)
    forms: list[Any] = []
    for id in ids:
        forms.append(id)
        if ObjectId.is_valid(id):
            forms.append(ObjectId(id))
        elif UUID_TEXT.fullmatch(id):
            # Subtype 4, and the older 3.
            forms.append(Binary(UUID(id).bytes, 4))
            forms.append(Binary(UUID(id).bytes, 3))
        elif id.isdecimal() and len(id) < 19:  # fits into 64 bits
            forms.append(int(id))
    return forms


def id_text(id: Any) -> str:
    """Return an id as a string; `id_forms` finds it again."""
    if isinstance(id, bytes) and len(id) == 16:
        return str(UUID(bytes=bytes(id)))
    return str(id)


def of_document(document_id: str, *, embedded: bool) -> Json:
    """Return the filter for the rows of a report, whose id may be stored in any
    form.
    """
    forms = id_forms([document_id], embedded=embedded)
    if len(forms) == 1:
        return {"document_id": document_id}
    return {"document_id": {"$in": forms}}


def encode_payload(vector: Vector) -> bytes:
    """Return the bytes of BSON's float32 vector, for either driver's binary type."""
    return FLOAT32_HEADER + np.ascontiguousarray(vector, dtype="<f4").tobytes()


def decode_vector(value: Any) -> Vector:
    """Return the stored embedding as float32, shape (dimensions,). Raises
    DatabaseError: the value is neither an array of numbers nor a float32 vector.
    """
    if isinstance(value, (bytes, bytearray)):
        if len(value) % 4 == 2 and bytes(value[:2]) == FLOAT32_HEADER:
            return np.frombuffer(value, dtype="<f4", offset=2)
        if len(value) % 4 == 0:
            return np.frombuffer(value, dtype="<f4")
    elif isinstance(value, (list, tuple)):
        with suppress(ValueError, TypeError):
            vector = np.asarray(value, dtype=np.float32)
            if vector.ndim == 1:
                return vector
    raise sqlite_failure("bad_vector", form=type(value).__name__)


def usable_vector(value: Any, dimensions: int | None) -> Vector | None:
    """Return the stored embedding; None where it is missing, no vector, zero or not
    finite, or has other ``dimensions``.
    """
    if value is None:
        return None
    with suppress(DatabaseError):
        vector = decode_vector(value)
        if dimensions and len(vector) != dimensions:
            return None
        if vector.any() and np.isfinite(vector).all():
            return vector
    return None


def with_string_ids(value: Any) -> Any:
    """Return a document with ObjectIds and decimals, also nested ones, as strings:
    SQLite's JSON has neither.
    """
    if isinstance(value, (ObjectId, Decimal128)):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): with_string_ids(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_string_ids(item) for item in value]
    return value


def content_digest(document: Mapping[str, Any]) -> int:
    """Return a number for the content, the same in either database. Sums of them
    compare sets of documents.
    """
    text = json.dumps(with_string_ids(document), sort_keys=True, default=_plain)
    return int.from_bytes(
        hashlib.blake2b(text.encode(), digest_size=16).digest(), "big"
    )


def _plain(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, datetime):
        if value.tzinfo:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return {"date": value.isoformat(timespec="milliseconds")}  # BSON's precision
    return repr(value)


OLDER_PREFIX = "legacy-"
RETIRED_PREFIX = "retired-"
"""Prefix of the report's id in rows that wait to be deleted."""
UNREGISTERED = {"document_id": {"$exists": False}}
"""Filter for rows that belong to no registered report, in the embedded database."""
OTHER_IDS = ("objectId", "binData", "int", "long", "double")
"""Types of a ``document_id`` that only other programs write."""


def unregistered(*, embedded: bool) -> Json:
    """Return the filter for rows that belong to no registered report."""
    if embedded:
        return UNREGISTERED
    alternatives: list[Json] = [{"document_id": None}]
    for name in OTHER_IDS:
        alternatives.append({"document_id": {"$type": name}})
    return {"$or": alternatives}


KEY_FIELDS = ("document_name", "country_name", "year")
"""Fields that such rows share when they belong to one report."""
SOURCES = ("file_name", "filename", "source", "file_path", "url")
"""Fields in which other programs name the file or the page that a passage is from."""
NAMING = dict.fromkeys(("document_id", *KEY_FIELDS, *SOURCES), 1)
"""Projection for `document_id_of` and `document_name_of`."""


def document_id_of(row: Mapping[str, Any]) -> str:
    """Return the id of the row's report; where none is stored, one that all rows of the
    report share.
    """
    stored = row.get("document_id")
    if stored:
        return id_text(stored)
    keys = [str(row.get(field) or "") for field in KEY_FIELDS]
    if not keys[0]:  # no name: its file or page says as much
        keys[0] = "|".join(str(row[field]) for field in SOURCES if row.get(field))
    digest = hashlib.sha256(json.dumps(keys).encode()).hexdigest()
    return OLDER_PREFIX + digest[:16]


def document_name_of(row: Mapping[str, Any]) -> str:
    """Return the name of the row's report: its own, else that of its file or page."""
    name = filter_value("document_name", row.get("document_name"))
    if isinstance(name, str):
        return name
    if name:
        return str(name)
    for field in SOURCES:
        source = text_value(row.get(field))
        if source:
            path = source.replace("\\", "/").rstrip("/")
            return path.rpartition("/")[2] or NAMELESS
    return NAMELESS


def page_of(row: Mapping[str, Any]) -> int | None:
    """Return the row's page, counted from 1."""
    for field in ("document_page_number", "page_number"):
        page = number_value(row.get(field))
        if page is not None:
            return page
    # LangChain's loaders count from 0: langchain-community 0.4,
    # document_loaders/parsers/pdf.py, `PyPDFParser`.
    page = number_value(row.get("page"))
    if page is not None:
        return page + 1
    return number_value(row.get("page_label"))


def filter_value(field: str, value: Any) -> Value | None:
    """Return a stored value as scopes compare it, of whatever type it is; None = there
    is none. Years are ints, also of dates and texts. A list means each of its values.
    An object is no value.
    """
    if isinstance(value, str):
        if field == "year" and value.strip().isdecimal():
            return int(value)
        return value or None
    # First, as nearly all other values are whole numbers, or none: what follows takes
    # longer to ask.
    if value is None or type(value) is int:
        return value
    if isinstance(value, Mapping):
        return None
    if isinstance(value, (list, tuple, set)):
        return _several(filter_value(field, item) for item in value)
    if isinstance(value, Decimal128):
        return _number(value.to_decimal())
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return _number(value)
    if not isinstance(value, date):
        return id_text(value)
    if field == "year":
        return value.year
    return value.isoformat()[:10]


def _several(values: Iterable[Value | None]) -> Value | None:
    """Return different values as one, a single value as it is."""
    different = dict.fromkeys(value for value in values if value is not None)
    if len(different) > 1:
        return Several(different)
    return next(iter(different), None)


def _number(value: float | Decimal) -> Value | None:
    if not math.isfinite(value):
        return None
    if value == int(value):
        return int(value)
    return str(value)


def text_value(value: Any) -> str:
    """Return a stored value as a text; "" where it has none."""
    if isinstance(value, str):
        return value
    plain = filter_value("", value)
    if plain is None:
        return ""
    return str(plain)


def number_value(value: Any) -> int | None:
    """Return a stored value as a whole number from 0 on; None where it is none."""
    number = filter_value("year", value)
    if isinstance(number, int) and number >= 0:
        return number
    return None


def list_value(value: Any) -> tuple[Value, ...]:
    """Return a stored list, or the one value that stands for it."""
    if value == []:
        return ()
    plain = filter_value("", value)
    if plain is None:
        return ()
    if isinstance(plain, Several):
        return plain.values
    return (plain,)


def statements_value(statements: Sequence[Stated] | None) -> list[list[Any]] | None:
    """Return the figures of a table's cells as they are stored."""
    if statements is None:
        return None
    # A wide table has hundreds of thousands: a general encoder takes six times as long.
    return [
        [heading, label, str(value), unit, text, sorted(years), estimate, subject]
        for heading, label, value, unit, text, years, estimate, subject in statements
    ]


def statements_of(stored: Any) -> tuple[Stated, ...] | None:
    """Return stored figures; None where a row has none, as those of older releases."""
    if not isinstance(stored, list):
        return None
    return tuple(_adapter(list[Stated]).validate_python(stored))


def row_metadata(row: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Value]:
    """Return the row's filter values, without the report's name."""
    metadata: dict[str, Value] = {}
    for field in fields:
        if field == "document_name":
            continue
        value = filter_value(field, row.get(field))
        if value is not None:
            metadata[field] = value
    return metadata
