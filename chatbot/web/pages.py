"""The chat page."""

from __future__ import annotations

from flask import Blueprint, render_template

pages = Blueprint("pages", __name__)

EXAMPLES = (
    {
        "question": "What is the population growth rate?",
        "filters": {"country_name": ["Kenya"], "year": [2023]},
    },
    {
        "question": "How many people are food insecure, and why?",
        "filters": {"country_name": ["Somalia"], "year": [2023]},
    },
    {
        "question": "Which are the ten most populous countries?",
        "filters": {"type": ["year_in_review"], "year": [2023]},
    },
)
"""Questions that the sample reports can answer."""


@pages.get("/")
def chat() -> str:
    return render_template("chat.html", examples=EXAMPLES)


@pages.get("/documents")
def documents() -> str:
    """The knowledge base."""
    return render_template("documents.html")
