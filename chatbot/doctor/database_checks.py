"""Does the database answer, and is what it holds in order?"""

from __future__ import annotations

from collections.abc import Iterator

from ..database import Collection, decode_vector
from ..repositories.older_reports import SEVERAL
from ..schema import Scope
from ..services import Services
from ..stores.chunks import EMBEDDING_FIELD
from .finding import Finding

SAMPLED = 50
"""Passages of each collection that are looked at."""


def check_database(services: Services) -> Iterator[Finding]:
    yield Finding("ok", "database", "answers", services.database.ping())


def check_data(services: Services) -> Iterator[Finding]:
    """Counts, unfinished reports, and what older systems leave behind."""
    records = services.documents.all()
    pending = sum(record.status != "ready" for record in records)
    for name in collection_names(services):
        collection = services.database[name]
        count = collection.estimated_count()
        yield Finding("ok", "data", "count", f"collection {name}: {count} passages")
        if count:
            yield from _check_collection(services, collection)
    yield Finding("ok", "data", "count", f"{len(records)} reports registered")
    if any(record.status == "ready" and record.chunks for record in records) and not services.store.count(Scope()):
        yield Finding(
            "error",
            "data",
            "no_passages",
            f"{len(records)} reports are registered, but {services.engine.store} holds no passage of them.",
            "They were ingested with another VECTOR_SEARCH: ingest them again, or set the one they were written with.",
        )
    left = {record.collection for record in records} - {SEVERAL, *collection_names(services)}
    for name in sorted(left):
        yield Finding(
            "warning",
            "data",
            "collection_not_searched",
            f"reports are in the collection {name!r}, which no setting names, so searches may not find them.",
            "Name it in COLLECTIONS, or ingest them again.",
        )
    if pending:
        yield Finding(
            "warning",
            "data",
            "reports_pending",
            f"{pending} reports are registered but not searchable.",
            "Ingest them again: python -m chatbot ingest PATH",
        )


def collection_names(services: Services) -> tuple[str, ...]:
    return tuple(dict.fromkeys(services.chunk_collections))


def _check_collection(services: Services, collection: Collection) -> Iterator[Finding]:
    years = [year for year in collection.distinct("year") if isinstance(year, str)]
    if years:
        yield Finding(
            "error",
            "data",
            "years_as_strings",
            f"collection {collection.name}: years stored as text ({', '.join(sorted(years)[:5])}); a scope by year "
            "compares numbers and finds none of them.",
            "Make them numbers: python -m chatbot migrate",
        )
    rows = list(collection.find({}, {EMBEDDING_FIELD: 1}, limit=SAMPLED))
    stored = [row[EMBEDDING_FIELD] for row in rows if row.get(EMBEDDING_FIELD) is not None]
    if any(isinstance(value, list) for value in stored):
        yield Finding(
            "warning",
            "data",
            "vectors_as_arrays",
            f"collection {collection.name}: embeddings stored as arrays take three times the space.",
            "Make them float32 vectors: python -m chatbot migrate",
        )
    dimensions = {len(decode_vector(value)) for value in stored}
    if other := sorted(dimensions - {services.embedder.dimensions}):
        yield Finding(
            "error",
            "data",
            "wrong_dimensions",
            f"collection {collection.name}: embeddings of {other[0]} dimensions, {services.embedder.model_id} makes "
            f"{services.embedder.dimensions}.",
            "Set the embedding model the collection was written with, or: python -m chatbot reembed",
        )
    if services.facts.embedder() is None:
        yield Finding(
            "warning",
            "data",
            "embedder_unknown",
            f"collection {collection.name} does not say which model wrote it; {services.embedder.model_id} is assumed.",
            "If that is right, nothing needs to be done.",
        )
