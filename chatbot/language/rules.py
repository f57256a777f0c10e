r"""Patterns and words of a room as data, in a TOML file beside its modules.

A pattern says what follows each other in a sentence, with a word of the data in braces
for all that may stand there: ``pattern(r"^{tell} me\b")``.
"""

import re
import tomllib
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

_BAR = re.compile(r"\s+\|\s+")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


class RuleWords:
    """The words and patterns of one TOML file of a package."""

    def __init__(self, package: str, name: str) -> None:
        text = files(package).joinpath(name).read_text(encoding="utf-8")
        self.tables: dict[str, Any] = tomllib.loads(text, parse_float=Decimal)
        self._pattern = cache(self._made)

    def pattern(self, expression: str, *, any_case: bool = True) -> re.Pattern[str]:
        """A regular expression in which each ``{name}`` stands for that pattern of the
        data. Raises KeyError.
        """
        return re.compile(self._filled(expression), re.IGNORECASE if any_case else 0)

    def words(self, name: str) -> frozenset[str]:
        """The words of one list of the data. Raises KeyError."""
        return frozenset(self.tables["words"][name]["words"].split())

    def _made(self, name: str) -> str:
        """A pattern as a group."""
        stated = self.tables["patterns"][name]["pattern"].strip()
        text = self._filled(" ".join(_BAR.sub("|", stated).split()))
        return f"(?:{text})"

    def _filled(self, expression: str) -> str:
        return _PLACEHOLDER.sub(lambda match: self._pattern(match[1]), expression)
