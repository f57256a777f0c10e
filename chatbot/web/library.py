"""What of the library the caller of the current request may see, change and add."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from ..errors import ForbiddenError, InvalidRequestError, NotFoundError
from ..repositories.report_index import is_inside
from ..schema import Chunk, DocumentRecord, Scope, Values
from .access import caller
from .request import query_collections, query_filters
from .services import services

CHUNK_ID = re.compile(r"^[A-Za-z0-9._|:#<>-]{1,200}$")
DOCUMENT_ID = re.compile(r"^[A-Za-z0-9_-]{1,64}$")


def record_of(document_id: str) -> DocumentRecord:
    """One that the caller may see. Raises NotFoundError."""
    found = services().storage.documents.get(document_id) if DOCUMENT_ID.match(document_id) else None
    if found is None or not is_shown(found):
        raise NotFoundError(f"There is no report {document_id[:64]!r}.")
    return found


def own_record(document_id: str) -> DocumentRecord:
    """One that the caller may change. Raises NotFoundError, ForbiddenError."""
    found = record_of(document_id)
    if not may_change(found):
        raise ForbiddenError("Only who added this report may change it, and administrators.")
    return found


def is_shown(record: DocumentRecord) -> bool:
    """Whether it is inside of what the caller's key may see."""
    return is_inside(record, caller().limit)


def may_change(record: DocumentRecord) -> bool:
    """Of those it may see its own, or any where it is an administrator, as everybody is where access is open."""
    who = caller()
    own = who.may("admin") or (who.may("write") and bool(who.owner) and record.owner == who.owner)
    return own and is_shown(record)


def passage_of(chunk_id: str) -> Chunk:
    """One that the caller may see. Raises NotFoundError."""
    found = services().vectors.store.get([chunk_id]) if CHUNK_ID.match(chunk_id) else []
    if not found or not may_see(found[0]):
        raise NotFoundError(f"There is no passage {chunk_id[:200]!r}.")
    return found[0]


def query_scope(*, leave_out: Collection[str] = ()) -> Scope:
    """The query string's, within what the caller may see. Raises InvalidRequestError."""
    scopes = services().storage.scopes.inside(caller().limit)
    return scopes.resolve(query_filters(leave_out=leave_out), collections=query_collections(), prefix="")


def may_see(chunk: Chunk) -> bool:
    """Whether it is inside of what the caller's key may see."""
    return caller().limit.holds(chunk.collection) and caller().limit.matches(chunk.about)


def inside_limit(about: dict[str, Any], *, new: bool = False) -> dict[str, Any]:
    """What is said of a report, so that it stays within what the caller's key may see. Raises ForbiddenError.

    Of a ``new`` one what the key leaves no choice of need not be said.
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


def require_known(values: Iterable[str], fields: tuple[str, ...]) -> None:
    """Raises InvalidRequestError: a field that there is not."""
    for name in values:
        if name not in fields:
            raise InvalidRequestError.for_field(name, f"unknown field. Valid: {', '.join(fields)}.", fields)
