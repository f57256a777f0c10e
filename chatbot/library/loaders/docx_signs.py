"""Signs that Word shows and its files only describe: automatic numbers, and characters
by their code in a font.
"""

import re
from functools import reduce

from lxml.etree import _Element

from ...domain.errors import read_table


def w(name: str) -> str:
    """Return the name of an element or attribute of Word's in its namespace."""
    return f"{{http://schemas.openxmlformats.org/wordprocessingml/2006/main}}{name}"


VALUE = w("val")


def value_of(parent: _Element | None, name: str) -> str:
    """Return the value of a child element; "" without one."""
    child = None if parent is None else parent.find(w(name))
    return "" if child is None else child.get(VALUE, "")


class WordNumbering:
    """The numbers that Word writes before headings and items, which a file only
    describes (ECMA-376, 17.9).
    """

    def __init__(self, root: _Element | None) -> None:
        self._levels: dict[tuple[str, int], _Element] = {}
        self._lists: dict[str, str] = {}
        self._styled: dict[str, tuple[str, int]] = {}
        self._counts: dict[tuple[str, int], int] = {}
        if root is None:
            return
        for definition in root.iter(w("abstractNum")):
            name = definition.get(w("abstractNumId"), "")
            for level in definition.iterchildren(w("lvl")):
                digit = level.get(w("ilvl"), "")
                if digit not in set("012345678"):
                    continue
                depth = int(digit)
                style = value_of(level, "pStyle")
                self._levels[name, depth] = level
                self._styled[style] = (name, depth)
        for number in root.iterchildren(w("num")):
            list_id = number.get(w("numId"), "")
            self._lists[list_id] = value_of(number, "abstractNumId")

    def next(self, numbering: _Element | None, style: str) -> str:
        """Count a paragraph and return its number as it is shown; "" for a bullet and
        for no list.
        """
        if numbering is None:
            return ""
        name = self._lists.get(value_of(numbering, "numId"), "")
        depth = value_of(numbering, "ilvl")
        place = int(depth) if depth in set("012345678") else 0
        if not depth and self._styled.get(style, ("",))[0] == name:
            place = self._styled[style][1]
        if (name, place) not in self._levels:
            return ""
        self._counts[name, place] = self._count(name, place) + 1
        for below in range(place + 1, 9):
            self._counts.pop((name, below), None)
        level = self._levels[name, place]
        if value_of(level, "numFmt") in {"bullet", "none"}:
            return ""
        return _LEVEL_NUMBER.sub(
            lambda match: self._shown(name, int(match[1]) - 1),
            value_of(level, "lvlText"),
        ).strip()

    def _count(self, name: str, place: int) -> int:
        start = value_of(self._levels.get((name, place)), "start")
        return self._counts.get(
            (name, place), int(start) - 1 if start.isdecimal() and len(start) < 6 else 0
        )

    def _shown(self, name: str, place: int) -> str:
        count = self._count(name, place)
        style = value_of(self._levels.get((name, place)), "numFmt")
        if style.endswith("Letter"):  # after z come aa, bb
            text = chr(ord("a") + (count - 1) % 26) * min((count - 1) // 26 + 1, 9)
        elif style.endswith("Roman"):
            text = "".join(
                sign * (count % above // value) for sign, value, above in _ROMAN
            )
            text = reduce(lambda shown, pair: shown.replace(*pair), _ROMAN_PAIRS, text)
        else:
            text = str(count)
        return text.upper() if style.startswith("upper") else text


_LEVEL_NUMBER = re.compile(r"%([1-9])")
_TABLE = read_table(__package__, "docx_signs")
_ROMAN = _TABLE["roman"]
_ROMAN_PAIRS = _TABLE["roman_pairs"]
SYMBOLS: dict[str, str] = _TABLE["symbols"]
"""The signs of the font Symbol by their codes."""
