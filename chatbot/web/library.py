"""What the caller of the current request may see, change and add."""

from __future__ import annotations

from typing import Any

from ..errors import ForbiddenError
from ..repositories.report_index import is_inside
from ..schema import DocumentRecord, Scope, Values
from ..services.library import Library
from .access import caller
from .request import ScopeQuery, query_filters
from .services import services


def library() -> Library:
    """The library as the caller of the current request may see it."""
    return Library(services(), caller())


def own_record(document_id: str) -> DocumentRecord:
    """A report that the caller may change. Raises NotFoundError, ForbiddenError."""
    found = library().record(document_id)
    if not may_change(found):
        raise ForbiddenError("Only who added this report may change it, and administrators.")
    return found


def is_shown(record: DocumentRecord) -> bool:
    """Whether it is inside of what the caller's key may see."""
    return is_inside(record, caller().limit)


def may_change(record: DocumentRecord) -> bool:
    """Whether the caller may see this report, and added it or is an administrator, as all are where access is open."""
    who = caller()
    own = who.may("admin") or (who.may("write") and bool(who.owner) and record.owner == who.owner)
    return own and is_shown(record)


def query_scope(query: ScopeQuery) -> Scope:
    """The scope that the query string names. Raises InvalidRequestError."""
    filters, collections = query_filters(query)
    return library().scopes.resolve(filters, collections=collections, prefix="")


def inside_limit(about: dict[str, Any], *, new: bool = False) -> dict[str, Any]:
    """The metadata that was sent for a report; raises ForbiddenError where it would be outside of the caller's limit.

    For a ``new`` report, fields for which the limit allows one value only are added.
    """
    limit = caller().limit
    wanted = dict(limit.conditions) | ({"collection": Values(limit.collections)} if limit.collections else {})
    for field, condition in wanted.items():
        only = condition.values if isinstance(condition, Values) else ()
        if new and field not in about and len(only) == 1:
            about = {**about, field: only[0]}
        if (new or field in about) and not condition.matches(about.get(field)):
            valid = ", ".join(map(str, only)) or str(condition.to_json())
            raise ForbiddenError(f"This key is for {field} {valid} only: say it of what you add.")
    return about
