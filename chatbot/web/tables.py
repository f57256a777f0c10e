"""Rows as a CSV file, for spreadsheets: they would take a text that begins like a formula for one."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from flask import Response

from .request import disposition

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_response(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], name: str) -> Response:
    """A file with these columns; what is not there stays empty."""
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(columns)
    writer.writerows([_cell(row.get(column)) for column in columns] for row in rows)
    headers = {"Content-Disposition": disposition("attachment", name)}
    return Response(written.getvalue(), mimetype="text/csv", headers=headers)


def _cell(value: Any) -> Any:
    """Numbers stay numbers."""
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
