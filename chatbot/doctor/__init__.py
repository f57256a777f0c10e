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
    check_settings,
)
from .search import check_engine, check_indexes, check_recall

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
    """Yield the findings of every check, and with ``recall`` of `check_recall`; a failed check is a finding itself.

    If the database or its search engine does not answer, the checks that need it are skipped: one cause, one finding.
    """
    down = False
    for area, check in (*CHECKS, *([("recall", check_recall)] if recall else [])):
        if down and area != "chat_model":
            continue
        try:
            yield from check(services)
        except ChatbotError as error:  # messages of our errors never contain a secret
            if isinstance(error, DependencyError):
                yield Finding("error", area, error.reason or error.code, error.finding, error.remedy)
            else:
                yield Finding("error", area, error.code, error.message)
            down = down or area in ("database", "vector_search")
