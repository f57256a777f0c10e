"""How long a passage may be: what was asked for, and what the embedder leaves of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..errors import InvalidRequestError
from ..protocols import Embedder

Unit = Literal["characters", "tokens"]

CHARACTERS_PER_TOKEN = 4
"""An estimate for English, as in `text.estimate_tokens`; the sample reports have 3.8 (MiniLM)."""
SMALLEST: dict[Unit, int] = {"characters": 1, "tokens": 8}
"""A single character is never cut, and to some models it is several tokens."""


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """The longest passage, in ``unit``. ``used`` is below ``asked`` where the embedder reads less.

    For characters what the embedder reads is an estimate (four a token). Denser text is cut shorter still: tokens are
    counted before a passage is made.
    """

    asked: int
    used: int
    unit: Unit


def chunk_limits(embedder: Embedder, *, size: int, unit: Unit) -> ChunkLimits:
    """The limits for a size asked for.

    Raises:
        InvalidRequestError: the size is too small to cut anything.
    """
    if size < SMALLEST[unit]:
        raise InvalidRequestError.for_field("chunk_size", f"{size} is too small: at least {SMALLEST[unit]} {unit}.")
    reads = embedder.max_tokens * (CHARACTERS_PER_TOKEN if unit == "characters" else 1)
    return ChunkLimits(asked=size, used=min(size, reads), unit=unit)


def check_overlap(overlap: int, limits: ChunkLimits, *, allowed: bool) -> int:
    """Return ``overlap`` if passages of these limits can have it; ``allowed`` is whether the strategy has any.

    Raises:
        InvalidRequestError: they cannot; the message says what would be valid.
    """
    if allowed and 0 <= overlap < limits.used:
        return overlap
    if not allowed and overlap == 0:
        return overlap
    if not allowed:
        message, valid = f"{overlap} is not possible: this chunk strategy has no overlap. Valid: 0.", [0]
        raise InvalidRequestError.for_field("chunk_overlap", message, valid)
    message = f"{overlap} must be at least 0 and below the chunk size, {limits.used} {limits.unit}"
    if limits.used < limits.asked:
        message += f" ({limits.asked} asked for, but the embedding model reads no more)"
    raise InvalidRequestError.for_field("chunk_overlap", f"{message}.")
