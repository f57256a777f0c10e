"""What embedders share: windows for long text, the check of a model's file, and requests over a network.

Text longer than a model reads is embedded window by window, and the vectors are averaged, so that nothing is cut.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...domain import Matrix, Vector
from ...domain.errors import EmbedderMismatchError, EmbeddingError
from ...domain.request import RequestContext
from ...language import estimate_tokens
from .providers import PROVIDERS, Kind, find_model


def text_windows(text: str, size: int, count_tokens: Callable[[str], int]) -> list[str]:
    """Split a text into pieces of at most ``size`` tokens by halving it, at white space if there is any.

    A text that fits is returned as it is. At the cuts white space is dropped, nothing else.
    """
    if len(text) < 2 or count_tokens(text) <= size:
        return [text]
    middle = len(text) // 2
    space = max(text.rfind(mark, len(text) // 4, middle) for mark in (" ", "\n", "\t"))
    halves = (text[:space], text[space:]) if space > 0 else (text[:middle], text[middle:])
    return [piece for half in halves if half.strip() for piece in text_windows(half.strip(), size, count_tokens)]


def average(vectors: Sequence[Vector], tokens: Sequence[int]) -> Vector:
    """Return the mean of windows, weighted by their tokens, with length one."""
    pooled = np.sum([vector * max(count, 1) for vector, count in zip(vectors, tokens, strict=True)], axis=0)
    return np.asarray(pooled / max(float(np.linalg.norm(pooled)), 1e-12), dtype=np.float32)


def embed_windows(
    texts: Sequence[str], size: int, count_tokens: Callable[[str], int], embed: Callable[[list[str]], Iterable[Vector]]
) -> Matrix:
    """Return a row for each text (at least one). ``embed`` gets the windows of all texts at once."""
    windows = [text_windows(text, size, count_tokens) for text in texts]
    rows = iter(embed([piece for pieces in windows for piece in pieces]))
    return np.vstack([average([next(rows) for _ in pieces], [*map(count_tokens, pieces)]) for pieces in windows])


def check_file(path: Path, sha256: str, *, remedy: str) -> None:
    """Raises EmbeddingError: the file of a local model is missing or has another checksum."""
    if not path.is_file():
        raise EmbeddingError(f"The local embedding model is incomplete: {path} is missing.", remedy=remedy)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != sha256:
        raise EmbeddingError(f"The local embedding model is damaged: {path} has another checksum.", remedy=remedy)


class RemoteEmbedder(ABC):
    """Implements `protocols.Embedder`. An adapter sends one request; the library it uses retries."""

    local = False
    multilingual = True

    def __init__(self, provider: str, model: str, *, max_tokens: int | None = None) -> None:
        """``max_tokens``: of one text that the model reads; None = by the table."""
        listed = find_model(provider, model)
        self.provider = PROVIDERS[provider]
        self.model = model
        self.model_id = f"{provider}:{model}"
        self._dimensions = listed.dimensions
        self._prefixes: dict[Kind, str] = {"query": listed.query_prefix, "document": listed.document_prefix}
        reads = min(max_tokens or listed.max_tokens, self.provider.request_tokens)
        prefix = max(self._prefixes.values(), key=len)
        self.max_tokens = reads - (estimate_tokens(prefix) if prefix else 0)

    @property
    def dimensions(self) -> int:
        """The length of the vectors: by the table of models, else the endpoint is asked once."""
        if self._dimensions is None:
            self.verify()
        assert self._dimensions is not None
        return self._dimensions

    def verify(self) -> None:
        """Embed one word, so that a start finds a wrong key, address or model.

        Raises:
            EmbeddingError: with ``retry_after`` where the endpoint may only be down; without, a setting is wrong.
            EmbedderMismatchError: its vectors are not as long as the table says.
        """
        self.embed_query("dimensions")

    def count_tokens(self, text: str) -> int:
        """Return an estimate: most providers publish no tokenizer."""
        return estimate_tokens(text)

    def embed_query(self, text: str, *, request: RequestContext | None = None) -> Vector:
        """Return shape (dimensions,). Raises as `embed_documents` does."""
        vector: Vector = self._embed([text], "query", request)[0]
        return vector

    def embed_documents(self, texts: Sequence[str], *, request: RequestContext | None = None) -> Matrix:
        """Return shape (len(texts), dimensions). Rows are L2-normalised here: not every server does it.

        Raises:
            EmbeddingError: an empty text, or the endpoint failed.
            EmbedderMismatchError: the vectors are of another length than before.
        """
        return self._embed(texts, "document", request) if texts else np.empty((0, self.dimensions), dtype=np.float32)

    @abstractmethod
    def close(self) -> None:
        """Close connections and end threads."""

    @abstractmethod
    def _request(self, texts: Sequence[str], kind: Kind, request: RequestContext | None) -> Sequence[Any]:
        """Send one request and return a vector for each text, in their order.

        Raises EmbeddingError; AttributeError, TypeError or ValueError: the response has no vectors.
        """

    def _embed(self, texts: Sequence[str], kind: Kind, request: RequestContext | None) -> Matrix:
        if not all(text.strip() for text in texts):
            raise EmbeddingError("An empty text cannot be embedded.")

        def embed(pieces: list[str]) -> Matrix:
            return np.vstack([self._vectors(batch, kind, request) for batch in self._batches(pieces)])

        return embed_windows(texts, self.max_tokens, self.count_tokens, embed)

    def _batches(self, pieces: Sequence[str]) -> Iterator[list[str]]:
        """Yield the pieces in batches that one request may hold, by number and by tokens."""
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

    def _vectors(self, texts: Sequence[str], kind: Kind, request: RequestContext | None) -> Matrix:
        where = f"The endpoint of {self.model_id}"
        try:
            rows = self._request([self._prefixes[kind] + text for text in texts], kind, request)
            vectors = np.asarray(rows, dtype=np.float32)
            width = vectors.shape[1]
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise EmbeddingError(f"{where} sent no vectors, or not all of one length.") from error
        if len(vectors) != len(texts):
            raise EmbeddingError(f"{where} sent {len(vectors)} vectors for {len(texts)} texts.")
        if not np.isfinite(vectors).all():
            raise EmbeddingError(f"{where} sent a vector with a component that is not a number.")
        if self._dimensions not in (None, width):
            raise EmbedderMismatchError(
                f"{where} sent vectors of {width} dimensions; {self._dimensions} are expected. "
                "Set EMBEDDING_MODEL, and the provider, to the model that it serves."
            )
        self._dimensions = width
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12), dtype=np.float32)
