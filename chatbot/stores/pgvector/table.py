"""The table of passages: what it and its indexes should be, making them so, and its fixed statements.

One table, `chunks`, in the first schema of the search path. Deployments that share a PostgreSQL database part by
schema: `POSTGRES_URI=postgresql://...?options=-csearch_path%3Dmy_schema,public`.
"""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import errors, sql

from ...errors import EmbedderMismatchError
from .connections import Connection, failure
from .rows import COLUMNS, field_sql

LOCK = 0x7265706F7274
"""Advisory lock: one process at a time makes the table."""
MAX_VECTOR = 2000
"""Dimensions that HNSW indexes in full precision; up to MAX_HALFVEC it does in half, beyond that not at all."""
MAX_HALFVEC = 4000
_TABLE = sql.SQL("""
    CREATE TABLE IF NOT EXISTS {table} (
        id text COLLATE "C" PRIMARY KEY,
        collection text NOT NULL,
        document_id text NOT NULL,
        document_name text NOT NULL,
        title text NOT NULL,
        section text NOT NULL,
        page integer,
        ordinal integer NOT NULL,
        start_offset integer NOT NULL,
        end_offset integer NOT NULL,
        text text NOT NULL,
        labels text[] NOT NULL,
        description text NOT NULL,
        metadata jsonb NOT NULL,
        terms tsvector NOT NULL,
        term_count integer NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
    ) WITH (toast_tuple_target = 8160)""")
"""Rows stay whole up to the page's size: vectors and terms kept apart make an exact search 3 times slower."""
_DIMENSIONS = """
    SELECT atttypmod FROM pg_attribute
    WHERE attrelid = to_regclass(%s) AND attname = %s AND NOT attisdropped"""
_ADDED = {"figure_years": "integer[] NOT NULL DEFAULT '{{}}'", "url": "text NOT NULL DEFAULT ''",
          "language": "text NOT NULL DEFAULT ''"}  # fmt: skip
"""Since 0.5: tables of earlier releases get them, empty until their reports are read again."""
_INDEXES = """
    SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE indrelid = to_regclass(%s) AND indisvalid"""


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """Names, and the pieces of SQL that depend on them. ``embedding_field`` is the vector column."""

    table_name: str
    embedding_field: str
    dimensions: int
    filter_fields: tuple[str, ...]

    @property
    def table(self) -> sql.Composable:
        """The table's name, quoted."""
        return sql.Identifier(self.table_name)

    @property
    def embedding(self) -> sql.Composable:
        """The vector column's name, quoted."""
        return sql.Identifier(self.embedding_field)

    @property
    def indexable(self) -> bool:
        """Whether HNSW can index vectors this long."""
        return self.dimensions <= MAX_HALFVEC

    @property
    def indexed(self) -> tuple[sql.Composable, sql.Composable]:
        """The expression that the HNSW index holds, and its type: halfvec where vector is too long for an index."""
        if self.dimensions <= MAX_VECTOR:
            return self.embedding, sql.SQL("vector")
        kind = sql.SQL("halfvec({})").format(sql.Literal(self.dimensions))
        return sql.SQL("({}::{})").format(self.embedding, kind), kind

    def prepare(self, connection: Connection) -> None:
        """Make what is missing; what is there stays. Safe when several processes start at once.

        Raises:
            EmbedderMismatchError: the column holds vectors of another size.
            SearchEngineError: the extension is missing or too old.
        """
        if (
            self._stored(self.embedding_field, connection) == self.dimensions
            and all(self._stored(name, connection) is not None for name in _ADDED)
            and not self._missing_indexes(connection)
        ):
            return
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        # Building an index over many passages takes longer than a question may.
        connection.execute("SET LOCAL statement_timeout = 0")
        self._require_extension(connection)
        connection.execute(_TABLE.format(table=self.table))
        for name, kind in _ADDED.items():
            column = sql.SQL("{} " + kind).format(sql.Identifier(name))
            connection.execute(sql.SQL("ALTER TABLE {} ADD COLUMN IF NOT EXISTS {}").format(self.table, column))
        self._require_column(connection)
        for statement in self._missing_indexes(connection).values():
            connection.execute(statement)

    def _require_extension(self, connection: Connection) -> None:
        found = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
        if found is not None:
            if [int(part) for part in str(found[0]).split(".")[:2]] < [0, 8]:
                raise failure("extension_outdated", version=str(found[0]))
            return
        try:
            connection.execute("CREATE EXTENSION vector")
        except (errors.InsufficientPrivilege, errors.FeatureNotSupported, errors.UndefinedFile) as error:
            raise failure("extension_missing") from error

    def _require_column(self, connection: Connection) -> None:
        stored = self._stored(self.embedding_field, connection)
        if stored not in {None, self.dimensions}:
            filled = sql.SQL("SELECT 1 FROM {} WHERE {} IS NOT NULL LIMIT 1").format(self.table, self.embedding)
            if connection.execute(filled).fetchone() is not None:
                raise EmbedderMismatchError(
                    f"The column {self.embedding_field!r} of the PostgreSQL table {self.table_name!r} holds vectors of "
                    f"{stored} dimensions, the configured embedding model gives {self.dimensions}. Use the model the "
                    "passages were written with, or ingest the reports into another database or schema (POSTGRES_URI)."
                )
            connection.execute(sql.SQL("ALTER TABLE {} DROP COLUMN {}").format(self.table, self.embedding))
        connection.execute(
            sql.SQL("ALTER TABLE {} ADD COLUMN IF NOT EXISTS {} vector({})").format(
                self.table, self.embedding, sql.Literal(self.dimensions)
            )
        )

    def _stored(self, column: str, connection: Connection) -> int | None:
        """The dimensions of a vector column, -1 for another; None where the table or the column is not there."""
        row = connection.execute(_DIMENSIONS, [f'"{self.table_name}"', column]).fetchone()
        return None if row is None else int(row[0])

    def _missing_indexes(self, connection: Connection) -> dict[str, sql.Composed]:
        there = {str(name) for (name,) in connection.execute(_INDEXES, [f'"{self.table_name}"'])}
        return {name: statement for name, statement in self._indexes().items() if name not in there}

    def _indexes(self) -> dict[str, sql.Composed]:
        """Index name to the statement that makes it."""
        parts: dict[str, sql.Composable] = {
            "document_id_idx": sql.SQL("(document_id)"),
            "collection_idx": sql.SQL("(collection)"),
            "terms_idx": sql.SQL("USING gin (terms)"),
            **{f"by_{name}": sql.SQL("({})").format(field_sql(name)) for name in self.filter_fields},
        }
        if self.indexable:
            operators = sql.SQL("vector_cosine_ops" if self.dimensions <= MAX_VECTOR else "halfvec_cosine_ops")
            parts[f"{self.embedding_field}_hnsw"] = sql.SQL("USING hnsw ({} {})").format(self.indexed[0], operators)
        names = {f"{self.table_name}_{suffix}": part for suffix, part in parts.items()}
        return {
            name: sql.SQL("CREATE INDEX IF NOT EXISTS {} ON {} {}").format(sql.Identifier(name), self.table, part)
            for name, part in names.items()
        }


_CASTS = {
    "metadata": sql.SQL("{}::jsonb"),
    "labels": sql.SQL("{}::text[]"),
    "figure_years": sql.SQL("{}::integer[]"),
    "terms": sql.SQL("{}::tsvector"),
}
_UPSERT = sql.SQL(
    "INSERT INTO {table} ({names}) VALUES ({values}) ON CONFLICT (id) DO UPDATE SET ({names}) = ROW ({excluded})"
)
_COUNT = sql.SQL("SELECT count(*) FROM {} WHERE {}")
_DELETE = sql.SQL("DELETE FROM {table} WHERE document_id = %(document_id)s AND id <> ALL(%(keep)s::text[])")
_GET = sql.SQL("SELECT {columns} FROM {table} WHERE id = ANY(%(ids)s)")
_STORED = sql.SQL(
    "SELECT {columns}, {embedding} FROM {table} WHERE document_id = %(document_id)s AND {embedding} IS NOT NULL"
)
_DISTANCES = sql.SQL(
    "SELECT id, {embedding} <=> %(vector)s::vector FROM {table} WHERE id = ANY(%(ids)s) AND {embedding} IS NOT NULL"
)
_STATUS = sql.SQL(
    "SELECT split_part(current_setting('server_version'), ' ', 1), extversion, EXISTS (SELECT FROM {table}) "
    "FROM pg_extension WHERE extname = 'vector'"
)


class Statements:
    """``upsert`` takes rows of `to_row`; ``get`` answers with COLUMNS, ``stored`` with the
    vector after them, ``distances`` with id and distance."""

    def __init__(self, schema: ChunkTable) -> None:
        columns = sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
        names = {"table": schema.table, "embedding": schema.embedding, "columns": columns}
        self.upsert = _upsert(schema)
        self.delete = _DELETE.format(**names)
        self.get = _GET.format(**names)
        self.stored = _STORED.format(**names)
        self.distances = _DISTANCES.format(**names)
        self.status = _STATUS.format(**names)
        self._table = schema.table

    def count(self, condition: sql.Composable) -> sql.Composed:
        """The statement that counts the rows for which ``condition`` holds."""
        return _COUNT.format(self._table, condition)


def _upsert(schema: ChunkTable) -> sql.Composed:
    """The statement that inserts or replaces rows; the creation time of a row that is replaced stays."""
    parameters = (*COLUMNS, "language", "terms", "term_count", "embedding")
    columns = [sql.Identifier(name) if name != "embedding" else schema.embedding for name in parameters]
    values = [_CASTS.get(name, sql.SQL("{}")).format(sql.Placeholder(name)) for name in parameters]
    excluded = [sql.SQL("EXCLUDED.{}").format(column) for column in columns]
    comma = sql.SQL(", ")
    joined = {"names": comma.join(columns), "values": comma.join(values), "excluded": comma.join(excluded)}
    return _UPSERT.format(table=schema.table, **joined)
