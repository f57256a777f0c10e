"""Vectors of short texts that recur, headings and sentences: kept in memory, each computed once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .protocols import Embedder
from .request import RequestContext
from .schema import Vector

MOST = 20_000
"""Texts whose vectors are kept: 30 MB at 384 dimensions."""


class KnownVectors:
    """Vectors kept in memory, for embedders that compute here: behind an API every text has its price. Thread-safe."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._known: dict[str, Vector] = {}

    def of(self, texts: Iterable[str], request: RequestContext | None) -> Mapping[str, Vector]:
        """A mapping with the vectors of at least these texts; an empty text has none. Raises EmbeddingError."""
        known, wanted = self._known, dict.fromkeys(filter(None, texts))
        missing = [text for text in wanted if text not in known]
        if missing:
            found = self.embedder.embed_documents(missing, request=request)
            if len(known) >= MOST:  # another one: other threads may be reading it
                known = self._known = {text: known[text] for text in wanted if text in known}
            known.update(zip(missing, found, strict=True))
        return known
