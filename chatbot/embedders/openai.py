"""OpenAI's embedding models, or those of any server that speaks its API."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from openai import OpenAI

from ..errors import EmbeddingError
from ..openai_client import openai_client, translated
from ..schema import Matrix, Vector
from ..settings import Settings
from ..text import estimate_tokens

KNOWN_DIMENSIONS = {
    "text-embedding-ada-002": 1536,
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
}
BATCH = 100
"""Texts per request; 100 passages of 900 characters stay far below the request limit."""


class OpenAIEmbedder:
    """Implements `protocols.Embedder`. The SDK retries; the client is thread-safe."""

    max_tokens = 8191

    def __init__(self, client: OpenAI, model: str) -> None:
        self._client = client
        self._model = model
        self.model_id = f"openai:{model}"

    @cached_property
    def dimensions(self) -> int:
        """Known for OpenAI's own models, else asked of the endpoint once."""
        return KNOWN_DIMENSIONS.get(self._model) or len(self.embed_query("dimensions"))

    def count_tokens(self, text: str) -> int:
        return estimate_tokens(text)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self.embed_documents([text])[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), dimensions). Rows are L2-normalised here: not every server does it.

        Raises:
            EmbeddingError: an empty text, or the endpoint failed.
        """
        if not all(text.strip() for text in texts):
            raise EmbeddingError("An empty text cannot be embedded.")
        batches = [self._embed(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
        return np.vstack(batches) if batches else np.empty((0, self.dimensions), dtype=np.float32)

    def close(self) -> None:
        self._client.close()

    def _embed(self, texts: Sequence[str]) -> Matrix:
        where = f"The endpoint of {self.model_id}"
        try:
            with translated(EmbeddingError, self.model_id):
                response = self._client.embeddings.create(model=self._model, input=list(texts))
            rows = sorted(response.data, key=lambda item: item.index or 0)
            vectors = np.asarray([row.embedding for row in rows], dtype=np.float32)
        except (AttributeError, TypeError, ValueError) as error:
            raise EmbeddingError(f"{where} sent no vectors, or not all of one length.") from error
        if len(vectors) != len(texts):
            raise EmbeddingError(f"{where} sent {len(vectors)} vectors for {len(texts)} texts.")
        if not np.isfinite(vectors).all():
            raise EmbeddingError(f"{where} sent a vector with a component that is not a number.")
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12), dtype=np.float32)


def build(settings: Settings, *, model: str) -> OpenAIEmbedder:
    return OpenAIEmbedder(openai_client(settings), model)
