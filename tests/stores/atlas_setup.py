"""A store on mongomock with a search engine, and its parts."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chatbot.config.settings import Settings
from chatbot.database.mongo import MongoDatabase
from chatbot.database.ordinary_indexes import create_missing
from chatbot.domain import Chunk, Scope
from chatbot.stores.atlas import AtlasStore
from chatbot.stores.atlas.indexes import SearchTarget, ensure_indexes, index_plans
from chatbot.stores.chunks import ordinary_indexes
from tests.fakes.mongomock_search import SearchClient
from tests.fakes.search_engine import Engine

DIMENSIONS = 4
COLLECTIONS = ("general", "reports")
FIELDS = ("country_name", "year")
SETTINGS = Settings(
    mongodb_collection=COLLECTIONS[0],
    report_collection=COLLECTIONS[1],
    filter_fields=FIELDS,
)


class Clock:
    """A clock that only moves when told, or when slept on."""

    def __init__(self, on_sleep: Callable[[float], None] = lambda now: None) -> None:
        self.now = 1000.0
        self.slept: list[float] = []
        self.on_sleep = on_sleep

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        self.on_sleep(self.now)


class Setup:
    """``indexed=False`` leaves the search indexes out."""

    def __init__(
        self,
        *,
        indexed: bool = True,
        fields: Sequence[str] = FIELDS,
        dimensions: int = DIMENSIONS,
    ) -> None:
        self.client = SearchClient()
        self.engine: Engine = self.client.engine
        self.database = MongoDatabase(self.client, "test")
        self.catalog: dict[Scope, int] = {}
        """The passages of each collection that a catalogue knows, by conditions."""
        self.clock = Clock()
        create_missing(self.database, ordinary_indexes(COLLECTIONS, FIELDS))
        if indexed:
            ensure_indexes(
                self.database, self.plans(fields=fields, dimensions=dimensions)
            )
        self.store = self.open_store()

    def open_store(self, *, slot: str = "", **changed: Any) -> AtlasStore:
        """``changed`` are settings."""
        return AtlasStore(
            settings=SETTINGS.override(**changed),
            database=self.database,
            changes=self.database.changes,
            dimensions=DIMENSIONS,
            slot=slot,
            clock=self.clock,
            passages=lambda scope: self.catalog.get(Scope(scope.conditions), 0),
        )

    def plans(
        self,
        *,
        fields: Sequence[str] = FIELDS,
        dimensions: int = DIMENSIONS,
        **changed: Any,
    ) -> list[SearchTarget]:
        return index_plans(
            SETTINGS.override(filter_fields=fields, **changed), {"": dimensions}
        )

    def write(
        self, count: int = 3, *, collection: str = "reports", **metadata: Any
    ) -> list[Chunk]:
        """Chunk ``i`` points along axis ``i`` (modulo 4)."""
        chunks = [
            Chunk(
                id=Chunk.make_id(collection, "v", place),
                document_id=collection,
                document_name=f"{collection}.pdf",
                title="Report",
                text=f"Coffee {place}",
                ordinal=place,
                metadata=metadata,
                collection=collection,
            )
            for place in range(count)
        ]
        self.store.upsert(
            chunks, np.eye(DIMENSIONS, dtype=np.float32)[np.arange(count) % DIMENSIONS]
        )
        return chunks
