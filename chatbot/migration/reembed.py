"""Another embedding model for everything that is stored, while the old one goes on serving.

Each passage has two slots for its vector. The one that is not in use is filled; when no passage lacks the new
vector, the stored embedder is switched, in one write, and the old slot is emptied. What a run remembers in the
database lets it go on after a kill, and keeps two from mixing.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol

from ..database.core import Collection, Database, id_batches, rows_of
from ..database.rows import SLOTS, WITHOUT_EMBEDDING, embedding_field
from ..errors import DatabaseError, SearchEngineError
from ..protocols import Embedder
from ..repositories.corpus import CorpusChanges, CorpusFacts, StoredEmbedder
from ..settings import Settings
from ..stores.atlas.definitions import index_plans
from ..stores.atlas.indexes import POLLING, Polling, ensure_indexes
from ..stores.atlas.store import AtlasStore
from ..stores.chunks import chunk_from_json

BATCH = 128
"""Passages embedded and written at a time: what a kill can lose."""
GRACE_SECONDS = 30.0
"""Answers under way still search with the old model: its vectors stay so long after the switch."""

Report = Callable[[int], None]


class SlotIndexes(Protocol):
    """The search engine's indexes over the slots; where search runs in process there are none."""

    def build(self, old: StoredEmbedder | None, new: StoredEmbedder) -> None:
        """Make room for the new vectors beside the old ones, before any of them is computed, and wait until it answers.

        Raises:
            SearchEngineError: no room, it failed, or it takes too long; run it again.
        """

    def follow(self, new: StoredEmbedder, chunks: Mapping[str, Sequence[Any]]) -> None:
        """Wait until searches know the new vectors of these chunks, ids by report, and so all written before them.

        Raises SearchEngineError: they take too long; run it again.
        """

    def drop(self, old: StoredEmbedder, new: StoredEmbedder) -> None:
        """The old slot is not searched any more."""


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
        self._last: dict[str, list[Any]] = {}

    def total(self) -> int:
        """The number of passages."""
        return sum(collection.count({}) for collection in self._collections)

    def run(self, report: Report) -> StoredEmbedder:
        """Change the model; returns what is stored now. ``report`` gets the number of passages of each step.

        With the model that is stored already, passages without a vector get one, and what an interrupted run left
        to clear up is cleared.

        Raises:
            EmbeddingError, DatabaseError: run it again to go on.
        """
        old = self._facts.embedder()
        new = StoredEmbedder(*self._name, self._embedder.model_id, self._embedder.dimensions)
        if old is not None and old.same_vectors(new.model_id, new.dimensions, slot=old.slot):
            new = old
        else:
            new = replace(new, slot=_other(old.slot if old else SLOTS[0]))
        unfinished = self._state.wanted()
        phase = self._state.take_over(new)
        if old != new:
            self._indexes.build(old, new)
            if phase == CLEARING:
                self._clear(new.slot)
                self._state.enter(FILLING)
            self._fill_until_complete(new, report)
            if not self._facts.replace_embedder(old, new):
                changed = "The stored embedding model was changed by another process."
                raise DatabaseError(changed, remedy="Run it again.")
            self._state.enter(SERVING)
            self._changes.record_everything()
        elif unfinished is None:
            self._fill_all(new.slot, report)
            self._state.finish()
            return new
        self._clear_up(new)
        return new

    def _fill_until_complete(self, new: StoredEmbedder, report: Report) -> None:
        """Compute vectors until every passage has the new one, also those that were written meanwhile."""
        position = self._changes.position()
        self._fill_all(new.slot, report)
        while True:
            position, changed = self._changes.since(position)
            if changed is None:
                self._fill_all(new.slot)
            elif not changed:
                self._indexes.follow(new, self._last)
                return
            else:
                self._fill_documents(new.slot, changed)

    def _clear_up(self, new: StoredEmbedder) -> None:
        """After the switch: what slipped in just before it, then the old slot."""
        self._state.enter(SERVING)
        self._fill_all(new.slot)
        self._sleep(self._grace)
        self._fill_all(new.slot)
        self._indexes.drop(replace(new, slot=_other(new.slot)), new)
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
        chunks = ((row["_id"], chunk_from_json(row, collection=collection.name, fields=())) for row in rows)
        wanted = [(id, chunk) for id, chunk in chunks if chunk.search_text.strip()]
        if not wanted:
            return
        texts = [(id, chunk.search_text) for id, chunk in wanted]
        self._last = {chunk.document_id: [id] for id, chunk in wanted}
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


CLEARING, FILLING, SERVING = "clearing", "filling", "serving"
"""The other slot is emptied; it is filled; it serves and the old one is emptied."""
SIGN_OF_LIFE_SECONDS = 15.0
"""A run that has written nothing for so long is taken for dead."""


class ReembedState:
    """One document of `meta`. ``beat`` counts a run's steps: a sign of life for others."""

    def __init__(self, database: Database, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._meta = database["meta"]
        self._owner = uuid.uuid4().hex
        self._sleep = sleep

    def wanted(self) -> StoredEmbedder | None:
        """The model that an unfinished run changes to."""
        found = self._meta.find_one({"_id": "reembed"})
        return StoredEmbedder(**found["wanted"]) if found else None

    def take_over(self, wanted: StoredEmbedder) -> str:
        """Become the one run that changes to ``wanted``; returns its phase, an interrupted run's if it had the model.

        Raises:
            DatabaseError: a run to another model is alive.
        """
        found = self._meta.find_one({"_id": "reembed"})
        same = found is not None and found["wanted"] == asdict(wanted)
        if found is not None and not same:
            self._require_dead(int(found["beat"]), str(found["wanted"]["model_id"]))
        phase = str(found["phase"]) if found is not None and same else CLEARING
        fields = {"owner": self._owner, "wanted": asdict(wanted), "phase": phase, "beat": 0}
        self._meta.update_one({"_id": "reembed"}, {"$set": fields}, upsert=True)
        return phase

    def _require_dead(self, beat: int, model_id: str) -> None:
        self._sleep(SIGN_OF_LIFE_SECONDS)
        now = self._meta.find_one({"_id": "reembed"})
        if now is not None and int(now["beat"]) != beat:
            raise DatabaseError(
                f"Another process is embedding everything with {model_id} just now.",
                remedy="Wait for it, or stop it and run this again.",
            )

    def enter(self, phase: str) -> None:
        """Raises DatabaseError: another run has taken over."""
        self._update({"$set": {"phase": phase}})

    def step(self) -> None:
        """Say that this run goes on; called before each write.

        Raises:
            DatabaseError: another run has taken over.
        """
        self._update({"$inc": {"beat": 1}})

    def _update(self, update: dict[str, dict[str, object]]) -> None:
        if not self._meta.update_one({"_id": "reembed", "owner": self._owner}, update):
            raise DatabaseError("Another run of reembed has taken over; this one stops.")

    def finish(self) -> None:
        """Forget it, unless another run has taken over."""
        self._meta.delete_many({"_id": "reembed", "owner": self._owner})


class NoSlotIndexes:
    """Search runs in process: there is nothing to build beforehand."""

    def build(self, old: StoredEmbedder | None, new: StoredEmbedder) -> None:
        """Nothing: there are no indexes."""

    def follow(self, new: StoredEmbedder, chunks: Mapping[str, Sequence[Any]]) -> None:
        """Nothing: there are no indexes."""

    def drop(self, old: StoredEmbedder, new: StoredEmbedder) -> None:
        """Nothing: there are no indexes."""


class AtlasSlotIndexes:
    """One vector index for each collection, with both slots while the model changes: it takes no more room."""

    def __init__(self, settings: Settings, database: Database, polling: Polling = POLLING) -> None:
        self._settings = settings
        self._database = database
        self._polling = polling

    def build(self, old: StoredEmbedder | None, new: StoredEmbedder) -> None:
        """Make the indexes for the new vectors; they keep the old ones as long as these serve."""
        self._ensure({one.slot: one.dimensions for one in (old, new) if one is not None})

    def follow(self, new: StoredEmbedder, chunks: Mapping[str, Sequence[Any]]) -> None:
        """The engine follows writes in their order."""
        store = AtlasStore(
            settings=self._settings,
            database=self._database,
            changes=CorpusChanges(self._database),
            dimensions=new.dimensions,
            slot=new.slot,
        )
        deadline = self._polling.clock() + self._polling.timeout
        while any(store.unfollowed(document_id, there=ids) for document_id, ids in chunks.items()):
            if self._polling.clock() >= deadline:
                raise SearchEngineError("The search engine has not followed the new vectors yet.", retry_after=30)
            self._polling.sleep(self._polling.interval)

    def drop(self, old: StoredEmbedder, new: StoredEmbedder) -> None:
        """Take the old vectors out of the indexes; the indexes stay."""
        self._ensure({new.slot: new.dimensions}, dropped=[old.slot])

    def _ensure(self, dimensions: Mapping[str, int], dropped: Sequence[str] = ()) -> None:
        plans = index_plans(self._settings, dimensions, dropped=dropped)
        vectors = [plan for plan in plans if plan.kind == "vectorSearch"]
        ensure_indexes(self._database, vectors, self._polling)
