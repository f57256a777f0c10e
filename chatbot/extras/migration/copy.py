"""Copy everything of one database into another: resumable, verified, without computing
a single vector.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ...app.schema import require_known, set_version
from ...database.changes import ANNOUNCED_KINDS, PASSAGES
from ...database.core import GUARDED, Database, IdKey, Json, id_batches, id_key, rows_of
from ...database.repositories.corpus import CorpusFacts
from ...database.rows import (
    SLOTS,
    content_digest,
    decode_vector,
    embedding_field,
    id_forms,
    with_string_ids,
)
from ...domain.errors import DatabaseError, EmbedderMismatchError

OTHERS = (
    "file_pieces",
    "files",
    "documents",
    "conversations",
    "messages",
    "feedback",
    "ingestions",
    "ingestion_items",
    "sources",
    "source_files",
    "glossary",
    "country_groups",
    "figures",
    "figure_versions",
    "figure_changes",
    "text_changes",
    "usage",
    "usage_of_limited",
    "keys",
    "audit",
    "hooks",
)
"""The collections copied after those of passages, so that a registered report has its
passages.
"""
DERIVED = (
    "meta",
    "cache",
    "counters",
    "sessions",
    "message_events",
    "idempotency",
    "uploads",
    "deliveries",
    "batches",
    "batch_items",
)
"""Not copied, but for the decisions in `meta`: cached answers, counters, sessions,
running answers, answers to repeated requests, files that were sent and not used,
batches of old releases.
"""
SHOWN = 5
COPYING, DONE = "copying", "done"
Report = Callable[[int], None]


class Copier:
    """Copies ``source`` into ``target``. ``name`` tells this source from others, also
    after a restart. ``chunk_collections`` are those of the settings; those that the
    source's reports name are copied, too.
    """

    def __init__(
        self,
        source: Database,
        target: Database,
        *,
        name: str,
        chunk_collections: Sequence[str],
        merge: bool = False,
    ) -> None:
        self._source = source
        self._target = target
        registered = source["documents"].distinct("collection")
        self._chunks = tuple(
            dict.fromkeys(
                (*chunk_collections, *sorted(name for name in registered if name))
            )
        )
        self.unnamed = self._chunks[len(set(chunk_collections)) :]
        """Collections of passages that no setting names, so that nobody searches them
        in the target yet.
        """
        self._merge = merge
        self._facts = CorpusFacts(source), CorpusFacts(target)
        self._slots = "", ""
        self._name = name
        self._progress_id = f"copy:{hashlib.sha256(name.encode()).hexdigest()[:12]}"
        self._reached: dict[str, IdKey] = {}
        """The id by collection up to which all rows are written."""
        self.collections = (*self._chunks, *OTHERS)

    def counts(self) -> dict[str, int]:
        return {name: self._source[name].count({}) for name in self.collections}

    def left_out(self) -> list[str]:
        """Return the collections of the source that are not the product's."""
        return [
            name
            for name in self._source.collection_names()
            if name not in (*self.collections, *DERIVED)
        ]

    def prepare(self) -> bool:
        """Check both sides and write the facts; return whether an interrupted copy
        continues. Raises DatabaseError: the target is not empty, or has another schema
        version; SettingsError: a newer program wrote one of them;
        EmbedderMismatchError: the target's vectors are of another model.
        """
        version = require_known(self._source)
        existing = require_known(self._target)
        state = self._target["meta"].find_one(
            {"_id": self._progress_id, "state": COPYING}
        )
        # A copy that merges only continues as one that merges.
        resumed = state is not None and (self._merge or not state["merge"])
        counts = {
            name: count
            for name in self.collections
            if (count := self._target[name].estimated_count())
        }
        if counts and not resumed and not self._merge:
            listed = ", ".join(f"{name} ({count})" for name, count in counts.items())
            raise DatabaseError(
                f"The target is not empty: {listed}.",
                remedy=(
                    "Copy into an empty database, or add to this one with --merge "
                    "(equal ids are replaced)."
                ),
            )
        if counts and not resumed and version != existing:
            raise DatabaseError(
                f"The source has schema version {version}, the target {existing}.",
                remedy="Run on each: python -m chatbot migrate.",
            )
        self._agree_on_embedder()
        self._facts[1].adopt(self._facts[0].decisions())
        set_version(self._target, version)
        position = self._source.changes.position()
        if (
            state is not None and state["position"] == position
        ):  # else from the start: the source has changed
            self._reached = {
                entry["collection"]: (entry["type"], entry["last"])
                for entry in state["reached"]
            }
        self._note_progress(
            source=self._name, state=COPYING, merge=self._merge, position=position
        )
        return resumed

    def _note_progress(self, **fields: Any) -> None:
        """Store how far the copy has come, in one document of the target's `meta`."""
        reached = [
            {"collection": name, "type": kind, "last": last}
            for name, (kind, last) in self._reached.items()
        ]
        update = {"$set": {**fields, "reached": reached}}
        self._target["meta"].update_one({"_id": self._progress_id}, update, upsert=True)

    def _agree_on_embedder(self) -> None:
        source, target = (facts.embedder() for facts in self._facts)
        if source is not None and target is None:
            self._facts[1].remember_embedder(source)
            target = self._facts[1].embedder()
        if (
            source
            and target
            and not source.same_vectors(
                target.model_id, target.dimensions, slot=source.slot
            )
        ):
            raise EmbedderMismatchError(
                f"The source was written with {source.model_id}, the target with "
                f"{target.model_id}. "
                "Change one of them first: python -m chatbot reembed."
            )
        self._slots = source.slot if source else "", target.slot if target else ""

    def copy(self, report: Report) -> int:
        """Copy the remaining rows and return how many; ``report`` gets the number of
        rows of each step.
        """
        copied = 0
        for name in self.collections:
            after = self._reached.get(name)
            skipped = 0 if after is None else self._source[name].count({})
            batches = list(id_batches(self._source[name], after=after))
            report(max(0, skipped - sum(map(len, batches))))
            for ids in batches:
                copied += self._copy_rows(name, rows_of(self._source[name], ids))
                self._reached[name] = id_key(ids[-1])
                self._note_progress()
                report(len(ids))
        return copied

    def _copy_rows(self, name: str, rows: list[Json]) -> int:
        """Write the rows that the target lacks or has otherwise; one that it has under
        an ObjectId keeps that id.
        """
        existing = self._in_target(name, rows)
        writes: list[Json] = []
        for row in rows:
            old = existing.get(str(row["_id"]))
            if old is not None and self._digest(name, row, 0) == self._digest(
                name, old, 1
            ):
                continue
            copy = row
            if name in self._chunks:
                copy = _without_vectors(row)
                if (vector := row.get(embedding_field(self._slots[0]))) is not None:
                    copy[embedding_field(self._slots[1])] = self._target.encode_vector(
                        decode_vector(vector)
                    )
            copy = with_string_ids(copy) if self._target.embedded else copy
            writes.append({**copy, **({"_id": old["_id"]} if old else {})})
        self._write(name, writes)
        return len(writes)

    def _write(self, name: str, rows: list[Json]) -> None:
        if name not in GUARDED and name not in self._chunks:
            self._target[name].replace_many(rows)
            return
        ids = {str(row.get("document_id") or row["_id"]) for row in rows}
        kind = GUARDED.get(name, PASSAGES)
        with self._target.changes.of(ids, kind) as change:
            if change[name].replace_many(rows) and kind == PASSAGES:
                change.note_in_place()

    def _in_target(self, name: str, rows: list[Json]) -> dict[str, Json]:
        """Return the target's rows with these ids, by id as a string."""
        forms = id_forms(
            (str(row["_id"]) for row in rows), embedded=self._target.embedded
        )
        return {
            str(row["_id"]): row
            for row in self._target[name].find({"_id": {"$in": forms}})
        }

    def verify(self, report: Report) -> list[tuple[str, int, str]]:
        """Compare both sides; return the name of each collection, its count and its
        digest. Raises DatabaseError: they differ; running the copy again copies
        everything again.
        """
        verified = [self._verify(name, report) for name in self.collections]
        self._target.changes.announce(None, *ANNOUNCED_KINDS, in_place=True)
        self._note_progress(
            state=DONE, finished_at=datetime.now(UTC).isoformat(timespec="seconds")
        )
        return verified

    def _verify(self, name: str, report: Report) -> tuple[str, int, str]:
        digest = 0
        count = 0
        different: list[str] = []
        for ids in id_batches(self._source[name]):
            rows = rows_of(self._source[name], ids)
            copies = self._in_target(name, rows)
            for row in rows:
                of_row = self._digest(name, row, 0)
                if of_row != self._digest(name, copies.get(str(row["_id"]), {}), 1):
                    different.append(str(row["_id"]))
                digest = (digest + of_row) % 2**128
            count += len(rows)
            report(len(rows))
        extra = 0 if self._merge else self._target[name].count({}) - count
        differences = []
        if different:
            shown = ", ".join(different[:SHOWN]) + (
                ", ..." if len(different) > SHOWN else ""
            )
            differences.append(f"{len(different)} rows differ or are missing ({shown})")
        if extra:
            differences.append(
                f"the target has {abs(extra)} rows {'more' if extra > 0 else 'less'}"
            )
        if differences:
            self._reached = {}  # the next copy begins with the first row
            self._note_progress()
            raise DatabaseError(
                (
                    f"The copy of {name!r} is not the same as its source: "
                    f"{'; '.join(differences)}."
                ),
                remedy="Something wrote to one of them meanwhile. Stop it and run the "
                "same copy again; "
                "if the target has rows of its own, empty it first or use --merge.",
            )
        return name, count, f"{digest:032x}"

    def _digest(self, name: str, row: Mapping[str, Any], side: int) -> int:
        """Return a digest that does not depend on the stored forms: the vector as
        float32 bytes, ids as strings.
        """
        if name not in self._chunks:
            return content_digest(row)
        vector = row.get(embedding_field(self._slots[side]))
        plain = _without_vectors(row)
        if vector is not None:
            plain["embedding"] = decode_vector(vector).astype("<f4").tobytes()
        return content_digest(plain)


def _without_vectors(row: Mapping[str, Any]) -> Json:
    """Return the row without any vector, also those of models that are not in use
    (yet).
    """
    fields = {embedding_field(slot) for slot in SLOTS}
    return {name: value for name, value in row.items() if name not in fields}
