"""Passages in MongoDB collections: everything of a store but its searches.

Field names are seed 003's (`data`, `data_embedding`, `document_title`, ...), so that collections written by that
system and by this one look alike. A returned chunk never carries its embedding.
"""

from __future__ import annotations

from collections.abc import Collection as AnyOf
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import legacy
from ..database import Collection, Database, Json, id_forms
from ..database.vectors import decode_vector
from ..legacy import document_id_of, row_metadata
from ..protocols import ChangeLog
from ..schema import Chunk, Matrix, Scope, Vector

EMBEDDING_FIELD = "data_embedding"
SLOTS = ("", "_b")
"""Two places for a chunk's vector, so that `reembed` can fill one while the other serves; appended to the names of
the field and of the vector index."""
TEXT_FIELD = "data"
WITHOUT_EMBEDDING = {f"{EMBEDDING_FIELD}{slot}": 0 for slot in SLOTS}
NEIGHBOURS = 12
"""How many chunks on each side are looked at for the surroundings of one."""


def embedding_field(slot: str) -> str:
    """The field that holds the vectors of a slot."""
    return f"{EMBEDDING_FIELD}{slot}"


class MongoChunks:
    """Chunks in the knowledge collections. Base of the stores that search these collections."""

    def __init__(
        self,
        database: Database,
        changes: ChangeLog,
        *,
        collections: Sequence[str],
        filter_fields: Iterable[str],
        embedding_field: str = EMBEDDING_FIELD,
    ) -> None:
        self._database = database
        self._changes = changes
        self._names = tuple(dict.fromkeys(collections))
        self._fields = tuple(filter_fields)
        self._embedding_field = embedding_field

    def _collections(self) -> list[Collection]:
        return [self._database[name] for name in self._names]

    def prepare(self) -> None:
        """Nothing of its own: ordinary indexes are the services' work, search indexes are made by `index create`."""

    def upsert(self, chunks: Sequence[Chunk], vectors: Matrix) -> None:
        """Write chunks, each into the collection it names; ``vectors[i]`` belongs to ``chunks[i]``."""
        if len(chunks) != len(vectors):
            raise ValueError(f"{len(chunks)} chunks but {len(vectors)} vectors")
        by_collection: dict[str, list[Json]] = {}
        for chunk, vector in zip(chunks, vectors, strict=True):
            name = chunk.collection or self._names[0]
            row = {**chunk_to_json(chunk), self._embedding_field: self._database.encode_vector(vector)}
            by_collection.setdefault(name, []).append(row)
        for name, rows in by_collection.items():
            self._database[name].replace_many(rows)
        if chunks:
            self._changes.record({chunk.document_id for chunk in chunks})

    def delete_document(self, document_id: str, *, keep: AnyOf[str] = ()) -> int:
        kept, deleted = set(keep), 0
        for collection in self._collections():
            # Looked up first: a $nin over hundreds of ids scans the whole collection on SQLite.
            stored = [row["_id"] for row in collection.find({"document_id": document_id}, {"_id": 1})]
            if document_id.startswith(legacy.PREFIX):
                older = collection.find(legacy.UNREGISTERED, dict.fromkeys(legacy.KEY_FIELDS, 1))
                stored += [row["_id"] for row in older if document_id_of(row) == document_id]
            if doomed := [chunk_id for chunk_id in stored if chunk_id not in kept]:
                deleted += collection.delete_many({"_id": {"$in": doomed}})
        if deleted:
            self._changes.record([document_id])
        return deleted

    def get(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        found: dict[str, Chunk] = {}
        for collection in self._collections():
            if missing := [chunk_id for chunk_id in chunk_ids if chunk_id not in found]:
                # SQLite has no ObjectId: there every id is a string.
                ids = missing if self._database.embedded else id_forms(missing, embedded=self._database.embedded)
                for row in collection.find({"_id": {"$in": ids}}, WITHOUT_EMBEDDING):
                    found[str(row["_id"])] = self._chunk(row, collection.name)
        return [found[chunk_id] for chunk_id in chunk_ids if chunk_id in found]

    def stored(self, document_id: str) -> tuple[list[Chunk], Matrix]:
        chunks: list[Chunk] = []
        vectors: list[Vector] = []
        for collection in self._collections():
            for row in collection.find({"document_id": document_id}):
                if (vector := row.get(self._embedding_field)) is not None:
                    chunks.append(self._chunk(row, collection.name))
                    vectors.append(decode_vector(vector))
        return chunks, np.vstack(vectors) if vectors else np.empty((0, 0), np.float32)

    def surroundings(self, chunk: Chunk, *, margin: int) -> list[Chunk]:
        around = range(chunk.ordinal - NEIGHBOURS, chunk.ordinal + NEIGHBOURS + 1)
        neighbours = self.get([chunk.sibling_id(ordinal) for ordinal in around if ordinal >= 0])
        near = [n for n in neighbours if n.end >= chunk.start - margin and n.start <= chunk.end + margin]
        return near or [chunk]

    def count(self, scope: Scope) -> int:
        inside = (collection for collection in self._collections() if scope.holds(collection.name))
        return sum(collection.count(scope.to_mql()) for collection in inside)

    def _chunk(self, row: Mapping[str, Any], collection: str) -> Chunk:
        return chunk_from_json(row, collection=collection, fields=self._fields)

    def close(self) -> None:
        """Nothing of its own to close; the database belongs to the services."""


def chunk_to_json(chunk: Chunk) -> Json:
    return {
        "_id": chunk.id,
        "document_id": chunk.document_id,
        "document_name": chunk.document_name,
        "report_title": chunk.title,
        "document_title": chunk.section,
        "document_page_number": chunk.page,
        "data_labels": list(chunk.labels),
        "data_description": chunk.description,
        TEXT_FIELD: chunk.text,
        "ordinal": chunk.ordinal,
        "start": chunk.start,
        "end": chunk.end,
        **chunk.metadata,
    }


def chunk_from_json(row: Mapping[str, Any], *, collection: str, fields: Iterable[str]) -> Chunk:
    """A stored row as a chunk. Rows of older systems lack most fields; what is missing is empty."""
    name = str(row.get("document_name") or "")
    page = row.get("document_page_number")
    return Chunk(
        id=str(row["_id"]),
        document_id=document_id_of(row),
        document_name=name,
        title=str(row.get("report_title") or name),
        text=str(row.get(TEXT_FIELD) or ""),
        section=str(row.get("document_title") or ""),
        page=int(page) if page is not None and str(page).isdigit() else None,
        ordinal=int(row.get("ordinal") or 0),
        start=int(row.get("start") or 0),
        end=int(row.get("end") or 0),
        metadata=row_metadata(row, fields),
        collection=collection,
        labels=tuple(row.get("data_labels") or ()),
        description=str(row.get("data_description") or ""),
    )
