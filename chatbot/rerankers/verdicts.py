"""Numbers out of a model's reply, whatever it wrote around them (R-C8, R-C9)."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

_THINKING = re.compile(r"(</?think\s*>)", re.IGNORECASE)
_LISTED = re.compile(r"^\s*(?:[-*•]\s*)?(?:passage\s*)?[\[(#]?(\d{1,4})[\])]?[.:]?\s*$", re.IGNORECASE)
LONGEST = 20_000
"""Characters of a reply that are looked at."""
DIGITS = 4


def without_thoughts(reply: str) -> str:
    """Without what a reasoning model thought aloud, also where only one of the two tags is there."""
    said: list[str] = []
    thinking = False
    for place, piece in enumerate(_THINKING.split(reply)):
        if place % 2 == 0:  # text; the tags stand between
            said += [] if thinking else [piece]
            continue
        closes = piece.startswith("</")
        if closes and not thinking:
            said.clear()
        thinking = not closes
    return "".join(said).strip()


def chosen_numbers(reply: str, count: int) -> list[int] | None:
    """The 1-based numbers up to ``count`` that the reply lists, each once, in its order; None = it lists nothing.

    Read in this order: the first bracketed list (JSON, then Python), also inside a fence or an object; lines that are
    a number each; a number alone in brackets. Numbers out of range are dropped; a list of nothing but those is none.
    """
    text = without_thoughts(reply[:LONGEST])
    listed = next(_bracketed(text), None)
    lines = [int(match[1]) for line in text.splitlines() if (match := _LISTED.match(line))]
    found = lines if lines and (listed is None or len(listed) == 1) else listed
    if not found:
        return found
    return list(dict.fromkeys(number for number in found if 1 <= number <= count)) or None


def _bracketed(text: str) -> Iterator[list[int]]:
    """Every innermost [...] that reads as a list of numbers."""
    for match in re.finditer(r"\[[^\[\]]*\]", text):
        numbers = _literal(match[0])
        if isinstance(numbers, list) and all(_is_number(number) for number in numbers):
            yield [int(number) for number in numbers]


def _literal(text: str) -> object:
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return None


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        return value.isdecimal() and len(value) <= DIGITS
    return isinstance(value, int) and not isinstance(value, bool)
