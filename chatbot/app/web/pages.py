"""The HTML pages, in the language chosen with the switch or the first of the browser's
that is available; and their files, whose addresses name a version, so that browsers
keep them.
"""

import gzip
import hashlib
import mimetypes
import posixpath
import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from flask import (
    Response,
    current_app,
    make_response,
    render_template,
    request,
    url_for,
)

from ...answering.indicators import IndicatorCatalog
from ...config import STATIC, TEMPLATES
from ...config.settings import is_loopback
from ...domain.chat import QUERY_CHARACTERS
from ...domain.errors import DatabaseError, NotFoundError
from ...domain.scope import Scope
from ...language.words import CODES, ENGLISH, LANGUAGES, RIGHT_TO_LEFT, speaking
from ...library.loaders import ARCHIVE, suffixes
from ...questions.reading import COUNTRY
from .access import library
from .callers import caller, may_read
from .cookies import with_owner
from .middleware import FRAMED_BY, SECURITY_HEADERS
from .routes import PAGE, Views, language, services

pages = Views("pages", __name__)
assets = Views("assets", __name__)
YEAR_SECONDS = 365 * 86_400
TEXTS = (".css", ".js", ".json", ".svg")
COMPRESSED = frozenset({"text/html", "application/json", "text/csv", "text/markdown"})
"""Media types of the responses that are compressed for each request, from
MIN_COMPRESSED_BYTES on.
"""
MIN_COMPRESSED_BYTES = 1_000
_IMPORT = re.compile(r'^(?:import|export)\b[^;"(]*"(\.{1,2}/[^"]+)"', re.MULTILINE)
_COMMENTED = ("css/", "js/")
_COMMENT = re.compile(r"^[ \t]*(?:/\*(?:(?!\*/).)*\*/|//[^\n]*)[ \t]*\n", re.M | re.S)
"""A comment that has its lines for itself."""
_SHEET = re.compile(r'^@import "([\w-]+\.css)";$', re.MULTILINE)

CHOICES: dict[str, Any] = tomllib.loads((TEMPLATES / "choices.toml").read_text("utf-8"))
"""Words of the modes."""
MAIN_MODES = frozenset({"auto", "compare", "report"})
"""Modes at the top of the menu; the others come under "More"."""


@pages.get("/", about=PAGE)
@pages.get("/c/<conversation_id>", about=PAGE)
def chat(conversation_id: str = "") -> Response:
    """Show the page where questions are asked; its script opens the conversation."""
    return with_owner(_chat())


@pages.get("/shared/<token>", about=PAGE)
def shared(token: str) -> Response:
    """The page of `chat` to read one conversation. It sets no cookie: readers of a link
    stay unknown.
    """
    response = _chat(shared=token)
    response.headers["X-Robots-Tag"] = "noindex"
    return response


@pages.get("/explore", about=PAGE)
def explore() -> Response:
    """Show figures of the reports as one chooses; the choice is in the address."""
    return with_owner(make_response(render_template("explore.html", embedded=False)))


@pages.get("/collection", about=PAGE)
def collection() -> Response:
    """Show the documents of a scope, which is in the address, and ask each of them the
    same question.
    """
    return with_owner(make_response(render_template("collection.html")))


@pages.get("/indicators/<slug>", about=PAGE)
def indicator(slug: str) -> Response:
    """Show what an indicator means, who has it, its newest figures and revisions."""
    found = None
    if may_read():
        queries = library().search.flow.tools.figures.queries
        found = IndicatorCatalog(queries).page(slug, library().scopes.resolve({}))
    return with_owner(make_response(render_template("indicator.html", indicator=found)))


@pages.get("/embed", about=PAGE)
def embed() -> Response:
    """The page of `chat` for a frame in pages of EMBED_ORIGINS, without its header. A
    scope is in its address.
    """
    return _framed(lambda: _chat(embedded=True))


@pages.get("/embed/explore", about=PAGE)
def embed_explorer() -> Response:
    """The page of `explore` for a frame in pages of EMBED_ORIGINS."""
    return _framed(
        lambda: make_response(render_template("explore.html", embedded=True))
    )


def _framed(page: Callable[[], Response]) -> Response:
    """Return a page that those of EMBED_ORIGINS may show in a frame. Raises
    NotFoundError: there are none.
    """
    origins = services().settings.embed_origins
    if not origins:
        raise NotFoundError(
            "No other page may show this one: EMBED_ORIGINS is not set."
        )
    response = with_owner(page())
    policy = SECURITY_HEADERS["Content-Security-Policy"].removesuffix(
        FRAMED_BY.format("'none'")
    )
    response.headers["Content-Security-Policy"] = policy + FRAMED_BY.format(
        " ".join(origins)
    )
    return response


@pages.get("/passages/<path:chunk_id>", about=PAGE)
def passage(chunk_id: str) -> Response:
    """Show a passage with the text around it: the address of a citation in other
    programs.
    """
    if not may_read():
        return with_owner(make_response(render_template("passage.html", chunk=None)))
    chunk = library().read.passage(chunk_id)
    before, _, after = library().read.wider_text(chunk).partition(chunk.text)
    return with_owner(
        make_response(
            render_template("passage.html", chunk=chunk, before=before, after=after)
        )
    )


def _chat(shared: str = "", *, embedded: bool = False) -> Response:
    settings = services().settings
    modes = services().modes
    runtime = services().runtime
    usable = modes.usable()

    def choice(name: str) -> dict[str, str | bool]:
        label, description = CHOICES["modes"].get(
            name, (name.replace("_", " ").capitalize(), "")
        )
        mode = {"name": name, "label": label, "description": description}
        return {**mode, "available": usable[name], "is_main": name in MAIN_MODES}

    reports = settings.language
    is_read = runtime.embedder.multilingual or CODES.get(reports, ENGLISH) == language()
    is_counted = not shared and may_read()
    page = render_template(
        "chat.html",
        shared=shared,
        embedded=embedded,
        counts_library=is_counted,
        has_reports=is_counted and _has_reports(),
        has_map=is_counted and _has_countries(),
        modes=[
            choice(name)
            for name in dict.fromkeys([*CHOICES["modes"], *usable])
            if name in usable
        ],
        quotes_only=not all(usable.values()),
        is_admin=not shared and caller().may("admin"),
        unread_language="" if is_read else reports.capitalize(),
        mode=modes.default(),
        run_by=settings.run_by,
        is_local=is_loopback(settings.host),
        longest_question=QUERY_CHARACTERS,
    )
    return make_response(page)


def _has_reports() -> bool:
    """Return whether the caller finds any report that can be asked: what the first
    screen then shows is fetched early. Without a database the page opens all the same,
    and its requests say what is wrong.
    """
    try:
        holdings = library().reader.documents.index().holdings(Scope())
    except DatabaseError:
        return False
    return holdings.ready > 0


def _has_countries() -> bool:
    """Return whether the caller finds reports on several countries, which the first
    screen shows on a map.
    """
    try:
        countries = library().reader.documents.values(COUNTRY)
    except DatabaseError:
        return False
    return len(countries) > 1


@pages.get("/documents", about=PAGE)
def documents() -> Response:
    """Show the page of the knowledge base."""
    page = render_template(
        "documents.html",
        suffixes=(*suffixes(), ARCHIVE),
        most=f"{services().settings.max_upload_mb} MB",
        ask_above=services().ingesting.ask_above,
        bin_days=services().settings.bin_days,
    )
    return with_owner(make_response(page))


@assets.app_template_global("_")
def text(english: str, **values: object) -> str:
    """Translate a template's words into that language; the template escapes them."""
    return speaking(language())(english, **values)


@assets.app_context_processor
def language_choice() -> dict[str, Any]:
    direction = "rtl" if language() in RIGHT_TO_LEFT else "ltr"
    return {"language": language(), "languages": LANGUAGES, "direction": direction}


@assets.app_context_processor
def extras() -> dict[str, Any]:
    """Tell the templates which extras there are."""
    return {"extras": {extra.name for extra in services().extras}}


@assets.get("/static/v/<version>/<path:filename>", about=PAGE)
def asset(version: str, filename: str) -> Response:
    """A file of the page. With another version in the address browsers ask for the file
    again next time.
    """
    if (
        PurePosixPath(filename).suffix in TEXTS
        and filename in _files()
        and request.accept_encodings.quality("gzip")
    ):
        kind = mimetypes.guess_type(filename)[0] or "text/plain"
        response = Response(
            asset_bytes(filename), mimetype=kind, headers={"Content-Encoding": "gzip"}
        )
    else:
        response = current_app.send_static_file(filename)
    response.headers["Vary"] = "Accept-Encoding"
    is_current = version == version_of_files()
    response.headers["Cache-Control"] = (
        f"public, max-age={YEAR_SECONDS}, immutable" if is_current else "no-cache"
    )
    return response


@assets.app_template_global("asset")
def address_of(filename: str) -> str:
    """Return the address of a file for templates; scripts import each other by paths
    below the same version.
    """
    return url_for("assets.asset", version=version_of_files(), filename=filename)


@assets.app_template_global("imported")
@cache
def imported(filename: str, *more: str) -> list[str]:
    """Return the scripts that a script imports, ``more`` that it loads itself, and
    those that they import: named in the page, they all load at once instead of one
    level after the other.
    """
    scripts = [filename, *more]
    for name in scripts:
        folder = posixpath.dirname(name)
        for target in _IMPORT.findall((STATIC / name).read_text("utf-8")):
            if (
                path := posixpath.normpath(posixpath.join(folder, target))
            ) not in scripts:
                scripts.append(path)
    return scripts[1:]


@cache
def version_of_files() -> str:
    """Return a digest of all files, the same on every machine that has the same
    files.
    """
    digest = hashlib.sha256()
    for name in sorted(_files()):
        digest.update(name.encode() + (STATIC / name).read_bytes())
    return digest.hexdigest()[:12]


@assets.after_app_request
def compress(response: Response) -> Response:
    """Compress answers and pages for clients that accept it; never a stream, whose
    events would be held back.
    """
    if response.mimetype == "text/html":
        response.vary.update(("Accept-Language", "Cookie"))
    if (
        response.is_streamed
        or response.mimetype not in COMPRESSED
        or "Content-Encoding" in response.headers
    ):
        return response
    response.vary.add("Accept-Encoding")
    if len(
        response.get_data()
    ) >= MIN_COMPRESSED_BYTES and request.accept_encodings.quality("gzip"):
        response.set_data(gzip.compress(response.get_data(), compresslevel=4, mtime=0))
        response.headers["Content-Encoding"] = "gzip"
    return response


@cache
def _files() -> frozenset[str]:
    return frozenset(
        path.relative_to(STATIC).as_posix()
        for path in STATIC.rglob("*")
        if path.is_file()
    )


@cache
def asset_bytes(filename: str) -> bytes:
    """Return a text file of the page as it is sent, compressed once: a sheet with those
    that it imports in their places; ours without their comments, a quarter of them.
    """
    text = (STATIC / filename).read_text("utf-8")
    if filename.endswith(".css"):
        folder = (STATIC / filename).parent
        text = _SHEET.sub(lambda name: (folder / name[1]).read_text("utf-8"), text)
    if filename.startswith(_COMMENTED):
        text = _COMMENT.sub("", text)
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)
