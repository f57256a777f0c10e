"""The search engine's part in a change of the embedding model."""

from __future__ import annotations

from ..database import Database
from ..engine import index_plans
from ..repositories.changes import StoredEmbedder
from ..settings import Settings
from ..stores.search_indexes import IndexPlan, Polling, drop_indexes, ensure_indexes


class NoSlotIndexes:
    """Search runs in process: there is nothing to build beforehand."""

    def build(self, embedder: StoredEmbedder) -> None: ...

    def drop(self, embedder: StoredEmbedder) -> None: ...


class AtlasSlotIndexes:
    """One vector index for each slot and collection."""

    def __init__(self, settings: Settings, database: Database, polling: Polling | None = None) -> None:
        self._settings = settings
        self._database = database
        self._polling = polling

    def build(self, embedder: StoredEmbedder) -> None:
        """Raises SearchEngineError: no room for another index, it failed, or it takes too long; run it again."""
        ensure_indexes(self._database, self._plans(embedder), self._polling)

    def drop(self, embedder: StoredEmbedder) -> None:
        drop_indexes(self._database, self._plans(embedder))

    def _plans(self, embedder: StoredEmbedder) -> list[IndexPlan]:
        plans = index_plans(self._settings, dimensions=embedder.dimensions, slot=embedder.slot)
        return [plan for plan in plans if plan.target.kind == "vectorSearch"]
