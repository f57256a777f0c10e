"""The embedding model that the database has now: `reembed` may change it while this process serves."""

from __future__ import annotations

import time

from ..database import Database
from ..engine import index_plans
from ..protocols import Embedder, Store
from ..repositories.changes import StoredEmbedder
from ..settings import Settings
from ..stores.search_indexes import IndexPlan
from .bound import ModelBound
from .models import Models

RETIRED_SECONDS = 600.0
"""How long the objects of an embedding model that was replaced stay open for the requests that began with them."""


class Current(Models):
    """Asks the database for its model, and keeps what hangs on it as long as that is the one."""

    def __init__(self, settings: Settings, *, database: Database | None = None) -> None:
        super().__init__(settings, database=database)
        self._bound: ModelBound | None = None
        self._retired: list[tuple[float, ModelBound]] = []

    @property
    def model_bound(self) -> ModelBound:
        """What hangs on the embedding model, for the model the database has now.

        Asks the database, one small document: `reembed` in another process may have changed the model. Take what a
        request needs from one answer, so that it fits together; a request under way keeps what it has.
        """
        stored = self.facts.embedder()
        with self._lock:
            if self._bound is None or not self._bound.serves(stored):
                stored = self.facts.embedder()  # asked again: another thread may have seen a later answer
            if self._bound is None or not self._bound.serves(stored):
                self._bound = self._replace_bound(stored)
            self._close_retired(older_than=RETIRED_SECONDS)
            return self._bound

    def _replace_bound(self, stored: StoredEmbedder | None) -> ModelBound:
        if self._bound is None:
            return ModelBound(self, stored)
        self._retired.append((time.monotonic(), self._bound))
        return ModelBound(self, stored, adopt=self._bound.knows_its_model)

    def _close_retired(self, older_than: float) -> None:
        while self._retired and time.monotonic() - self._retired[0][0] >= older_than:
            self._retired.pop(0)[1].close()

    @property
    def embedder(self) -> Embedder:
        """Raises EmbedderMismatchError: the settings name another model than the database has."""
        return self.model_bound.embedder

    def remember_embedder(self) -> None:
        """Store which model this database is written with; called before the first passage is."""
        self.model_bound.remember_embedder()

    @property
    def store(self) -> Store:
        return self.model_bound.store

    @property
    def index_plans(self) -> list[IndexPlan]:
        """The search indexes that MongoDB's engine needs for the vectors in use."""
        stored = self.facts.embedder()
        slot = stored.slot if stored else ""
        return index_plans(self.settings, dimensions=self.embedder.dimensions, slot=slot)

    def prepare(self) -> None:
        """Make the database ready to be written and searched. Raises DatabaseError, SettingsError."""
        self.prepare_database()
        self.store.prepare()
