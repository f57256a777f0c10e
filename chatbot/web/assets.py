"""The page's files under addresses that name their version, which a browser keeps and never asks for again; what is
text is sent compressed."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from functools import cache
from pathlib import PurePosixPath

from flask import Blueprint, Flask, Response, current_app, request, url_for

from ..shipped import STATIC
from .routes import PAGE

assets = Blueprint("assets", __name__)
YEAR_SECONDS = 365 * 86_400
TEXTS = (".css", ".js", ".json", ".svg")
COMPRESSED = frozenset({"text/html", "application/json", "text/csv", "text/markdown"})
"""Media types of responses that are made anew each time, and compressed then."""
LEAST_BYTES = 1_000
FAST, SMALL = 4, 9
"""gzip's levels: for what is packed for each request, and for what is packed once."""


@assets.get("/static/v/<version>/<path:filename>")
@PAGE
def asset(version: str, filename: str) -> Response:
    """A file of the page. Of another version the one that there is, to be asked for again next time."""
    if PurePosixPath(filename).suffix in TEXTS and filename in _files() and _takes_gzip():
        kind = mimetypes.guess_type(filename)[0] or "text/plain"
        response = Response(asset_bytes(filename), mimetype=kind, headers={"Content-Encoding": "gzip"})
    else:
        response = current_app.send_static_file(filename)
    response.headers["Vary"] = "Accept-Encoding"
    kept = version == version_of_files()
    response.headers["Cache-Control"] = f"public, max-age={YEAR_SECONDS}, immutable" if kept else "no-cache"
    return response


@assets.app_template_global("asset")
def address_of(filename: str) -> str:
    """The address of a file for templates; scripts import each other by relative paths, under the same version."""
    return url_for("assets.asset", version=version_of_files(), filename=filename)


@cache
def version_of_files() -> str:
    """A digest of all files, the same on every machine that has the same files."""
    digest = hashlib.sha256()
    for name in sorted(_files()):
        digest.update(name.encode() + (STATIC / name).read_bytes())
    return digest.hexdigest()[:12]


def compress_texts(app: Flask) -> None:
    """Answers and pages, for whoever takes that; never a stream, whose events would wait for each other."""

    @app.after_request
    def compress(response: Response) -> Response:
        if response.is_streamed or response.mimetype not in COMPRESSED or "Content-Encoding" in response.headers:
            return response
        response.vary.add("Accept-Encoding")
        if len(response.get_data()) >= LEAST_BYTES and _takes_gzip():
            response.set_data(gzip.compress(response.get_data(), FAST, mtime=0))
            response.headers["Content-Encoding"] = "gzip"
        return response


def _takes_gzip() -> bool:
    return request.accept_encodings.quality("gzip") > 0


@cache
def _files() -> frozenset[str]:
    return frozenset(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file())


@cache
def asset_bytes(filename: str) -> bytes:
    """A text of the page as it is sent: packed."""
    return gzip.compress((STATIC / filename).read_bytes(), SMALL, mtime=0)
