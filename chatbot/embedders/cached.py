"""An embedder that looks into a cache of vectors before it computes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..protocols import Embedder, VectorCache
from ..schema import Matrix, Vector


class CachedEmbedder:
    """Wraps any embedder. ``hits`` and ``misses`` count documents since the start."""

    def __init__(self, inner: Embedder, cache: VectorCache) -> None:
        self._inner = inner
        self._cache = cache
        self.model_id = inner.model_id
        self.dimensions = inner.dimensions
        self.max_tokens = inner.max_tokens
        self.hits = 0
        self.misses = 0

    def count_tokens(self, text: str) -> int:
        return self._inner.count_tokens(text)

    def close(self) -> None:
        """Close what the embedder holds open: a client's connections, where it has any."""
        if close := getattr(self._inner, "close", None):
            close()

    def embed_query(self, text: str) -> Vector:
        return self._inner.embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        vectors = [self._cache.get(self.model_id, text) for text in texts]
        missing = [position for position, vector in enumerate(vectors) if vector is None]
        for position, computed in zip(missing, self._inner.embed_documents([texts[p] for p in missing]), strict=True):
            vectors[position] = computed
        self.hits += len(texts) - len(missing)
        self.misses += len(missing)
        found = [vector for vector in vectors if vector is not None]
        return np.vstack(found) if found else np.empty((0, self.dimensions), dtype=np.float32)
