"""What embedders share: windows for long text, the check of a model's file, and requests over a network."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import EmbedderMismatchError, EmbeddingError
from ..request import RequestContext
from ..schema import Matrix, Vector
from ..text import estimate_tokens
from .providers import PROVIDERS, Kind, facts

# Text longer than a model reads is embedded window by window, and the vectors averaged. Nothing is cut silently.


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


def embed_windows(
    texts: Sequence[str], size: int, count_tokens: Callable[[str], int], embed: Callable[[list[str]], Iterable[Vector]]
) -> Matrix:
    """A row for each text (one at least), the average of its windows. ``embed`` gets those of all texts at once."""
    windows = [text_windows(text, size, count_tokens) for text in texts]
    rows = iter(embed([piece for pieces in windows for piece in pieces]))
    return np.vstack([average([next(rows) for _ in pieces], [*map(count_tokens, pieces)]) for pieces in windows])


def check_file(path: Path, sha256: str, *, remedy: str) -> None:
    """Raises EmbeddingError: the file of a model that runs here is missing, or is another one."""
    if not path.is_file():
        raise EmbeddingError(f"The local embedding model is incomplete: {path} is missing.", remedy=remedy)
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise EmbeddingError(f"The local embedding model is damaged: {path} has another checksum.", remedy=remedy)


class RemoteEmbedder(ABC):
    """Implements `protocols.Embedder`. An adapter says how one request is made; the library it uses retries."""

    local = False
    multilingual = True

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
        """The length of the vectors: from the table of models, else asked of the endpoint once."""
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
        """An estimate: most providers publish no tokenizer."""
        return estimate_tokens(text)

    def embed_query(self, text: str, *, request: RequestContext | None = None) -> Vector:
        """The question's vector, shape (dimensions,). Raises as `embed_documents` does."""
        vector: Vector = self._embed([text], "query", request)[0]
        return vector

    def embed_documents(self, texts: Sequence[str], *, request: RequestContext | None = None) -> Matrix:
        """Shape (len(texts), dimensions). Rows are L2-normalised here: not every server does it.

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
        """One request: a vector for each text, in their order. Raises EmbeddingError, AttributeError, TypeError or
        ValueError: what came back holds no vectors.
        """

    def _embed(self, texts: Sequence[str], kind: Kind, request: RequestContext | None) -> Matrix:
        if not all(text.strip() for text in texts):
            raise EmbeddingError("An empty text cannot be embedded.")

        def embed(pieces: list[str]) -> Matrix:
            return np.vstack([self._vectors(batch, kind, request) for batch in self._batches(pieces)])

        return embed_windows(texts, self.max_tokens, self.count_tokens, embed)

    def _batches(self, pieces: Sequence[str]) -> Iterator[list[str]]:
        """The pieces in batches of what one request takes, by number and by tokens."""
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
        if self._known not in (None, width):
            raise EmbedderMismatchError(
                f"{where} sent vectors of {width} dimensions; {self._known} are expected. "
                "Set EMBEDDING_MODEL, and the provider, to the model that it serves."
            )
        self._known = width
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12), dtype=np.float32)
