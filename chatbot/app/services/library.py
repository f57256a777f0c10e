"""The library as one caller sees and changes it: what is outside the limit of their key is not found."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...checking.context import CONTEXT_MARGIN, wider_text
from ...database.repositories.documents import is_inside
from ...database.repositories.figures import FigurePage
from ...domain import Chunk, DocumentRecord, Scope, Values
from ...domain.errors import ForbiddenError, InvalidRequestError, NotFoundError
from ...domain.request import Caller
from ...search.scope import ScopeResolver
from . import Services

CHUNK_ID = re.compile(r"^[A-Za-z0-9._|:#<>-]{1,200}$")
DOCUMENT_ID = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
NEAR_HEADINGS = 5
"""Headings that are proposed where none is as asked."""


@dataclass(frozen=True, slots=True)
class Library:
    """Looks up reports and passages for ``who``, and says what they may change."""

    services: Services
    who: Caller

    @property
    def scopes(self) -> ScopeResolver:
        return self.services.storage.scopes.inside(self.who.limit)

    def shows(self, record: DocumentRecord) -> bool:
        """Return whether the report is inside of what the caller's key may see."""
        return is_inside(record, self.who.limit)

    def record(self, document_id: str) -> DocumentRecord:
        """Return a report. Raises NotFoundError."""
        record = self.services.storage.documents.get(document_id) if DOCUMENT_ID.match(document_id) else None
        if record is None or not self.shows(record):
            raise NotFoundError(f"There is no report {document_id[:64]!r}.")
        return record

    def own_record(self, document_id: str) -> DocumentRecord:
        """Return a report that the caller may change. Raises NotFoundError, ForbiddenError."""
        record = self.record(document_id)
        if not self.may_change(record):
            raise ForbiddenError("Only who added this report may change it, and administrators.")
        return record

    def may_change(self, record: DocumentRecord) -> bool:
        """Return whether the caller sees this report, and added it or is an administrator (as all with open access)."""
        is_own = self.who.may("write") and bool(self.who.owner) and record.owner == self.who.owner
        return (is_own or self.who.may("admin")) and self.shows(record)

    def inside_limit(self, about: dict[str, Any], *, new: bool = False) -> dict[str, Any]:
        """Return the metadata that was sent for a report.

        For a ``new`` report, fields for which the caller's limit allows one value only are added.

        Raises:
            ForbiddenError: the report would be outside of the caller's limit.
        """
        limit = self.who.limit
        conditions = dict(limit.conditions) | ({"collection": Values(limit.collections)} if limit.collections else {})
        for field, condition in conditions.items():
            values = condition.values if isinstance(condition, Values) else ()
            if new and field not in about and len(values) == 1:
                about = {**about, field: values[0]}
            if (new or field in about) and not condition.matches(about.get(field)):
                valid = ", ".join(map(str, values)) or str(condition.to_json())
                raise ForbiddenError(f"This key is limited to {field} {valid}. State that {field} for the report.")
        return about

    def passage(self, chunk_id: str) -> Chunk:
        """Return a passage. Raises NotFoundError."""
        if not CHUNK_ID.match(chunk_id) or not (passages := self.passages([chunk_id])):
            raise NotFoundError(f"There is no passage {chunk_id[:200]!r}.")
        return passages[0]

    def passages(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        """Return the passages that exist and that the caller may see, in the order of the ids."""
        limit, chunks = self.who.limit, self.services.runtime.store.get(chunk_ids)
        return [chunk for chunk in chunks if limit.holds(chunk.collection) and limit.matches(chunk.about)]

    def wider_text(self, chunk: Chunk) -> str:
        """Return a passage with `CONTEXT_MARGIN` characters of its report on each side."""
        (around,) = self.services.runtime.store.surroundings([chunk], margin=CONTEXT_MARGIN)
        return wider_text(chunk, around, margin=CONTEXT_MARGIN)

    def figures(self, scope: Scope, indicator: str, year: int | None, *, limit: int, after: str = "") -> FigurePage:
        """Return a page of the figures in a scope by indicator, "" = all, and by their year.

        Raises:
            InvalidRequestError: no report in the scope has such a heading; names those that are alike.
        """
        figures = self.services.storage.figures
        page = figures.page(scope, indicator=indicator, year=year, limit=limit, after=after)
        wanted = " ".join(indicator.split()).casefold()
        if page.total or not wanted:
            return page
        known = {heading.casefold(): heading for heading, _, _ in figures.indicators(scope) if heading}
        if wanted.partition(": ")[0] in known:
            return page
        near = [name for name in known if wanted in name] or difflib.get_close_matches(wanted, known, cutoff=0.5)
        names = [known[name] for name in near[:NEAR_HEADINGS]]
        hint = f" Did you mean {', '.join(names)}?" if names else ""
        raise InvalidRequestError.for_field("indicator", f"no report here has a section {wanted!r}.{hint}", names)
