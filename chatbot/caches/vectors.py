"""Caches of vectors: those that ship with the sample reports, and those kept in the database (R-B3, R-B10).

What is shipped is one `.npz` file: text hashes (16 bytes each, sorted), vectors in float16 (half the size; the cosine
to the exact vector stays above .9999), and the model that made them. So the first start embeds nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any

import numpy as np

from ..protocols import Cache, Embedder
from ..request import RequestContext
from ..schema import Matrix, Vector

DIGEST_BYTES = 16
RECENT = 1000
"""Questions whose vectors are at hand, 1.5 MB: one question is searched, ordered and quoted with the same few."""


def normalise(text: str) -> str:
    """Spellings of the same text as one: NFC, trimmed, white space collapsed; "US" stays "US" (R-B3)."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def cache_key(*parts: Any) -> str:
    """A hash of everything that changes a result. ``parts`` are JSON values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def text_key(text: str) -> bytes:
    """The hash under which a shipped vector is found."""
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()


class WarmCache:
    """Read-only, by model and text. A missing file is an empty cache: vectors are then computed."""

    def __init__(self, path: Path) -> None:
        self.model_id = ""
        self._rows: dict[bytes, int] = {}
        self._vectors = np.empty((0, 0), dtype=np.float16)
        if path.is_file():
            with np.load(path, allow_pickle=False) as stored:
                self.model_id = str(stored["model_id"])
                self._vectors = stored["vectors"]
                self._rows = {key.tobytes(): row for row, key in enumerate(stored["keys"])}

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and text_key(text) in self._rows

    def get(self, model_id: str, text: str) -> Vector | None:
        """The vector that ships for a text; None for another model or an unknown text."""
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


class StoredVectors:
    """Vectors kept in the database, by model and text."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    @property
    def enabled(self) -> bool:
        """See `protocols.Cache`."""
        return self._cache.enabled

    def get(self, model_id: str, text: str, *, request: RequestContext | None = None) -> Vector | None:
        """The stored vector of a text, None where there is none; the look-up is counted for ``request``."""
        found = self._cache.get("embedding", cache_key(model_id, normalise(text)), request=request)
        return None if found is None else np.frombuffer(base64.b64decode(found), dtype="<f4")

    def put(self, model_id: str, text: str, vector: Vector) -> None:
        """Store a vector, as float32 in base64."""
        encoded = base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()
        self._cache.put("embedding", cache_key(model_id, normalise(text)), encoded)


class CachedEmbedder:
    """Implements `protocols.Embedder` by caches in front of another one. Thread-safe.

    ``shipped`` is only read. The latest questions stay in memory; in ``kept`` are questions and documents of a model
    behind an API: one that computes here takes hardly longer than writing a vector that is rarely asked for again.
    """

    def __init__(self, inner: Embedder, shipped: WarmCache, *, kept: StoredVectors | None = None) -> None:
        self._inner = inner
        self._shipped = shipped
        self._kept = None if inner.local else kept
        self._counts = kept is not None and kept.enabled
        self._recent: dict[str, Vector] = {}
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(thread_name_prefix="embed")  # started by the first question
        self.model_id = inner.model_id
        self.local = inner.local
        self.multilingual = inner.multilingual
        self.dimensions = inner.dimensions
        self.max_tokens = inner.max_tokens

    @property
    def uncached(self) -> Embedder:
        """The embedder itself, for what must leave no trace."""
        return self._inner

    def count_tokens(self, text: str) -> int:
        """Tokens of a text as the inner embedder counts them."""
        return self._inner.count_tokens(text)

    def close(self) -> None:
        """Close what the embedder holds open: threads, and a client's connections, where it has any."""
        self._threads.shutdown()
        if close := getattr(self._inner, "close", None):
            close()

    def prefetch(self, texts: Iterable[str], *, request: RequestContext | None = None) -> None:
        """Implements `protocols.PrefetchingEmbedder`: the first here, the others in threads beside."""
        missing = [text for text in dict.fromkeys(texts) if not self._is_at_hand(text, request)]
        beside = [self._threads.submit(copy_context().run, self._asked, text, request) for text in missing[1:]]
        for text in missing[:1]:
            self._asked(text, request)
        for one in beside:
            one.result()

    def embed_query(self, text: str, *, request: RequestContext | None = None) -> Vector:
        """The question's vector, from memory or a cache where it is known. Raises EmbeddingError."""
        recent = self._recent.get(text)
        return self._asked(text, request) if recent is None else recent

    def _is_at_hand(self, text: str, request: RequestContext | None) -> bool:
        if known := text in self._recent:
            self._count(request, hit=True)
        return known

    def _count(self, request: RequestContext | None, *, hit: bool) -> None:
        if request is not None and self._counts:
            request.meter.count_lookup("embedding", hit=hit)

    def _asked(self, text: str, request: RequestContext | None) -> Vector:
        """The vector of a question that is not at hand, and is from now on."""
        # Questions and documents may be embedded differently by one model.
        name = f"{self.model_id}:query"
        vector = self._kept.get(name, text, request=request) if self._kept else None
        if vector is None:
            vector = self._inner.embed_query(text, request=request)
            if self._kept:
                self._kept.put(name, text, vector)  # its look was counted there
            else:
                self._count(request, hit=False)
        with self._lock:
            self._recent[text] = vector
            if len(self._recent) > RECENT:
                del self._recent[next(iter(self._recent))]
        return vector

    def embed_documents(self, texts: Sequence[str], *, request: RequestContext | None = None) -> Matrix:
        """The texts' vectors, shape (len(texts), dimensions); only unknown ones are computed. Raises EmbeddingError."""
        vectors = [self._known(text, request) for text in texts]
        missing = [position for position, vector in enumerate(vectors) if vector is None]
        computed_now = self._inner.embed_documents([texts[p] for p in missing], request=request)
        for position, computed in zip(missing, computed_now, strict=True):
            vectors[position] = computed
            if self._kept is not None:
                self._kept.put(self.model_id, texts[position], computed)
        found = [vector for vector in vectors if vector is not None]
        return np.vstack(found) if found else np.empty((0, self.dimensions), dtype=np.float32)

    def _known(self, text: str, request: RequestContext | None) -> Vector | None:
        vector = self._shipped.get(self.model_id, text)
        if vector is None and self._kept is not None:
            vector = self._kept.get(self.model_id, text, request=request)
        return vector
