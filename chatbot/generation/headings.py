"""Which sides of a comparison a cell speaks of, by what heads its row and its column."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .sentences import without_numbers
from .wording import plain, unmarked

_WORDS = re.compile(r"\w+")
_RELATES = re.compile(r"\b(?:differ\w*|gap|ratio|versus|vs|compar\w*|than|relative)\b", re.IGNORECASE)
Words = frozenset[str]


def heading(cell: str) -> str:
    """On one line, without marks and numbers of passages."""
    return " ".join(unmarked(without_numbers(cell)).split())


class SideNames:
    """The names of the sides: "Kenya", or "Kenya, 2021". Case, signs and the order of the words do not matter."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {name: _words(name) for name in names}

    def is_one(self, cell: str) -> bool:
        return bool(self._exactly(_words(cell)))

    def of(self, row: str, column: str) -> list[str]:
        """Those that the column names, else the row, else both together; all of them where nothing is named."""
        of_row, of_column = _words(row), _words(column)
        if found := self._exactly(of_column):
            return found
        if found := self._exactly(of_row):
            return list(self._names) if _RELATES.search(column) else found
        return (
            self._exactly(of_row | of_column)
            or self._whole(of_column)
            or self._whole(of_row)
            or [name for name in self._partly(of_column) if name in self._partly(of_row)]
            or self._partly(of_column)
            or self._partly(of_row)
            or list(self._names)
        )

    def _exactly(self, words: Words) -> list[str]:
        return [name for name, own in self._names.items() if words == own]

    def _whole(self, words: Words) -> list[str]:
        """Those whose whole name is among the words; not Guinea where Guinea-Bissau is."""
        found = {name: own for name, own in self._names.items() if own <= words}
        return [name for name, own in found.items() if not any(own < other for other in found.values())]

    def _partly(self, words: Words) -> list[str]:
        """Those that have all the words in their names: "2021" is each side of that year."""
        return [name for name, own in self._names.items() if words and words <= own]


def _words(cell: str) -> Words:
    return frozenset(_WORDS.findall(plain(heading(cell))))
