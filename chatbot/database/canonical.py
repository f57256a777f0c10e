"""Documents in a form on which both databases agree: to compare copies, and to keep foreign ids in SQLite."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from bson import Decimal128, ObjectId

from .core import Json

DIGEST_BYTES = 16


def with_string_ids(document: Mapping[str, Any]) -> Json:
    """ObjectIds and decimals, also nested ones, as strings: SQLite's JSON has neither."""
    converted: Json = _without_bson(document)
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
