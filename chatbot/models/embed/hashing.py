"""A deterministic embedder without a model, for tests: feature hashing of words
(Weinberger et al., 2009).
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ...config.settings import Settings
from ...domain import RequestContext, Vector
from ...domain.documents import Matrix
from ...domain.errors import SettingsError
from ...language.analysis import KEPT_SHORT_TEXTS, analyzer

MODEL = "256"


class HashingEmbedder:
    """Texts that share words are near each other. Implements `protocols.Embedder`."""

    max_tokens = 100_000
    local = True
    multilingual = False

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.model_id = f"hashing:{dimensions}"

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def embed_query(
        self, text: str, *, request: RequestContext | None = None
    ) -> Vector:
        """Return shape (dimensions,). A text without words gets a fixed direction, so
        that no vector is zero.
        """
        counts = [0.0] * self.dimensions
        for term in analyzer("english").terms(text) or [""]:
            digest = _digest(term)
            counts[digest % self.dimensions] += 1.0 if digest >> 63 else -1.0
        vector = np.array(counts, dtype=np.float32)
        if not vector.any():
            vector[0] = 1.0
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)

    def embed_documents(
        self, texts: Sequence[str], *, request: RequestContext | None = None
    ) -> Matrix:
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return np.vstack([self.embed_query(text) for text in texts])


@lru_cache(KEPT_SHORT_TEXTS)
def _digest(term: str) -> int:
    """Return 64 bits of a term: its feature and its sign."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "big")


def build(settings: Settings, *, model: str) -> HashingEmbedder:
    """Raises SettingsError: ``model`` is not a number of dimensions."""
    if not model.isdigit() or not 8 <= int(model) <= 8192:
        raise SettingsError(
            f"EMBEDDING_MODEL={model!r}: hashing takes the number of dimensions, 8 "
            "to 8192."
        )
    return HashingEmbedder(int(model))
