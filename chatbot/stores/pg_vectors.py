"""Nearest passages: through the HNSW index, or exactly where few passages are in question.

The index is walked from the question outwards and the scope checked on the way. For a narrow scope that walk is
long and, being bounded, may end too early; the few passages of the scope are compared faster. So the exact search
comes first and gives up when it meets too many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from psycopg import sql

from ..schema import Scope
from .pg_connections import Connection
from .pg_filters import scope_sql
from .pg_schema import Schema

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
    """PostgreSQL settings for `nearest`.

    The index's scan goes on until the scope has filled the result; it may then be slightly out of order (relaxed),
    which finds more and is sorted here. Sorts are made dear, so that the planner takes the index.
    """
    return {
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.ef_search": MAX_EF if scope else min(MAX_EF, max(200, 2 * top_k)),
        "enable_sort": "off",
    }


def nearest(
    connection: Connection, schema: Schema, *, vector: str, scope: Scope, top_k: int, compare: int | None = None
) -> list[Row]:
    """The ``top_k`` nearest of the scope, or all it has, best first, ties by id; ``vector`` in pgvector's text form.

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


def to_score(distance: float) -> float:
    """Cosine distance to the Atlas `vectorSearchScore`, (1 + cosine) / 2; rounding never takes it outside [0, 1]."""
    return min(1.0, max(0.0, 1.0 - float(distance) / 2.0))
