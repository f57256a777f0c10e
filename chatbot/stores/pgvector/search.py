"""The two searches in SQL: nearest passages through the HNSW index or exactly, and BM25.

The HNSW index is walked from the question outwards and the scope checked on the way. For a narrow scope that walk is
long and, being bounded, may end too early; the few passages of the scope are compared faster. So the exact search
comes first and gives up when it meets too many.

BM25 is over the same terms as in the in-process index, so that both find the same passages in the same order.
PostgreSQL's own ranking knows no document frequencies: a word of every second passage weighs as much as one of
three. What is used of its full text search is the tsvector and its GIN index. A term's count is kept as its weight
in the tsvector (D = 1, C = 2, B = 3, A = 4 and more), the one number per term that `ts_rank` reads back fast; above
four BM25 hardly grows. Rank and length normalisation differ from BM25's in nothing else. A tsvector's positions are
spent on the counts, so how close together the words are is read from the texts of the best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from psycopg import sql

from ...schema import Chunk, Match, Scope, Vector
from ..keywords import Bm25, inverse_document_frequency, with_proximity
from .connections import Connection
from .rows import LONGEST_TERM, quote_term, scope_sql
from .table import ChunkTable

EXACT_ROWS = 1000
"""Passages up to which all are compared when there is no scope."""
EXACT_ROWS_IN_SCOPE = 20_000
"""Passages in a scope up to which all are compared: 15,000 of 384 dimensions take as long as the index, finding all."""
SPARE = 8
"""Rows fetched beyond those wanted, to see whether the last ones tie."""
MAX_EF = 1000
"""pgvector's own bound."""
_EXACT = sql.SQL(
    "WITH compared AS MATERIALIZED ("
    "SELECT id, {embedding} <=> %(vector)s::vector AS distance FROM {table} "
    "WHERE {embedding} IS NOT NULL AND {scope} LIMIT %(most)s"
    ") SELECT id, distance, (SELECT count(*) FROM compared) FROM compared ORDER BY distance, id LIMIT %(rows)s"
)
_INDEXED = sql.SQL(
    "SELECT id, {embedding} <=> %(vector)s::vector AS distance FROM ("
    "SELECT id, {embedding} FROM {table} WHERE {scope} ORDER BY {indexed} <=> %(vector)s::{kind} LIMIT %(rows)s"
    ") AS near"
)

Row = tuple[float, str]
"""Cosine distance, 0 to 2, and id."""


def scan_settings(scope: Scope, top_k: int) -> dict[str, str | int]:
    """The PostgreSQL settings under which `nearest` is run.

    The index's scan goes on until the scope has filled the result; it may then be slightly out of order (relaxed),
    which finds more and is sorted here. Sorts are made dear, so that the planner takes the index.
    """
    return {
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.ef_search": MAX_EF if scope else min(MAX_EF, max(200, 2 * top_k)),
        "enable_sort": "off",
    }


def nearest(
    connection: Connection, schema: ChunkTable, *, vector: Vector, scope: Scope, top_k: int, compare: int | None = None
) -> list[Row]:
    """The ``top_k`` nearest of the scope, or all it has, best first, ties by id.

    ``compare`` passages are compared one by one before the index is asked; None = as many as pays off.
    """
    condition, bound = scope_sql(scope, schema.filter_fields)
    indexed, kind = schema.indexed
    parts = {"table": schema.table, "embedding": schema.embedding, "scope": condition, "indexed": indexed, "kind": kind}

    def run(query: sql.SQL, limit: int, most: int | None = None) -> list[tuple[Any, ...]]:
        parameters = {**bound, "vector": vector, "rows": limit, "most": most}
        return connection.execute(query.format(**parts), parameters).fetchall()

    if schema.indexable:
        most = compare if compare is not None else EXACT_ROWS_IN_SCOPE if scope else EXACT_ROWS
        found = run(_EXACT, top_k, most + 1)
        if not found or found[0][2] <= most:
            return _ranked(found)
        for limit in (top_k + SPARE, 4 * (top_k + SPARE)):
            near = _ranked(run(_INDEXED, limit))
            # Whatever the index leaves out, or cuts through ties, the exact search below has the last word.
            if len(near) == limit and near[-1][0] > near[top_k - 1][0]:
                return near[:top_k]
    return _ranked(run(_EXACT, top_k))


def _ranked(rows: Iterable[Sequence[Any]]) -> list[Row]:
    return sorted((float(row[1]), str(row[0])) for row in rows)


MAX_TERMS = 64
"""Distinct words of a question that are scored, the rarest; each costs time on every passage found."""
Fetch = Callable[[sql.Composed, dict[str, Any]], list[tuple[Any, ...]]]
"""Runs a statement with parameters."""
_SIZE = sql.SQL("SELECT count(*), coalesce(avg(term_count), 1) FROM {table}")
_FREQUENCIES = sql.SQL(
    "SELECT asked.term, (SELECT count(*) FROM {table} WHERE terms @@ asked.query::tsquery) "
    "FROM unnest(%(terms)s::text[], %(queries)s::text[]) AS asked(term, query)"
)
# count / (count + norm) as 1 - norm / (norm + count): so the count is read once. For a single position `ts_rank` is
# weight / (pi^2 / 6), and the weights are quarters: times 4 * pi^2 / 6 is the count again.
_SCORE = sql.SQL(
    "{weight}::float8 * (1 - norm / (norm + 6.579736267392905 * "
    "ts_rank('{{.25,.5,.75,1}}', terms, {term}::tsquery)::float8))"
)
_SEARCH = sql.SQL(
    "SELECT id, {score} AS score FROM {table}, "
    "LATERAL (SELECT %(norm)s::float8 + %(norm_per_term)s::float8 * term_count AS norm) AS lengths "
    "WHERE terms @@ %(any)s::tsquery AND {scope} ORDER BY score DESC, id LIMIT %(top_k)s"
)


@dataclass(frozen=True)
class Statistics:
    """Statistics of the corpus at one position of the change log; document frequencies are added as they are asked
    for.
    """

    position: int
    rows: int
    average_length: float
    bm25: Bm25
    frequencies: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, table: sql.Composable, position: int, fetch: Fetch, bm25: Bm25) -> Statistics:
        """Count the passages and their average length over the whole table."""
        rows, average_length = fetch(_SIZE.format(table=table), {})[0]
        return cls(position, int(rows), float(average_length), bm25)

    def weights(self, table: sql.Composable, terms: Sequence[str], fetch: Fetch) -> dict[str, float]:
        """Term to its BM25 weight: IDF times occurrences in the question. Terms that no passage has are left out."""
        counted = Counter(term[:LONGEST_TERM] for term in terms)
        if new := [term for term in counted if term not in self.frequencies]:
            parameters = {"terms": new, "queries": [quote_term(term) for term in new]}
            found = fetch(_FREQUENCIES.format(table=table), parameters)
            self.frequencies.update((str(term), int(frequency)) for term, frequency in found)
        present = sorted((self.frequencies[term], term) for term in counted if self.frequencies[term])
        idf = self.idf_of(term for _, term in present[:MAX_TERMS])
        return {term: (self.bm25.k1 + 1) * counted[term] * weight for term, weight in idf.items()}

    def idf_of(self, terms: Iterable[str]) -> dict[str, float]:
        """Inverse document frequencies of terms whose frequencies were asked for."""
        frequencies = {term: self.frequencies[term] for term in terms}
        return {term: inverse_document_frequency(max(self.rows, n), n) for term, n in frequencies.items()}

    def search(
        self,
        table: sql.Composable,
        weights: Mapping[str, float],
        scope: tuple[sql.Composable, Mapping[str, Any]],
        top_k: int,
    ) -> tuple[sql.Composed, dict[str, Any]]:
        """The statement for (id, BM25 score), best first, ties by id; ``weights`` are not empty."""
        parameters: dict[str, Any] = {"top_k": top_k, "any": " | ".join(map(quote_term, weights)), **scope[1]}
        norms = self.bm25.norms(max(self.average_length, 1.0))
        parameters |= dict(zip(("norm", "norm_per_term"), norms, strict=True))
        scores = []
        for number, (term, weight) in enumerate(weights.items()):
            names = {"term": f"term{number}", "weight": f"weight{number}"}
            parameters |= {names["term"]: quote_term(term), names["weight"]: weight}
            scores.append(_SCORE.format(**{key: sql.Placeholder(name) for key, name in names.items()}))
        return _SEARCH.format(table=table, score=sql.SQL(" + ").join(scores), scope=scope[0]), parameters


def refine(
    scores: Mapping[str, float],
    chunks: Sequence[Chunk],
    weights: Mapping[str, float],
    terms_of: Callable[[str], list[str]],
) -> list[Match]:
    """The chunks by BM25 score and by how close together they have the words, as in the in-process index.

    ``weights``: the inverse document frequencies of the question's terms.
    """
    numbers = {term: number for number, term in enumerate(weights)}
    texts = [
        np.asarray([numbers.get(term[:LONGEST_TERM], -1) for term in terms_of(chunk.search_text)], np.int32)
        for chunk in chunks
    ]
    by_words = np.asarray([scores[chunk.id] for chunk in chunks], np.float64)
    by_both = with_proximity(by_words, texts, dict(enumerate(weights.values())))
    found = [Match(chunk.id, float(score), chunk) for chunk, score in zip(chunks, by_both, strict=True)]
    return sorted(found, key=lambda match: (-match.score, match.chunk_id))
