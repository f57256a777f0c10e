"""A chunk as a row of the table, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from psycopg.types.json import Jsonb

from ..errors import EmbedderMismatchError
from ..schema import Chunk, Matrix, Vector
from .pg_filters import clean
from .pg_keywords import to_tsvector
from .query_vector import no_direction

COLUMNS = (
    "id",
    "document_id",
    "document_name",
    "title",
    "text",
    "section",
    "page",
    "ordinal",
    "start_offset",
    "end_offset",
    "metadata",
    "collection",
    "labels",
    "description",
)
"""In the order of `Chunk`'s fields."""


def to_row(chunk: Chunk, terms: Sequence[str], vector: Vector, *, collection: str) -> dict[str, Any]:
    """``terms`` are the chunk's index terms. A vector of zeros is no embedding: nothing can be near it."""
    metadata: Mapping[str, Any] = {"document_name": chunk.document_name, **chunk.metadata}
    return {
        "id": clean(chunk.id),
        "document_id": clean(chunk.document_id),
        "document_name": clean(chunk.document_name),
        "title": clean(chunk.title),
        "text": clean(chunk.text),
        "section": clean(chunk.section),
        "page": chunk.page,
        "ordinal": chunk.ordinal,
        "start_offset": chunk.start,
        "end_offset": chunk.end,
        "metadata": Jsonb({clean(name): clean(v) if isinstance(v, str) else v for name, v in metadata.items()}),
        "collection": clean(collection),
        "labels": [clean(label) for label in chunk.labels],
        "description": clean(chunk.description),
        "terms": to_tsvector(Counter(terms)),
        "term_count": len(terms),
        "embedding": _to_text(vector) if np.any(vector) else None,
    }


def to_chunk(row: Sequence[Any]) -> Chunk:
    """``row`` has COLUMNS. The document's name is among the metadata for the filters only."""
    values = dict(zip(COLUMNS, row, strict=True))
    start, end = values.pop("start_offset"), values.pop("end_offset")
    metadata = {name: value for name, value in values.pop("metadata").items() if name != "document_name"}
    return Chunk(**{**values, "start": start, "end": end, "metadata": metadata, "labels": tuple(values["labels"])})


def to_matrix(vectors: Sequence[str]) -> Matrix:
    """Vectors in pgvector's text form, shape (len(vectors), dimensions); (0, 0) for none."""
    rows = [np.fromstring(vector[1:-1], np.float32, sep=",") for vector in vectors]
    return np.vstack(rows) if rows else np.empty((0, 0), np.float32)


def query_vector(vector: Vector, dimensions: int) -> str:
    """A question's vector in pgvector's text form.

    Raises:
        EmbedderMismatchError: it is of another model.
        SearchEngineError: it points nowhere.
    """
    check_dimensions(vector, dimensions, "the question")
    if not np.all(np.isfinite(vector)) or not np.any(vector):
        raise no_direction()
    return _to_text(vector)


def check_dimensions(vector: Vector, dimensions: int, whose: str) -> None:
    """Raises EmbedderMismatchError."""
    if len(vector) != dimensions:
        raise EmbedderMismatchError(
            f"The embedding of {whose} has {len(vector)} dimensions, the table is set up for {dimensions}: "
            "use the model it was written with, or ingest the reports into another database."
        )


def _to_text(vector: Vector) -> str:
    """No digit of a float32 gets lost in it."""
    return f"[{','.join(map(repr, np.asarray(vector, dtype=np.float32).tolist()))}]"
