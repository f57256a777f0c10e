"""The JSON in a model's reply, whatever it wrote around it (R-C9)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .loose import Unreadable, read_loosely
from .thoughts import without_thoughts

LONGEST = 20_000
"""Characters of a reply that are looked at."""
BRACKETS = 200
"""Brackets that are tried before the search is given up: most begin nothing."""
_OPENING = re.compile(r"[\[{]")
_FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_JSON = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Found:
    """A list or an object, and where it stands. ``alone``: nothing else stands on its lines."""

    value: object
    start: int
    end: int
    alone: bool

    @property
    def meant(self) -> bool:
        """Not a reference such as [1], nor the brackets of "- [ ] to do"."""
        return self.alone or not self.start or isinstance(self.value, dict)


def said(reply: str) -> str:
    """What there is to read of a reply."""
    return without_thoughts(reply)[:LONGEST]


def first_of(fields: Mapping[str, object], names: Sequence[str]) -> object:
    """The field under the first of ``names`` that is there, None where none is."""
    named = named_fields(fields)
    return next((named[name] for name in names if name in named), None)


def named_fields(fields: Mapping[str, object]) -> dict[str, object]:
    """With lower-case names and underscores, as "Sub-queries" may be written in many ways."""
    return {field_name(name): field for name, field in fields.items()}


def field_name(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().casefold())


def values(text: str) -> list[Found]:
    """Every outermost list or object; those in fences come first, then those alone on their lines.

    So a reference such as [1] in the prose before the list is not taken for the list.
    """
    fences = [match.span(1) for match in _FENCE.finditer(text)]

    def rank(found: Found) -> int:
        fenced = any(start <= found.start and found.end <= end for start, end in fences)
        return 0 if fenced else 1 if found.alone else 2

    return sorted(_scanned(text), key=rank)


def _scanned(text: str) -> Iterator[Found]:
    place = 0
    for _ in range(BRACKETS):
        match = _OPENING.search(text, place)
        if match is None:
            return
        start = match.start()
        try:
            value, place = _read(text, start)
        except Unreadable:
            place = start + 1
            continue
        except RecursionError:
            return  # no reply that is meant is nested so deep
        before = text[text.rfind("\n", 0, start) + 1 : start]
        after = text[place : (text + "\n").index("\n", place)]
        yield Found(value, start, place, not before.strip() and not after.strip(" \t\r.,;`"))


def _read(text: str, start: int) -> tuple[object, int]:
    try:
        return _JSON.raw_decode(text, start)
    except ValueError:  # no JSON, or a number of thousands of digits
        return read_loosely(text, start)
