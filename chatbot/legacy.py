"""Rows as older systems wrote them: no report id, years as digits. What they mean here, without changing them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from .schema import Value

PREFIX = "legacy-"
UNREGISTERED = {"document_id": {"$exists": False}}
"""The filter for rows that belong to no registered report."""
KEY_FIELDS = ("document_name", "country_name", "year")
"""What such rows have in common when they belong to one report."""


def document_id_of(row: Mapping[str, Any]) -> str:
    """The id of the row's report; where none is stored, one that all rows of the report share."""
    if known := row.get("document_id"):
        return str(known)
    key = json.dumps([str(row.get(field) or "") for field in KEY_FIELDS])
    return PREFIX + hashlib.sha256(key.encode()).hexdigest()[:16]


def filter_value(field: str, value: Any) -> Any:
    """A metadata value as scopes compare it: years are ints, however they were written."""
    if field == "year":
        if isinstance(value, str) and value.strip().isdigit():
            return int(value)
        if isinstance(value, float) and value.is_integer():
            return int(value)
    return value


def row_metadata(row: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Value]:
    """The row's filter values but its name."""
    names = [field for field in fields if field != "document_name" and row.get(field) is not None]
    return {field: filter_value(field, row[field]) for field in names}
