"""What every engine refuses in a question's vector."""

from __future__ import annotations

from ..errors import SearchEngineError


def no_direction() -> SearchEngineError:
    """The error for a query vector that is all zeros or not finite: it points nowhere."""
    return SearchEngineError(
        "The embedding of the question is all zeros or not a number, so nothing can be near it.",
        remedy="Usually the text was empty; otherwise check the embedding model.",
    )
