"""Caches of vectors (R-B3), and of whole answers by question and reports (R-B10).

The vectors that ship with the sample reports are one `.npz` file: text hashes (16 bytes
each, sorted), vectors in float16 (half the size; the cosine to the exact vector stays
above .9999), and the model that made them. So the first start embeds nothing.
"""

import base64
import hashlib
import json
import threading
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from ..domain import Answer, Embedder, Question, RequestContext, Vector
from ..domain.chat import Budget
from ..domain.documents import Matrix
from ..domain.protocols import EmbedsInStore, TokenPlaces
from ..language.characters import folded

if TYPE_CHECKING:
    from ..database.repositories.caches import CacheRepository

DIGEST_BYTES = 16
_ANSWER = TypeAdapter(Answer)


def normalise(text: str) -> str:
    """Return one spelling of a text: NFC, trimmed, white space collapsed; "US" stays
    "US" (R-B3).
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def cache_key(*parts: Any) -> str:
    """Return a hash of everything that changes a result. ``parts`` are JSON values."""
    return hashlib.sha256(
        json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()
    ).hexdigest()


def text_key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()


class WarmCache:
    """The shipped vectors, read-only. A missing file is an empty cache: vectors are
    then computed.
    """

    def __init__(self, path: Path) -> None:
        self.model_id = ""
        self._rows: dict[bytes, int] = {}
        self._vectors = np.empty((0, 0), dtype=np.float16)
        if path.is_file():
            with np.load(path, allow_pickle=False) as stored:
                self.model_id = str(stored["model_id"])
                self._vectors = stored["vectors"]
                self._rows = {
                    key.tobytes(): row for row, key in enumerate(stored["keys"])
                }

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and text_key(text) in self._rows

    def get(self, model_id: str, text: str) -> Vector | None:
        """Return the shipped vector of a text; None for another model or an unknown
        text.
        """
        row = self._rows.get(text_key(text)) if model_id == self.model_id else None
        if row is None:
            return None
        vector = self._vectors[row].astype(np.float32)
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


class CachedEmbedder:
    """Implements `protocols.Embedder` by caches in front of another embedder.
    Thread-safe. The latest questions stay in memory. ``cache`` stores questions of a
    model behind an API; a model that runs in this process computes a vector about as
    fast as it could be stored. Vectors of documents are not stored here: the passages
    have them, and an ingestion takes those of equal passages from there.
    """

    def __init__(
        self,
        inner: Embedder,
        shipped: WarmCache,
        *,
        cache: "CacheRepository | None" = None,
        max_recent: int = 1000,
    ) -> None:
        """``max_recent``: the latest questions whose vectors stay in memory, 1.5 MB for
        1,000: one is searched, ordered and quoted with the same few.
        """
        self._inner = inner
        self._max_recent = max_recent
        self._shipped = shipped
        self._cache = None if inner.local else cache
        self._counts = cache is not None and cache.enabled
        self._recent: dict[str, Vector] = {}
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(
            thread_name_prefix="embed"
        )  # started by the first question
        self.model_id = inner.model_id
        self.local = inner.local
        self.multilingual = inner.multilingual
        self.dimensions = inner.dimensions
        self.max_tokens = inner.max_tokens
        self.count_tokens = inner.count_tokens
        if isinstance(inner, TokenPlaces):
            self.token_places = inner.token_places
        if isinstance(inner, EmbedsInStore):
            self.store_model = inner.store_model

    @property
    def uncached(self) -> Embedder:
        """The embedder itself, for what must leave no trace."""
        return self._inner

    def close(self) -> None:
        """End the threads, and close the embedder's connections if it has any."""
        self._threads.shutdown()
        if close := getattr(self._inner, "close", None):
            close()

    def prefetch(
        self, texts: Iterable[str], *, request: RequestContext | None = None
    ) -> None:
        """Compute at the same time what `embed_query` will return: the first text here,
        the others in threads. Raises EmbeddingError.
        """
        missing: list[str] = []
        for text in dict.fromkeys(texts):
            if text not in self._recent:
                missing.append(text)
            elif request is not None and self._counts:
                request.meter.count_lookup("embedding", hit=True)
        others = [
            self._threads.submit(copy_context().run, self._embed, text, request)
            for text in missing[1:]
        ]
        for text in missing[:1]:
            self._embed(text, request)
        for other in others:
            other.result()

    def embed_query(
        self, text: str, *, request: RequestContext | None = None
    ) -> Vector:
        """Return the question's vector, from memory or the cache if it is there. Raises
        EmbeddingError.
        """
        recent = self._recent.get(text)
        return self._embed(text, request) if recent is None else recent

    def _embed(self, text: str, request: RequestContext | None) -> Vector:
        """Return the vector of a question that is not in memory, and keep it there."""
        # One model may embed questions and documents differently.
        name = f"{self.model_id}:query"
        vector = self._load(name, text, request)
        if vector is None:
            vector = self._inner.embed_query(folded(text), request=request)
            self._store(name, text, vector)
            if (
                request is not None and self._counts and self._cache is None
            ):  # else the cache has counted it
                request.meter.count_lookup("embedding", hit=False)
        with self._lock:
            self._recent[text] = vector
            if len(self._recent) > self._max_recent:
                del self._recent[next(iter(self._recent))]
        return vector

    def embed_documents(
        self, texts: Sequence[str], *, request: RequestContext | None = None
    ) -> Matrix:
        """Return the vectors, shape (len(texts), dimensions); only unknown ones are
        computed. Raises EmbeddingError.
        """
        vectors: dict[int, Vector] = {}
        for place, text in enumerate(texts):
            vector = self._shipped.get(self.model_id, text)
            if vector is not None:
                vectors[place] = vector
        missing = [place for place in range(len(texts)) if place not in vectors]
        computed = self._inner.embed_documents(
            [folded(texts[place]) for place in missing], request=request
        )
        vectors.update(zip(missing, computed, strict=True))
        if not vectors:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return np.vstack([vectors[place] for place in range(len(texts))])

    def _load(
        self, name: str, text: str, request: RequestContext | None
    ) -> Vector | None:
        if self._cache is None:
            return None
        stored = self._cache.get(
            "embedding", cache_key(name, normalise(text)), request=request
        )
        return (
            None
            if stored is None
            else np.frombuffer(base64.b64decode(stored), dtype="<f4")
        )

    def _store(self, name: str, text: str, vector: Vector) -> None:
        if self._cache is not None:
            encoded = base64.b64encode(
                np.asarray(vector, dtype="<f4").tobytes()
            ).decode()
            self._cache.put("embedding", cache_key(name, normalise(text)), encoded)


class AnswerCache:
    """Answers by question. Abstentions, failures and answers that ended early are not
    stored. ``generation`` changes with everything else that an answer depends on; it is
    None while reports change: nothing is stored then.
    """

    def __init__(
        self, cache: "CacheRepository", generation: Callable[[Question], str | None]
    ) -> None:
        self._cache = cache
        self._generation = generation

    def key(self, question: Question, request: RequestContext) -> str:
        """Return the key of the answer, "" if it may not be stored. It is computed
        before the question is answered: a change in the meantime makes it a key that is
        never looked up.
        """
        generation = (
            None
            if question.attachments or not question.cache
            else self._generation(question)
        )
        if generation is None:
            return ""
        # The budget is no part of the key: an answer that it ended early is not stored.
        parts = replace(
            question,
            query=normalise(question.query),
            budget=Budget(),
            reading=None,
            is_streamed=True,
        )
        return cache_key(generation, to_jsonable_python(parts), request.cached_for)

    def get(self, key: str, request: RequestContext) -> Answer | None:
        stored = self._cache.get("query", key, request=request)
        return None if stored is None else _ANSWER.validate_python(stored)

    def put(self, key: str, answer: Answer, request: RequestContext) -> None:
        """Store an answer that is complete: what failed or ended early may go well the
        next time.
        """
        trace = answer.trace
        complete = not (
            trace.stopped_by
            or trace.truncated
            or any(step.failed for step in trace.path)
        )
        if answer.answered and complete and not request.cancelled:
            self._cache.put("query", key, to_jsonable_python(answer))
