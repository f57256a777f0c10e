"""The embedding level (R-B3, R-B10): vectors in the database, by model and normalised text."""

from __future__ import annotations

import base64

import numpy as np

from ..protocols import Cache
from ..schema import Vector
from .keys import cache_key, normalised


class StoredVectors:
    """Implements `protocols.VectorCache`, and keeps what it is given."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def get(self, model_id: str, text: str) -> Vector | None:
        found = self._cache.get("embedding", cache_key(model_id, normalised(text)))
        return None if found is None else np.frombuffer(base64.b64decode(found), dtype="<f4")

    def put(self, model_id: str, text: str, vector: Vector) -> None:
        encoded = base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()
        self._cache.put("embedding", cache_key(model_id, normalised(text)), encoded)
