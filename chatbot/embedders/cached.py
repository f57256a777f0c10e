"""An embedder that looks into caches of vectors before it computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..protocols import Embedder, VectorCache
from ..schema import Matrix, Vector


class KeptVectors(VectorCache, Protocol):
    """A cache that can be written."""

    def put(self, model_id: str, text: str, vector: Vector) -> None: ...


class CachedEmbedder:
    """Wraps any embedder. ``hits`` and ``misses`` count documents since the start.

    ``shipped`` is only read. Questions are kept in ``kept``; documents too where ``keep_documents`` says that a vector
    costs more than a look-up: those of a model behind an API.
    """

    def __init__(
        self,
        inner: Embedder,
        shipped: VectorCache,
        *,
        kept: KeptVectors | None = None,
        keep_documents: bool = False,
    ) -> None:
        self._inner = inner
        self._shipped = shipped
        self._kept = kept
        self._kept_documents = kept if keep_documents else None
        self.model_id = inner.model_id
        self.dimensions = inner.dimensions
        self.max_tokens = inner.max_tokens
        self.hits = 0
        self.misses = 0

    @property
    def uncached(self) -> Embedder:
        """The embedder itself, for what must leave no trace."""
        return self._inner

    def count_tokens(self, text: str) -> int:
        return self._inner.count_tokens(text)

    def close(self) -> None:
        """Close what the embedder holds open: a client's connections, where it has any."""
        if close := getattr(self._inner, "close", None):
            close()

    def embed_query(self, text: str) -> Vector:
        if self._kept is None:
            return self._inner.embed_query(text)
        # Questions and documents may be embedded differently by one model.
        name = f"{self.model_id}:query"
        if (known := self._kept.get(name, text)) is not None:
            return known
        vector = self._inner.embed_query(text)
        self._kept.put(name, text, vector)
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        vectors = [self._known(text) for text in texts]
        missing = [position for position, vector in enumerate(vectors) if vector is None]
        for position, computed in zip(missing, self._inner.embed_documents([texts[p] for p in missing]), strict=True):
            vectors[position] = computed
            if self._kept_documents is not None:
                self._kept_documents.put(self.model_id, texts[position], computed)
        self.hits += len(texts) - len(missing)
        self.misses += len(missing)
        found = [vector for vector in vectors if vector is not None]
        return np.vstack(found) if found else np.empty((0, self.dimensions), dtype=np.float32)

    def _known(self, text: str) -> Vector | None:
        vector = self._shipped.get(self.model_id, text)
        if vector is None and self._kept_documents is not None:
            vector = self._kept_documents.get(self.model_id, text)
        return vector
