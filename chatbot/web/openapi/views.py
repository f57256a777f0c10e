"""The description at its address, and a page to read it and to try it."""

from __future__ import annotations

from flask import Blueprint, Response, current_app, jsonify, make_response, render_template

from ..services import services
from .document import describe

described = Blueprint("described", __name__)


@described.get("/openapi.json")
def document() -> Response:
    """For machines. Made once: it takes as long as many a search."""
    made = current_app.extensions
    if "description" not in made:
        made["description"] = describe(current_app, services().settings)
    return jsonify(made["description"])


@described.get("/docs")
def viewer() -> Response:
    """For people."""
    return make_response(render_template("docs.html"))
