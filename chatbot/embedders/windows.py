"""Text longer than a model reads: embedded window by window, and the vectors averaged. Nothing is cut silently."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..schema import Vector


def token_windows(ids: Sequence[int], size: int) -> list[Sequence[int]]:
    """Slices of at most ``size`` tokens; of no tokens one empty slice."""
    return [ids[start : start + size] for start in range(0, len(ids), size)] or [ids]


def text_windows(text: str, size: int, count_tokens: Callable[[str], int]) -> list[str]:
    """Pieces of at most ``size`` tokens, in order: halved at white space, or anywhere where there is none.

    A text that fits is returned as it is. At the cuts white space is dropped, nothing else.
    """
    if len(text) < 2 or count_tokens(text) <= size:
        return [text]
    middle = len(text) // 2
    space = max(text.rfind(mark, len(text) // 4, middle) for mark in (" ", "\n", "\t"))
    halves = (text[:space], text[space:]) if space > 0 else (text[:middle], text[middle:])
    return [piece for half in halves if half.strip() for piece in text_windows(half.strip(), size, count_tokens)]


def average(vectors: Sequence[Vector], tokens: Sequence[int]) -> Vector:
    """The windows' mean, by their tokens, with length one."""
    pooled = np.sum([vector * max(count, 1) for vector, count in zip(vectors, tokens, strict=True)], axis=0)
    return np.asarray(pooled / max(float(np.linalg.norm(pooled)), 1e-12), dtype=np.float32)
