"""What a model chose: one of several, yes or no, the numbers of passages (R-C1, R-C9)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .json_values import first_of, json_values
from .stream import readable

_CHOICE_KEYS = ("choice", "index", "number", "mode", "name", "agent", "selected", "answer")
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
_THING = r"(?:passages?|documents?|docs?|chunks?|sources?|numbers?|collections?)"
_LISTED = re.compile(
    rf"(?:[-*•]\s*|\d{{1,2}}[.)]\s+(?={_THING}))?(?:{_THING}\s*)?[\[(#]?(\d{{1,4}})[\])]?[.:]?$", re.IGNORECASE
)
_NAMED = re.compile(r"[\W_]*(?:[a-z]+[\W_]*)?(\d{1,4})\W*", re.IGNORECASE)
_BARE = re.compile(r"[\s\[(]*\d{1,4}(?:[\s,;&\[\]()]+(?:and\s+)?\d{1,4})*[\s\]).]*")
_IN_PROSE = re.compile(
    rf"\b{_THING}[\s:#\[(]*(\d{{1,4}}\b(?:[\s,;&#\[\]()]*(?:(?:and|or|to)\s+|[-–]\s*)?"
    rf"(?:{_THING}\s+)?[#\[(]?\d{{1,4}}\b)*)|\[(\d{{1,4}})\]",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(\d{1,4})[\])]*(?:\s*(?:[-–]|to)\s*[\[(]*(\d{1,4}))?", re.IGNORECASE)
_NEGATION = re.compile(
    r"\b(?:not?|none|neither|nor|un(?:related|helpful|likely|important)|irrelevant|useless|except|without"
    r"|exclud\w+|ignor\w+)\b|n['’]t\b",
    re.IGNORECASE,
)
_NUMBER_KEYS = ("number", "passage", "document", "index", "id")


def read_choice(reply: str, names: Sequence[str]) -> int | None:
    """The 1-based place in ``names``; None where the reply is out of range or names several.

    Read in this order: JSON; the first or last line, if it is nothing but a number or a name; what is said of
    choosing ("I would pick 2"); the only number up to 99 or name in the text.
    """
    text = readable(reply)
    for found in json_values(text):
        if found.meant and (place := _chosen(found.value, names)) is not None:
            return place or None
    lines = [line for line in text.splitlines() if line.strip()]
    ends = {place for line in lines[:1] + lines[-1:] if (place := _place(line, names)) is not None}
    votes = {place for vote in _VOTE.findall(text) if (place := _place(vote, names)) is not None}
    for places in (ends, votes, _mentioned(text, names)):
        if places:
            return max(places) or None if len(places) == 1 else None
    return None


def _chosen(value: object, names: Sequence[str]) -> int | None:
    """0 = it chooses what is not there, None = it chooses nothing."""
    if isinstance(value, Mapping):
        inside = list(value.values())
        value = first_of(value, _CHOICE_KEYS) if len(inside) != 1 else inside[0]
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 1 <= value <= len(names) else 0
    return _place(value, names) if isinstance(value, str) else None


def _place(text: str, names: Sequence[str]) -> int | None:
    """The place that a text names, by a number, a name, or both ("2. deep"); 0 = out of range, None = it names none."""
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
    """Yes or no by a reply's first word, whatever its case and markup; also JSON's true, alone or in an object. None
    = neither.
    """
    text = readable(reply)
    if match := _FIRST.match(text):
        return _TRUE[match[1].casefold()]
    for found in json_values(text):
        inside = list(found.value.values()) if isinstance(found.value, Mapping) else [found.value]
        verdicts = {verdict for one in inside if (verdict := is_yes(one)) is not None}
        if len(verdicts) == 1:
            return verdicts.pop()
    return None


def is_yes(value: object) -> bool | None:
    """Yes or no by a boolean, or a text that says nothing else; None = neither."""
    if isinstance(value, str) and (match := _WHOLE.fullmatch(value)):
        return _TRUE[match[1].casefold()]
    return value if isinstance(value, bool) else None


def read_numbers(reply: str, count: int) -> list[int] | None:
    """The 1-based numbers up to ``count`` that the reply lists, each once, in its order.

    [] = the reply says none; None = it lists nothing, or nothing but numbers out of range. Read in this order: the
    first list (see `values`), but lines that are a number each before a list of one; numbers and nothing else; what
    prose says of "passages 1 and 3", unless it denies something.
    """
    text = readable(reply)
    found, meant = next(
        ((numbers, one.meant) for one in json_values(text) if (numbers := _listed(one.value)) is not None),
        (None, False),
    )
    if found == []:
        return []
    if found is None or len(found) == 1:
        only = [int(match[1]) for line in text.splitlines() if (match := _LISTED.match(line.strip()))]
        only = only or (_spans(text, count) if _BARE.fullmatch(text) else [])
        # One number in brackets within a sentence is one of those that the sentence names.
        found = only or (found if meant else _in_prose(text, count))
    return list(dict.fromkeys(number for number in found or [] if 1 <= number <= count)) or None


def _in_prose(text: str, count: int) -> list[int]:
    if _NEGATION.search(text):
        return []  # "passage 2 is not relevant" names a number, too
    return [number for match in _IN_PROSE.finditer(text) for number in _spans(match[1] or match[2], count)]


def _spans(text: str, count: int) -> list[int]:
    """The numbers in a text, spans such as "3-5" filled up; what is out of range stays out of range."""
    found: list[int] = []
    for first, last in _SPAN.findall(text):
        found += range(int(first), min(int(last), count) + 1) if last else [int(first)]
    return found


def _listed(value: object, depth: int = 3) -> list[int] | None:
    """The first list of numbers in it; None where it holds none."""
    if isinstance(value, list):
        numbers = [_number(item) for item in value]
        if all(number is not None for number in numbers):
            return [number for number in numbers if number is not None]
    elif isinstance(value, dict):
        if len(value) == 1 and (number := _number(value)) is not None:
            return [number]
        value = list(value.values())
    if not isinstance(value, list) or not depth:
        return None
    inside = (_listed(item, depth - 1) for item in value if isinstance(item, (list, dict)))
    return next((numbers for numbers in inside if numbers is not None), None)


def _number(value: object) -> int | None:
    """The number that a value names, also of "Document 3" and of {"passage": 3, "reason": ...}; None = none."""
    if isinstance(value, Mapping):
        value = first_of(value, _NUMBER_KEYS)
    if isinstance(value, str) and len(value) <= 40 and (match := _NAMED.fullmatch(value)):
        return int(match[1])
    return value if isinstance(value, int) and not isinstance(value, bool) else None
