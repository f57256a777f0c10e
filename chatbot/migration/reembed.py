"""Another embedding model for everything that is stored, while the old one goes on serving.

Each passage has two slots for its vector. The one that is not in use is filled; when no passage lacks the new
vector, the stored embedder is switched, in one write, and the old slot is emptied.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ..database import Collection, Database, Json
from ..errors import DatabaseError
from ..protocols import Embedder
from ..repositories.changes import CorpusChanges, CorpusFacts, StoredEmbedder
from ..stores.chunks import SLOTS, WITHOUT_EMBEDDING, chunk_from_json, embedding_field
from .batches import id_batches, rows_of
from .reembed_state import CLEARING, FILLING, SERVING, ReembedState

BATCH = 128
"""Passages embedded and written at a time: what a kill can lose."""
GRACE_SECONDS = 30.0
"""Answers under way still search with the old model: its vectors stay so long after the switch."""

Report = Callable[[int], None]


class SlotIndexes(Protocol):
    """The search engine's indexes over the slots; where search runs in process there are none."""

    def build(self, embedder: StoredEmbedder) -> None:
        """Create the index over the embedder's slot and wait until it answers."""

    def drop(self, embedder: StoredEmbedder) -> None: ...


class Reembedding:
    """One change of model. Run it again after a kill: vectors that are there are not computed again."""

    def __init__(
        self,
        database: Database,
        *,
        collections: Sequence[str],
        provider: str,
        model: str,
        embedder: Embedder,
        indexes: SlotIndexes,
        grace: float = GRACE_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._database = database
        self._collections = [database[name] for name in dict.fromkeys(collections)]
        self._facts = CorpusFacts(database)
        self._changes = CorpusChanges(database)
        self._state = ReembedState(database, sleep=sleep)
        self._name = provider, model
        self._embedder = embedder
        self._indexes = indexes
        self._grace = grace
        self._sleep = sleep
        self.embedded = 0
        """Passages that got a vector."""

    def total(self) -> int:
        return sum(collection.count({}) for collection in self._collections)

    def run(self, report: Report) -> StoredEmbedder:
        """Change the model; returns what is stored now. ``report`` gets the number of passages of each step.

        With the model that is stored already, passages without a vector get one, and what an interrupted run left
        to clear up is cleared.

        Raises:
            EmbeddingError, DatabaseError: run it again to go on.
        """
        old = self._facts.embedder()
        new = self._wanted(old)
        unfinished = self._state.wanted()
        phase = self._state.take_over(new)
        if old != new:
            if phase == CLEARING:
                self._clear(new.slot)
                self._state.enter(FILLING)
            self._fill_until_complete(new, report)
            self._switch(old, new)
        elif unfinished is None:
            self._fill_all(new.slot, report)
            self._state.finish()
            return new
        self._clear_up(new)
        return new

    def _wanted(self, old: StoredEmbedder | None) -> StoredEmbedder:
        provider, model = self._name
        wanted = StoredEmbedder(provider, model, self._embedder.model_id, self._embedder.dimensions)
        if old is not None and old.same_vectors(wanted.model_id, wanted.dimensions, slot=old.slot):
            return old
        return replace(wanted, slot=_other(old.slot if old else SLOTS[0]))

    def _fill_until_complete(self, new: StoredEmbedder, report: Report) -> None:
        """Until every passage has the new vector, also those that were written meanwhile."""
        position = self._changes.position()
        self._fill_all(new.slot, report)
        self._indexes.build(new)
        while True:
            position, changed = self._changes.since(position)
            if changed is None:
                self._fill_all(new.slot)
            elif not changed:
                return
            else:
                self._fill_documents(new.slot, changed)

    def _switch(self, old: StoredEmbedder | None, new: StoredEmbedder) -> None:
        if not self._facts.replace_embedder(old, new):
            raise DatabaseError("The stored embedding model was changed by another process.", remedy="Run it again.")
        self._state.enter(SERVING)
        self._changes.record_everything()

    def _clear_up(self, new: StoredEmbedder) -> None:
        """After the switch: what slipped in just before it, then the old slot."""
        self._state.enter(SERVING)
        self._fill_all(new.slot)
        self._sleep(self._grace)
        self._fill_all(new.slot)
        self._indexes.drop(replace(new, slot=_other(new.slot)))
        self._clear(_other(new.slot))
        self._state.finish()

    def _fill_all(self, slot: str, report: Report = lambda done: None) -> None:
        before = self.embedded
        for collection in self._collections:
            for ids in id_batches(collection, size=BATCH):
                self._fill(collection, slot, ids)
                report(len(ids))
        stored = self._facts.embedder()
        if self.embedded > before and stored is not None and stored.slot == slot:
            self._changes.record_everything()  # passages that could not be found by their vectors can be now

    def _fill_documents(self, slot: str, document_ids: Iterable[str]) -> None:
        for collection in self._collections:
            for document_id in sorted(document_ids):
                ids = [row["_id"] for row in collection.find({"document_id": document_id}, {"_id": 1})]
                for start in range(0, len(ids), BATCH):
                    self._fill(collection, slot, ids[start : start + BATCH])

    def _fill(self, collection: Collection, slot: str, ids: Sequence[Any]) -> None:
        """Embed those of the passages that have no vector in the slot; one without text gets none."""
        field = embedding_field(slot)
        rows = rows_of(collection, ids, {field: {"$exists": False}}, WITHOUT_EMBEDDING)
        texts = [(row["_id"], _search_text(row, collection.name)) for row in rows]
        texts = [(id, text) for id, text in texts if text.strip()]
        if not texts:
            return
        vectors = self._embedder.embed_documents([text for _, text in texts])
        encode = self._database.encode_vector
        updates = [(id, {"$set": {field: encode(vector)}}) for (id, _), vector in zip(texts, vectors, strict=True)]
        self._state.step()
        collection.update_each(updates)
        self.embedded += len(updates)

    def _clear(self, slot: str) -> None:
        field = embedding_field(slot)
        for collection in self._collections:
            for ids in id_batches(collection):
                rows = rows_of(collection, ids, {field: {"$exists": True}}, {"_id": 1})
                self._state.step()
                collection.update_each([(row["_id"], {"$unset": {field: ""}}) for row in rows])


def _other(slot: str) -> str:
    return SLOTS[1] if slot == SLOTS[0] else SLOTS[0]


def _search_text(row: Json, collection: str) -> str:
    return chunk_from_json(row, collection=collection, fields=()).search_text
