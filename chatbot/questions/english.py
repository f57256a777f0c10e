"""The English of this room's rules (`english.toml`): patterns, words and numbers."""

from ..language.figures import ONES, TENS
from ..language.rules import RuleWords

_RULES = RuleWords(__package__, "english.toml")
pattern, words = _RULES.pattern, _RULES.words


def number_of(text: str) -> int:
    """The number that a word or digits stand for; 0 for others."""
    word = text.lower()
    return (ONES | TENS).get(word) or (int(text) if text.isdecimal() else 0)
