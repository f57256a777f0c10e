"""Chunks as the arrays of the in-process index, and reading them from the database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...database.core import Collection, Json
from ...database.rows import TEXT_FIELD, decode_vector, document_id_of, filter_value
from ...errors import EmbedderMismatchError
from ...schema import Matrix, Value, Vector
from ..keywords import Ints

Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]
COLLECTION = "$collection"
"""The column beside those of the filter fields, none of which can have this name: where the row was read from."""


@dataclass(frozen=True, slots=True)
class Column:
    """``values[codes[row]]`` is the row's value; None = the row has none."""

    values: tuple[Value | None, ...]
    codes: Codes

    @classmethod
    def of(cls, rows: Iterable[Value | None]) -> Column:
        """Values are numbered as they come."""
        numbers: dict[Value | None, int] = {}
        codes = [numbers.setdefault(value, len(numbers)) for value in rows]
        return cls(tuple(numbers), np.asarray(codes, dtype=np.int32))

    @classmethod
    def concat(cls, parts: Sequence[Column]) -> Column:
        """One after the other, numbered anew."""
        numbers: dict[Value | None, int] = {}
        recoded = []
        for part in parts:
            table = np.asarray([numbers.setdefault(value, len(numbers)) for value in part.values], dtype=np.int32)
            recoded.append(table[part.codes] if len(table) else part.codes)
        return cls(tuple(numbers), np.concatenate(recoded))

    def take(self, rows: NDArray[np.int64]) -> Column:
        """The column of these rows, in this order."""
        return Column(self.values, self.codes[rows])

    def where(self, wanted: Callable[[Value | None], bool]) -> Mask:
        """Rows whose value is wanted, shape (rows,)."""
        verdicts = np.asarray([wanted(value) for value in self.values], dtype=np.bool_)
        if not len(verdicts):
            return np.zeros(len(self.codes), dtype=np.bool_)
        found: Mask = verdicts[self.codes]
        return found


@dataclass(frozen=True, slots=True)
class Rows:
    """What a segment is made of, one entry per chunk, ordered by chunk id.

    ``values`` holds the filter fields and COLLECTION. ``terms`` holds every row's term ids one after another,
    ``lengths`` how many belong to each row. A row of zeros in ``vectors`` means that the chunk has no embedding.
    """

    ids: NDArray[np.object_]
    documents: Column
    values: Mapping[str, Column]
    vectors: Matrix
    terms: Ints
    lengths: Ints

    def take(self, order: NDArray[np.int64]) -> Rows:
        """The rows at these positions, in that order."""
        starts = np.concatenate(([0], np.cumsum(self.lengths)))
        pieces = [self.terms[starts[row] : starts[row + 1]] for row in order]
        return Rows(
            self.ids[order],
            self.documents.take(order),
            {name: column.take(order) for name, column in self.values.items()},
            self.vectors[order],
            np.concatenate(pieces) if pieces else self.terms[:0],
            self.lengths[order],
        )

    @staticmethod
    def concat(parts: Sequence[Rows]) -> Rows:
        """All rows of the parts, ordered by id."""
        joined = Rows(
            np.concatenate([part.ids for part in parts]),
            Column.concat([part.documents for part in parts]),
            {name: Column.concat([part.values[name] for part in parts]) for name in parts[0].values},
            np.concatenate([part.vectors for part in parts]),
            np.concatenate([part.terms for part in parts]),
            np.concatenate([part.lengths for part in parts]),
        )
        order = np.argsort(joined.ids, kind="stable")
        return joined if bool((order[1:] > order[:-1]).all()) else joined.take(order)


@dataclass(frozen=True, slots=True)
class RowReader:
    """``terms_of`` analyses a text, ``term_ids`` numbers its terms."""

    fields: tuple[str, ...]
    embedding_field: str
    dimensions: int
    terms_of: Callable[[str], list[str]]
    term_ids: Callable[[Iterable[str]], list[int]]

    def read(self, collections: Sequence[Collection], document_ids: Sequence[str] | None = None) -> Rows | None:
        """The chunks (of some documents), ordered by id; None when there are none.

        Raises:
            EmbedderMismatchError: a stored vector has other dimensions than the configured model.
        """
        # One query for each document: only equality uses the index on every database.
        queries: list[Json] = [{}] if document_ids is None else [{"document_id": id} for id in document_ids]
        ids: list[str] = []
        documents: list[Value | None] = []
        values: dict[str, list[Value | None]] = {name: [] for name in (*self.fields, COLLECTION)}
        vectors: list[Vector] = []
        terms: list[Ints] = []
        for collection, row in ((c.name, row) for query in queries for c in collections for row in c.find(query)):
            ids.append(str(row["_id"]))
            documents.append(document_id_of(row))
            for name in self.fields:
                values[name].append(filter_value(name, row.get(name)))
            values[COLLECTION].append(collection)
            vectors.append(self._vector(row))
            text = "\n".join(str(row.get(name) or "") for name in ("report_title", "document_title", TEXT_FIELD))
            terms.append(np.asarray(self.term_ids(self.terms_of(text)), dtype=np.int32))
        if not ids:
            return None
        rows = Rows(
            np.asarray(ids, dtype=object),
            Column.of(documents),
            {name: Column.of(column) for name, column in values.items()},
            np.vstack(vectors),
            np.concatenate(terms),
            np.asarray([len(part) for part in terms], dtype=np.int32),
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
