"""Count tokens, and write counts with their nouns."""

import re
from collections.abc import Iterable

_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text for any model, rather too high than too low, and
    never below its words. Tokenizers merge letters into words, digits by threes and
    signs hardly ever; a letter beyond ASCII costs by its bytes (measured against
    MiniLM's, cl100k's and o200k's tokens, benchmarks/README.md).
    """
    ascii_only = len(text.encode("ascii", "ignore"))
    beyond = len(text.encode("utf-8", "surrogatepass")) - ascii_only
    digits = sum(map(text.count, "0123456789"))
    signs = len(_PUNCTUATION.findall(text))
    parts = 22 * (ascii_only - digits - signs) + 50 * digits + 85 * signs + 42 * beyond
    return max(parts // 100, text.count(" ")) + 1


def estimate_tokens_of(texts: Iterable[str]) -> int:
    """Estimate the tokens of several texts, such as the messages of a prompt."""
    return sum(estimate_tokens(text) for text in texts)


def count_of(count: int, noun: str) -> str:
    """Return a count with its noun: "1 report", "2 searches", "1,200 countries"."""
    if count != 1:
        is_changed = noun.endswith("y") and noun[-2] not in "aeiou"  # but "keys"
        noun = (
            f"{noun[:-1]}ies"
            if is_changed
            else f"{noun}es"
            if noun.endswith("ch")
            else f"{noun}s"
        )
    return f"{count:,} {noun}"
