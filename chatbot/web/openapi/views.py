"""The description at its address, and a page to read it and to try it."""

from __future__ import annotations

from flask import Blueprint, Response, current_app, jsonify, make_response, render_template

from ..services import services
from .document import describe

described = Blueprint("described", __name__)


@described.get("/openapi.json")
def document() -> Response:
    """For machines."""
    return jsonify(describe(current_app, services().settings))


@described.get("/docs")
def viewer() -> Response:
    """For people."""
    return make_response(render_template("docs.html"))
