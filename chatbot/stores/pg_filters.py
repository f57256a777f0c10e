"""A scope as SQL. Values are always bound; field names are known ones, quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from psycopg import sql
from psycopg.types.json import Jsonb

from ..errors import SettingsError
from ..schema import Range, Scope, Value

_NAME = re.compile(r"[\w .-]{1,50}")
_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")


def checked_fields(fields: Iterable[str]) -> tuple[str, ...]:
    """The filter fields. Raises SettingsError: one of them has a name that cannot be indexed."""
    names = tuple(fields)
    for name in names:
        if not _NAME.fullmatch(name):
            raise SettingsError(f"FILTER_FIELDS: {name!r} cannot be used: letters, digits, space, '_', '.', '-' only.")
    return names


def field_sql(name: str) -> sql.Composable:
    """A filter field's value as jsonb: it keeps its type, so that the year 2023 is not the string "2023"."""
    return sql.SQL("(metadata -> {})").format(sql.Literal(name))


def scope_sql(scope: Scope, fields: Iterable[str]) -> tuple[sql.Composable, dict[str, Any]]:
    """A condition and its parameters (named ``scope0``, ...). A field that is no filter field matches nothing."""
    known = frozenset(fields)
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
            parts.append(sql.SQL("{} = ANY({}::jsonb[])").format(field, bound(values)))
    return (sql.SQL(" AND ").join(parts) if parts else sql.SQL("TRUE")), parameters


def clean(text: str) -> str:
    """Text that PostgreSQL can hold: NUL and lone surrogates become U+FFFD; the length stays, so offsets do too."""
    return _FORBIDDEN.sub("\ufffd", text)


def _clean_value(value: Value) -> Value:
    return clean(value) if isinstance(value, str) else value
