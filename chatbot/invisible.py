"""Invisible characters, which a model reads all the same: they hide words, and split what is searched for."""

from __future__ import annotations

import re

_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Default_Ignorable_Code_Point of Unicode 16, DerivedCoreProperties.txt; the tag characters are among them."""
_OTHERS = "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff\U00013430-\U0001343f"
"""Control characters, noncharacters, annotations of lines (UAX #44: general categories Cc, Cn and Cf)."""
_JOINED = "[\u0600-\u109f\u1780-\u18af]"
"""Letters from Arabic to Myanmar, Khmer and Mongolian: there, a joiner between two is spelling (UAX #31, 2.3)."""
_UNSEEN = re.compile(f"(?!(?<={_JOINED})[\u200c\u200d]{_JOINED})[{_IGNORABLE}{_OTHERS}]+?")
_HIDDEN = re.compile(f"[{_IGNORABLE}{_OTHERS}]")
"""A quick look first: where nothing is hidden, it takes a third of the time."""
_BLANK = re.compile("[\x0b\x0c\x1c-\x1f\x85\u2800]")


def visible(text: str) -> str:
    """The text without what is not seen; blanks that are no white space, or steer a printer, are spaces."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return _BLANK.sub(" ", _UNSEEN.sub("", text) if _HIDDEN.search(text) else text)
