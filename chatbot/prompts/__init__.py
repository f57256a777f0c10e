"""Prompts as files, one `.txt` each, with ``$name`` placeholders; what is quoted in them cannot imitate their tags."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from importlib.resources import files
from string import Template


@lru_cache(maxsize=32)
def _template(name: str) -> Template:
    return Template(files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8"))


def render(name: str, **values: str) -> str:
    """The prompt ``name`` with its placeholders filled. Raises KeyError where one is missing."""
    return _template(name).substitute(values).strip()


_UNSEEN = (
    "[\\s\u00ad\u0300-\u036f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff]*"
)
"""White space, what is not seen at all, and accents."""
_BRACKETS = "<\u02c2\u2039\u2329\u276e\u27e8\u300a\u3008\ufe64\uff1c\u1438\u16b2\u226a\u227a\U0001d236"
_SLASHES = "/\u2044\u2215\u2571\u29f8\uff0f\\\\"
_LOOK_ALIKES = {
    "p": "\u0440\u0420\u03c1\u03a1\u2374\u01bf\ua731",
    "a": "\u0430\u0410\u03b1\u0391\u0251\u1d00\u2c6d",
    "s": "\u0455\u0405\ua731\u01bd\u10fd",
    "g": "\u0261\u0581\u050c\u018d\u1d83\u0262",
    "e": "\u0435\u0415\u03b5\u0395\u04bd\u1d07\u212f\u212e",
    "r": "\u0433\u0280\u1d26\uab47",
    "o": "\u043e\u041e\u03bf\u039f\u0585\u1d0f",
    "t": "\u0442\u0422\u03c4\u03a4\u1d1b",
    "c": "\u0441\u0421\u03f2\u03f9\u1d04",
    "n": "\u0578\u057c\u0274\u03b7",
    "v": "\u03bd\u0475\u0474\u1d20",
    "i": "\u0456\u0406\u03b9\u0399\u0131\u026a",
}
"""Letters of other scripts that look the same; what Unicode itself calls the same letter is found by `_same`."""
_STYLED = (
    range(0xAA, 0xBB),
    range(0x1D2C, 0x1DC0),
    range(0x2070, 0x2150),
    range(0x249C, 0x24EA),
    range(0xFF21, 0xFF5B),
)
_MATHEMATICAL = (range(0x1D400, 0x1D6A4), range(0x1F110, 0x1F190))


def _same(letter: str) -> str:
    """Full width, bold, circled, superscript ... forms of a letter."""
    points = (point for block in (*_STYLED, *_MATHEMATICAL) for point in block)
    return "".join(chr(p) for p in points if unicodedata.normalize("NFKC", chr(p)).strip("()").casefold() == letter)


_ENTITY = r"&(?:amp;)*(?:lt|#0*60|#x0*3c);?|\\u003c|\\x3c|%3c"


@lru_cache(maxsize=8)
def _start_of(tag: str) -> re.Pattern[str]:
    """Opening or closing, also with invisible characters, in look-alikes, or as an entity."""
    name = _UNSEEN.join(f"[{letter}{_LOOK_ALIKES[letter]}{_same(letter)}]" for letter in tag)
    slashes = f"(?:[{_SLASHES}]{_UNSEEN})*"
    return re.compile(rf"(?:[{_BRACKETS}]|{_ENTITY})(?={_UNSEEN}{slashes}{name})", re.IGNORECASE)


def inert(text: str, tag: str = "passage") -> str:
    """The text without this tag. The other tags stay: "<" is "less than", too."""
    return _start_of(tag).sub("(", text)


def on_one_line(text: str, tag: str = "passage") -> str:
    """The same on one line: a name with a line break could bring lines of its own."""
    return inert(" ".join(text.split()), tag)
