"""One of several, and yes or no, out of a model's reply (R-C1, R-C9)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .values import first_of, said, values

_KEYS = ("choice", "index", "number", "mode", "name", "agent", "selected", "answer")
_NUMBER = re.compile(r"(?<![\w.,-])(\d{1,2})(?![\w%]|[.,]\d)")
_VOTE = re.compile(
    r"(?<!not )\b(?:answer|choice|choose|chose|pick|select|option|number|mode|agent)(?: is)?[\W_]{1,5}"
    r"(?:(?:option|number|agent|mode|the)[\W_]+)?(\w+)",
    re.IGNORECASE,
)
_FIRST = re.compile(
    r"[\W_]*(?:(?:(?:final|the|my) )*(?:answer|verdict|decision|response)(?: is)?\W+)?(yes|no|true|false)\b",
    re.IGNORECASE,
)
_WHOLE = re.compile(r"\W*(yes|no|true|false)\W*", re.IGNORECASE)
_TRUE = {"yes": True, "true": True, "no": False, "false": False}


def read_choice(reply: str, names: Sequence[str]) -> int | None:
    """The 1-based place in ``names``; None where the reply is out of range or names several.

    Read in this order: JSON; the first or last line, if it is nothing but a number or a name; what is said of
    choosing ("I would pick 2"); the only number up to 99 or name in the text.
    """
    text = said(reply)
    for found in values(text):
        if found.meant and (place := _of_value(found.value, names)) is not None:
            return place or None
    lines = [line for line in text.splitlines() if line.strip()]
    ends = {place for line in lines[:1] + lines[-1:] if (place := _place(line, names)) is not None}
    votes = {place for vote in _VOTE.findall(text) if (place := _place(vote, names)) is not None}
    for places in (ends, votes, _mentioned(text, names)):
        if places:
            return max(places) or None if len(places) == 1 else None
    return None


def _of_value(value: object, names: Sequence[str]) -> int | None:
    """0 = it chooses what is not there, None = it chooses nothing."""
    if isinstance(value, Mapping):
        inside = list(value.values())
        value = first_of(value, _KEYS) if len(inside) != 1 else inside[0]
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 1 <= value <= len(names) else 0
    return _place(value, names) if isinstance(value, str) else None


def _place(text: str, names: Sequence[str]) -> int | None:
    """Of a number, a name, or both ("2. deep"); 0 = out of range, None = something else stands there."""
    bare = text.strip(" \t\r\n\"'`“”‘’*_.:()[]#").casefold()
    if bare.isdecimal():
        return int(bare) if len(bare) <= 4 and 1 <= int(bare) <= len(names) else 0
    for place, name in enumerate(names, start=1):
        if re.fullmatch(rf"(?:{place}\W+)?{re.escape(name.casefold())}", bare):
            return place
    return None


def _mentioned(text: str, names: Sequence[str]) -> set[int]:
    numbers = {int(number) for number in _NUMBER.findall(text)}
    found = {number if number <= len(names) else 0 for number in numbers}
    named = (rf"(?<!\w){re.escape(name)}(?!\w)" for name in names)
    return found | {place for place, name in enumerate(named, start=1) if re.search(name, text, re.IGNORECASE)}


def read_yes_no(reply: str) -> bool | None:
    """By the first word, whatever its case and the markup around it; also JSON's true, alone or in an object."""
    text = said(reply)
    if match := _FIRST.match(text):
        return _TRUE[match[1].casefold()]
    for found in values(text):
        inside = list(found.value.values()) if isinstance(found.value, Mapping) else [found.value]
        verdicts = {verdict for one in inside if (verdict := is_yes(one)) is not None}
        if len(verdicts) == 1:
            return verdicts.pop()
    return None


def is_yes(value: object) -> bool | None:
    """Of a boolean, or of a text that says nothing else."""
    if isinstance(value, str) and (match := _WHOLE.fullmatch(value)):
        return _TRUE[match[1].casefold()]
    return value if isinstance(value, bool) else None
