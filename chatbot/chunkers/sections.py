"""Passages that follow the headings: one per section, cut only where a section is too long.

Short sections are not joined: a passage about many things is found by none of them ("What is the population growth
rate?" scores .82 against its own section and .70 inside 900 characters, MODELS.md). The prompt shows it with its
surroundings instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schema import Document
from .base import BaseChunker
from .borders import clauses, lines, paragraphs, words
from .runs import Run, section_runs


class SectionChunker(BaseChunker):
    borders = (paragraphs, lines, clauses, words)
    takes_overlap = False

    def _runs(self, document: Document) -> Iterator[Run]:
        return section_runs(document)


build = SectionChunker
