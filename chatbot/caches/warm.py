"""Vectors shipped with the sample reports, so that the first start embeds nothing.

One `.npz` file: text hashes (16 bytes each, sorted), vectors in float16 (half the size; the cosine to the exact
vector stays above .9999), and the model that made them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..schema import Matrix, Vector

DIGEST_BYTES = 16


def text_key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()


class WarmCache:
    """Implements `protocols.VectorCache`, read-only. A missing file is an empty cache: vectors are then computed."""

    def __init__(self, path: Path) -> None:
        self.model_id = ""
        self._rows: dict[bytes, int] = {}
        self._vectors = np.empty((0, 0), dtype=np.float16)
        if path.is_file():
            with np.load(path, allow_pickle=False) as stored:
                self.model_id = str(stored["model_id"])
                self._vectors = stored["vectors"]
                self._rows = {key.tobytes(): row for row, key in enumerate(stored["keys"])}

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and text_key(text) in self._rows

    def get(self, model_id: str, text: str) -> Vector | None:
        row = self._rows.get(text_key(text)) if model_id == self.model_id else None
        if row is None:
            return None
        vector = self._vectors[row].astype(np.float32)
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def write_warm_cache(path: Path, model_id: str, texts: Sequence[str], vectors: Matrix) -> None:
    """Write the cache file for these texts; the same input gives the same file."""
    rows = {text_key(text): row for row, text in enumerate(texts)}
    keys = sorted(rows)
    np.savez_compressed(
        path,
        model_id=np.asarray(model_id),
        keys=np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, DIGEST_BYTES),
        vectors=vectors[[rows[key] for key in keys]].astype(np.float16),
    )
