"""Passages that follow the headings: one per section, cut only where a section is too long.

Short sections are not joined: a passage about many things is found by none of them ("What is the population growth
rate?" scores .82 against its own section and .70 inside 900 characters, by MiniLM). The prompt shows it with its
surroundings instead.
"""

from __future__ import annotations

from .base import BaseChunker
from .splitting import clauses, lines, paragraphs, words


class SectionChunker(BaseChunker):
    """Headings are not in the text: `Chunk.search_text` has them."""

    borders = (paragraphs, lines, clauses, words)
    takes_overlap = False
    joins_sections = False


build = SectionChunker
