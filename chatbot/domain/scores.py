"""Scores on one scale, scores of different searches made comparable, and the vectors they are computed from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from . import Vector
from .protocols import Embedder
from .request import RequestContext

ScoreArray = NDArray[np.float64]
MAX_KNOWN_VECTORS = 20_000
"""30 MB at 384 dimensions."""


def standard(values: ScoreArray) -> ScoreArray:
    """Z-scores: each value as its distance from the mean, in standard deviations; all 0 where they are equal."""
    z_scores: ScoreArray = (values - values.mean()) / (values.std() or 1.0)
    return z_scores


def to_score(cosine: float) -> float:
    """Return a cosine as the Atlas `vectorSearchScore`, (1 + cosine) / 2; rounding never takes it outside [0, 1]."""
    return min(1.0, max(0.0, (1.0 + float(cosine)) / 2.0))


class KnownVectors:
    """Vectors of short texts that recur, headings and sentences: kept in memory, each computed once. Thread-safe.

    For embedders that run in this process; behind an API each text has its price.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._known: dict[str, Vector] = {}

    def of(self, texts: Iterable[str], request: RequestContext | None) -> Mapping[str, Vector]:
        """Return a mapping with the vectors of at least these texts; an empty text has none. Raises EmbeddingError."""
        vectors, needed = self._known, dict.fromkeys(filter(None, texts))
        missing = [text for text in needed if text not in vectors]
        if missing:
            computed = self.embedder.embed_documents(missing, request=request)
            if len(vectors) >= MAX_KNOWN_VECTORS:  # a new mapping: other threads may be reading the old one
                vectors = self._known = {text: vectors[text] for text in needed if text in vectors}
            vectors.update(zip(missing, computed, strict=True))
        return vectors
