"""Texts are near each other that have the same pairs of letters: a model of no size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from zlib import crc32

import numpy as np

from ...config.settings import Settings
from ...domain import Vector
from ...domain.documents import Matrix
from ...domain.errors import SettingsError
from ...domain.request import RequestContext

MODEL = "512"
"""The number of dimensions, which EMBEDDING_MODEL may change."""


class LettersEmbedder:
    """Implements `protocols.Embedder`: reads any length, in this process."""

    max_tokens = 100_000
    local = True
    multilingual = False

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.model_id = f"letters:{dimensions}"

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def embed_query(
        self, text: str, *, request: RequestContext | None = None
    ) -> Vector:
        vector = np.full(self.dimensions, 1e-6, dtype=np.float32)  # never zero
        for pair in pairwise(f" {text.casefold()} "):
            vector[crc32("".join(pair).encode()) % self.dimensions] += 1.0
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)

    def embed_documents(
        self, texts: Sequence[str], *, request: RequestContext | None = None
    ) -> Matrix:
        rows = [self.embed_query(text) for text in texts]
        return (
            np.vstack(rows)
            if rows
            else np.empty((0, self.dimensions), dtype=np.float32)
        )


def build(settings: Settings, *, model: str) -> LettersEmbedder:
    if not model.isdigit() or int(model) < 1:
        raise SettingsError(
            f"EMBEDDING_MODEL={model!r}: letters takes the number of dimensions."
        )
    return LettersEmbedder(int(model))
