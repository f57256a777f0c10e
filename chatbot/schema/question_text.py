"""What a question may be, for all who take one from a person: the API, the page and the command line."""

from __future__ import annotations

QUERY_CHARACTERS = 4000


def question_problem(text: str) -> str:
    """What is wrong with a question's text, without the space around it; "" where nothing is. Never cut (R-A7)."""
    if not text:
        return "must not be empty."
    if len(text) > QUERY_CHARACTERS:
        return (
            f"longer than {QUERY_CHARACTERS:,} characters ({len(text):,}): shorten it, or attach the text as a file, "
            "in the page or with POST /query."
        )
    return ""
