"""What a search finds, and what of it a prompt shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .documents import Chunk

Vector = NDArray[np.float32]
"""Shape (dimensions,), L2-normalised."""
Matrix = NDArray[np.float32]
"""Shape (n, dimensions), rows L2-normalised."""


@dataclass(frozen=True, slots=True)
class Match:
    """One row of a store's answer, best first. ``chunk`` is set where the store had it at hand anyway."""

    chunk_id: str
    score: float
    chunk: Chunk | None = None


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A chunk with its scores. ``score`` is always the vector score; ``found_by`` says which searches found it."""

    chunk: Chunk
    rank: int = 0
    score: float | None = None
    keyword_score: float | None = None
    fused_score: float | None = None
    found_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A numbered source in the prompt: the hit and the wider text shown around it."""

    number: int
    hit: SearchHit
    wider_text: str


@dataclass(frozen=True, slots=True)
class Quotation:
    """Sentences of a passage, word for word; ``number`` is the passage's, ``where`` its report, section and page."""

    number: int
    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Context:
    """The numbered passages that fit the token budget, by number. ``order``: how a prompt shows them, () = so, too."""

    passages: tuple[Passage, ...] = ()
    order: tuple[int, ...] = ()
