"""Passages that follow the headings: one per section, cut only where a section is too long.

Short sections are not joined: a passage about many things is found by none of them ("What is the population growth
rate?" scores .82 against its own section and .70 inside 900 characters, MODELS.md). The prompt shows it with its
surroundings instead.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from ..protocols import Embedder
from ..schema import SECTION_SEPARATOR, Chunk, Document, Section
from .splitting import split


class SectionChunker:
    """Implements `protocols.Chunker`. A passage with its title and section never exceeds what the embedder reads."""

    def __init__(self, embedder: Embedder, *, chunk_size: int, known: Container[str] = ()) -> None:
        """``known`` texts have been embedded whole before, so their tokens need not be counted."""
        self._embedder = embedder
        self._size = chunk_size
        self._known = known

    def chunk(self, document: Document, *, version: str, collection: str) -> list[Chunk]:
        """All passages in reading order; ids are a function of document, version and position."""
        chunks: list[Chunk] = []
        for section in document.sections:
            template = self._template(document, section, collection)
            heading = template.search_text
            for start, end in split(section.text, lambda text, h=heading: self._fits(h, text)):  # type: ignore[misc]
                ordinal = len(chunks)
                chunks.append(
                    replace(
                        template,
                        id=Chunk.make_id(document.id, version, ordinal),
                        text=section.text[start:end],
                        ordinal=ordinal,
                        start=section.start + start,
                        end=section.start + end,
                    )
                )
        return chunks

    def _template(self, document: Document, section: Section, collection: str) -> Chunk:
        return Chunk(
            id="",
            document_id=document.id,
            document_name=document.name,
            title=document.title,
            text="",
            section=SECTION_SEPARATOR.join(section.path),
            page=section.page,
            metadata=document.metadata,
            collection=collection,
            labels=document.labels,
            description=document.description,
        )

    def _fits(self, heading: str, text: str) -> bool:
        if len(text) > self._size:
            return False
        embedded = f"{heading}\n{text}" if heading else text  # as in Chunk.search_text
        limit, count = self._embedder.max_tokens, self._embedder.count_tokens
        # A token has at least one character, so a short text needs no counting.
        if len(text) <= 1 or len(embedded) <= limit or embedded in self._known or count(embedded) <= limit:
            return True
        # A heading that leaves no room would shred the text: half of what the embedder reads is always the text's.
        return count(text) <= limit // 2 and count(heading) > limit // 2


def build(embedder: Embedder, *, chunk_size: int, known: Container[str] = ()) -> SectionChunker:
    return SectionChunker(embedder, chunk_size=chunk_size, known=known)
