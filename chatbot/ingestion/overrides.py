"""What a person says of a report (flags, form fields, edits), checked before anything is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..countries import resolve_country
from ..errors import InvalidRequestError
from ..schema import Value

METADATA = ("country_name", "year", "type")
FIELDS = ("title", *METADATA, "labels", "description", "collection", "chunk_strategy", "chunk_size", "chunk_overlap")
FIRST_YEAR, LAST_YEAR = 1000, 3000
LONGEST = {"title": 300, "type": 60, "description": 2000, "labels": 60}
MOST_LABELS = 30


def check_overrides(
    values: Mapping[str, Any], *, countries: Sequence[Value], strategies: Callable[[str], str]
) -> dict[str, Any]:
    """The fields as they are stored: countries as the data spells them, years as ints. None = "has none".

    ``countries`` = those in the data; ``strategies`` checks a chunk strategy's name.

    Raises:
        InvalidRequestError: a field or value is wrong; names it and what would be right.
    """
    checked: dict[str, Any] = {}
    for field, value in values.items():
        if field not in FIELDS:
            raise InvalidRequestError.for_field(field, f"unknown field. Valid: {', '.join(FIELDS)}.", FIELDS)
        checked[field] = None if value is None else _CHECKS[field](field, value, countries, strategies)
    for field in ("title", "collection", "chunk_strategy", "chunk_size", "chunk_overlap"):
        if field in checked and checked[field] is None:
            del checked[field]  # these cannot be without: back to what the file or the settings say
    return checked


def check_country(field: str, value: Any, countries: Sequence[Value]) -> str:
    """The country as the data spells it, else by its usual name. Raises InvalidRequestError."""
    text = _text(field, value)
    if text in countries:
        return text
    name, similar = resolve_country(text, [str(country) for country in countries])
    if name is None:
        hint = f" Did you mean {similar[0]}?" if similar else ""
        message = f"{text!r} is not a country name or ISO code.{hint} For regions use labels."
        raise InvalidRequestError.for_field(field, message, similar)
    return name


def check_collection(name: str | None, searched: Sequence[str]) -> None:
    """Raises InvalidRequestError: no question searches it, so nobody would find what is put there."""
    if name is not None and name not in searched:
        valid = list(dict.fromkeys(searched))
        message = f"{name!r} is not searched. Valid: {', '.join(valid)}."
        raise InvalidRequestError.for_field("collection", message, valid)


def check_year(field: str, value: Any) -> int:
    """Raises InvalidRequestError."""
    digits = str(value).strip() if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    if not digits.isdecimal() or len(digits) > len(str(LAST_YEAR)) or not FIRST_YEAR <= int(digits) <= LAST_YEAR:
        raise InvalidRequestError.for_field(field, f"must be a year from {FIRST_YEAR} to {LAST_YEAR}, like 2023.")
    return int(digits)


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidRequestError.for_field(field, "must be text that is not empty.")
    text, longest = " ".join(value.split()), LONGEST.get(field, 300)
    if len(text) > longest:
        raise InvalidRequestError.for_field(field, f"must not be longer than {longest} characters.")
    if not text.isprintable():
        raise InvalidRequestError.for_field(field, "must not hold control characters.")
    return text


def _labels(field: str, value: Any) -> list[str]:
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)) or len(items) > MOST_LABELS:
        raise InvalidRequestError.for_field(field, f"must be a list of at most {MOST_LABELS} texts.")
    return list(dict.fromkeys(_text("labels", item) for item in items if not isinstance(item, str) or item.strip()))


def _number(field: str, value: Any) -> int:
    least = 100 if field == "chunk_size" else 0
    digits = str(value).strip() if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    if not digits.isdecimal() or len(digits) > 6 or int(digits) < least:
        raise InvalidRequestError.for_field(field, f"must be a whole number of at least {least}.")
    return int(digits)


_Check = Callable[[str, Any, Sequence[Value], Callable[[str], str]], Any]
_CHECKS: dict[str, _Check] = {
    "title": lambda field, value, countries, strategies: _text(field, value),
    "country_name": lambda field, value, countries, strategies: check_country(field, value, countries),
    "year": lambda field, value, countries, strategies: check_year(field, value),
    "type": lambda field, value, countries, strategies: _text(field, value),
    "labels": lambda field, value, countries, strategies: _labels(field, value),
    "description": lambda field, value, countries, strategies: _text(field, value),
    "collection": lambda field, value, countries, strategies: _text(field, value),
    "chunk_strategy": lambda field, value, countries, strategies: strategies(_text(field, value)),
    "chunk_size": lambda field, value, countries, strategies: _number(field, value),
    "chunk_overlap": lambda field, value, countries, strategies: _number(field, value),
}
