"""Numbers of passages out of a model's reply (R-C9)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .values import first_of, said, values

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
_KEYS = ("number", "passage", "document", "index", "id")


def read_numbers(reply: str, count: int) -> list[int] | None:
    """The 1-based numbers up to ``count`` that the reply lists, each once, in its order.

    [] = the reply says none; None = it lists nothing, or nothing but numbers out of range. Read in this order: the
    first list (see `values`), but lines that are a number each before a list of one; numbers and nothing else; what
    prose says of "passages 1 and 3", unless it denies something.
    """
    text = said(reply)
    found, meant = next(
        ((numbers, one.meant) for one in values(text) if (numbers := _of_value(one.value)) is not None), (None, False)
    )
    if found == []:
        return []
    if found is None or len(found) == 1:
        only = _on_lines(text) or (_spans(text, count) if _BARE.fullmatch(text) else [])
        # One number in brackets within a sentence is one of those that the sentence names.
        found = only or (found if meant else _in_prose(text, count))
    return _in_range(found or [], count)


def _in_range(numbers: Iterable[int], count: int) -> list[int] | None:
    return list(dict.fromkeys(number for number in numbers if 1 <= number <= count)) or None


def _on_lines(text: str) -> list[int]:
    return [int(match[1]) for line in text.splitlines() if (match := _LISTED.match(line.strip()))]


def _in_prose(text: str, count: int) -> list[int]:
    if _NEGATION.search(text):
        return []  # "passage 2 is not relevant" names a number, too
    return [number for match in _IN_PROSE.finditer(text) for number in _spans(match[1] or match[2], count)]


def _spans(text: str, count: int) -> list[int]:
    """With a span such as "3-5" filled up; what is out of range stays out of range."""
    found: list[int] = []
    for first, last in _SPAN.findall(text):
        found += range(int(first), min(int(last), count) + 1) if last else [int(first)]
    return found


def _of_value(value: object, depth: int = 3) -> list[int] | None:
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
    inside = (_of_value(item, depth - 1) for item in value if isinstance(item, (list, dict)))
    return next((numbers for numbers in inside if numbers is not None), None)


def _number(value: object) -> int | None:
    """Also of "Document 3" and of {"passage": 3, "reason": ...}."""
    if isinstance(value, Mapping):
        value = first_of(value, _KEYS)
    if isinstance(value, str) and len(value) <= 40 and (match := _NAMED.fullmatch(value)):
        return int(match[1])
    return value if isinstance(value, int) and not isinstance(value, bool) else None
