"""Chunks as the arrays of the in-process index, and reading them from the database."""

import logging
from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import chain
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
    def concat(cls, parts: "Sequence[Column]") -> "Column":
        """Return the parts one after the other, with new numbers."""
        numbers: dict[Value | None, int] = {}
        recoded = []
        for part in parts:
            table = np.asarray(
                [numbers.setdefault(value, len(numbers)) for value in part.values],
                dtype=np.int32,
            )
            recoded.append(table[part.codes] if len(table) else part.codes)
        return cls(tuple(numbers), np.concatenate(recoded))

    def where(self, matches: Callable[[Value | None], bool]) -> Mask:
        """Return which rows have a value that matches, shape (rows,)."""
        verdicts = np.asarray(list(map(matches, self.values)), dtype=np.bool_)
        mask: Mask = (
            verdicts[self.codes]
            if len(verdicts)
            else np.zeros(len(self.codes), dtype=np.bool_)
        )
        return mask

    def among(self, values: Iterable[Value]) -> Mask:
        """Return which rows have one of these few values, shape (rows,), without
        testing all other values.
        """
        return np.isin(
            self.codes,
            [number for value in values for number in self._numbers.get(value, ())],
        )

    def kept(self, mask: Mask) -> "Column":
        return Column(self.values, self.codes[mask])

    @cached_property
    def _numbers(self) -> dict[Value | None, list[int]]:
        numbers: dict[Value | None, list[int]] = {}
        for number, value in enumerate(self.values):
            for one in each_value(value):
                numbers.setdefault(one, []).append(number)
        return numbers


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

    def kept(self, mask: Mask) -> "Rows":
        masks = {**dict.fromkeys(ARRAYS, mask), "terms": np.repeat(mask, self.lengths)}
        return Rows(
            documents=self.documents.kept(mask),
            values={name: column.kept(mask) for name, column in self.values.items()},
            **{name: getattr(self, name)[kept] for name, kept in masks.items()},
        )

    @staticmethod
    def concat(parts: "Sequence[Rows]") -> "Rows":
        """Return all rows, one part after the other; a single part is not copied."""
        if len(parts) == 1:
            return parts[0]
        return Rows(
            documents=Column.concat([part.documents for part in parts]),
            values={
                name: Column.concat([part.values[name] for part in parts])
                for name in parts[0].values
            },
            **{
                name: np.concatenate([getattr(part, name) for part in parts])
                for name in ARRAYS
            },
        )


class _Codes(dict[Any, int]):
    """A growing column: maps a stored value to the number of the value it stands for,
    numbered as they come.
    """

    def __init__(self, value_of: Callable[[Any], Value | None]) -> None:
        super().__init__()
        self._value_of = value_of
        self._numbers: dict[Value | None, int] = {}
        self.rows = array("i")

    def __missing__(self, stored: Any) -> int:
        number = self[stored] = self._numbers.setdefault(
            self._value_of(stored), len(self._numbers)
        )
        return number

    def column(self) -> Column:
        return Column(tuple(self._numbers), np.asarray(self.rows, dtype=np.int32))


BLOCK_ROWS = 10_000
MAX_WORDS = 200_000
"""More are hardly words but figures, and take memory without an end."""
TEXT_FIELDS = ("report_title", "document_title", forms.TEXT_FIELD)


def _unit_rows(stored: bytearray, dimensions: int) -> tuple[Matrix, Mask]:
    """Return the vectors with length 1, changed in place, and which rows have one."""
    rows = np.frombuffer(stored, dtype=np.float32).reshape(-1, dimensions)
    has_vector = np.empty(len(rows), dtype=np.bool_)
    for start in range(0, len(rows), BLOCK_ROWS):
        part = rows[start : start + BLOCK_ROWS]
        norms = np.linalg.norm(part, axis=1)
        has_vector[start : start + BLOCK_ROWS] = norms > 0
        part /= np.maximum(norms, 1e-12)[:, None]
    return rows, has_vector


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
    dimensions, ids = store.dimensions, list[bytes]()
    documents, places = _Codes(str), _Codes(str)
    columns = {name: _Codes(partial(forms.filter_value, name)) for name in store.fields}
    vectors = bytearray()  # a million small arrays take several times the memory
    unusable: list[Any] = []
    terms, lengths = array("i"), array("i")
    # No term, compound or accent reaches across a blank, so a text has the terms of its
    # words, each analysed once.
    numbers = lru_cache(MAX_WORDS)(lambda word: tuple(term_ids(store.terms_of(word))))
    for collection, row in (
        (c.name, row)
        for query in queries
        for c in store.collections()
        for row in c.find(query)
    ):
        ids.append(forms.id_text(row["_id"]).encode())
        documents.rows.append(documents[forms.document_id_of(row)])
        for name, column in columns.items():
            value = row.get(name) or (
                forms.document_name_of(row) if name == "document_name" else None
            )
            is_key = isinstance(value, Hashable) and not isinstance(
                value, float
            )  # nan is no key of a dict
            column.rows.append(
                column[value if is_key else forms.filter_value(name, value)]
            )
        places.rows.append(places[collection])
        stored = row.get(store.embedding_field)
        vector = forms.usable_vector(stored, dimensions)
        if vector is None and stored is not None:
            unusable.append(stored)
        vectors += np.ascontiguousarray(
            np.zeros(dimensions) if vector is None else vector, dtype="<f4"
        ).data
        text = "\n".join([forms.text_value(row.get(name)) for name in TEXT_FIELDS])
        of_text = [*chain.from_iterable(map(numbers, text.split()))]
        terms.fromlist(of_text)
        lengths.append(len(of_text))
    if unusable and {} in queries:
        if len(unusable) == len(ids):
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
            len(ids),
        )
    if not ids:
        return None
    values = {
        name: column.column()
        for name, column in {**columns, COLLECTION: places}.items()
    }
    counts = (np.asarray(each, dtype=np.int32) for each in (terms, lengths))
    return Rows(
        np.asarray(ids, dtype=np.bytes_),
        documents.column(),
        values,
        *_unit_rows(vectors, dimensions),
        *counts,
    )


def stored_ids(collections: Sequence[Collection]) -> dict[str, set[bytes]]:
    """Return the ids of all chunks by document, without reading the chunks."""
    ids: dict[str, set[bytes]] = {}
    for row in (
        row for collection in collections for row in collection.find({}, forms.NAMING)
    ):
        ids.setdefault(forms.document_id_of(row), set()).add(
            forms.id_text(row["_id"]).encode()
        )
    return ids
