"""The two searches in SQL: nearest passages through the HNSW index or exactly, and BM25.

The HNSW index is walked from the question outwards and the scope checked on the way. For a narrow scope that walk is
long and, being bounded, may end too early; the few passages of the scope are compared faster. So the exact search
comes first and gives up when it meets too many.

BM25 is over the same terms as in the in-process index, so that both find the same passages in the same order.
PostgreSQL's own ranking knows no document frequencies: a word of every second passage weighs as much as one of three.
Of its full text search only the tsvector and its GIN index are used. A term's count is kept as its weight in the
tsvector, the one number per term that `ts_rank` reads back fast; above four, where BM25 hardly grows, counts are equal.
Rank and length normalisation are BM25's. A tsvector's positions are taken by the counts, so how close together the
words are is read from the texts of the best passages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...domain import Chunk, Match, Scope, Vector
from ..chunks import best_matches
from ..keywords import Bm25, inverse_document_frequency, with_proximity
from .connections import Connection
from .table import MAX_TERM_CHARACTERS, ChunkTable, quote_term

EXACT_ROWS = 1000
"""Passages up to which all are compared when there is no scope."""
EXACT_ROWS_IN_SCOPE = 20_000
"""Passages in a scope up to which all are compared: 15,000 of 384 dimensions take as long as the index, finding all."""
SPARE = 8
"""Rows fetched beyond those needed, to see whether the last ones tie."""
MAX_EF = 1000
"""pgvector's own bound."""
Row = tuple[float, str]
"""Cosine distance, 0 to 2, and id."""


def scan_settings(scope: Scope, top_k: int) -> dict[str, str | int]:
    """Return the PostgreSQL settings under which `nearest` is run.

    The index's scan goes on until the scope has filled the result; it may then be slightly out of order (relaxed),
    which finds more and is sorted here. Sorts are made expensive, so that the planner takes the index.
    """
    return {
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.ef_search": MAX_EF if scope else min(MAX_EF, max(200, 2 * top_k)),
        "enable_sort": "off",
    }


def nearest(
    connection: Connection, table: ChunkTable, *, vector: Vector, scope: Scope, top_k: int, compare: int | None = None
) -> list[Row]:
    """Return the ``top_k`` nearest of the scope, or all it has, best first, ties by id.

    ``compare`` passages are compared one by one before the index is asked; None = as many as pays off.
    """
    condition, parameters = table.scope_condition(scope)
    indexed, kind = table.indexed
    distance = f"{table.embedding} <=> %(vector)s::vector AS distance"
    exact = (
        f"WITH compared AS MATERIALIZED (SELECT id, {distance} FROM {table.name} "
        f"WHERE {table.embedding} IS NOT NULL AND {condition} LIMIT %(most)s) "
        "SELECT id, distance, (SELECT count(*) FROM compared) FROM compared ORDER BY distance, id LIMIT %(rows)s"
    )
    through_index = (
        f"SELECT id, {distance} FROM (SELECT id, {table.embedding} FROM {table.name} WHERE {condition} "
        f"ORDER BY {indexed} <=> %(vector)s::{kind} LIMIT %(rows)s) AS near"
    )

    def run(query: str, limit: int, most: int | None = None) -> list[tuple[Any, ...]]:
        return connection.execute(query, {**parameters, "vector": vector, "rows": limit, "most": most}).fetchall()

    if table.indexable:
        most = compare if compare is not None else EXACT_ROWS_IN_SCOPE if scope else EXACT_ROWS
        rows = run(exact, top_k, most + 1)
        if not rows or rows[0][2] <= most:
            return _ranked(rows)
        for limit in (top_k + SPARE, 4 * (top_k + SPARE)):
            near = _ranked(run(through_index, limit))
            # Whatever the index leaves out, or cuts through ties, the exact search below has the last word.
            if len(near) == limit and near[-1][0] > near[top_k - 1][0]:
                return near[:top_k]
    return _ranked(run(exact, top_k))


def _ranked(rows: Iterable[Sequence[Any]]) -> list[Row]:
    return sorted((float(row[1]), str(row[0])) for row in rows)


MAX_TERMS = 64
"""Distinct words of a question that are scored, the rarest; each costs time on every passage found."""
Fetch = Callable[[str, dict[str, Any]], list[tuple[Any, ...]]]
"""Runs a statement with parameters."""
_FREQUENCIES = (
    "SELECT asked.term, (SELECT count(*) FROM {} WHERE terms @@ asked.query::tsquery) "
    "FROM unnest(%(terms)s::text[], %(queries)s::text[]) AS asked(term, query)"
)
# count / (count + norm) as 1 - norm / (norm + count): so the count is read once. For a single position `ts_rank` is
# weight / (pi^2 / 6), and the weights are quarters: times 4 * pi^2 / 6 is the count again.
_SCORE = (
    "%(weight{0})s::float8 * (1 - norm / (norm + 6.579736267392905 * "
    "ts_rank('{{.25,.5,.75,1}}', terms, %(term{0})s::tsquery)::float8))"
)


@dataclass(frozen=True)
class Statistics:
    """Statistics of the corpus at one position of the change log; document frequencies are added as needed."""

    table: ChunkTable
    position: int
    rows: int
    average_length: float
    frequencies: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, table: ChunkTable, position: int, fetch: Fetch) -> Statistics:
        """Count the passages and their average length over the whole table."""
        [(rows, average_length)] = fetch(f"SELECT count(*), coalesce(avg(term_count), 1) FROM {table.name}", {})
        return cls(table, position, int(rows), float(average_length))

    def inverse_frequencies(self, terms: Iterable[str], fetch: Fetch) -> dict[str, float]:
        """Return the inverse document frequency of the rarest MAX_TERMS of the terms that any passage has."""
        terms = {term[:MAX_TERM_CHARACTERS] for term in terms}
        if new := [term for term in terms if term not in self.frequencies]:
            parameters = {"terms": new, "queries": [quote_term(term) for term in new]}
            for term, frequency in fetch(_FREQUENCIES.format(self.table.name), parameters):
                self.frequencies[str(term)] = int(frequency)
        present = sorted((self.frequencies[term], term) for term in terms if self.frequencies[term])
        return {term: inverse_document_frequency(max(self.rows, n), n) for n, term in present[:MAX_TERMS]}

    def search(
        self, idf: Mapping[str, float], terms: Sequence[str], scope: Scope, top_k: int, bm25: Bm25
    ) -> tuple[str, dict[str, Any]]:
        """Return the statement for (id, BM25 score), best first, ties by id, and its parameters; ``idf`` has terms."""
        counted = Counter(term[:MAX_TERM_CHARACTERS] for term in terms)
        condition, parameters = self.table.scope_condition(scope)
        norm, norm_per_term = bm25.norms(max(self.average_length, 1.0))
        for number, term in enumerate(idf):
            parameters[f"term{number}"] = quote_term(term)
            parameters[f"weight{number}"] = (bm25.k1 + 1) * counted[term] * idf[term]
        query = (
            f"SELECT id, {' + '.join(map(_SCORE.format, range(len(idf))))} AS score FROM {self.table.name}, "
            "LATERAL (SELECT %(norm)s::float8 + %(norm_per_term)s::float8 * term_count AS norm) AS lengths "
            f"WHERE terms @@ %(any)s::tsquery AND {condition} ORDER BY score DESC, id LIMIT %(top_k)s"
        )
        any_term = " | ".join(map(quote_term, idf))
        return query, {**parameters, "norm": norm, "norm_per_term": norm_per_term, "any": any_term, "top_k": top_k}


def refine(
    scores: Mapping[str, float], chunks: Sequence[Chunk], idf: Mapping[str, float], terms_of: Callable[[str], list[str]]
) -> list[Match]:
    """Return the chunks by BM25 score and by how close together they have the words, as in the in-process index."""
    numbers = {term: number for number, term in enumerate(idf)}
    texts = [
        np.asarray([numbers.get(term[:MAX_TERM_CHARACTERS], -1) for term in terms_of(chunk.search_text)], np.int32)
        for chunk in chunks
    ]
    by_words = np.asarray([scores[chunk.id] for chunk in chunks], np.float64)
    by_both = with_proximity(by_words, texts, dict(enumerate(idf.values())))
    return best_matches(Match(chunk.id, float(score), chunk) for chunk, score in zip(chunks, by_both, strict=True))
