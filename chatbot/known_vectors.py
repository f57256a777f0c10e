"""Vectors of short texts that come again, headings and sentences: kept in memory, each computed once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .protocols import Embedder
from .request import RequestContext
from .schema import Vector

MOST = 20_000
"""Texts whose vectors are kept: 30 MB at 384 dimensions."""


class KnownVectors:
    """For embedders that compute here: behind an API every text has its price. Thread-safe."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._known: dict[str, Vector] = {}

    def of(self, texts: Iterable[str], request: RequestContext | None) -> Mapping[str, Vector]:
        """Those of these texts at least; an empty text has none. Raises EmbeddingError."""
        known = self._known  # replaced as a whole: another thread may be reading it
        missing = [text for text in dict.fromkeys(texts) if text and text not in known]
        if missing:
            found = dict(zip(missing, self.embedder.embed_documents(missing, request=request), strict=True))
            kept = known if len(known) < MOST else {text: known[text] for text in texts if text in known}
            self._known = known = {**kept, **found}
        return known
