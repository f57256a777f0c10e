"""A chunk as a row of the table, and back; a scope as a condition on rows. Values are always bound."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from psycopg import sql
from psycopg.types.json import Jsonb

from ...schema import Chunk, Range, Scope, Vector

_RESERVED = {"start": "start_offset", "end": "end_offset"}
COLUMNS = tuple(_RESERVED.get(part.name, part.name) for part in fields(Chunk))
LONGEST_TERM = 500
"""Characters; PostgreSQL takes 2,046 bytes."""
_LETTERS = ("", "C", "B", "A")


def to_row(chunk: Chunk, terms: Sequence[str], vector: Vector, *, collection: str, language: str) -> dict[str, Any]:
    """``terms`` are the chunk's index terms, ``language`` the one they are stemmed in.

    A vector of zeros is no embedding: nothing can be near it.
    """
    values = {_RESERVED.get(part.name, part.name): getattr(chunk, part.name) for part in fields(Chunk)}
    metadata: Mapping[str, Any] = {"document_name": chunk.document_name, **chunk.metadata}
    return {
        **{name: _clean_value(value) for name, value in values.items()},
        "metadata": Jsonb({clean(name): _clean_value(value) for name, value in metadata.items()}),
        "collection": clean(collection),
        "language": language,
        "labels": [clean(label) for label in chunk.labels],
        "figure_years": list(chunk.figure_years),
        "terms": to_tsvector(Counter(terms)),
        "term_count": len(terms),
        "embedding": np.asarray(vector, np.float32) if np.any(vector) else None,
    }


def to_tsvector(counts: Mapping[str, int]) -> str:
    """Terms with their counts, as text that casts to tsvector."""
    cut = Counter[str]()
    for term, count in counts.items():
        cut[term[:LONGEST_TERM]] += count
    return " ".join(f"{quote_term(term)}:1{_LETTERS[min(count, 4) - 1]}" for term, count in cut.items())


def quote_term(term: str) -> str:
    """A term as tsvector and tsquery read it."""
    return "'{}'".format(term.replace("\\", "\\\\").replace("'", "''"))


def to_chunk(row: Sequence[Any]) -> Chunk:
    """``row`` has COLUMNS. The document's name is among the metadata for the filters only."""
    values = dict(zip(COLUMNS, row, strict=True))
    start, end = values.pop("start_offset"), values.pop("end_offset")
    metadata = {name: value for name, value in values.pop("metadata").items() if name != "document_name"}
    lists = {name: tuple(values[name]) for name in ("labels", "figure_years")}
    return Chunk(**{**values, **lists, "start": start, "end": end, "metadata": metadata})


_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")


def field_sql(name: str) -> sql.Composable:
    """A filter field's value as jsonb: it keeps its type, so that the year 2023 is not the string "2023"."""
    return sql.SQL("(metadata -> {})").format(sql.Literal(name))


def scope_sql(scope: Scope, filter_fields: Iterable[str]) -> tuple[sql.Composable, dict[str, Any]]:
    """A condition and its parameters (named ``scope0``, ...). A field that is no filter field matches nothing."""
    known = frozenset(filter_fields)
    parts: list[sql.Composable] = []
    parameters: dict[str, Any] = {}

    def bound(value: Any) -> sql.Composable:
        name = f"scope{len(parameters)}"
        parameters[name] = value
        return sql.Placeholder(name)

    if scope.collections:
        collections = [clean(name) for name in scope.collections]
        parts.append(sql.SQL("collection = ANY({}::text[])").format(bound(collections)))
    for name, condition in scope.conditions:
        if name not in known:
            return sql.SQL("FALSE"), {}
        field = field_sql(name)
        if isinstance(condition, Range):
            # jsonb orders values of different types too: without this a string would be above every number.
            parts.append(sql.SQL("jsonb_typeof({}) = 'number'").format(field))
            for operator, end in ((sql.SQL(">="), condition.gte), (sql.SQL("<="), condition.lte)):
                if end is not None:
                    parts.append(sql.SQL("{} {} {}::jsonb").format(field, operator, bound(Jsonb(end))))
        else:
            values = [Jsonb(_clean_value(value)) for value in condition.values]
            found = sql.SQL("{} = ANY({}::jsonb[])").format(field, bound(values))
            parts.append(sql.SQL("({} OR {} IS NULL)").format(found, field) if condition.or_none else found)
    return (sql.SQL(" AND ").join(parts) if parts else sql.SQL("TRUE")), parameters


def clean(text: str) -> str:
    """Text that PostgreSQL can hold: NUL and lone surrogates become U+FFFD; the length stays, so offsets do too."""
    return _FORBIDDEN.sub("\ufffd", text)


def _clean_value(value: Any) -> Any:
    return clean(value) if isinstance(value, str) else value
