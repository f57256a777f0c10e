"""Everything of one database into another: resumable, verified, without computing a single vector."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ..database.core import Database, Json, Place, id_batches, place, rows_of
from ..database.rows import SLOTS, content_digest, decode_vector, embedding_field, id_forms, with_string_ids
from ..errors import DatabaseError, EmbedderMismatchError
from ..repositories.corpus import CATALOG, CorpusChanges, CorpusFacts
from .schema import require_known, set_version

OTHERS = (
    "file_pieces", "files", "documents", "conversations", "messages", "feedback", "batches", "batch_items",
    "ingestions", "ingestion_items",
    "usage", "keys", "audit",
)  # fmt: skip
"""What is copied besides the collections of passages, after them: a registered report has its passages."""
DERIVED = ("meta", "cache", "counters", "message_events")
"""What is not: of the facts the decisions alone, cached answers (given again when asked for), what is being written."""
DIGESTS = 2**128
SHOWN = 5
Report = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Verified:
    """What a collection holds on both sides: the count and the digest that agree."""

    collection: str
    count: int
    digest: str


class Copier:
    """Copies ``source`` into ``target``. ``name`` tells this source from others, also after a restart.

    ``chunk_collections`` are those that the settings name; those that the source's reports are in are copied, too.
    """

    def __init__(
        self, source: Database, target: Database, *, name: str, chunk_collections: Sequence[str], merge: bool = False
    ) -> None:
        self._source = source
        self._target = target
        registered = source["documents"].distinct("collection")
        self._chunks = tuple(dict.fromkeys((*chunk_collections, *sorted(name for name in registered if name))))
        self.unnamed = self._chunks[len(set(chunk_collections)) :]
        """Collections of passages that no setting names: where they are copied to, none searches them yet."""
        self._merge = merge
        self._facts = CorpusFacts(source), CorpusFacts(target)
        self._slots = "", ""
        self._progress = CopyProgress(target, name)
        self.collections = (*self._chunks, *OTHERS)

    def counts(self) -> dict[str, int]:
        """How many documents each collection of the source has."""
        return {name: self._source[name].count({}) for name in self.collections}

    def left_out(self) -> list[str]:
        """Collections of the source that are not the product's."""
        return [name for name in self._source.collection_names() if name not in (*self.collections, *DERIVED)]

    def prepare(self) -> bool:
        """Look at both sides and write the facts; True when an interrupted copy goes on.

        Raises:
            DatabaseError: the target is not empty, or has another schema version.
            SettingsError: a newer program wrote one of them.
            EmbedderMismatchError: the target's vectors are of another model.
        """
        version, existing = require_known(self._source), require_known(self._target)
        resumed = self._progress.unfinished(merge=self._merge)
        held = {name: count for name in self.collections if (count := self._target[name].estimated_count())}
        if held and not resumed and not self._merge:
            listed = ", ".join(f"{name} ({count})" for name, count in held.items())
            raise DatabaseError(
                f"The target is not empty: {listed}.",
                remedy="Copy into an empty database, or add to this one with --merge (equal ids are replaced).",
            )
        if held and not resumed and version != existing:
            raise DatabaseError(
                f"The source has schema version {version}, the target {existing}.",
                remedy="Run on each: python -m chatbot migrate.",
            )
        self._agree_on_embedder()
        self._facts[1].adopt(self._facts[0].decisions())
        set_version(self._target, version)
        self._progress.begin(CorpusChanges(self._source).position(), merge=self._merge)
        return resumed

    def _agree_on_embedder(self) -> None:
        source, target = (facts.embedder() for facts in self._facts)
        if source is not None and target is None:
            self._facts[1].remember_embedder(source)
            target = self._facts[1].embedder()
        if source and target and not source.same_vectors(target.model_id, target.dimensions, slot=source.slot):
            raise EmbedderMismatchError(
                f"The source was written with {source.model_id}, the target with {target.model_id}. "
                "Change one of them first: python -m chatbot reembed."
            )
        self._slots = source.slot if source else "", target.slot if target else ""

    def copy(self, report: Report) -> int:
        """Copy what is not there yet; ``report`` gets the number of rows of each step. Returns how many."""
        copied = 0
        for name in self.collections:
            after = self._progress.reached(name)
            skipped = 0 if after is None else self._source[name].count({})
            batches = list(id_batches(self._source[name], after=after))
            report(max(0, skipped - sum(map(len, batches))))
            for ids in batches:
                copied += self._copy_rows(name, rows_of(self._source[name], ids))
                self._progress.note(name, place(ids[-1]))
                report(len(ids))
        return copied

    def _copy_rows(self, name: str, rows: list[Json]) -> int:
        """Write what the target has not got or has otherwise; a row that it knows by an ObjectId keeps that."""
        there = self._in_target(name, rows)
        wanted: list[Json] = []
        for row in rows:
            known = there.get(str(row["_id"]))
            if known is None:
                wanted.append(self._for_target(name, row))
            elif self._digest(name, row, 0) != self._digest(name, known, 1):
                wanted.append({**self._for_target(name, row), "_id": known["_id"]})
        self._target[name].replace_many(wanted)
        return len(wanted)

    def _in_target(self, name: str, rows: list[Json]) -> dict[str, Json]:
        """The target's rows with these ids, by id as a string."""
        forms = id_forms((str(row["_id"]) for row in rows), embedded=self._target.embedded)
        return {str(row["_id"]): row for row in self._target[name].find({"_id": {"$in": forms}})}

    def _for_target(self, name: str, row: Json) -> Json:
        if name in self._chunks:
            vector = row.get(embedding_field(self._slots[0]))
            row = _without_vectors(row)
            if vector is not None:
                row[embedding_field(self._slots[1])] = self._target.encode_vector(decode_vector(vector))
        return with_string_ids(row) if self._target.embedded else row

    def verify(self, report: Report) -> list[Verified]:
        """Compare both sides by counts and content.

        Raises:
            DatabaseError: they differ; running the copy again copies everything anew.
        """
        verified = [self._verify(name, report) for name in self.collections]
        CorpusChanges(self._target).record_everything()
        CorpusChanges(self._target, CATALOG).record_everything()
        self._progress.finish()
        return verified

    def _verify(self, name: str, report: Report) -> Verified:
        digests, count = [0, 0], 0
        different: list[str] = []
        for ids in id_batches(self._source[name]):
            rows = rows_of(self._source[name], ids)
            there = self._in_target(name, rows)
            for row in rows:
                ours = self._digest(name, row, 0)
                theirs = self._digest(name, there.get(str(row["_id"]), {}), 1)
                digests = [(digests[0] + ours) % DIGESTS, (digests[1] + theirs) % DIGESTS]
                if ours != theirs:
                    different.append(str(row["_id"]))
            count += len(rows)
            report(len(rows))
        extra = 0 if self._merge else self._target[name].count({}) - count
        if digests[0] != digests[1] or extra:
            self._progress.start_over()
            raise _difference(name, different, extra)
        return Verified(name, count, f"{digests[0]:032x}")

    def _digest(self, name: str, row: Mapping[str, Any], side: int) -> int:
        """A digest of a row's canonical form: the vector as float32 bytes whatever its stored form, ids as strings."""
        if name not in self._chunks:
            return content_digest(row)
        vector = row.get(embedding_field(self._slots[side]))
        plain = _without_vectors(row)
        if vector is not None:
            plain["embedding"] = decode_vector(vector).astype("<f4").tobytes()
        return content_digest(plain)


def _without_vectors(row: Mapping[str, Any]) -> Json:
    """The row without any vector, also those of models that are not in use (yet)."""
    fields = {embedding_field(slot) for slot in SLOTS}
    return {name: value for name, value in row.items() if name not in fields}


def _difference(name: str, different: list[str], extra: int) -> DatabaseError:
    found = []
    if different:
        shown = ", ".join(different[:SHOWN]) + (", ..." if len(different) > SHOWN else "")
        found.append(f"{len(different)} rows differ or are missing ({shown})")
    if extra:
        found.append(f"the target has {abs(extra)} rows {'more' if extra > 0 else 'less'}")
    return DatabaseError(
        f"The copy of {name!r} is not the same as its source: {'; '.join(found)}.",
        remedy="Something wrote to one of them meanwhile. Stop it and run the same copy again; "
        "if the target has rows of its own, empty it first or use --merge.",
    )


COPYING, DONE = "copying", "done"


class CopyProgress:
    """How far a copy has come, in one document of the target's `meta`."""

    def __init__(self, target: Database, source_name: str) -> None:
        self._meta = target["meta"]
        self._name = source_name
        self._id = f"copy:{hashlib.sha256(source_name.encode()).hexdigest()[:12]}"
        self._reached: dict[str, Place] = {}

    def unfinished(self, *, merge: bool) -> bool:
        """True when a copy of this source was begun here; one that merges only goes on as one that merges."""
        found = self._meta.find_one({"_id": self._id})
        return found is not None and found["state"] == COPYING and (merge or not found["merge"])

    def begin(self, position: int, *, merge: bool) -> None:
        """Begin or go on; from the start if the source's change log has moved to another ``position`` since."""
        found = self._meta.find_one({"_id": self._id})
        if found is not None and found["state"] == COPYING and found["position"] == position:
            self._reached = {entry["collection"]: (entry["type"], entry["last"]) for entry in found["reached"]}
        begun = {"source": self._name, "state": COPYING, "merge": merge, "position": position}
        self._write({**begun, "reached": self._entries()})

    def reached(self, collection: str) -> Place | None:
        """The last place that was copied; None where nothing of the collection is."""
        return self._reached.get(collection)

    def note(self, collection: str, place: Place) -> None:
        """Note that all rows up to this place are written."""
        self._reached[collection] = place
        self._write({"reached": self._entries()})

    def start_over(self) -> None:
        """The next copy begins with the first row."""
        self._reached = {}
        self._write({"reached": []})

    def finish(self) -> None:
        """The next copy is a new one."""
        self._write({"state": DONE, "finished_at": datetime.now(UTC).isoformat(timespec="seconds")})

    def _entries(self) -> list[Json]:
        return [{"collection": name, "type": kind, "last": last} for name, (kind, last) in self._reached.items()]

    def _write(self, fields: Json) -> None:
        self._meta.update_one({"_id": self._id}, {"$set": fields}, upsert=True)
