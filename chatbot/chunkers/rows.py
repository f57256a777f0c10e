"""A knowledge base in a table (seed 001, R-B1): each row is a passage, and its text stands in a column of its own."""

from __future__ import annotations

from ..errors import LoadError
from ..schema import Chunk, Document
from .sections import SectionChunker


class RowChunker(SectionChunker):
    """Like `sections`, which has a section for each row; a table without a column of text is refused."""

    def chunk(self, document: Document, *, version: str, collection: str) -> list[Chunk]:
        """Raises LoadError: the table has no such column; the columns it has are named."""
        if document.columns:
            found = ", ".join(document.columns)
            raise LoadError(f'{document.name} has no column "Text". Columns found: {found}.')
        return super().chunk(document, version=version, collection=collection)


build = RowChunker
