"""Paragraphs, then lines, clauses, words: the best border there is (as LangChain's recursive character splitter)."""

from __future__ import annotations

from .base import BaseChunker
from .splitting import clauses, lines, paragraphs, words


class RecursiveChunker(BaseChunker):
    """Pieces of one kind are joined up to the size; the overlap is in whole pieces, none where they are longer."""

    borders = (paragraphs, lines, clauses, words)


build = RecursiveChunker
