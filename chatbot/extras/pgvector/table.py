"""The table of passages: its columns and indexes, a chunk as a row and back, a scope as
a condition.

It is `chunks` in the first schema of the search path; deployments that share a database
use a schema each:
`POSTGRES_URI=postgresql://...?options=-csearch_path%3Dmy_schema,public`. Values are
always bound, names quoted.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import Any

import numpy as np
from psycopg import errors, sql
from psycopg.types.json import Jsonb

from ...database.rows import statements_of, statements_value
from ...domain import Chunk, Range, Scope, Vector
from ...domain.errors import EmbedderMismatchError
from ...domain.tables import Texts
from .connections import Connection, failure

LOCK = 0x7265706F7274
"""Advisory lock: one process at a time creates the table. The number is "report"."""
MAX_VECTOR_DIMENSIONS = 2000
"""Dimensions that HNSW indexes in full precision."""
MAX_HALFVEC_DIMENSIONS = 4000
"""Dimensions that HNSW indexes in half precision; of more it makes no index."""
MAX_TERM_CHARACTERS = 500
"""PostgreSQL takes 2,046 bytes, and a character has up to four."""
_COLUMN_NAMES = {"start": "start_offset", "end": "end_offset"}
COLUMNS = tuple(_COLUMN_NAMES.get(field.name, field.name) for field in fields(Chunk))
COLUMN_LIST = ", ".join(COLUMNS)
_TABLE = files(__package__).joinpath("table.sql").read_text("utf-8")
_ADDED = ("figure_years", "url", "language", "confidence", "zone", "statements")
"""Columns that tables of older releases lack."""
_DIMENSIONS = """
    SELECT atttypmod FROM pg_attribute
    WHERE attrelid = to_regclass(%s) AND attname = %s AND NOT attisdropped"""
_INDEXES = """
    SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE indrelid = to_regclass(%s) AND indisvalid"""


def field_sql(name: str) -> str:
    """Return a filter field's value as jsonb, which keeps its type: the year 2023 is
    not the string "2023".
    """
    return f"(metadata -> {sql.Literal(name).as_string(None)})"


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """``name`` is the table's; ``embedding`` the vector column; both need no quotes."""

    name: str
    embedding: str
    dimensions: int
    filter_fields: Texts

    @property
    def indexable(self) -> bool:
        """Return whether HNSW can index vectors of this length."""
        return self.dimensions <= MAX_HALFVEC_DIMENSIONS

    @property
    def indexed(self) -> tuple[str, str]:
        """The expression that the HNSW index holds, and its type: halfvec where vector
        is too long for an index.
        """
        if self.dimensions <= MAX_VECTOR_DIMENSIONS:
            return self.embedding, "vector"
        kind = f"halfvec({self.dimensions})"
        return f"({self.embedding}::{kind})", kind

    def prepare(self, connection: Connection) -> None:
        """Create what is missing. Safe when several processes start at once. Raises
        EmbedderMismatchError: the column holds vectors of another size;
        SearchEngineError: the extension is missing or too old.
        """
        if (
            self._stored(self.embedding, connection) == self.dimensions
            and all(self._stored(name, connection) is not None for name in _ADDED)
            and not self._missing_indexes(connection)
        ):
            return
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        # Building an index over many passages takes longer than a question may.
        connection.execute("SET LOCAL statement_timeout = 0")
        self._require_extension(connection)
        connection.execute(_TABLE.format(table=self.name))
        stored = self._stored(self.embedding, connection)
        if stored not in {None, self.dimensions}:
            filled = (
                f"SELECT 1 FROM {self.name} WHERE {self.embedding} IS NOT NULL LIMIT 1"
            )
            if connection.execute(filled).fetchone() is not None:
                raise EmbedderMismatchError(
                    f"The column {self.embedding!r} of the PostgreSQL table "
                    f"{self.name!r} holds vectors of "
                    f"{stored} dimensions, the configured embedding model gives "
                    f"{self.dimensions}. Use the model the "
                    "passages were written with, or ingest the reports into "
                    "another database or schema (POSTGRES_URI)."
                )
            connection.execute(f"ALTER TABLE {self.name} DROP COLUMN {self.embedding}")
        vectors = f"ADD COLUMN IF NOT EXISTS {self.embedding} vector({self.dimensions})"
        connection.execute(f"ALTER TABLE {self.name} {vectors}")
        for statement in self._missing_indexes(connection):
            connection.execute(statement)

    def _require_extension(self, connection: Connection) -> None:
        row = connection.execute(
            "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
        ).fetchone()
        if row is not None:
            version = str(row[0])
            if [int(number) for number in version.split(".")[:2]] < [0, 8]:
                raise failure("extension_outdated", version=version)
            return
        try:
            connection.execute("CREATE EXTENSION vector")
        except (
            errors.InsufficientPrivilege,
            errors.FeatureNotSupported,
            errors.UndefinedFile,
        ) as error:
            raise failure("extension_missing") from error

    def _stored(self, column: str, connection: Connection) -> int | None:
        """Return the dimensions of a vector column, -1 for another; None if the table
        or the column does not exist.
        """
        row = connection.execute(_DIMENSIONS, [self.name, column]).fetchone()
        if row is None:
            return None
        return int(row[0])

    def _missing_indexes(self, connection: Connection) -> list[str]:
        """Return the statements that create them."""
        definitions = {
            "document_id_idx": "(document_id)",
            "collection_idx": "(collection)",
            "terms_idx": "USING gin (terms)",
        }
        for name in self.filter_fields:
            definitions[f"by_{name}"] = f"({field_sql(name)})"
        if self.indexable:
            operators = "halfvec_cosine_ops"
            if self.dimensions <= MAX_VECTOR_DIMENSIONS:
                operators = "vector_cosine_ops"
            hnsw = f"USING hnsw ({self.indexed[0]} {operators})"
            definitions[f"{self.embedding}_hnsw"] = hnsw
        existing = {str(name) for (name,) in connection.execute(_INDEXES, [self.name])}
        statements = []
        for suffix, definition in definitions.items():
            index = f"{self.name}_{suffix}"
            if index not in existing:
                quoted = sql.Identifier(index).as_string(None)
                statements.append(
                    f"CREATE INDEX IF NOT EXISTS {quoted} ON {self.name} {definition}"
                )
        return statements

    @property
    def upsert(self) -> str:
        """The statement that inserts or replaces rows of `to_row`; a replaced row keeps
        its creation time.
        """
        casts = {
            "metadata": "jsonb",
            "labels": "text[]",
            "figure_years": "integer[]",
            "statements": "jsonb",
            "terms": "tsvector",
        }
        names = (*COLUMNS, "language", "terms", "term_count")
        values = []
        for name in names:
            cast = f"::{casts[name]}" if name in casts else ""
            values.append(f"%({name})s{cast}")
        values.append("%(embedding)s")
        columns = (*names, self.embedding)
        column_list = ", ".join(columns)
        replacements = ", ".join(f"EXCLUDED.{column}" for column in columns)
        return (
            f"INSERT INTO {self.name} ({column_list}) VALUES ({', '.join(values)}) "
            f"ON CONFLICT (id) DO UPDATE SET ({column_list}) = ROW ({replacements})"
        )

    def scope_condition(self, scope: Scope) -> tuple[str, dict[str, Any]]:
        """Return a condition and its parameters (``scope0``, ...). A field that is no
        filter field matches nothing.
        """
        tests: list[str] = []
        parameters: dict[str, Any] = {}

        def bind(value: Any) -> str:
            name = f"scope{len(parameters)}"
            parameters[name] = value
            return f"%({name})s"

        if scope.collections:
            tests.append(f"collection = ANY({bind(clean(scope.collections))}::text[])")
        for name, condition in scope.conditions:
            if name not in self.filter_fields:
                return "FALSE", {}
            value = field_sql(name)
            if isinstance(condition, Range):
                # jsonb orders values of different types too: without this a string
                # would be above every number.
                tests.append(f"jsonb_typeof({value}) = 'number'")
                for operator, end in ((">=", condition.gte), ("<=", condition.lte)):
                    if end is not None:
                        tests.append(f"{value} {operator} {bind(Jsonb(end))}::jsonb")
                continue
            values = [Jsonb(allowed) for allowed in clean(condition.values)]
            test = f"{value} = ANY({bind(values)}::jsonb[])"
            if condition.or_none:
                test = f"({test} OR {value} IS NULL)"
            tests.append(test)
        return " AND ".join(tests) or "TRUE", parameters


def to_row(
    chunk: Chunk,
    terms: Sequence[str],
    vector: Vector,
    *,
    collection: str,
    language: str,
) -> dict[str, Any]:
    """``terms`` are the chunk's index terms, ``language`` the one they are stemmed in.
    A vector of zeros is no embedding: nothing can be near it.
    """
    # The document's name is a filter field, too.
    metadata = {"document_name": clean(chunk.document_name)}
    for name, value in chunk.metadata.items():
        metadata[clean(name)] = clean(value)
    embedding = np.asarray(vector, np.float32) if np.any(vector) else None
    statements = statements_value(chunk.statements)
    return {
        **{
            _COLUMN_NAMES.get(field.name, field.name): clean(getattr(chunk, field.name))
            for field in fields(Chunk)
        },
        "metadata": Jsonb(metadata),
        "statements": None if statements is None else Jsonb(clean(statements)),
        "collection": clean(collection),
        "language": language,
        "terms": to_tsvector(terms),
        "term_count": len(terms),
        "embedding": embedding,
    }


def to_tsvector(terms: Sequence[str]) -> str:
    """Return the terms as text that casts to tsvector; the weight of a term is its
    count (D = 1, ... A = 4 or more).
    """
    counts = Counter(term[:MAX_TERM_CHARACTERS] for term in terms)
    entries = []
    for term, count in counts.items():
        weight = "DCBA"[min(count, 4) - 1]
        entries.append(f"{quote_term(term)}:1{weight}")
    return " ".join(entries)


def quote_term(term: str) -> str:
    """Return a term as tsvector and tsquery read it."""
    return "'{}'".format(term.replace("\\", "\\\\").replace("'", "''"))


def to_chunk(row: Sequence[Any]) -> Chunk:
    """``row`` has COLUMNS. The document's name is among the metadata for the filters
    only.
    """
    values = dict(zip(COLUMNS, row, strict=True))
    for name, column in _COLUMN_NAMES.items():
        values[name] = values.pop(column)
    for name in ("labels", "figure_years"):
        values[name] = tuple(values[name])
    values["metadata"].pop("document_name", None)
    values["statements"] = statements_of(values["statements"])
    return Chunk(**values)


_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")


def clean(value: Any) -> Any:
    """Return a value as PostgreSQL can hold it: NUL and lone surrogates become U+FFFD,
    sequences lists.
    """
    if isinstance(value, str):
        return _FORBIDDEN.sub("\ufffd", value)
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    return value
