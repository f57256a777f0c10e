"""Passages in PostgreSQL, searched there: pgvector's HNSW index for vectors, a GIN
index for words (seed 004, R-E1).

Documents, conversations and the rest stay in the database; this table holds the
passages alone.

The HNSW index is walked from the question outwards and the scope checked on the way.
For a narrow scope that walk is long and, being bounded, may end too early; the few
passages of the scope are compared faster. So the exact search comes first and gives up
when it meets too many.

BM25 is over the same terms as in the in-process index, so that both find the same
passages in the same order. PostgreSQL's own ranking knows no document frequencies: a
word of every second passage weighs as much as one of three. Of its full text search
only the tsvector and its GIN index are used. A term's count is kept as its weight in
the tsvector, the one number per term that `ts_rank` reads back fast; above four, where
BM25 hardly grows, counts are equal. Rank and length normalisation are BM25's. A
tsvector's positions are taken by the counts, so how close together the words are is
read from the texts of the best passages.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isnan
from typing import Any

import numpy as np

from ...database.changes import PASSAGES
from ...domain import Chunk, Match, Scope, Vector
from ...domain.documents import Matrix, best_matches, to_score
from ...domain.errors import SearchEngineError, SettingsError
from ...stores import StoreTraits
from ...stores.chunks import BuiltStore, read_surroundings
from ...stores.keywords import (
    MAX_REFINED_PASSAGES,
    Bm25,
    inverse_document_frequency,
    with_proximity,
)
from .connections import Connection, Connections, failure, know_vectors
from .table import (
    COLUMN_LIST,
    MAX_TERM_CHARACTERS,
    ChunkTable,
    clean,
    quote_term,
    to_chunk,
    to_row,
)

TABLE = "chunks"
CONNECTIONS_PER_THREAD = 2
"""A question searches by vectors and by words at once."""
_STATUS = f"""
    SELECT split_part(current_setting('server_version'), ' ', 1), extversion,
        EXISTS (SELECT FROM {TABLE})
    FROM pg_extension WHERE extname = 'vector'"""
EXACT_ROWS = 1000
"""Passages up to which all are compared when there is no scope: the index finds them
faster from then on.
"""
EXACT_ROWS_IN_SCOPE = 20_000
"""Passages in a scope up to which all are compared: 15,000 of 384 dimensions take as
long as the index, finding all.
"""
SPARE_ROWS = 8
"""Rows fetched beyond those needed, to see whether the last ones tie: few passages have
the same vector.
"""
MAX_EF_SEARCH = 1000
"""pgvector's own bound."""
Row = tuple[float, str]
"""Cosine distance, 0 to 2, and id."""
EVERYTHING = Scope()
MAX_CACHED_STATISTICS = 64
"""Limits of callers whose statistics are kept; so many roles are rare."""
MAX_TERMS = 64
"""Distinct words of a question that are scored, the rarest; each costs time on every
passage found.
"""
Fetch = Callable[[str, dict[str, Any]], list[tuple[Any, ...]]]
"""Runs a statement with parameters."""
_FREQUENCIES = (
    "SELECT asked.term, (SELECT count(*) FROM {} WHERE terms @@ asked.query::tsquery "
    "AND {}) FROM unnest(%(terms)s::text[], %(queries)s::text[]) AS asked(term, query)"
)
# count / (count + norm) as 1 - norm / (norm + count): so the count is read once. For a
# single position `ts_rank` is weight / (pi^2 / 6), and the weights are quarters: times
# 4 * pi^2 / 6 is the count again.
_SCORE = (
    "%(weight{0})s::float8 * (1 - norm / (norm + 6.579736267392905 * "
    "ts_rank('{{.25,.5,.75,1}}', terms, %(term{0})s::tsquery)::float8))"
)


def scan_settings(scope: Scope, top_k: int) -> dict[str, str | int]:
    """Return the PostgreSQL settings under which `nearest` is run. The index's scan
    goes on until the scope has filled the result; it may then be slightly out of order
    (relaxed), which finds more and is sorted here. Sorts are made expensive, so that
    the planner takes the index.
    """
    ef_search = MAX_EF_SEARCH
    if not scope:
        ef_search = min(MAX_EF_SEARCH, max(200, 2 * top_k))
    return {
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.ef_search": ef_search,
        "enable_sort": "off",
    }


def nearest(
    connection: Connection,
    table: ChunkTable,
    *,
    vector: Vector,
    scope: Scope,
    top_k: int,
) -> list[Row]:
    """Return the ``top_k`` nearest of the scope, or all it has, best first, ties by
    id.
    """
    condition, parameters = table.scope_condition(scope)
    indexed, kind = table.indexed
    distance = f"{table.embedding} <=> %(vector)s::vector AS distance"
    exact = (
        f"WITH compared AS MATERIALIZED (SELECT id, {distance} FROM {table.name} "
        f"WHERE {table.embedding} IS NOT NULL AND {condition} LIMIT %(compared)s) "
        "SELECT id, distance, (SELECT count(*) FROM compared) FROM compared ORDER "
        "BY distance, id LIMIT %(rows)s"
    )
    through_index = (
        f"SELECT id, {distance} FROM (SELECT id, {table.embedding} FROM "
        f"{table.name} WHERE {condition} "
        f"ORDER BY {indexed} <=> %(vector)s::{kind} LIMIT %(rows)s) AS near"
    )

    def run(
        query: str, limit: int, compared: int | None = None
    ) -> list[tuple[Any, ...]]:
        values = {"vector": vector, "rows": limit, "compared": compared}
        return connection.execute(query, {**parameters, **values}).fetchall()

    if table.indexable:
        max_compared = EXACT_ROWS_IN_SCOPE if scope else EXACT_ROWS
        rows = run(exact, top_k, max_compared + 1)
        if not rows or rows[0][2] <= max_compared:
            return _ranked(rows)
        for limit in (top_k + SPARE_ROWS, 4 * (top_k + SPARE_ROWS)):
            nearest_rows = _ranked(run(through_index, limit))
            # Whatever the index leaves out, or cuts through ties, the exact search
            # below has the last word.
            is_full = len(nearest_rows) == limit
            if is_full and nearest_rows[-1][0] > nearest_rows[top_k - 1][0]:
                return nearest_rows[:top_k]
    return _ranked(run(exact, top_k))


def _ranked(rows: Iterable[Sequence[Any]]) -> list[Row]:
    """Return the rows by distance and id, without vectors of length zero, which have no
    distance (nan).
    """
    return sorted((float(row[1]), str(row[0])) for row in rows if not isnan(row[1]))


@dataclass(frozen=True)
class Statistics:
    """Statistics of the corpus at one number of changes of passages; document
    frequencies are added as needed. ``limit``: only of what a limited caller may see.
    """

    table: ChunkTable
    position: int
    rows: int
    average_length: float
    limit: Scope = EVERYTHING
    frequencies: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(
        cls, table: ChunkTable, position: int, fetch: Fetch, limit: Scope
    ) -> "Statistics":
        """Count the passages inside of the limit, and their average length."""
        condition, parameters = table.scope_condition(limit)
        [(rows, average_length)] = fetch(
            f"SELECT count(*), coalesce(avg(term_count), 1) FROM {table.name} "
            f"WHERE {condition}",
            parameters,
        )
        return cls(table, position, int(rows), float(average_length), limit)

    def inverse_frequencies(
        self, terms: Iterable[str], fetch: Fetch
    ) -> dict[str, float]:
        """Return the inverse document frequency of the rarest MAX_TERMS of the terms
        that any passage has.
        """
        terms = {term[:MAX_TERM_CHARACTERS] for term in terms}
        new = [term for term in terms if term not in self.frequencies]
        if new:
            condition, parameters = self.table.scope_condition(self.limit)
            parameters["terms"] = new
            parameters["queries"] = [quote_term(term) for term in new]
            query = _FREQUENCIES.format(self.table.name, condition)
            for term, frequency in fetch(query, parameters):
                self.frequencies[str(term)] = int(frequency)
        rarest_first = sorted(
            (self.frequencies[term], term) for term in terms if self.frequencies[term]
        )
        # Passages may have been added since the rows were counted.
        return {
            term: inverse_document_frequency(max(self.rows, frequency), frequency)
            for frequency, term in rarest_first[:MAX_TERMS]
        }

    def search(
        self,
        idf: Mapping[str, float],
        terms: Sequence[str],
        scope: Scope,
        top_k: int,
        bm25: Bm25,
    ) -> tuple[str, dict[str, Any]]:
        """Return the statement for (id, BM25 score), best first, ties by id, and its
        parameters; ``idf`` has terms.
        """
        counts = Counter(term[:MAX_TERM_CHARACTERS] for term in terms)
        condition, parameters = self.table.scope_condition(scope)
        summands = []
        for number, term in enumerate(idf):
            summands.append(_SCORE.format(number))
            parameters[f"term{number}"] = quote_term(term)
            parameters[f"weight{number}"] = (bm25.k1 + 1) * counts[term] * idf[term]
        query = (
            f"SELECT id, {' + '.join(summands)} AS score FROM {self.table.name}, "
            "LATERAL (SELECT %(norm)s::float8 + %(norm_per_term)s::float8 * "
            "term_count AS norm) AS lengths "
            f"WHERE terms @@ %(any)s::tsquery AND {condition} ORDER BY score DESC, "
            "id LIMIT %(top_k)s"
        )
        norm, norm_per_term = bm25.norms(max(self.average_length, 1.0))
        parameters["norm"] = norm
        parameters["norm_per_term"] = norm_per_term
        parameters["any"] = " | ".join(quote_term(term) for term in idf)
        parameters["top_k"] = top_k
        return query, parameters


class PgvectorStore(BuiltStore):
    """Implements `protocols.Store`. Connects, and creates table and indexes, at the
    first use. A chunk that names no collection belongs to the first one.
    MONGODB_TIMEOUT bounds each statement. Methods raise SearchEngineError where
    PostgreSQL fails, EmbedderMismatchError where vectors have another size. The
    database is not used.
    """

    expected = (
        "the table is set up for {dimensions}: use the model it was written with, "
        "or ingest the reports into another "
        "database."
    )

    def __post_init__(self) -> None:
        """Raises SettingsError: POSTGRES_URI is not set."""
        super().__post_init__()
        if self.settings.postgres_uri is None:
            raise SettingsError(
                "VECTOR_SEARCH=pgvector needs POSTGRES_URI, e.g. "
                "postgresql://user:password@host/reports."
            )
        self._timeout = self.settings.mongodb_timeout
        self._connections = Connections(
            self.settings.postgres_uri.get_secret_value(),
            size=CONNECTIONS_PER_THREAD * self.settings.threads,
            timeout=self._timeout,
        )
        self._table = ChunkTable(
            TABLE, self.embedding_field, self.dimensions, self.fields
        )
        self._prepared = False
        self._preparing = threading.Lock()
        self._statistics: dict[Scope, Statistics] = {}

    def prepare(self) -> None:
        """Create the table and the indexes that are missing; the first search or write
        does so too.
        """
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
            self.check_length(vector, f"passage {chunk.id}")
            row = to_row(
                chunk,
                self.terms_of(chunk.search_text),
                vector,
                collection=chunk.collection or self._names[0],
                language=self.settings.language,
            )
            rows.append(row)
        if not rows:
            return
        # One order for all writers, so that they cannot deadlock.
        rows.sort(key=lambda row: str(row["id"]))
        self.prepare()  # it may take long, and the change must not
        ids = {chunk.document_id for chunk in chunks}
        with (
            self.changes.of(ids, PASSAGES, outside=True),
            self._transaction() as connection,
        ):
            connection.cursor().executemany(self._table.upsert, rows)

    def delete_document(self, document_id: str, *, keep: Sequence[str] = ()) -> int:
        query = (
            f"DELETE FROM {TABLE} WHERE document_id = %(document_id)s AND id <> "
            "ALL(%(keep)s::text[])"
        )
        self.prepare()
        values = {"document_id": clean(document_id), "keep": clean(list(keep))}
        with (
            self.changes.of([document_id], PASSAGES, outside=True, frees_space=True),
            self._transaction() as connection,
        ):
            return connection.execute(query, values).rowcount

    def document_ids(self) -> set[str]:
        """Return the ids that passages name as their reports'."""
        rows = self._rows(f"SELECT DISTINCT document_id FROM {TABLE}", {})
        return {str(document_id) for (document_id,) in rows}

    def get(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        if not chunk_ids:
            return []
        query = f"SELECT {COLUMN_LIST} FROM {TABLE} WHERE id = ANY(%(ids)s)"
        rows = self._rows(query, {"ids": clean(list(chunk_ids))})
        chunks = {row[0]: to_chunk(row) for row in rows}
        return [chunks[chunk_id] for chunk_id in chunk_ids if chunk_id in chunks]

    def stored(self, document_id: str) -> tuple[list[Chunk], Matrix]:
        """Chunks without a vector are left out; the matrix has shape (0, 0) where there
        are none.
        """
        column = self._table.embedding
        query = (
            f"SELECT {COLUMN_LIST}, {column} FROM {TABLE} WHERE document_id = %(id)s "
            f"AND {column} IS NOT NULL"
        )
        rows = self._rows(query, {"id": clean(document_id)}, binary=True)
        if not rows:
            return [], np.empty((0, 0), np.float32)
        chunks = [to_chunk(row[:-1]) for row in rows]
        return chunks, np.vstack([row[-1].to_numpy() for row in rows])

    def surroundings(
        self, chunks: Sequence[Chunk], *, margin: int
    ) -> list[list[Chunk]]:
        return read_surroundings(chunks, margin, self.get)

    def vector_search(
        self,
        vector: Vector,
        *,
        top_k: int,
        scope: Scope,
        num_candidates: int | None = None,
    ) -> list[Match]:
        """Raises EmbedderMismatchError; SearchEngineError also for a vector of length
        0.
        """
        query = self._check(vector)
        if top_k < 1:
            return []
        with self._transaction(scan_settings(scope, top_k)) as connection:
            rows = nearest(
                connection, self._table, vector=query, scope=scope, top_k=top_k
            )
        return [
            Match(chunk_id, to_score(1.0 - distance)) for distance, chunk_id in rows
        ]

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        """BM25 in SQL, then proximity (`keywords`) of the best."""
        terms = self.terms_of(query)
        if top_k < 1 or not terms:
            return []
        statistics = self._statistics_of(scope)
        idf = statistics.inverse_frequencies(terms, self._rows)
        if not idf:
            return []
        rows = self._rows(
            *statistics.search(
                idf, terms, scope, max(top_k, MAX_REFINED_PASSAGES), self._bm25
            )
        )
        scores = {str(chunk_id): float(score) for chunk_id, score in rows}
        return best_matches(self._by_proximity(scores, idf), top_k)

    def _by_proximity(
        self, scores: Mapping[str, float], idf: Mapping[str, float]
    ) -> list[Match]:
        """Return the passages with these BM25 scores, scored also by how close together
        they have the words.
        """
        numbers = {term: number for number, term in enumerate(idf)}
        chunks = self.get(list(scores))
        texts = []
        for chunk in chunks:
            terms = self.terms_of(chunk.search_text)
            # -1 stands for all words that the question does not have.
            text = [numbers.get(term[:MAX_TERM_CHARACTERS], -1) for term in terms]
            texts.append(np.asarray(text, np.int32))
        by_words = np.asarray([scores[chunk.id] for chunk in chunks], np.float64)
        refined = with_proximity(by_words, texts, dict(enumerate(idf.values())))
        return [
            Match(chunk.id, score, chunk)
            for chunk, score in zip(chunks, refined.tolist(), strict=True)
        ]

    def _statistics_of(self, scope: Scope) -> Statistics:
        """Return the frequencies of words among what the caller may see."""
        position = self.changes.state().of(PASSAGES)
        limit = scope.widest() if scope.is_limited else EVERYTHING
        statistics = self._statistics.get(limit)
        if statistics is not None and statistics.position == position:
            return statistics
        if len(self._statistics) >= MAX_CACHED_STATISTICS:
            self._statistics.clear()
        statistics = Statistics.read(self._table, position, self._rows, limit)
        self._statistics[limit] = statistics
        return statistics

    def vector_scores(
        self, vector: Vector, chunk_ids: Sequence[str]
    ) -> dict[str, float]:
        """Raises as `vector_search` does."""
        if not chunk_ids:
            return {}
        unit = self._check(vector)
        column = self._table.embedding
        distance = f"{column} <=> %(vector)s::vector"
        query = (
            f"SELECT id, {distance} FROM {TABLE} WHERE id = ANY(%(ids)s) AND {column} "
            "IS NOT NULL"
        )
        rows = self._rows(query, {"vector": unit, "ids": clean(list(chunk_ids))})
        return {
            str(chunk_id): to_score(1.0 - distance)
            for chunk_id, distance in rows
            if not isnan(distance)
        }

    def count(self, scope: Scope) -> int:
        condition, parameters = self._table.scope_condition(scope)
        query = f"SELECT count(*) FROM {TABLE} WHERE {condition}"
        return int(self._rows(query, parameters)[0][0])

    def without_vector(self) -> int:
        of_zeros = f"({self._table.embedding} <#> {self._table.embedding}) >= 0"
        query = (
            f"SELECT count(*) FROM {TABLE} WHERE {self._table.embedding} IS NULL OR "
            f"{of_zeros}"
        )
        return int(self._rows(query, {})[0][0])

    def ping(self) -> str:
        """Reads the table too, and so fails where that does not work."""
        server, extension, has_rows = self._rows(_STATUS, {})[0]
        description = f"PostgreSQL {server}, pgvector {extension}, table {TABLE}"
        if not has_rows:
            description += " (empty)"
        return description

    def close(self) -> None:
        self._connections.close()

    @contextmanager
    def _transaction(
        self, settings: Mapping[str, str | int] | None = None
    ) -> Iterator[Connection]:
        self.prepare()
        try:
            with self._connections.transaction(settings) as connection:
                know_vectors(connection)
                yield connection
        except SearchEngineError as error:
            if error.reason == "table_missing":
                self._prepared = False
                # They know the types of an extension that may be recreated.
                self._connections.drop_idle()
            raise

    def _rows(
        self, query: str, parameters: dict[str, Any], *, binary: bool = False
    ) -> list[tuple[Any, ...]]:
        with self._transaction() as connection:
            return connection.execute(query, parameters, binary=binary).fetchall()


TRAITS = StoreTraits(in_database=False)
