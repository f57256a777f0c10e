"""The HTML pages."""

from __future__ import annotations

from flask import Blueprint, Response, make_response, render_template

from ..schema.chat import QUERY_CHARACTERS
from ..services.answering import NO_MODEL
from .access import with_owner
from .services import services

pages = Blueprint("pages", __name__)

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
"""In the order offered, what people read instead of a mode's name: label and description.

A mode that is not here comes last and goes by its name.
"""


@pages.get("/")
def chat() -> Response:
    """Where questions are asked."""
    return with_owner(_chat())


@pages.get("/c/<conversation_id>")
def conversation(conversation_id: str) -> Response:
    """The same page; it opens the conversation itself, and says so where there is none."""
    return with_owner(_chat())


@pages.get("/shared/<token>")
def shared(token: str) -> Response:
    """The same, to read one conversation only: nobody is made known to this server by looking at a link."""
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
        mode=services().answering.default_mode(),
        longest_question=QUERY_CHARACTERS,
    )
    return make_response(page)


@pages.get("/documents")
def documents() -> Response:
    """The knowledge base."""
    return with_owner(make_response(render_template("documents.html")))


def modes() -> list[dict[str, str | bool]]:
    """The ways of answering, for the page; ``reason`` says why one is not available."""
    known = {name: (available, reason) for name, available, reason in services().answering.modes()}
    offered: list[dict[str, str | bool]] = []
    for name in [*(name for name in MODES if name in known), *(name for name in known if name not in MODES)]:
        label, description = MODES.get(name, (name.replace("_", " ").capitalize(), ""))
        available, reason = known[name]
        words = {"name": name, "label": label, "description": description, "reason": reason}
        offered.append({**words, "available": available})
    return offered
