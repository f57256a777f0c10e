"""The chunk strategies: the borders that each cuts at, the best first, and what else sets it apart."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import LoadError
from ..schema import Chunk, Document
from .base import BaseChunker
from .splitting import clauses, lines, paragraphs, sentences, words


class ParagraphChunker(BaseChunker):
    """Whole paragraphs, joined up to the size, the overlap in whole ones. Only one longer than the size is cut."""

    borders = (paragraphs, words)


class MaxLengthChunker(ParagraphChunker):
    """The paragraph chunker without overlap (R-E5), for those who want no text twice."""

    takes_overlap = False


class SentenceChunker(BaseChunker):
    """Whole sentences, joined up to the size, the overlap in whole ones. Only one longer than the size is cut."""

    borders = (sentences, words)


class SlidingWindowChunker(BaseChunker):
    """Windows of one length, whatever they say; a text without spaces is cut at any character, with the overlap."""

    borders = (words,)


class RecursiveChunker(BaseChunker):
    """Paragraphs, then lines, clauses, words: the best border there is (as LangChain's recursive character splitter).

    Pieces of one kind are joined up to the size; the overlap is in whole pieces, none where they are longer.
    """

    borders = (paragraphs, lines, clauses, words)


class SectionChunker(RecursiveChunker):
    """One passage for each section, cut only where that is too long. `Chunk.search_text` has the headings.

    Short sections are not joined: a passage about many things is found by none of them ("What is the population
    growth rate?" scores .82 against its own section and .70 inside 900 characters, by MiniLM). The prompt shows it
    with its surroundings instead.
    """

    takes_overlap = False
    joins_sections = False


class RowChunker(SectionChunker):
    """A knowledge base in a table (seed 001, R-B1): each row is a passage, its text stands in a column of its own.

    The loader has made a section of each row; a table without a column of text is refused.
    """

    def chunk(
        self, document: Document, *, version: str, collection: str, check: Callable[[int], None] = lambda made: None
    ) -> list[Chunk]:
        """Raises LoadError: the table has no such column; the columns it has are named."""
        if document.columns:
            found = ", ".join(document.columns)
            raise LoadError(f'{document.name} has no column "Text". Columns found: {found}.')
        return super().chunk(document, version=version, collection=collection, check=check)
