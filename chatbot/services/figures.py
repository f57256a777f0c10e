"""The passages that a list of figures is made from."""

from __future__ import annotations

from ..errors import InvalidRequestError
from ..ingestion.pipeline import passages
from ..schema import Chunk, Scope
from . import Services

MOST_PARSED = 2_000
"""Passages that one list of figures is made from."""


def passages_of(services: Services, scope: Scope, indicator: str) -> list[Chunk]:
    """Every passage in the scope; of a large one those that the indicator's words find. Raises InvalidRequestError."""
    catalog, store = services.storage.documents, services.vectors.store
    if (size := catalog.holdings(scope).ready_chunks) <= MOST_PARSED:
        ready = [record for record in catalog.all(scope) if record.status == "ready"]
        every = (chunk for one in ready for chunk in passages(store, one, offset=0, limit=one.chunks + 1))
        return [chunk for chunk in every if scope.matches(chunk.about)]
    if not indicator.strip():
        message = f"the scope has {size:,} passages, more than are read at once ({MOST_PARSED:,}): name a country"
        raise InvalidRequestError.for_field("country_name", f"{message}, or an indicator.")
    matches = store.keyword_search(indicator, top_k=MOST_PARSED, scope=scope)
    unsettled = catalog.unsettled()
    versions = [(match.chunk_id, *Chunk.version_of(match.chunk_id)) for match in matches]
    return store.get([found for found, document, version in versions if unsettled.get(document, version) == version])
