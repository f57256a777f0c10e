"""`/api/usage`: what the answers of the last days took and cost."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify

from ..schema.sums import days_json
from .filters import query_number
from .uploads import services

usage = Blueprint("usage", __name__)
DEFAULT_DAYS, MOST_DAYS = 30, 366


@usage.get("/api/usage")
def show() -> Response:
    """By day (UTC), newest first, and in all; days on which nothing was used are left out."""
    days = query_number("days", DEFAULT_DAYS, least=1, most=MOST_DAYS)
    return jsonify(days_json(services().usage.days(days)))
