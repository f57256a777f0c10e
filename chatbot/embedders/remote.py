"""What all embedders behind a network share: windows, batches, and the checks of what comes back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import EmbedderMismatchError, EmbeddingError
from ..schema import Matrix, Vector
from ..text import estimate_tokens
from .providers import PROVIDERS, Kind, facts
from .windows import average, text_windows


class RemoteEmbedder(ABC):
    """Implements `protocols.Embedder`. An adapter says how one request is made; the library it uses retries."""

    def __init__(self, provider: str, model: str, *, max_tokens: int | None = None) -> None:
        """``max_tokens``: what the model reads, where it is known better than by the table."""
        known = facts(provider, model)
        self.provider = PROVIDERS[provider]
        self.model = model
        self.model_id = f"{provider}:{model}"
        self._known = known.dimensions
        self._prefixes: dict[Kind, str] = {"query": known.query_prefix, "document": known.document_prefix}
        reads = min(max_tokens or known.max_tokens, self.provider.request_tokens)
        prefix = max(self._prefixes.values(), key=len)
        self.max_tokens = reads - (estimate_tokens(prefix) if prefix else 0)

    @property
    def dimensions(self) -> int:
        """By the table, else asked of the endpoint, once."""
        if self._known is None:
            self.verify()
        assert self._known is not None
        return self._known

    def verify(self) -> None:
        """Embed one word: for the start, so that a wrong key, address or model is found there.

        Raises:
            EmbeddingError: with ``retry_after`` where the endpoint may only be down; without, a setting is wrong.
            EmbedderMismatchError: its vectors are not as long as the table says.
        """
        self.embed_query("dimensions")

    def count_tokens(self, text: str) -> int:
        return estimate_tokens(text)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self._embed([text], "query")[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), dimensions). Rows are L2-normalised here: not every server does it.

        Raises:
            EmbeddingError: an empty text, or the endpoint failed.
            EmbedderMismatchError: the vectors are of another length than before.
        """
        return self._embed(texts, "document") if texts else np.empty((0, self.dimensions), dtype=np.float32)

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def _request(self, texts: Sequence[str], kind: Kind) -> Sequence[Any]:
        """One request: a vector for each text, in their order. Raises EmbeddingError, AttributeError, TypeError or
        ValueError: what came back holds no vectors.
        """

    def _embed(self, texts: Sequence[str], kind: Kind) -> Matrix:
        if not all(text.strip() for text in texts):
            raise EmbeddingError("An empty text cannot be embedded.")
        windows = [text_windows(text, self.max_tokens, self.count_tokens) for text in texts]
        pieces = [piece for pieces in windows for piece in pieces]
        vectors = np.vstack([self._vectors(batch, kind) for batch in self._batches(pieces)])
        if len(pieces) == len(texts):
            return vectors
        rows = iter(vectors)
        tokens = [[self.count_tokens(piece) for piece in pieces] for pieces in windows]
        return np.vstack([average([next(rows) for _ in counts], counts) for counts in tokens])

    def _batches(self, pieces: Sequence[str]) -> Iterator[list[str]]:
        """As many as one request takes, by number and by tokens."""
        batch: list[str] = []
        total = 0
        for piece in pieces:
            tokens = self.count_tokens(piece)
            if batch and (len(batch) == self.provider.batch or total + tokens > self.provider.request_tokens):
                yield batch
                batch, total = [], 0
            batch.append(piece)
            total += tokens
        yield batch

    def _vectors(self, texts: Sequence[str], kind: Kind) -> Matrix:
        where = f"The endpoint of {self.model_id}"
        try:
            rows = self._request([self._prefixes[kind] + text for text in texts], kind)
            vectors = np.asarray(rows, dtype=np.float32)
            width = vectors.shape[1]
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise EmbeddingError(f"{where} sent no vectors, or not all of one length.") from error
        if len(vectors) != len(texts):
            raise EmbeddingError(f"{where} sent {len(vectors)} vectors for {len(texts)} texts.")
        if not np.isfinite(vectors).all():
            raise EmbeddingError(f"{where} sent a vector with a component that is not a number.")
        if self._known not in (None, width):
            raise EmbedderMismatchError(
                f"{where} sent vectors of {width} dimensions; {self._known} are expected. "
                "Set EMBEDDING_MODEL, and the provider, to the model that it serves."
            )
        self._known = width
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12), dtype=np.float32)
