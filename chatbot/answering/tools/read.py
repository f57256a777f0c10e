"""Reads what there is as it stands: passages with what stands around them, and figures
as rows.
"""

import re
from dataclasses import dataclass

from ...database.repositories.figures import FigurePage, FigureReader
from ...domain import Chunk, Scope
from ...domain.errors import InvalidRequestError, NotFoundError
from ...domain.figures import similar_headings
from ...domain.protocols import Passages
from ..context import CONTEXT_MARGIN, window

CHUNK_ID = re.compile(r"^[A-Za-z0-9._|:#<>-]{1,200}$")
"""What may be the id of a passage: no text of a person becomes a query."""


@dataclass(frozen=True, slots=True)
class ReadTool:
    """Reads what a caller may see."""

    passages: Passages
    figures: FigureReader

    def passage(self, chunk_id: str) -> Chunk:
        """Return a passage. Raises NotFoundError."""
        chunks = self.passages.get([chunk_id]) if CHUNK_ID.match(chunk_id) else []
        if not chunks:
            raise NotFoundError(f"There is no passage {chunk_id[:200]!r}.")
        return chunks[0]

    def wider_text(self, chunk: Chunk) -> str:
        """Return a passage with `CONTEXT_MARGIN` characters of its report on each
        side.
        """
        (around,) = self.passages.surroundings([chunk], margin=CONTEXT_MARGIN)
        return window(chunk, around, before=CONTEXT_MARGIN, after=CONTEXT_MARGIN)

    def figure_rows(
        self,
        scope: Scope,
        indicator: str,
        year: int | None,
        *,
        limit: int,
        after: str = "",
    ) -> FigurePage:
        """Return a page of the figures in a scope by indicator, "" = all, and by their
        year. Raises InvalidRequestError: no report in the scope has such a heading;
        names similar ones.
        """
        page = self.figures.page(
            scope, indicator=indicator, year=year, limit=limit, after=after
        )
        text = " ".join(indicator.split()).casefold()
        if page.total or not text:
            return page
        headings = self.figures.indicators(scope)
        if text.partition(": ")[0] in map(str.casefold, headings):
            return page
        names = similar_headings(text, headings)
        hint = f" Did you mean {', '.join(names)}?" if names else ""
        raise InvalidRequestError.for_field(
            "indicator", f"no report here has a section {text!r}.{hint}", names
        )
