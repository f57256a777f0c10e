"""Passages in MongoDB collections: everything of a store but its searches.

Field names are seed 003's (`data`, `data_embedding`, `document_title`, ...), so that
collections of that system and of this one look alike. A returned chunk never carries
its embedding.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Collection as AnyOf
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..config.settings import Settings
from ..database import rows as forms
from ..database.changes import PASSAGES, Change, Changes
from ..database.core import Collection, Database, Json
from ..database.ordinary_indexes import OrdinaryIndex
from ..domain import Chunk, Scope, Vector
from ..domain.documents import Matrix
from ..domain.errors import EmbedderMismatchError, SearchEngineError
from ..domain.scope import NO_VALUE
from ..language.analysis import analyzer
from .keywords import Bm25

SIBLING_REACHES = (4, 12)
"""Chunks on each side that are read for the surroundings of one: at first, which is
enough for chunks of the usual size, and where these are all within the margin.
"""
PassageCount = Callable[[Scope], int]
"""Returns the passages in a scope, as far as the catalogue knows them, without asking
the database.
"""


@dataclass(kw_only=True, eq=False)
class BuiltStore:
    """What every store is built from. ``slot`` holds the vectors, which have so many
    ``dimensions``. ``passages``: None where no catalogue is at hand.
    """

    expected: ClassVar[str]
    """Ends the message about a vector of another model, after "has 2 dimensions, "."""
    settings: Settings
    database: Database
    changes: Changes
    dimensions: int
    slot: str = ""
    passages: PassageCount | None = None

    def __post_init__(self) -> None:
        self._names = tuple(dict.fromkeys(self.settings.chunk_collections))
        self.fields = self.settings.filter_fields
        self.embedding_field = forms.embedding_field(self.slot)
        self.terms_of = analyzer(self.settings.language).terms
        self._bm25 = Bm25()

    def _check(self, vector: Vector) -> Vector:
        """Return a question's vector as float32. Raises EmbedderMismatchError: the
        vector is of another model; SearchEngineError: it is all zeros or not finite.
        """
        self.check_length(vector, "question")
        if not np.all(np.isfinite(vector)) or not np.any(vector):
            raise no_direction()
        return np.asarray(vector, dtype=np.float32)

    def check_length(self, vector: Vector, what: str) -> None:
        if len(vector) != self.dimensions:
            expected = self.expected.format(dimensions=self.dimensions)
            raise EmbedderMismatchError(
                f"The embedding of the {what} has {len(vector)} dimensions, {expected}"
            )


class MongoChunks(BuiltStore):
    """Chunks in the knowledge collections. Base of the stores that search these
    collections.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.database.guard(self._names)

    def collections(self) -> list[Collection]:
        return [self.database[name] for name in self._names]

    def prepare(self) -> None:
        """Do nothing: the services create ordinary indexes, `index create` the search
        indexes.
        """

    def upsert(self, chunks: Sequence[Chunk], vectors: Matrix) -> None:
        """Write chunks, each into the collection it names; ``vectors[i]`` belongs to
        ``chunks[i]``.
        """
        by_collection: dict[str, list[Json]] = {}
        for chunk, vector in zip(chunks, vectors, strict=True):
            name = chunk.collection or self._names[0]
            row = chunk_to_json(chunk, self.fields)
            if np.any(vector):  # no index takes zeros, which have no direction
                row[self.embedding_field] = self.database.encode_vector(vector)
            by_collection.setdefault(name, []).append(row)
        if not chunks:
            return
        ids = {chunk.document_id for chunk in chunks}
        with self.changes.of(ids, PASSAGES) as change:
            for name, rows in by_collection.items():
                if change[name].replace_many(rows):
                    change.note_in_place()

    def delete_document(self, document_id: str, *, keep: AnyOf[str] = ()) -> int:
        """Delete also the rows that do not name their report, where it is one of an
        older system.
        """
        with self.changes.of([document_id], PASSAGES, frees_space=True) as change:
            return self._delete(document_id, set(keep), change)

    def _delete(self, document_id: str, keep: set[str], change: Change) -> int:
        deleted = 0
        for collection in self.collections():
            # Looked up first: a $nin over hundreds of ids scans the whole collection on
            # SQLite.
            ids = self._row_ids(document_id, collection)
            ids = [id for id in ids if id not in keep]
            if ids:
                writable = change[collection.name]
                deleted += writable.delete_many({"_id": {"$in": ids}})
        return deleted

    def _row_ids(self, document_id: str, collection: Collection) -> list[Any]:
        """Return the ids of a report's rows as they are stored, those of retired rows
        too.
        """
        embedded = self.database.embedded
        document_ids = forms.id_forms([document_id], embedded=embedded)
        document_ids.append(f"{forms.RETIRED_PREFIX}{document_id}")
        rows = collection.find({"document_id": {"$in": document_ids}}, {"_id": 1})
        ids = [row["_id"] for row in rows]
        if document_id.startswith(forms.OLDER_PREFIX):
            for row in collection.find(
                forms.unregistered(embedded=embedded), forms.NAMING
            ):
                if forms.document_id_of(row) == document_id:
                    ids.append(row["_id"])
        return ids

    def document_ids(self) -> set[str]:
        """Return the ids that passages name as their reports'."""
        ids: set[str] = set()
        for collection in self.collections():
            stored = collection.distinct("document_id")
            ids.update(id for id in stored if isinstance(id, str))
        return ids

    def get(
        self, chunk_ids: Sequence[str], collections: Iterable[Collection] | None = None
    ) -> list[Chunk]:
        """Look only into these collections (None = all); ids of an older system may be
        ObjectIds.
        """
        if collections is None:
            collections = self.collections()
        chunks: dict[str, Chunk] = {}
        for collection in collections:
            missing = [id for id in chunk_ids if id not in chunks]
            if missing:
                chunks |= self._read(missing, collection)
        return [chunks[id] for id in chunk_ids if id in chunks]

    def _read(
        self, chunk_ids: Sequence[str], collection: Collection
    ) -> dict[str, Chunk]:
        """Return the chunks with these ids that this collection has, by id."""
        ids = forms.id_forms(chunk_ids, embedded=self.database.embedded)
        rows = collection.find({"_id": {"$in": ids}}, forms.WITHOUT_EMBEDDING)
        return {
            forms.id_text(row["_id"]): self._chunk(row, collection.name)
            for row in rows
            if not is_retired(row)
        }

    def stored(self, document_id: str) -> tuple[list[Chunk], Matrix]:
        """Chunks without a vector are left out; the matrix has shape (0, 0) where there
        are none.
        """
        chunks: list[Chunk] = []
        vectors: list[Vector] = []
        # All of one model, that of the first, which need not be the configured one:
        # figures and deletions need the others, too.
        dimensions: int | None = None
        query = forms.of_document(document_id, embedded=self.database.embedded)
        for collection in self.collections():
            for row in collection.find(query):
                vector = self.stored_vector(row, dimensions)
                if vector is not None:
                    dimensions = vector.size
                    chunks.append(self._chunk(row, collection.name))
                    vectors.append(vector)
        if not vectors:
            return [], np.empty((0, 0), np.float32)
        return chunks, np.vstack(vectors)

    def stored_vector(self, row: Json, dimensions: int | None) -> Vector | None:
        """Return the vector of a row that can be searched by meaning, else None."""
        return forms.usable_vector(row.get(self.embedding_field), dimensions)

    def surroundings(
        self, chunks: Sequence[Chunk], *, margin: int
    ) -> list[list[Chunk]]:
        """Look up the neighbours by their ids, once in each collection that has some of
        the chunks.
        """
        names = dict.fromkeys(chunk.collection for chunk in chunks)
        collections = [self.database[name] for name in self._names if name in names]
        return read_surroundings(chunks, margin, lambda ids: self.get(ids, collections))

    def count(self, scope: Scope) -> int:
        query = scope.to_mql()
        return sum(
            collection.count(query)
            for collection in self.collections()
            if scope.holds(collection.name)
        )

    def _chunk(self, row: Mapping[str, Any], collection: str) -> Chunk:
        return chunk_from_json(row, collection=collection, fields=self.fields)

    def close(self) -> None:
        """Leave the database open: it belongs to the services."""


def is_retired(row: Mapping[str, Any]) -> bool:
    """Return whether a row only waits to be deleted."""
    return str(row.get("document_id") or "").startswith(forms.RETIRED_PREFIX)


def ordinary_indexes(
    collections: Iterable[str], filter_fields: Iterable[str]
) -> list[OrdinaryIndex]:
    """Return the ordinary indexes for everything that is looked up."""
    fields = tuple(filter_fields)
    indexes = []
    for name in collections:
        indexes.append(OrdinaryIndex(name, (("document_id", 1), ("ordinal", 1))))
        indexes += [OrdinaryIndex(name, ((field, 1),)) for field in fields]
    return indexes


def read_surroundings(
    chunks: Sequence[Chunk], margin: int, get: Callable[[Sequence[str]], list[Chunk]]
) -> list[list[Chunk]]:
    """Implement `Store.surroundings`: look up few siblings of each chunk, and more
    where all of those are within the margin.
    """
    siblings: dict[str, Chunk] = {}

    def within(chunk: Chunk, offsets: Iterable[int]) -> list[Chunk]:
        """Return the siblings at these offsets that reach into the margin."""
        chosen = []
        for offset in offsets:
            sibling = siblings.get(chunk.sibling_id(chunk.ordinal + offset))
            if sibling is None or sibling.end < chunk.start - margin:
                continue
            if sibling.start <= chunk.end + margin:
                chosen.append(sibling)
        return chosen

    open_ended = list(chunks)
    for reach in SIBLING_REACHES:
        ids: dict[str, None] = {}  # ordered, each once
        for chunk in open_ended:
            first = max(0, chunk.ordinal - reach)
            for ordinal in range(first, chunk.ordinal + reach + 1):
                if ordinal != chunk.ordinal:
                    ids[chunk.sibling_id(ordinal)] = None
        for sibling in get([id for id in ids if id not in siblings]):
            siblings[sibling.id] = sibling
        open_ended = [chunk for chunk in open_ended if within(chunk, (-reach, reach))]
    farthest = SIBLING_REACHES[-1]
    return [
        [
            *within(chunk, range(-farthest, 0)),
            chunk,
            *within(chunk, range(1, farthest + 1)),
        ]
        for chunk in chunks
    ]


def chunk_to_json(chunk: Chunk, fields: Iterable[str]) -> Json:
    """Return a chunk's row as seed 003 stores it, without its embedding; each filter
    field has a value.
    """
    return {
        **dict.fromkeys(fields, NO_VALUE),
        "_id": chunk.id,
        "document_id": chunk.document_id,
        "document_name": chunk.document_name,
        "report_title": chunk.title,
        forms.TEXT_FIELD: chunk.text,
        "document_title": chunk.section,
        "document_page_number": chunk.page,
        "ordinal": chunk.ordinal,
        "start": chunk.start,
        "end": chunk.end,
        "data_labels": list(chunk.labels),
        "data_description": chunk.description,
        "figure_years": list(chunk.figure_years),
        "url": chunk.url,
        "confidence": chunk.confidence,
        "data_zone": chunk.zone,
        "cell_figures": forms.statements_value(chunk.statements),
        **chunk.metadata,
    }


def chunk_from_json(
    row: Mapping[str, Any], *, collection: str, fields: Iterable[str]
) -> Chunk:
    """Return a stored row as a chunk. Rows of older systems lack most fields, which are
    then empty.
    """
    name = forms.document_name_of(row)
    labels = forms.list_value(row.get("data_labels"))
    years = forms.list_value(row.get("figure_years"))
    return Chunk(
        id=forms.id_text(row["_id"]),
        document_id=forms.document_id_of(row),
        document_name=name,
        title=forms.text_value(row.get("report_title")) or name,
        text=forms.text_value(row.get(forms.TEXT_FIELD)),
        section=forms.text_value(row.get("document_title")),
        page=forms.page_of(row),
        ordinal=forms.number_value(row.get("ordinal")) or 0,
        start=forms.number_value(row.get("start")) or 0,
        end=forms.number_value(row.get("end")) or 0,
        metadata=forms.row_metadata(row, fields),
        collection=collection,
        labels=tuple(str(label) for label in labels),
        description=forms.text_value(row.get("data_description")),
        figure_years=tuple(year for year in years if isinstance(year, int)),
        url=forms.text_value(row.get("url")),
        confidence=row.get("confidence"),
        zone=forms.text_value(row.get("data_zone")),
        statements=forms.statements_of(row.get("cell_figures")),
    )


def no_direction() -> SearchEngineError:
    """Return the error for a query vector that is all zeros or not finite."""
    return SearchEngineError(
        "The embedding of the question is all zeros or not a number, so nothing can "
        "be near it.",
        remedy="Usually the text was empty; otherwise check the embedding model.",
    )
