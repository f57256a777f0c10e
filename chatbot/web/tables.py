"""Rows as a file to download."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flask import Response

from ..serialization import csv_text
from .request import disposition


def csv_response(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], name: str) -> Response:
    """A CSV file with these columns; what is not there stays empty."""
    headers = {"Content-Disposition": disposition("attachment", name)}
    return Response(csv_text(rows, columns), mimetype="text/csv", headers=headers)
