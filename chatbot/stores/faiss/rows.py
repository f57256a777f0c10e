"""Chunks as the arrays of the in-process index, and reading them from the database."""

import logging
from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...database import rows as forms
from ...database.core import Collection, Json
from ...domain.documents import Matrix
from ...domain.errors import EmbedderMismatchError
from ...domain.scope import Value, each_value
from ..chunks import MongoChunks
from ..keywords import Ints

log = logging.getLogger(__name__)
Codes = NDArray[np.int32]
Ids = NDArray[np.bytes_]
"""Chunk ids in UTF-8, which sorts like the text."""
Mask = NDArray[np.bool_]
ARRAYS = ("ids", "vectors", "has_vector", "terms", "lengths")
"""The fields of `Rows` that are plain arrays."""
COLLECTION = "$collection"
"""The column beside those of the filter fields, none of which can have this name: where
the row was read from.
"""


@dataclass(frozen=True)
class Column:
    """``values[codes[row]]`` is the row's value; None = the row has none."""

    values: tuple[Value | None, ...]
    codes: Codes

    @classmethod
    def concat(cls, columns: "Sequence[Column]") -> "Column":
        """Return the columns one after the other, with new numbers."""
        numbers: dict[Value | None, int] = {}
        recoded = []
        for column in columns:
            new_codes = [
                numbers.setdefault(value, len(numbers)) for value in column.values
            ]
            # A column without values has no rows either, so nothing is looked up.
            recoded.append(np.asarray(new_codes, dtype=np.int32)[column.codes])
        return cls(tuple(numbers), np.concatenate(recoded))

    def where(self, matches: Callable[[Value | None], bool]) -> Mask:
        """Return which rows have a value that matches, shape (rows,)."""
        verdicts = [matches(value) for value in self.values]
        mask: Mask = np.asarray(verdicts, dtype=np.bool_)[self.codes]
        return mask

    def among(self, values: Iterable[Value]) -> Mask:
        """Return which rows have one of these few values, shape (rows,), without
        testing all other values.
        """
        codes: list[int] = []
        for value in values:
            codes += self._codes_of.get(value, ())
        return np.isin(self.codes, codes)

    def select(self, mask: Mask) -> "Column":
        return Column(self.values, self.codes[mask])

    @cached_property
    def _codes_of(self) -> dict[Value | None, list[int]]:
        """The codes of each single value: a row may have several."""
        codes: dict[Value | None, list[int]] = {}
        for code, value in enumerate(self.values):
            for single_value in each_value(value):
                codes.setdefault(single_value, []).append(code)
        return codes


@dataclass(frozen=True, slots=True)
class Rows:
    """The data of a segment, one entry per chunk, in any order.

    ``values`` holds the filter fields and COLLECTION. ``terms`` holds every row's term
    ids one after another, ``lengths`` how many belong to each row. ``vectors`` have
    length 1, or are zeros where ``has_vector`` is False.
    """

    ids: Ids
    documents: Column
    values: Mapping[str, Column]
    vectors: Matrix
    has_vector: Mask
    terms: Ints
    lengths: Ints

    def select(self, mask: Mask) -> "Rows":
        """Return the rows where the mask is True."""
        return Rows(
            ids=self.ids[mask],
            documents=self.documents.select(mask),
            values={name: column.select(mask) for name, column in self.values.items()},
            vectors=self.vectors[mask],
            has_vector=self.has_vector[mask],
            terms=self.terms[np.repeat(mask, self.lengths)],
            lengths=self.lengths[mask],
        )

    @staticmethod
    def concat(blocks: "Sequence[Rows]") -> "Rows":
        """Return all rows, one block after the other; a single block is not copied."""
        if len(blocks) == 1:
            return blocks[0]
        arrays = {
            name: np.concatenate([getattr(block, name) for block in blocks])
            for name in ARRAYS
        }
        columns = {
            name: Column.concat([block.values[name] for block in blocks])
            for name in blocks[0].values
        }
        documents = Column.concat([block.documents for block in blocks])
        return Rows(documents=documents, values=columns, **arrays)


class _ColumnBuilder(dict[Any, int]):
    """A growing column of a field: maps a stored value to the code of the value it
    stands for, numbered as they come.
    """

    def __init__(self, field: str) -> None:
        super().__init__()
        self._field = field
        self._codes_of_values: dict[Value | None, int] = {}
        self._row_codes = array("i")

    def __missing__(self, stored: Any) -> int:
        value = forms.filter_value(self._field, stored)
        code = self._codes_of_values.setdefault(value, len(self._codes_of_values))
        self[stored] = code
        return code

    def append(self, stored: Any) -> None:
        """Add a row with this stored value."""
        self._row_codes.append(self[stored])

    def column(self) -> Column:
        return Column(
            tuple(self._codes_of_values), np.asarray(self._row_codes, dtype=np.int32)
        )


BLOCK_ROWS = 10_000
"""Rows whose lengths are computed together: the temporary arrays of all would be as
large as the vectors.
"""
MAX_CACHED_WORDS = 200_000
"""More are hardly words but figures, and take memory without an end."""
MIN_VECTOR_LENGTH = 1e-12
"""Keeps a vector of zeros from being divided by its length."""
TEXT_FIELDS = ("report_title", "document_title", forms.TEXT_FIELD)


class _RowsBuilder:
    """Rows that grow one by one. Numbers are collected in arrays: a million small
    objects take several times the memory.
    """

    def __init__(
        self, store: MongoChunks, term_ids: Callable[[Iterable[str]], list[int]]
    ) -> None:
        self._store = store
        self.ids: list[bytes] = []
        self.unusable_vectors: list[Any] = []
        """What is stored in place of a vector and cannot be compared."""
        self._documents = _ColumnBuilder("document_id")
        self._collections = _ColumnBuilder(COLLECTION)
        self._columns = {name: _ColumnBuilder(name) for name in store.fields}
        self._vectors = bytearray()
        self._no_vector = np.zeros(store.dimensions, dtype=np.float32)
        self._terms = array("i")
        self._lengths = array("i")
        # No term, compound or accent reaches across a blank, so a text has the terms of
        # its words, each analysed once.
        self._term_ids_of = lru_cache(MAX_CACHED_WORDS)(
            lambda word: term_ids(store.terms_of(word))
        )

    def add(self, collection: str, row: Json) -> None:
        """Add a stored row of the collection."""
        self.ids.append(forms.id_text(row["_id"]).encode())
        self._documents.append(forms.document_id_of(row))
        self._collections.append(collection)
        for name, column in self._columns.items():
            value = row.get(name) or None
            if value is None and name == "document_name":
                value = forms.document_name_of(row)
            # Lists cannot be keys of a dict, and nan would be a new key each time.
            if isinstance(value, float) or not isinstance(value, Hashable):
                value = forms.filter_value(name, value)
            column.append(value)
        self._add_vector(row.get(self._store.embedding_field))
        texts = [forms.text_value(row.get(name)) for name in TEXT_FIELDS]
        terms: list[int] = []
        term_ids_of = self._term_ids_of
        for word in "\n".join(texts).split():
            terms += term_ids_of(word)
        self._terms.fromlist(terms)
        self._lengths.append(len(terms))

    def _add_vector(self, stored: Any) -> None:
        vector = forms.usable_vector(stored, self._store.dimensions)
        if vector is None:
            vector = self._no_vector
            if stored is not None:
                self.unusable_vectors.append(stored)
        self._vectors += np.ascontiguousarray(vector, dtype="<f4").data

    def rows(self) -> Rows:
        """Return what was added; the vectors get length 1."""
        vectors = np.frombuffer(self._vectors, dtype=np.float32)
        vectors = vectors.reshape(-1, self._store.dimensions)
        has_vector = np.empty(len(vectors), dtype=np.bool_)
        for start in range(0, len(vectors), BLOCK_ROWS):
            block = vectors[start : start + BLOCK_ROWS]
            norms = np.linalg.norm(block, axis=1)
            has_vector[start : start + BLOCK_ROWS] = norms > 0
            block /= np.maximum(norms, MIN_VECTOR_LENGTH)[:, None]
        values = {name: column.column() for name, column in self._columns.items()}
        values[COLLECTION] = self._collections.column()
        return Rows(
            ids=np.asarray(self.ids, dtype=np.bytes_),
            documents=self._documents.column(),
            values=values,
            vectors=vectors,
            has_vector=has_vector,
            terms=np.asarray(self._terms, dtype=np.int32),
            lengths=np.asarray(self._lengths, dtype=np.int32),
        )


def read_rows(
    store: MongoChunks,
    term_ids: Callable[[Iterable[str]], list[int]],
    queries: Sequence[Json] = ({},),
) -> Rows | None:
    """Read all chunks of a store, or those that one of the queries finds; None where
    there are none.

    ``term_ids`` numbers index terms. A vector that cannot be compared is left out.
    Raises EmbedderMismatchError, DatabaseError: no stored vector is one of the
    configured model.
    """
    builder = _RowsBuilder(store, term_ids)
    for query in queries:
        for collection in store.collections():
            for row in collection.find(query):
                builder.add(collection.name, row)
    if {} in queries:
        _check_vectors(builder, store.dimensions)
    if not builder.ids:
        return None
    return builder.rows()


def _check_vectors(builder: _RowsBuilder, dimensions: int) -> None:
    """Log how many passages of the whole corpus have no usable vector; raise where
    none has one.
    """
    unusable = builder.unusable_vectors
    if not unusable:
        return
    if len(unusable) == len(builder.ids):
        raise EmbedderMismatchError(
            "The stored passages have embeddings of "
            f"{len(forms.decode_vector(unusable[0]))} dimensions, the "
            f"configured model has {dimensions}. The collection was written "
            "with another embedding model: use that "
            "model, or embed the reports again."
        )
    log.warning(
        "%d of %d passages have no usable vector: see python -m chatbot doctor",
        len(unusable),
        len(builder.ids),
    )


def stored_ids(collections: Sequence[Collection]) -> dict[str, set[bytes]]:
    """Return the ids of all chunks by document, without reading the chunks."""
    ids: dict[str, set[bytes]] = {}
    for collection in collections:
        for row in collection.find({}, forms.NAMING):
            document_ids = ids.setdefault(forms.document_id_of(row), set())
            document_ids.add(forms.id_text(row["_id"]).encode())
    return ids
