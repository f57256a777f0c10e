"""The JSON in a model's reply, whatever it wrote around it, and what was meant to be JSON (R-C9).

Python literals, typographic quotes, forgotten and doubled commas, a text that ends in the middle: read by a descent of
bounded depth, in linear time, and nothing is evaluated. (json-repair takes 19 seconds for 20 kB of `["`, completes a
text that was cut off instead of leaving it out, and loses German quotes and apostrophes: measured and not taken.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

BRACKETS = 200
"""Brackets that are tried before the search is given up: most begin nothing."""
DEPTH = 16
_OPENING = re.compile(r"[\[{]")
_FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_JSON = json.JSONDecoder(strict=False)
_BLANK = re.compile(r"[\s,]*")
_COLON = re.compile(r"\s*:")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[-+]?\d{1,15}(?:\.\d{1,15})?(?![\w.])")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_WORDS: Mapping[str, object] = {"true": True, "false": False, "null": None, "none": None}
_CLOSERS = {'"': '"', "“": '“”„"', "”": '“”"', "„": '“”"', "«": "»", "'": "'", "‘": "‘’'", "’": "‘’'", "`": "`"}
# A quote ends a text where punctuation, another quoted text or the end of the line follows: others belong to it.
_VALUE_END = {
    first: re.compile(rf"(?<!\\)[{last}](?=\s*(?:[,\]}}]|\Z)|\s+[\"“„«'‘`])") for first, last in _CLOSERS.items()
}
_KEY_END = {first: re.compile(rf"(?<!\\)[{last}](?=\s*:)") for first, last in _CLOSERS.items()}
_Member = TypeVar("_Member")


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A list or an object, and where it stands. ``alone``: nothing else stands on its lines."""

    value: object
    start: int
    end: int
    alone: bool

    @property
    def meant(self) -> bool:
        """Whether this is a value, and not a reference such as [1] nor the brackets of "- [ ] to do"."""
        return self.alone or not self.start or isinstance(self.value, dict)


def first_of(fields: Mapping[str, object], names: Sequence[str]) -> object:
    """The field under the first of ``names`` that is there, None where none is."""
    named = normalise_names(fields)
    return next((named[name] for name in names if name in named), None)


def normalise_names(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields by their names in lower case and in one word, as "Sub-queries" may be written in many ways."""
    return {re.sub(r"[\s_-]+", "", name.casefold()): field for name, field in fields.items()}


def json_values(text: str) -> list[JsonValue]:
    """Every outermost list or object; those in fences come first, then those alone on their lines.

    So a reference such as [1] in the prose before the list is not taken for the list.
    """
    fences = [match.span(1) for match in _FENCE.finditer(text)]

    def rank(found: JsonValue) -> int:
        fenced = any(start <= found.start and found.end <= end for start, end in fences)
        return 0 if fenced else 1 if found.alone else 2

    return sorted(_scan(text), key=rank)


def _scan(text: str) -> Iterator[JsonValue]:
    place = 0
    for _ in range(BRACKETS):
        match = _OPENING.search(text, place)
        if match is None:
            return
        start = match.start()
        try:
            value, place = _read(text, start)
        except _UnreadableError:
            place = start + 1
            continue
        except RecursionError:
            return  # no reply that is meant is nested so deep
        before = text[text.rfind("\n", 0, start) + 1 : start]
        after = text[place : (text + "\n").index("\n", place)]
        yield JsonValue(value, start, place, not before.strip() and not after.strip(" \t\r.,;`"))


def _read(text: str, start: int) -> tuple[object, int]:
    try:
        return _JSON.raw_decode(text, start)
    except ValueError:  # no JSON, or a number of thousands of digits
        reader = _Reader(text, start)
        return reader.value(DEPTH), reader.place


class _UnreadableError(ValueError):
    """No JSON value begins here."""


class _CutError(_UnreadableError):
    """The text ends inside a value: what was complete before counts."""


class _Reader:
    """Reads dicts, lists, texts, numbers, booleans and None, from ``place`` on."""

    def __init__(self, text: str, place: int) -> None:
        self._text = text
        self.place = place

    def value(self, depth: int) -> object:
        first = self._text[self.place : self.place + 1]
        if first == "[":
            return self._members("]", depth, lambda: self.value(depth - 1))
        if first == "{":
            return dict(self._members("}", depth, lambda: (self._key(), self.value(depth - 1))))
        if first in _CLOSERS:
            return self._quoted(_VALUE_END[first])
        if _NUMBER.match(self._text, self.place):
            number = self._pass(_NUMBER)
            return float(number) if "." in number else int(number)
        word = self._pass(_WORD).casefold()
        if word not in _WORDS:
            raise _UnreadableError
        return _WORDS[word]

    def _members(self, closer: str, depth: int, member: Callable[[], _Member]) -> list[_Member]:
        if not depth:
            raise _UnreadableError
        found: list[_Member] = []
        self.place += 1
        try:
            while self._next() != closer:
                found.append(member())
        except _CutError:
            if not found:
                raise
            self.place = len(self._text)
        else:
            self.place += 1
        return found

    def _next(self) -> str:
        self._pass(_BLANK)
        return self._text[self.place]

    def _key(self) -> str:
        first = self._text[self.place]
        key = self._quoted(_KEY_END[first]) if first in _CLOSERS else self._pass(_WORD)
        self._pass(_COLON)
        self._pass(_BLANK)
        return key

    def _quoted(self, end: re.Pattern[str]) -> str:
        """A text on one line: an unclosed one must not swallow the lines after it."""
        line_end = self._text.find("\n", self.place)
        last = len(self._text) if line_end < 0 else line_end
        match = end.search(self._text, self.place + 1, last)
        if match is None:
            raise _CutError if line_end < 0 else _UnreadableError
        inside = self._text[self.place + 1 : match.start()]
        self.place = match.end()
        return _ESCAPE.sub(_unescape, inside)

    def _pass(self, pattern: re.Pattern[str]) -> str:
        """Go on behind it. What reaches the end of the text may have gone on, too."""
        match = pattern.match(self._text, self.place)
        if match is None:
            raise _UnreadableError
        if match.end() == len(self._text):
            raise _CutError
        self.place = match.end()
        return match[0]


def _unescape(match: re.Match[str]) -> str:
    sign = match[1]
    return chr(int(sign[1:], 16)) if len(sign) > 1 else _ESCAPED.get(sign, sign)
