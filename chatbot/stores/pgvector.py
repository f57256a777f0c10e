"""Passages in PostgreSQL, searched there: pgvector's HNSW index for vectors, a GIN index for words (seed 004, R-E1).

Documents, conversations and the rest stay in the database; this table holds the passages alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..database import Database
from ..errors import SearchEngineError, SettingsError
from ..protocols import ChangeLog
from ..schema import Chunk, Match, Matrix, Scope, Vector
from ..settings import Settings
from ..text import analyzer
from .chunks import EMBEDDING_FIELD, NEIGHBOURS
from .pg_connections import Connection, Connections, Statement
from .pg_errors import building
from .pg_filters import checked_fields, clean, scope_sql
from .pg_keywords import Statistics, refined
from .pg_rows import check_dimensions, query_vector, to_chunk, to_matrix, to_row
from .pg_schema import Schema
from .pg_statements import Statements
from .pg_vectors import nearest, scan_settings, to_score
from .proximity import POOL

TABLE = "chunks"


class PgvectorStore:
    """Implements `protocols.Store`. Connects, and makes table and indexes, at the first use.

    ``collections``: the first is where a chunk that names none belongs; all are searched. ``timeout`` (seconds) bounds
    each statement, ``connections`` is how many threads are served at once. Every method raises SearchEngineError where
    PostgreSQL fails, and EmbedderMismatchError where the table's vectors are of another size.
    """

    def __init__(
        self,
        *,
        uri: str,
        changes: ChangeLog,
        collections: Sequence[str],
        filter_fields: Iterable[str],
        dimensions: int,
        language: str,
        embedding_field: str = EMBEDDING_FIELD,
        timeout: float = 5.0,
        connections: int = 16,
    ) -> None:
        self._connections = Connections(uri, size=connections, timeout=timeout)
        self._schema = Schema(TABLE, embedding_field, dimensions, checked_fields(filter_fields))
        self._statements = Statements(self._schema)
        self._changes = changes
        self._default_collection = collections[0]
        self._terms_of = analyzer(language).terms
        self._timeout = timeout
        self._prepared = False
        self._preparing = threading.Lock()
        self._statistics: Statistics | None = None

    def prepare(self) -> None:
        """Make the table and the indexes that are missing; the first search or write does so too."""
        if self._prepared:
            return
        if not self._preparing.acquire(timeout=self._timeout):
            raise building()
        try:
            with self._connections.transaction() as connection:
                self._schema.prepare(connection)
            self._prepared = True
        finally:
            self._preparing.release()

    def upsert(self, chunks: Sequence[Chunk], vectors: Matrix) -> None:
        if len(chunks) != len(vectors):
            raise ValueError(f"{len(chunks)} chunks but {len(vectors)} vectors")
        rows = []
        for chunk, vector in zip(chunks, vectors, strict=True):
            check_dimensions(vector, self._schema.dimensions, f"the passage {chunk.id}")
            collection = chunk.collection or self._default_collection
            rows.append(to_row(chunk, self._terms_of(chunk.search_text), vector, collection=collection))
        if not rows:
            return
        rows.sort(key=lambda row: str(row["id"]))  # one order for all writers, so that they cannot deadlock
        with self._transaction() as connection:
            connection.cursor().executemany(self._statements.upsert, rows)
        self._changes.record({chunk.document_id for chunk in chunks})

    def delete_document(self, document_id: str, *, keep: Sequence[str] = ()) -> int:
        parameters = {"document_id": clean(document_id), "keep": [clean(chunk_id) for chunk_id in keep]}
        with self._transaction() as connection:
            deleted = int(connection.execute(self._statements.delete, parameters).rowcount)
        if deleted:
            self._changes.record([document_id])
        return deleted

    def get(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        if not chunk_ids:
            return []
        found = {
            row[0]: to_chunk(row) for row in self._rows(self._statements.get, {"ids": list(map(clean, chunk_ids))})
        }
        return [found[chunk_id] for chunk_id in chunk_ids if chunk_id in found]

    def stored(self, document_id: str) -> tuple[list[Chunk], Matrix]:
        rows = self._rows(self._statements.stored, {"document_id": clean(document_id)})
        return [to_chunk(row[:-1]) for row in rows], to_matrix([row[-1] for row in rows])

    def surroundings(self, chunk: Chunk, *, margin: int) -> list[Chunk]:
        around = range(max(0, chunk.ordinal - NEIGHBOURS), chunk.ordinal + NEIGHBOURS + 1)
        neighbours = self.get([chunk.sibling_id(ordinal) for ordinal in around])
        near = [n for n in neighbours if n.end >= chunk.start - margin and n.start <= chunk.end + margin]
        return near or [chunk]

    def vector_search(self, vector: Vector, *, top_k: int, scope: Scope) -> list[Match]:
        query = query_vector(vector, self._schema.dimensions)
        if top_k < 1:
            return []
        with self._transaction(scan_settings(scope, top_k)) as connection:
            rows = nearest(connection, self._schema, vector=query, scope=scope, top_k=top_k)
        return [Match(chunk_id, to_score(distance)) for distance, chunk_id in rows]

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        terms = self._terms_of(query)
        if top_k < 1 or not terms:
            return []
        table, statistics = self._schema.table, self._fresh_statistics()
        weights = statistics.weights(table, terms, self._rows)
        if not weights:
            return []
        condition = scope_sql(scope, self._schema.filter_fields)
        rows = self._rows(*statistics.search(table, weights, condition, max(top_k, POOL)))
        scores = {str(chunk_id): float(score) for chunk_id, score in rows}
        return refined(scores, self.get(list(scores)), statistics.idf_of(weights), self._terms_of)[:top_k]

    def vector_scores(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        if not chunk_ids:
            return {}
        parameters = {"vector": query_vector(vector, self._schema.dimensions), "ids": list(map(clean, chunk_ids))}
        return {
            str(found): to_score(distance) for found, distance in self._rows(self._statements.distances, parameters)
        }

    def count(self, scope: Scope) -> int:
        condition, parameters = scope_sql(scope, self._schema.filter_fields)
        return int(self._rows(self._statements.count(condition), parameters)[0][0])

    def ping(self) -> str:
        """Versions of the server and the extension. Reads the table, so it tells too when that does not work."""
        server, extension, filled = self._rows(self._statements.status, {})[0]
        return f"PostgreSQL {server}, pgvector {extension}, table {TABLE}{'' if filled else ' (empty)'}"

    def close(self) -> None:
        self._connections.close()

    @contextmanager
    def _transaction(self, settings: Mapping[str, str | int] | None = None) -> Iterator[Connection]:
        self.prepare()
        try:
            with self._connections.transaction(settings) as connection:
                yield connection
        except SearchEngineError as error:
            if error.reason == "table_missing":
                self._prepared = False
            raise

    def _rows(self, statement: Statement, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        with self._transaction() as connection:
            return connection.execute(statement, parameters).fetchall()

    def _fresh_statistics(self) -> Statistics:
        """Read anew when the change log has moved."""
        position, known = self._changes.position(), self._statistics
        if known is None or known.position != position:
            known = self._statistics = Statistics.read(self._schema.table, position, self._rows)
        return known


def build(
    *,
    settings: Settings,
    database: Database,
    changes: ChangeLog,
    dimensions: int,
    embedding_field: str = EMBEDDING_FIELD,
) -> PgvectorStore:
    """``database`` is not used: the passages live in PostgreSQL. Raises SettingsError: POSTGRES_URI is not set."""
    if settings.postgres_uri is None:
        raise SettingsError("VECTOR_SEARCH=pgvector needs POSTGRES_URI, e.g. postgresql://user:password@host/reports.")
    return PgvectorStore(
        uri=settings.postgres_uri.get_secret_value(),
        changes=changes,
        collections=settings.chunk_collections,
        filter_fields=settings.filter_fields,
        dimensions=dimensions,
        language=settings.language,
        embedding_field=embedding_field,
        timeout=settings.mongodb_timeout,
        connections=2 * settings.threads,
    )
