"""The HTML pages, in the language chosen with the switch, else the first of the browser's that there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, make_response, render_template, request

from ..loaders import suffixes
from ..presets import PRESETS
from ..schema.chat import QUERY_CHARACTERS
from ..services.answering import NO_MODEL
from ..words import ENGLISH, LANGUAGES, speaking
from .access import with_owner
from .routes import PAGE
from .services import services

pages = Blueprint("pages", __name__)
languages = Blueprint("languages", __name__)
"""Has no route: gives templates their words, in the language of the request."""
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
    "auto": ("Let it choose", "Looks at the question and picks the way that suits it."),
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
