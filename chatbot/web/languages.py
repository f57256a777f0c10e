"""The language of the pages: the one chosen with the switch, else the first of the browser's that there is."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from ..words import ENGLISH, LANGUAGES, speaking

languages = Blueprint("languages", __name__)
CHOSEN = "language"
"""The cookie of the switch (static/js/common/choices.js)."""


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
