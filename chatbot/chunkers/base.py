"""What all strategies share: they differ in the borders they cut at, and in what a passage may not leave."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from typing import ClassVar

from ..protocols import Embedder
from ..schema import SECTION_SEPARATOR, Chunk, Document, Section
from .borders import Border, Span
from .limits import ChunkLimits, Unit, check_overlap, chunk_limits
from .measure import Measure
from .runs import Run, page_runs
from .splitting import Splitter


class BaseChunker:
    """Implements `protocols.Chunker`. A passage with its title and section never exceeds what the embedder reads.

    ``borders``: kinds of places to cut at, the best first, `words` last. A strategy is not written into its chunks:
    the version in their ids stands for it and for the sizes.
    """

    borders: ClassVar[tuple[Border, ...]]
    takes_overlap: ClassVar[bool] = True

    def __init__(
        self,
        embedder: Embedder,
        *,
        chunk_size: int,
        chunk_overlap: int = 0,
        unit: Unit = "characters",
        known: Container[str] = (),
    ) -> None:
        """Size and overlap are in ``unit``, tokens being the embedder's; the overlap counts inside the size.

        ``known`` texts have been embedded whole before, so their tokens need not be counted.

        Raises:
            InvalidRequestError: the size or the overlap cannot be had.
        """
        self._limits = chunk_limits(embedder, size=chunk_size, unit=unit)
        self._overlap = check_overlap(chunk_overlap, self._limits, allowed=self.takes_overlap)
        self._measure = Measure(embedder, self._limits, overlap=chunk_overlap, known=known)

    @property
    def limits(self) -> ChunkLimits:
        """The size asked for, and the size used where the embedder reads less."""
        return self._limits

    def chunk(self, document: Document, *, version: str, collection: str) -> list[Chunk]:
        """All passages in reading order; ids are a function of document, version and position.

        Page, section and metadata are those of the place where a passage starts.
        """
        chunks: list[Chunk] = []
        for run in self._runs(document):
            templates = [_template(document, section, collection) for section in run.sections]
            for start, end in self._spans(run, [template.search_text for template in templates]):
                ordinal = len(chunks)
                chunks.append(
                    replace(
                        templates[run.section_at(start)],
                        id=Chunk.make_id(document.id, version, ordinal),
                        text=run.text[start:end],
                        ordinal=ordinal,
                        start=run.start + start,
                        end=run.start + end,
                    )
                )
        return chunks

    def _runs(self, document: Document) -> Iterator[Run]:
        return page_runs(document)

    def _spans(self, run: Run, headings: list[str]) -> Iterator[Span]:
        text, measure = run.text, self._measure

        def size(start: int, end: int) -> float:
            return measure.passage(headings[run.section_at(start)], text, start, end)

        def overlap(start: int, end: int) -> float:
            return measure.overlap(text, start, end)

        splitter = Splitter(text, size, overlap if self._overlap else None, keep=run.headings)
        return splitter.split(self.borders)


def _template(document: Document, section: Section, collection: str) -> Chunk:
    """A chunk without text and place."""
    return Chunk(
        id="",
        document_id=document.id,
        document_name=document.name,
        title=document.title,
        text="",
        section=SECTION_SEPARATOR.join(section.path),
        page=section.page,
        metadata={**document.metadata, **section.metadata},
        collection=collection,
        labels=document.labels,
        description=document.description,
    )
