"""The library as one caller sees it: what is outside the limit of their key is not found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...checking.context import CONTEXT_MARGIN, wider_text
from ...checking.figure_list import listed_figures
from ...database.repositories.report_index import is_inside
from ...domain import Chunk, DocumentRecord, Scope
from ...domain.access import Caller
from ...domain.errors import InvalidRequestError, NotFoundError
from ...domain.figures import ReportedFigure
from ...library.pipeline import passages
from ...search.scope import ScopeResolver
from . import Services

CHUNK_ID = re.compile(r"^[A-Za-z0-9._|:#<>-]{1,200}$")
DOCUMENT_ID = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
MAX_PARSED = 2_000
"""Passages that one list of figures is made from."""


@dataclass(frozen=True, slots=True)
class Library:
    """Looks up reports and passages for ``who``."""

    services: Services
    who: Caller

    @property
    def scopes(self) -> ScopeResolver:
        return self.services.storage.scopes.inside(self.who.limit)

    def record(self, document_id: str) -> DocumentRecord:
        """Return a report. Raises NotFoundError."""
        record = self.services.storage.documents.get(document_id) if DOCUMENT_ID.match(document_id) else None
        if record is None or not is_inside(record, self.who.limit):
            raise NotFoundError(f"There is no report {document_id[:64]!r}.")
        return record

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

    def figures(self, scope: Scope, indicator: str, year: int | None) -> list[ReportedFigure]:
        """Return the figures in a scope by indicator, "" = all, and by their year.

        Raises:
            InvalidRequestError: the scope has too many passages to read them all, and no indicator narrows it.
        """
        return listed_figures(self._passages_with_figures(scope, indicator), indicator=indicator, year=year)

    def _passages_with_figures(self, scope: Scope, indicator: str) -> list[Chunk]:
        """Return every passage in the scope; of a large scope those that a keyword search for the indicator finds."""
        catalog, store = self.services.storage.documents, self.services.runtime.store
        if (size := catalog.holdings(scope).ready_chunks) <= MAX_PARSED:
            ready = [record for record in catalog.all(scope) if record.status == "ready"]
            every = (chunk for one in ready for chunk in passages(store, one, offset=0, limit=one.chunks + 1))
            return [chunk for chunk in every if scope.matches(chunk.about)]
        if not indicator.strip():
            message = f"the scope has {size:,} passages, more than are read at once ({MAX_PARSED:,}): name a country"
            raise InvalidRequestError.for_field("country_name", f"{message}, or an indicator.")
        matches = store.keyword_search(indicator, top_k=MAX_PARSED, scope=scope)
        unsettled = catalog.unsettled()
        versions = [(match.chunk_id, *Chunk.version_of(match.chunk_id)) for match in matches]
        return store.get([id for id, document, version in versions if unsettled.get(document, version) == version])
