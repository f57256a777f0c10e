"""The doctor: finds what is wrong with an installation before the first question does, and says how to mend it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..errors import ChatbotError, DependencyError
from .checks import (
    Finding,
    check_access,
    check_chat_model,
    check_data,
    check_database,
    check_embedder,
    check_engine,
    check_indexes,
    check_settings,
)
from .recall import check_recall

if TYPE_CHECKING:
    from ..services import Services

__all__ = ["CHECKS", "Finding", "diagnose"]

CHECKS: tuple[tuple[str, Callable[[Services], Iterator[Finding]]], ...] = (
    ("settings", check_settings),
    ("database", check_database),
    ("embedder", check_embedder),
    ("chat_model", check_chat_model),
    ("vector_search", check_engine),
    ("indexes", check_indexes),
    ("data", check_data),
    ("access", check_access),
)


def diagnose(services: Services, *, recall: bool = False) -> Iterator[Finding]:
    """Every check's findings as they come; a check that cannot run becomes a finding itself. ``recall``: also that one.

    Checks that need the database or its search engine are left out when that does not answer: one cause, one finding.
    """
    down = False
    for area, check in (*CHECKS, *([("recall", check_recall)] if recall else [])):
        if down and area != "chat_model":
            continue
        try:
            yield from check(services)
        except ChatbotError as error:
            yield from_error(area, error)
            down = down or area in ("database", "vector_search")


def from_error(area: str, error: ChatbotError) -> Finding:
    """A failed check as a finding. Messages of our errors never hold a secret."""
    if isinstance(error, DependencyError):
        return Finding("error", area, error.reason or error.code, error.finding, error.remedy)
    return Finding("error", area, error.code, error.message)
