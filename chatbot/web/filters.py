"""The query string: filters and numbers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from flask import request

from ..errors import InvalidRequestError

RANGE_ENDS = ("gte", "lte")
DIGITS = 9
"""Of a number; Python refuses to read thousands of them."""


COLLECTIONS = "collections"


def query_collections() -> list[str] | None:
    """The collections of the query string, a repeated key; None = it names none."""
    return request.args.getlist(COLLECTIONS) or None


def query_filters(*, leave_out: Collection[str] = ()) -> dict[str, Any]:
    """Filters from the query string: repeated keys are alternatives, ``year.gte``/``year.lte`` a range."""
    filters: dict[str, Any] = {}
    ranges: dict[str, dict[str, str]] = {}
    for name, values in request.args.lists():
        if name == COLLECTIONS or name in leave_out:
            continue
        field, _, end = name.partition(".")
        if end in RANGE_ENDS:
            ranges.setdefault(field, {})[end] = values[-1]
        else:
            filters[name] = values
    for field in filters.keys() & ranges.keys():
        raise InvalidRequestError.for_field(f"filters.{field}", "takes values or a range, not both.")
    return {**filters, **ranges}


def query_number(name: str, default: int, *, least: int = 0, most: int = 10**6) -> int:
    """A whole number. Raises InvalidRequestError."""
    text = request.args.get(name, str(default))
    if not text.isdecimal() or len(text) > DIGITS or not least <= int(text) <= most:
        raise InvalidRequestError.for_field(name, f"must be a whole number from {least} to {most}.")
    return int(text)
