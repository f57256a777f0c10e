"""The HTML pages and their files.

A page is in the language chosen with the switch, else in the first of the browser's that is available. The address of a
file names its version, so that browsers keep it; text is sent compressed.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from collections.abc import Mapping
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from flask import Blueprint, Flask, Response, current_app, make_response, render_template, request, url_for

from ..loaders import suffixes
from ..presets import PRESETS
from ..schema.chat import QUERY_CHARACTERS
from ..services.answering import NO_MODEL
from ..shipped import STATIC
from ..words import ENGLISH, LANGUAGES, speaking
from .access import with_owner
from .routes import PAGE
from .services import services

pages = Blueprint("pages", __name__)
assets = Blueprint("assets", __name__)
languages = Blueprint("languages", __name__)
"""Has no route: gives templates their words, in the language of the request."""
YEAR_SECONDS = 365 * 86_400
TEXTS = (".css", ".js", ".json", ".svg")
COMPRESSED = frozenset({"text/html", "application/json", "text/csv", "text/markdown"})
"""Media types of responses that are made anew each time, and compressed then."""
LEAST_BYTES = 1_000
FAST, SMALL = 4, 9
"""gzip's levels: for what is packed for each request, and for what is packed once."""
CHOSEN = "language"
"""The cookie of the switch (static/js/common/choices.js)."""

EXAMPLES = (
    {"question": "What is the population growth rate?", "filters": {"country_name": ["Kenya"], "year": [2023]}},
    {
        "question": "How many people are food insecure, and why?",
        "filters": {"country_name": ["Somalia"], "year": [2023]},
    },
    {"question": "Which are the ten most populous countries?", "filters": {"type": ["year_in_review"], "year": [2023]}},
)
"""Questions that the sample reports can answer."""

MODES = {
    "direct": ("Quick", "One search, one answer."),
    "auto": ("Automatic", "Picks the mode that suits the question."),
    "deep": ("Deep search", "Searches for the parts of the question at once, then for what is still missing."),
    "chain": ("Step by step", "Each search builds on what the one before it found."),
    "compare": ("Compare", "One search for each country, year or report, side by side in a table."),
    "report": ("Write a report", "An outline first, then section by section, with the sources at the end."),
}
"""Label and description of each mode, in the order offered. A mode that is not here comes last and goes by its name."""

PRESET_WORDS = {
    "adaptive": ("Adaptive threshold", "Vectors alone; the threshold descends from .7 until something passes."),
    "compression": ("Compression", "Passages compressed to what is close enough to the question."),
    "hybrid": ("Weighted hybrid", "Vectors .7 and keywords .3; three passages of different sources."),
    "deep": ("Deep searcher", "Searches in rounds, each for what is still missing."),
    "deterministic": ("Strict threshold", "Three passages above a similarity of .75, or none."),
}
"""The presets: the figures of a known system to the letter. A preset that is not here goes by its name."""


@pages.get("/")
@PAGE
def chat() -> Response:
    """The page where questions are asked."""
    return with_owner(_chat())


@pages.get("/c/<conversation_id>")
@PAGE
def conversation(conversation_id: str) -> Response:
    """The page of `chat`; it opens the conversation itself, and says so where there is none."""
    return with_owner(_chat())


@pages.get("/shared/<token>")
@PAGE
def shared(token: str) -> Response:
    """The page of `chat` to read one conversation: nobody is made known to this server by looking at a link."""
    response = _chat(shared=token)
    response.headers["X-Robots-Tag"] = "noindex"
    return response


def _chat(shared: str = "") -> Response:
    page = render_template(
        "chat.html",
        shared=shared,
        examples=EXAMPLES,
        modes=(offered := modes()),
        quotes_only=any(mode["reason"] == NO_MODEL for mode in offered),
        presets=presets(),
        mode=services().answering.default_mode(),
        longest_question=QUERY_CHARACTERS,
    )
    return make_response(page)


@pages.get("/operator")
@PAGE
def operator() -> Response:
    """What an installation is used for, and where it fails; what it shows needs the role admin."""
    return with_owner(make_response(render_template("operator.html")))


@pages.get("/documents")
@PAGE
def documents() -> Response:
    """The page of the knowledge base."""
    most = f"{services().settings.max_upload_mb} MB"
    return with_owner(make_response(render_template("documents.html", suffixes=suffixes(), most=most)))


def modes() -> list[dict[str, str | bool]]:
    """The ways of answering, for the page; ``reason`` says why one is not available."""
    known = {name: (available, reason) for name, available, reason in services().answering.modes()}
    names = [*(name for name in MODES if name in known), *(name for name in known if name not in MODES)]
    return [_offered(name, MODES, *known[name]) for name in names]


def presets() -> list[dict[str, str | bool]]:
    """The presets, for the page; one is available where its mode is."""
    answering = services().answering
    known = {name: (available, reason) for name, available, reason in answering.modes()}
    return [_offered(name, PRESET_WORDS, *known[answering.default_mode(name)]) for name in PRESETS]


def _offered(name: str, words: Mapping[str, tuple[str, str]], available: bool, reason: str) -> dict[str, str | bool]:
    label, description = words.get(name, (name.replace("_", " ").capitalize(), ""))
    return {"name": name, "label": label, "description": description, "reason": reason, "available": available}


def language() -> str:
    """The language of the current request, one of `LANGUAGES`."""
    chosen = request.cookies.get(CHOSEN, "")
    return chosen if chosen in LANGUAGES else request.accept_languages.best_match(LANGUAGES, default=ENGLISH)


@languages.app_template_global("_")
def text(english: str, **values: object) -> str:
    """A template's words in that language, which the template escapes."""
    return speaking(language())(english, **values)


@languages.app_context_processor
def chosen() -> dict[str, Any]:
    """The languages that there are, and the one chosen, for templates."""
    return {"language": language(), "languages": LANGUAGES}


@languages.after_app_request
def vary(response: Response) -> Response:
    """A page is kept by browsers and proxies for this language only."""
    if response.mimetype == "text/html":
        response.vary.update(("Accept-Language", "Cookie"))
    return response


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
