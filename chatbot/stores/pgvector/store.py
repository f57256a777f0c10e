"""Passages in PostgreSQL, searched there: pgvector's HNSW index for vectors, a GIN index for words (seed 004, R-E1).

Documents, conversations and the rest stay in the database; this table holds the passages alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...config.settings import Settings
from ...database.core import Database
from ...database.rows import embedding_field
from ...domain import Chunk, Match, Matrix, Scope, Vector
from ...domain.errors import EmbedderMismatchError, SearchEngineError, SettingsError
from ...domain.protocols import ChangeLog
from ...domain.scores import to_score
from ...language import analyzer
from .. import StoreTraits
from ..chunks import check_query, read_surroundings
from ..keywords import POOL, Bm25
from .connections import Connection, Connections, failure, know_vectors
from .search import Statistics, nearest, refine, scan_settings
from .table import COLUMN_LIST, ChunkTable, clean, to_chunk, to_row

TABLE = "chunks"
CONNECTIONS_PER_THREAD = 2
_STATUS = f"""
    SELECT split_part(current_setting('server_version'), ' ', 1), extversion, EXISTS (SELECT FROM {TABLE})
    FROM pg_extension WHERE extname = 'vector'"""


class PgvectorStore:
    """Implements `protocols.Store`. Connects, and creates table and indexes, at the first use.

    A chunk that names no collection belongs to the first one. MONGODB_TIMEOUT bounds each statement. Every method
    raises SearchEngineError where PostgreSQL fails, and EmbedderMismatchError where the table's vectors are of another
    size.
    """

    def __init__(
        self, *, settings: Settings, database: Database, changes: ChangeLog, dimensions: int, slot: str = ""
    ) -> None:
        """``database`` is not used: the passages live in PostgreSQL. Raises SettingsError: POSTGRES_URI is not set."""
        if settings.postgres_uri is None:
            raise SettingsError(
                "VECTOR_SEARCH=pgvector needs POSTGRES_URI, e.g. postgresql://user:password@host/reports."
            )
        self._timeout = settings.mongodb_timeout
        uri, threads = settings.postgres_uri.get_secret_value(), settings.threads
        self._connections = Connections(uri, size=CONNECTIONS_PER_THREAD * threads, timeout=self._timeout)
        self._table = ChunkTable(TABLE, embedding_field(slot), dimensions, settings.filter_fields)
        self._expected = (
            f"the table is set up for {dimensions}: use the model it was written with, or ingest the reports into "
            "another database."
        )
        self._changes = changes
        self._default_collection = settings.chunk_collections[0]
        self._language = settings.language
        self._terms_of = analyzer(settings.language).terms
        self._bm25 = Bm25(settings.bm25_k1, settings.bm25_b)
        self._prepared = False
        self._preparing = threading.Lock()
        self._statistics: Statistics | None = None

    def prepare(self) -> None:
        """Create the table and the indexes that are missing; the first search or write does so too."""
        if self._prepared:
            return
        if not self._preparing.acquire(timeout=self._timeout):
            raise failure("building")
        try:
            with self._connections.transaction() as connection:
                self._table.prepare(connection)
            self._prepared = True
        finally:
            self._preparing.release()

    def upsert(self, chunks: Sequence[Chunk], vectors: Matrix) -> None:
        """Write all chunks or none, in one transaction."""
        rows = []
        for chunk, vector in zip(chunks, vectors, strict=True):
            if len(vector) != self._table.dimensions:
                message = f"The embedding of the passage {chunk.id} has {len(vector)} dimensions, {self._expected}"
                raise EmbedderMismatchError(message)
            collection = chunk.collection or self._default_collection
            terms, language = self._terms_of(chunk.search_text), self._language
            rows.append(to_row(chunk, terms, vector, collection=collection, language=language))
        if not rows:
            return
        rows.sort(key=lambda row: str(row["id"]))  # one order for all writers, so that they cannot deadlock
        with self._transaction() as connection:
            connection.cursor().executemany(self._table.upsert, rows)
        self._changes.record({chunk.document_id for chunk in chunks})

    def delete_document(self, document_id: str, *, keep: Sequence[str] = ()) -> int:
        """Delete a document's passages but those in ``keep``; return how many there were."""
        query = f"DELETE FROM {TABLE} WHERE document_id = %(document_id)s AND id <> ALL(%(keep)s::text[])"
        with self._transaction() as connection:
            parameters = {"document_id": clean(document_id), "keep": list(map(clean, keep))}
            deleted = int(connection.execute(query, parameters).rowcount)
        if deleted:
            self._changes.record([document_id])
        return deleted

    def get(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        """Return the passages that exist, in the order asked for."""
        if not chunk_ids:
            return []
        query = f"SELECT {COLUMN_LIST} FROM {TABLE} WHERE id = ANY(%(ids)s)"
        chunks = {row[0]: to_chunk(row) for row in self._rows(query, {"ids": list(map(clean, chunk_ids))})}
        return [chunks[chunk_id] for chunk_id in chunk_ids if chunk_id in chunks]

    def stored(self, document_id: str) -> tuple[list[Chunk], Matrix]:
        """Chunks without a vector are left out; the matrix has shape (0, 0) where there are none."""
        column = self._table.embedding
        query = f"SELECT {COLUMN_LIST}, {column} FROM {TABLE} WHERE document_id = %(id)s AND {column} IS NOT NULL"
        rows = self._rows(query, {"id": clean(document_id)}, binary=True)
        vectors = [row[-1].to_numpy() for row in rows]
        return [to_chunk(row[:-1]) for row in rows], np.vstack(vectors) if rows else np.empty((0, 0), np.float32)

    def surroundings(self, chunks: Sequence[Chunk], *, margin: int) -> list[list[Chunk]]:
        """Look up the neighbours by their ids."""
        return read_surroundings(chunks, margin, self.get)

    def vector_search(
        self, vector: Vector, *, top_k: int, scope: Scope, num_candidates: int | None = None
    ) -> list[Match]:
        """Raises EmbedderMismatchError; SearchEngineError also for a vector of length 0."""
        query = check_query(vector, self._table.dimensions, self._expected)
        if top_k < 1:
            return []
        with self._transaction(scan_settings(scope, top_k)) as connection:
            rows = nearest(connection, self._table, vector=query, scope=scope, top_k=top_k)
        return [Match(chunk_id, to_score(1.0 - distance)) for distance, chunk_id in rows]

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        """BM25 in SQL, then proximity (`keywords`) of the best."""
        terms = self._terms_of(query)
        if top_k < 1 or not terms:
            return []
        position, statistics = self._changes.position(), self._statistics
        if statistics is None or statistics.position != position:
            statistics = self._statistics = Statistics.read(self._table, position, self._rows)
        idf = statistics.inverse_frequencies(terms, self._rows)
        if not idf:
            return []
        rows = self._rows(*statistics.search(idf, terms, scope, max(top_k, POOL), self._bm25))
        scores = {str(chunk_id): float(score) for chunk_id, score in rows}
        return refine(scores, self.get(list(scores)), idf, self._terms_of)[:top_k]

    def vector_scores(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Raises as `vector_search` does."""
        if not chunk_ids:
            return {}
        unit, column = check_query(vector, self._table.dimensions, self._expected), self._table.embedding
        distance = f"{column} <=> %(vector)s::vector"
        query = f"SELECT id, {distance} FROM {TABLE} WHERE id = ANY(%(ids)s) AND {column} IS NOT NULL"
        rows = self._rows(query, {"vector": unit, "ids": list(map(clean, chunk_ids))})
        return {str(chunk_id): to_score(1.0 - distance) for chunk_id, distance in rows}

    def count(self, scope: Scope) -> int:
        """Count the passages in a scope."""
        condition, parameters = self._table.scope_condition(scope)
        return int(self._rows(f"SELECT count(*) FROM {TABLE} WHERE {condition}", parameters)[0][0])

    def ping(self) -> str:
        """Return the versions of the server and the extension. Reads the table, and so fails where that does not
        work."""
        server, extension, filled = self._rows(_STATUS, {})[0]
        return f"PostgreSQL {server}, pgvector {extension}, table {TABLE}{'' if filled else ' (empty)'}"

    def close(self) -> None:
        """Close the idle connections now, the others when they come back."""
        self._connections.close()

    @contextmanager
    def _transaction(self, settings: Mapping[str, str | int] | None = None) -> Iterator[Connection]:
        self.prepare()
        try:
            with self._connections.transaction(settings) as connection:
                know_vectors(connection)
                yield connection
        except SearchEngineError as error:
            if error.reason == "table_missing":
                self._prepared = False
                self._connections.drop_idle()  # they know the types of an extension that may be recreated
            raise

    def _rows(self, query: str, parameters: dict[str, Any], *, binary: bool = False) -> list[tuple[Any, ...]]:
        with self._transaction() as connection:
            return connection.execute(query, parameters, binary=binary).fetchall()


TRAITS = StoreTraits(in_database=False)


build = PgvectorStore
