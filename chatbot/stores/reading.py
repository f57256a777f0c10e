"""Chunks from the database into the arrays of the in-process index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..database import Collection, Json, decode_vector
from ..errors import EmbedderMismatchError
from ..legacy import document_id_of, filter_value
from ..schema import Value, Vector
from .chunks import TEXT_FIELD
from .columns import COLLECTION, Column
from .rows import Rows


@dataclass(frozen=True, slots=True)
class RowReader:
    """``terms_of`` analyses a text, ``term_ids`` numbers its terms."""

    fields: tuple[str, ...]
    embedding_field: str
    dimensions: int
    terms_of: Callable[[str], list[str]]
    term_ids: Callable[[Iterable[str]], list[int]]

    def read(self, collections: Sequence[Collection], filter: Json) -> Rows | None:
        """The chunks that match a MongoDB filter, ordered by id; None when there are none.

        Raises:
            EmbedderMismatchError: a stored vector has other dimensions than the configured model.
        """
        return self._rows((collection.name, row) for collection in collections for row in collection.find(filter))

    def read_documents(self, collections: Sequence[Collection], document_ids: Sequence[str]) -> Rows | None:
        """The chunks of some documents. One query each: only equality uses the index on every database."""
        queries = [{"document_id": document_id} for document_id in document_ids]
        return self._rows((c.name, row) for query in queries for c in collections for row in c.find(query))

    def _rows(self, found: Iterable[tuple[str, Json]]) -> Rows | None:
        columns = _Columns({name: [] for name in (*self.fields, COLLECTION)})
        for collection, row in found:
            columns.ids.append(str(row["_id"]))
            columns.documents.append(document_id_of(row))
            for name in self.fields:
                columns.values[name].append(filter_value(name, row.get(name)))
            columns.values[COLLECTION].append(collection)
            columns.vectors.append(self._vector(row))
            columns.terms.append(np.asarray(self.term_ids(self.terms_of(_indexed_text(row))), dtype=np.int32))
        if not columns.ids:
            return None
        rows = Rows(
            np.asarray(columns.ids, dtype=object),
            Column.of(columns.documents),
            {name: Column.of(column) for name, column in columns.values.items()},
            np.vstack(columns.vectors),
            np.concatenate(columns.terms),
            np.asarray([len(terms) for terms in columns.terms], dtype=np.int32),
        )
        return Rows.concat([rows])

    def _vector(self, row: Mapping[str, Any]) -> Vector:
        """The unit vector; zeros for a chunk that has none."""
        stored = row.get(self.embedding_field)
        if stored is None:
            return np.zeros(self.dimensions, dtype=np.float32)
        vector = decode_vector(stored)
        if len(vector) != self.dimensions:
            raise EmbedderMismatchError(
                f"The stored passage {row['_id']} has an embedding of {len(vector)} dimensions, the configured model "
                f"has {self.dimensions}. The collection was written with another embedding model: use that model, or "
                "embed the reports again."
            )
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class _Columns:
    values: dict[str, list[Value | None]]
    ids: list[str] = field(default_factory=list)
    documents: list[Value | None] = field(default_factory=list)
    vectors: list[Vector] = field(default_factory=list)
    terms: list[Any] = field(default_factory=list)


def _indexed_text(row: Mapping[str, Any]) -> str:
    return "\n".join(str(row.get(name) or "") for name in ("report_title", "document_title", TEXT_FIELD))
