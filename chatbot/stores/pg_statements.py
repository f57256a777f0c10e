"""The statements of the pgvector store that do not depend on what is asked."""

from __future__ import annotations

from psycopg import sql

from .pg_rows import COLUMNS
from .pg_schema import Schema

_CASTS = {
    "metadata": sql.SQL("{}::jsonb"),
    "labels": sql.SQL("{}::text[]"),
    "terms": sql.SQL("{}::tsvector"),
    "embedding": sql.SQL("{}::vector"),
}
_UPSERT = sql.SQL(
    "INSERT INTO {table} ({names}) VALUES ({values}) ON CONFLICT (id) DO UPDATE SET ({names}) = ROW ({excluded})"
)
_COUNT = sql.SQL("SELECT count(*) FROM {} WHERE {}")
_DELETE = sql.SQL("DELETE FROM {table} WHERE document_id = %(document_id)s AND id <> ALL(%(keep)s::text[])")
_GET = sql.SQL("SELECT {columns} FROM {table} WHERE id = ANY(%(ids)s)")
_STORED = sql.SQL(
    "SELECT {columns}, {embedding}::text FROM {table} WHERE document_id = %(document_id)s AND {embedding} IS NOT NULL"
)
_DISTANCES = sql.SQL(
    "SELECT id, {embedding} <=> %(vector)s::vector FROM {table} WHERE id = ANY(%(ids)s) AND {embedding} IS NOT NULL"
)
_STATUS = sql.SQL(
    "SELECT split_part(current_setting('server_version'), ' ', 1), extversion, EXISTS (SELECT FROM {table}) "
    "FROM pg_extension WHERE extname = 'vector'"
)


class Statements:
    """``upsert`` takes rows of `pg_rows.to_row`; ``get`` answers with COLUMNS, ``stored`` with the
    vector after them, ``distances`` with id and distance."""

    def __init__(self, schema: Schema) -> None:
        names = {"table": schema.table, "embedding": schema.embedding, "columns": _joined(COLUMNS)}
        self.upsert = _upsert(schema)
        self.delete = _DELETE.format(**names)
        self.get = _GET.format(**names)
        self.stored = _STORED.format(**names)
        self.distances = _DISTANCES.format(**names)
        self.status = _STATUS.format(**names)
        self._table = schema.table

    def count(self, condition: sql.Composable) -> sql.Composed:
        return _COUNT.format(self._table, condition)


def _upsert(schema: Schema) -> sql.Composed:
    """One order of parameters and columns; the creation time of a row that is replaced stays."""
    parameters = (*COLUMNS, "terms", "term_count", "embedding")
    columns = [sql.Identifier(name) if name != "embedding" else schema.embedding for name in parameters]
    values = [_CASTS.get(name, sql.SQL("{}")).format(sql.Placeholder(name)) for name in parameters]
    excluded = [sql.SQL("EXCLUDED.{}").format(column) for column in columns]
    return _UPSERT.format(
        table=schema.table,
        names=sql.SQL(", ").join(columns),
        values=sql.SQL(", ").join(values),
        excluded=sql.SQL(", ").join(excluded),
    )


def _joined(names: tuple[str, ...]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))
