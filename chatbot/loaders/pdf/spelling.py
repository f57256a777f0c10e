"""Letters of a PDF to running text: ligatures spelt out, accents put on letters, words cut at a line end joined."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable

_SOFT_HYPHEN = "\xad"
_CUT = re.compile(r"([^\W\d_]+)[-‐]$")
_DASHED = re.compile(r"\w[-‐–]$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_SUSPENDED = re.compile(r"(?:and|or|to|und|oder|bis|et|ou|y|o|e|en|of)\b")
_ADDRESS = re.compile(r"(?://|www\.)\S*[/=&?%_-]$|//$|@$")
_COMPOUND = re.compile(r"[^\W\d_]+-[^\W\d_]+")
_ACCENTED = re.compile(r"([A-Za-z])([ˆ¸˜´¨ˇ˘˚])")
_COMBINING = dict(zip("ˆ¸˜´¨ˇ˘˚", "\u0302\u0327\u0303\u0301\u0308\u030c\u0306\u030a", strict=True))
_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}


def mend_word(text: str) -> str:
    """A word with its ligatures spelt out, and with accents that were printed as signs of their own."""
    return _ACCENTED.sub(_composed, text.translate(_LIGATURES))


def _composed(match: re.Match[str]) -> str:
    letter = unicodedata.normalize("NFC", match[1] + _COMBINING[match[2]])
    return letter if len(letter) == 1 else match[0]


def is_right_to_left(text: str) -> bool:
    """Whether most of its letters are Arabic, Hebrew or of another script that runs so."""
    directions = [unicodedata.bidirectional(char) for char in text]
    return sum(one in {"R", "AL"} for one in directions) > directions.count("L")


def logical(text: str) -> str:
    """A line as it is read, from one as it stands on the page.

    By the Unicode bidirectional algorithm, which undoes itself but for rare mixtures of numbers and signs. Arabic
    letters in the shapes that they were printed in become plain ones: nobody types the others into a search.
    """
    if text.isascii() or not any(unicodedata.bidirectional(char) in {"R", "AL"} for char in text):
        return text
    from bidi import get_display

    turned: str = get_display(text, base_dir="R" if is_right_to_left(text) else "L")
    return unicodedata.normalize("NFKC", turned)


def compounds(lines: Iterable[str]) -> set[str]:
    """Words with a hyphen inside a line, in lower case: those keep it when they are cut at a line end."""
    return {word.lower() for line in lines if "-" in line for word in _COMPOUND.findall(line)}


def join_lines(before: str, after: str, hyphenated: Collection[str] = ()) -> str:
    """Two lines of a paragraph as one text. ``hyphenated``: words known to be written with a hyphen (`compounds`)."""
    if not before or not after:
        return before or after
    if before.endswith(_SOFT_HYPHEN):
        return before.rstrip(_SOFT_HYPHEN) + after
    cut, goes_on = _CUT.search(before), _FIRST_WORD.match(after)
    if cut and goes_on and goes_on[0][0].islower():
        if _SUSPENDED.match(after):
            return f"{before} {after}"
        whole = f"{cut[1]}-{goes_on[0]}".lower()
        return (before if whole in hyphenated else before[:-1]) + after
    if (_DASHED.search(before) and after[0].isalnum()) or _ADDRESS.search(before):
        return before + after
    return f"{before} {after}"
