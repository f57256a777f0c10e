"""A reader for what was meant to be JSON: Python literals, typographic quotes, forgotten and doubled commas.

A descent of bounded depth; nothing is evaluated. Text that ends in the middle gives what was complete before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

DEPTH = 16
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


class Unreadable(ValueError):  # noqa: N818  # read only inside this package
    """Here stands no value."""


class _Cut(Unreadable):
    """The text ends inside a value."""


def read_loosely(text: str, place: int) -> tuple[object, int]:
    """The value that begins at ``place``, of dicts, lists, texts, numbers, booleans and None; where it ends.

    Raises Unreadable.
    """
    reader = _Reader(text, place)
    return reader.value(DEPTH), reader.place


class _Reader:
    def __init__(self, text: str, place: int) -> None:
        self._text = text
        self.place = place

    def value(self, depth: int) -> object:
        first = self._text[self.place : self.place + 1]
        if first in ("[", "{"):
            if not depth:
                raise Unreadable
            self.place += 1
            return self._list(depth - 1) if first == "[" else self._object(depth - 1)
        if first in _CLOSERS:
            return self._quoted(_VALUE_END[first])
        if match := _NUMBER.match(self._text, self.place):
            self._pass(match)
            return float(match[0]) if "." in match[0] else int(match[0])
        word = self._word().casefold()
        if word not in _WORDS:
            raise Unreadable
        return _WORDS[word]

    def _list(self, depth: int) -> list[object]:
        items: list[object] = []
        try:
            while not self._closed("]"):
                items.append(self.value(depth))
        except _Cut:
            if not items:
                raise
            self.place = len(self._text)
        return items

    def _object(self, depth: int) -> dict[str, object]:
        fields: dict[str, object] = {}
        try:
            while not self._closed("}"):
                key = self._key()
                fields[key] = self.value(depth)
        except _Cut:
            if not fields:
                raise
            self.place = len(self._text)
        return fields

    def _closed(self, bracket: str) -> bool:
        self._pass(_BLANK.match(self._text, self.place))
        if self._text[self.place] != bracket:
            return False
        self.place += 1
        return True

    def _key(self) -> str:
        first = self._text[self.place]
        key = self._quoted(_KEY_END[first]) if first in _CLOSERS else self._word()
        self._pass(_COLON.match(self._text, self.place))
        self._pass(_BLANK.match(self._text, self.place))
        return key

    def _quoted(self, end: re.Pattern[str]) -> str:
        """A text on one line: an unclosed one must not swallow the lines after it."""
        line_end = self._text.find("\n", self.place)
        last = len(self._text) if line_end < 0 else line_end
        match = end.search(self._text, self.place + 1, last)
        if match is None:
            raise _Cut if line_end < 0 else Unreadable
        inside = self._text[self.place + 1 : match.start()]
        self.place = match.end()
        return _ESCAPE.sub(_unescaped, inside)

    def _word(self) -> str:
        match = _WORD.match(self._text, self.place)
        self._pass(match)
        return match[0] if match else ""

    def _pass(self, match: re.Match[str] | None) -> None:
        """Go on behind it. What reaches the end of the text may have gone on, too."""
        if match is None:
            raise Unreadable
        if match.end() == len(self._text):
            raise _Cut
        self.place = match.end()


def _unescaped(match: re.Match[str]) -> str:
    sign = match[1]
    return chr(int(sign[1:], 16)) if len(sign) > 1 else _ESCAPED.get(sign, sign)
