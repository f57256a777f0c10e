"""Another embedding model for all passages, while the old one goes on serving.

Each passage has two slots for its vector. The unused one is filled; when no passage
lacks the new vector, the stored embedder is switched, in one write, and the old slot is
emptied. A document in `meta` lets an interrupted run continue, and keeps two runs from
mixing.
"""

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...config.settings import Settings
from ...database.changes import PASSAGES
from ...database.core import Collection, Database, Json, id_batches, rows_of
from ...database.repositories.corpus import CorpusFacts, StoredEmbedder
from ...database.rows import SLOTS, WITHOUT_EMBEDDING, embedding_field, usable_vector
from ...domain.errors import DatabaseError, SearchEngineError
from ...domain.protocols import Embedder
from ...stores.atlas import AtlasStore
from ...stores.atlas.indexes import POLLING, Polling, ensure_indexes, index_plans
from ...stores.chunks import chunk_from_json

BATCH = 128
"""Passages embedded and written at a time, and lost where the process is killed."""
GRACE_SECONDS = 30.0
"""Seconds for which old vectors stay after the switch, for answers that still search
with the old model.
"""
CLEARING, FILLING, SERVING = "clearing", "filling", "serving"
"""The other slot is emptied; it is filled; it serves and the old one is emptied."""
SIGN_OF_LIFE_SECONDS = 15.0
"""A run that has written nothing for so long is considered dead."""
Report = Callable[[int], None]


class AtlasSlotIndexes:
    """The vector index of each collection, which has both slots while the model
    changes: it takes no more room.
    """

    def __init__(
        self, settings: Settings, database: Database, polling: Polling = POLLING
    ) -> None:
        self._settings = settings
        self._database = database
        self._polling = polling

    def build(
        self, *embedders: StoredEmbedder | None, dropped: Sequence[str] = ()
    ) -> None:
        """Declare the vectors of these models, without those of ``dropped`` slots; wait
        until the indexes answer.
        """
        dimensions = {one.slot: one.dimensions for one in embedders if one is not None}
        plans = index_plans(self._settings, dimensions, dropped=dropped)
        ensure_indexes(
            self._database,
            [plan for plan in plans if plan.kind == "vectorSearch"],
            self._polling,
        )

    def follow(self, new: StoredEmbedder, chunks: Mapping[str, Sequence[Any]]) -> None:
        """Wait until searches know the new vectors of these chunks, ids by report. The
        engine follows writes in their order, so it then knows all that were written
        before.
        """
        store = AtlasStore(
            settings=self._settings,
            database=self._database,
            changes=self._database.changes,
            dimensions=new.dimensions,
            slot=new.slot,
        )
        deadline = self._polling.clock() + self._polling.timeout
        while any(
            store.unfollowed(document_id, written=ids)
            for document_id, ids in chunks.items()
        ):
            if self._polling.clock() >= deadline:
                raise SearchEngineError(
                    "The search engine has not indexed the new vectors yet.",
                    retry_after=30,
                )
            self._polling.sleep(self._polling.interval)


@dataclass
class Reembedding:
    """One change of model. Run it again after a kill: existing vectors are not computed
    again.

    ``indexes`` are those of the search engine; None where search runs in this process.
    The document in `meta` has the phase, and a ``beat`` that counts the steps, so that
    others see that this run is alive.
    """

    database: Database
    collections: Sequence[str]
    provider: str
    model: str
    embedder: Embedder
    indexes: AtlasSlotIndexes | None
    grace: float = GRACE_SECONDS
    sleep: Callable[[float], None] = time.sleep
    embedded: int = 0

    def __post_init__(self) -> None:
        self._collections = [
            self.database[name] for name in dict.fromkeys(self.collections)
        ]
        self._facts, self._changes = (
            CorpusFacts(self.database),
            self.database.changes,
        )
        self._meta, self._owner = self.database["meta"], uuid.uuid4().hex
        self._last: dict[str, list[Any]] = {}

    def total(self) -> int:
        return sum(collection.count({}) for collection in self._collections)

    def run(self, report: Report) -> StoredEmbedder:
        """Change the model and return the stored one. ``report`` gets the number of
        passages of each step. With the stored model, only passages without a usable
        vector get one. Raises EmbeddingError, DatabaseError, SearchEngineError: run it
        again to continue.
        """
        old = self._facts.embedder()
        new = StoredEmbedder(
            self.provider, self.model, self.embedder.model_id, self.embedder.dimensions
        )
        if old is not None and old.same_vectors(
            new.model_id, new.dimensions, slot=old.slot
        ):
            new = old
        else:
            new = replace(new, slot=_other(old.slot if old else SLOTS[0]))
        phase = self.take_over(new)
        if old != new:
            if self.indexes is not None:
                self.indexes.build(old, new)  # before any vector is computed
            if phase in {None, CLEARING}:
                self._clear(new.slot)
                self._note({"$set": {"phase": FILLING}})
            self._fill_until_complete(new, report)
            if not self._facts.replace_embedder(old, new):
                changed = "The stored embedding model was changed by another process."
                raise DatabaseError(changed, remedy="Run it again.")
            self._changes.announce(None, PASSAGES, in_place=True)
        elif phase is None:
            self._clear(new.slot, only_unusable=True)
            self._fill_all(new.slot, report)
            self._meta.delete_many({"_id": "reembed", "owner": self._owner})
            return new
        self._note({"$set": {"phase": SERVING}})
        self._fill_all(
            new.slot
        )  # passages that another process wrote just before the switch
        self.sleep(self.grace)
        self._fill_all(new.slot)
        if self.indexes is not None:
            self.indexes.build(new, dropped=[_other(new.slot)])
        self._clear(_other(new.slot))
        self._meta.delete_many({"_id": "reembed", "owner": self._owner})
        return new

    def _fill_until_complete(self, new: StoredEmbedder, report: Report) -> None:
        """Compute vectors until every passage has the new one, also those that are
        written meanwhile.
        """
        position = self._changes.position()
        self._fill_all(new.slot, report)
        while True:
            since = self._changes.since(position, PASSAGES)
            position = since.state.position
            changed = since.ids
            if changed is None:
                self._fill_all(new.slot)
            elif changed:
                for collection in self._collections:
                    written = collection.find(
                        {"document_id": {"$in": sorted(changed)}}, {"_id": 1}
                    )
                    ids = [row["_id"] for row in written]
                    for start in range(0, len(ids), BATCH):
                        self._fill(collection, new.slot, ids[start : start + BATCH])
            else:
                if self.indexes is not None:
                    self.indexes.follow(new, self._last)
                return

    def _fill_all(self, slot: str, report: Report = lambda done: None) -> None:
        before = self.embedded
        for collection in self._collections:
            for ids in id_batches(collection, size=BATCH):
                self._fill(collection, slot, ids)
                report(len(ids))
        stored = self._facts.embedder()
        if self.embedded > before and stored is not None and stored.slot == slot:
            # Searches can find these passages by their vectors now.
            self._changes.announce(None, PASSAGES, in_place=True)

    def _fill(self, collection: Collection, slot: str, ids: Sequence[Any]) -> None:
        """Embed those of the passages that have a text and no vector in the slot."""
        field = embedding_field(slot)
        rows = rows_of(collection, ids, {field: {"$exists": False}}, WITHOUT_EMBEDDING)
        chunks = {
            row["_id"]: chunk_from_json(row, collection=collection.name, fields=())
            for row in rows
        }
        chunks = {id: chunk for id, chunk in chunks.items() if chunk.text.strip()}
        if not chunks:
            return
        self._last = {chunk.document_id: [id] for id, chunk in chunks.items()}
        vectors = self.embedder.embed_documents(
            [chunk.search_text for chunk in chunks.values()]
        )
        encode = self.database.encode_vector
        self.step()
        written = zip(chunks, vectors, strict=True)
        self._update(
            collection,
            [(id, {"$set": {field: encode(vector)}}) for id, vector in written],
        )
        self.embedded += len(chunks)

    def _clear(self, slot: str, *, only_unusable: bool = False) -> None:
        field = embedding_field(slot)
        length = self.embedder.dimensions
        for collection in self._collections:
            for ids in id_batches(collection):
                rows = rows_of(
                    collection,
                    ids,
                    {field: {"$exists": True}},
                    {field: 1} if only_unusable else {"_id": 1},
                )
                rows = [
                    row
                    for row in rows
                    if not only_unusable or usable_vector(row[field], length) is None
                ]
                self.step()
                self._update(
                    collection, [(row["_id"], {"$unset": {field: ""}}) for row in rows]
                )

    def _update(
        self, collection: Collection, updates: Sequence[tuple[Any, Json]]
    ) -> None:
        """Change vectors of a slot. They are announced together, when it serves."""
        if updates:
            with self._changes.unannounced(PASSAGES) as change:
                change[collection.name].update_each(updates)

    def take_over(self, new: StoredEmbedder) -> str | None:
        """Become the one run that changes to ``new``; return the phase of the
        interrupted run, None = there is none. Raises DatabaseError: a run to another
        model is alive.
        """
        state = self._meta.find_one({"_id": "reembed"})
        phase = CLEARING if state is not None else None
        if state is not None and state["wanted"] == asdict(new):
            phase = str(state["phase"])
        elif state is not None:
            self.sleep(SIGN_OF_LIFE_SECONDS)
            now = self._meta.find_one({"_id": "reembed"})
            if now is not None and int(now["beat"]) != int(state["beat"]):
                raise DatabaseError(
                    (
                        "Another process is embedding everything with "
                        f"{state['wanted']['model_id']} just now."
                    ),
                    remedy="Wait for it, or stop it and run this again.",
                )
        fields = {
            "owner": self._owner,
            "wanted": asdict(new),
            "phase": phase or CLEARING,
            "beat": 0,
        }
        self._meta.update_one({"_id": "reembed"}, {"$set": fields}, upsert=True)
        return phase

    def step(self) -> None:
        """Show that this run is alive, before each write. Raises DatabaseError: another
        run has taken over.
        """
        self._note({"$inc": {"beat": 1}})

    def _note(self, update: dict[str, dict[str, object]]) -> None:
        if not self._meta.update_one({"_id": "reembed", "owner": self._owner}, update):
            raise DatabaseError(
                "Another run of reembed has taken over; this one stops."
            )


def _other(slot: str) -> str:
    return SLOTS[1] if slot == SLOTS[0] else SLOTS[0]
