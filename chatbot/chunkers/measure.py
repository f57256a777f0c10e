"""Whether a text is short enough for a passage, and whether an overlap is."""

from __future__ import annotations

from collections.abc import Container
from functools import lru_cache

from ..protocols import Embedder
from .limits import CHARACTERS_PER_TOKEN, ChunkLimits

LONGEST_TOKEN = 16
"""Characters. Where there are more to a token, it is no text that a model reads: a word of more than 100 letters is
one unknown token to MiniLM, whatever its length. It also bounds the text that is counted at a time."""


class Measure:
    """Length and overlap in the unit of ``limits``, as shares of what is allowed: up to 1 is allowed.

    Shares, because they tell the search for the longest passage where to look next: tokens are dear to count.
    """

    def __init__(self, embedder: Embedder, limits: ChunkLimits, *, overlap: int, known: Container[str]) -> None:
        """``known`` texts have been embedded whole before."""
        self._embedder = embedder
        self._known = known
        self._overlap = overlap
        self._in_tokens = limits.unit == "tokens"
        self._size = limits.used
        self._tokens = limits.used if self._in_tokens else embedder.max_tokens
        self._room = lru_cache(1024)(self._count_room)

    def passage(self, heading: str, text: str, start: int, end: int) -> float:
        """The share of the size that ``text[start:end]`` fills, or of what the embedder reads below ``heading``."""
        by_length = self._by_length(end - start, self._size)
        if by_length > 1:
            return by_length
        part = text[start:end]
        if not self._in_tokens and _with_heading(heading, part) in self._known:
            return by_length
        return max(by_length, self._by_tokens(part, min(self._tokens, self._room(heading))))

    def overlap(self, text: str, start: int, end: int) -> float:
        """The share of the overlap that ``text[start:end]`` fills. The overlap is not 0."""
        by_length = self._by_length(end - start, self._overlap)
        return by_length if by_length > 1 or not self._in_tokens else self._by_tokens(text[start:end], self._overlap)

    def _by_length(self, characters: int, allowed: int) -> float:
        """What length alone says: all there is to say of characters, but of tokens only that it is far too much.

        Asked first: neither is a slice of a long text free, nor the count of its tokens.
        """
        if not self._in_tokens:
            return characters / allowed
        return characters / (CHARACTERS_PER_TOKEN * allowed) if characters > LONGEST_TOKEN * allowed else 0

    def _by_tokens(self, part: str, allowed: int) -> float:
        # A token has at least one byte (not one character: a Korean syllable is up to three).
        if len(part) <= allowed and len(part.encode("utf-8", "surrogatepass")) <= allowed:
            return len(part) / (CHARACTERS_PER_TOKEN * allowed)
        return self._embedder.count_tokens(part) / allowed

    def _count_room(self, heading: str) -> int:
        """Tokens of a passage below ``heading``; counted apart, since no token spans the end of a line.

        A heading that leaves no room would shred the text: half of what the embedder reads is always the text's.
        """
        limit = self._embedder.max_tokens
        return max(limit - self._embedder.count_tokens(f"{heading}\n"), limit // 2) if heading else limit


def _with_heading(heading: str, text: str) -> str:
    """As in `Chunk.search_text`."""
    return f"{heading}\n{text}" if heading else text
