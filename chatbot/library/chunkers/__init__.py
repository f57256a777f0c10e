"""Documents to passages. A chunk strategy chooses the borders that passages are cut at
(`splitting`), and whether one may span sections. The base class bounds its length,
keeps it on its page, and makes chunks of the spans.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import groupby
from typing import Any, ClassVar

from ...domain import Chunk, Document, Section
from ...domain.documents import SECTION_SEPARATOR, document_text
from ...domain.errors import InvalidRequestError, LoadError
from ...domain.protocols import Chunker, Embedder, TokenPlaces
from ...domain.registry import Registry
from .splitting import Border, Splitter, clauses, lines, paragraphs, sentences, words
from .tables import TableFigures, table_passages

CHUNKERS: Registry[Chunker] = Registry(
    "chunk strategy",
    {
        "max_length": "chatbot.library.chunkers:MaxLengthChunker",
        "paragraph": "chatbot.library.chunkers:ParagraphChunker",
        "recursive": "chatbot.library.chunkers:RecursiveChunker",
        "rows": "chatbot.library.chunkers:RowChunker",
        "sections": "chatbot.library.chunkers:SectionChunker",
        "sentence": "chatbot.library.chunkers:SentenceChunker",
        "sliding_window": "chatbot.library.chunkers:SlidingWindowChunker",
    },
    group="chunkers",
)
CHARACTERS_PER_TOKEN = 4
"""An estimate for English, as in `text.estimate_tokens`; the sample reports have 3.8
(MiniLM).
"""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Text of consecutive sections, whose borders no passage crosses.

    ``start``: its offset in the document's text; all other positions are in `text`.
    ``ends``: where each section's text ends. A section's heading is the text between
    the end before and its own text.
    """

    text: str
    start: int
    sections: tuple[Section, ...]
    ends: tuple[int, ...]
    headings: frozenset[int] = frozenset()
    """The offsets at which headings end."""


def page_stretches(document: Document) -> Iterator[Stretch]:
    """Yield consecutive sections with the same page and metadata, with their headings
    as in `schema.document_text`. So a passage never spans two pages, nor two table rows
    that have metadata of their own.
    """
    text = document_text(document.sections)
    start = 0
    for _, group in groupby(document.sections, key=_stretch_key):
        sections = tuple(group)
        ends = tuple(section.start + len(section.text) - start for section in sections)
        headings = set[int]()
        for section, before in zip(sections, (0, *ends), strict=False):
            if heading := text[start + before : section.start].rstrip():
                headings.add(before + len(heading))
        yield Stretch(
            text[start : start + ends[-1]], start, sections, ends, frozenset(headings)
        )
        start += ends[-1]


def _stretch_key(section: Section) -> tuple[Any, ...]:
    """Return what neighbours have in common that passages may span: rows of a table
    stay among themselves.
    """
    rows_at = None if section.rows is None else section.start
    return section.page, dict(section.metadata), rows_at


@dataclass
class TokenCounter:
    """Counts the tokens of the spans of a text."""

    embedder: Embedder
    text: str

    @cached_property
    def _places(self) -> Sequence[int] | None:
        long = len(self.text) > CHARACTERS_PER_TOKEN * self.embedder.max_tokens
        return (
            self.embedder.token_places(self.text)
            if long and isinstance(self.embedder, TokenPlaces)
            else None
        )

    def count(self, start: int, end: int) -> int:
        """Count them again where a span begins or ends inside a word, whose parts have
        other tokens.
        """
        inside = (place for place in (start, end) if 0 < place < len(self.text))
        cut = any(
            not any(map(str.isspace, self.text[place - 1 : place + 1]))
            for place in inside
        )
        if cut or self._places is None:
            return self.embedder.count_tokens(self.text[start:end])
        return bisect_left(self._places, end) - bisect_left(self._places, start)


@dataclass(eq=False)
class BaseChunker:
    """Implements `protocols.Chunker`. A passage with its title and section never
    exceeds what the embedder reads. The strategy and the sizes are not stored in the
    chunks: the version in their ids stands for them. Size and overlap are in
    characters; the overlap counts inside the size. ``known``: texts that have been
    embedded whole before.
    """

    borders: ClassVar[tuple[Border, ...]]
    """Kinds of places to cut at, the best first, `words` last."""
    takes_overlap: ClassVar[bool] = True
    joins_sections: ClassVar[bool] = True
    embedder: Embedder
    chunk_size: int
    chunk_overlap: int = 0
    known: Container[str] = ()

    def __post_init__(self) -> None:
        """Raises InvalidRequestError: the size or the overlap is not possible."""
        size = self.chunk_size
        overlap = self.chunk_overlap
        if size < 1:
            raise InvalidRequestError.for_field(
                "chunk_size", f"{size} is too small: at least 1 character."
            )
        self.longest = used = min(size, self.embedder.max_tokens * CHARACTERS_PER_TOKEN)
        self._room = lru_cache(1024)(self._count_room)
        if overlap and not self.takes_overlap:
            message = (
                f"{overlap} is not possible: this chunk strategy has no overlap. "
                "Valid: 0."
            )
            raise InvalidRequestError.for_field("chunk_overlap", message, [0])
        if overlap and not 0 < overlap < used:
            message = (
                f"{overlap} must be at least 0 and below the chunk size, {used} "
                "characters"
            )
            message += (
                f" ({size} asked for, but the embedding model reads no more)"
                if used < size
                else ""
            )
            raise InvalidRequestError.for_field("chunk_overlap", f"{message}.")

    def chunk(
        self,
        document: Document,
        *,
        version: str,
        collection: str,
        check: Callable[[int], None] = lambda made: None,
    ) -> list[Chunk]:
        """Return the document's passages in reading order; ids are a function of
        document, version and position. Page, section and metadata are those of the
        place where a passage starts.
        """
        chunks: list[Chunk] = []
        sections = document.sections
        figures = TableFigures()
        each = (
            Stretch(section.text, section.start, (section,), (len(section.text),))
            for section in sections
        )
        for stretch in page_stretches(document) if self.joins_sections else each:
            if stretch.sections[0].rows:
                chunks += self._table_chunks(
                    stretch.sections[0], document, figures, version, collection, chunks
                )
                check(len(chunks) - 1)
                continue
            templates = [
                _template(document, section, collection) for section in stretch.sections
            ]
            headings = [template.search_text for template in templates]
            tokens = TokenCounter(self.embedder, stretch.text)

            def fits(
                start: int,
                end: int,
                ends: Sequence[int] = stretch.ends,
                headings: list[str] = headings,
                tokens: TokenCounter = tokens,
            ) -> bool:
                # The index of the section in which the passage starts.
                return self._fits(
                    headings[bisect_right(ends, start)], tokens, start, end
                )

            overlaps = (
                (lambda start, end: end - start <= self.chunk_overlap)
                if self.chunk_overlap
                else None
            )
            for start, end in Splitter(
                stretch.text, fits, overlaps, keep=stretch.headings
            ).split(self.borders):
                ordinal = len(chunks)
                check(ordinal)
                chunks.append(
                    replace(
                        templates[bisect_right(stretch.ends, start)],
                        id=Chunk.make_id(document.id, version, ordinal),
                        text=stretch.text[start:end],
                        ordinal=ordinal,
                        start=stretch.start + start,
                        end=stretch.start + end,
                    )
                )
        return chunks

    def _table_chunks(
        self,
        section: Section,
        document: Document,
        figures: TableFigures,
        version: str,
        collection: str,
        before: Sequence[Chunk],
    ) -> list[Chunk]:
        """Return the passages of a section that shows rows of a table."""
        assert section.rows is not None
        template = _template(document, section, collection)
        heading = template.search_text

        def fits(text: str) -> bool:
            tokens = TokenCounter(self.embedder, text)
            return self._fits(heading, tokens, 0, len(text))

        chunks: list[Chunk] = []
        for passage in table_passages(
            section.rows, figures.of_rows(section.rows), fits, self.longest
        ):
            spans = [(0, len(passage.text))]
            is_short = bool(passage.figures) and len(passage.text) <= self.longest
            if not is_short and not fits(passage.text):  # a cell of many words
                tokens = TokenCounter(self.embedder, passage.text)
                inside = partial(self._fits, heading, tokens)
                spans = list(Splitter(passage.text, inside).split(self.borders))
            for place, (start, end) in enumerate(spans):
                ordinal = len(before) + len(chunks)
                chunks.append(
                    replace(
                        template,
                        id=Chunk.make_id(document.id, version, ordinal),
                        text=passage.text[start:end],
                        ordinal=ordinal,
                        start=section.start + passage.start,
                        end=section.start + passage.end,
                        statements=() if place else passage.figures,
                    )
                )
        return chunks

    def _fits(self, heading: str, tokens: TokenCounter, start: int, end: int) -> bool:
        """Return whether a span is within the size, and within what the embedder reads
        below ``heading``.
        """
        if (
            end - start > self.longest
        ):  # slicing a long text and counting its tokens cost time
            return False
        part = tokens.text[start:end]
        # As in `Chunk.search_text`.
        if (f"{heading}\n{part}" if heading else part) in self.known:
            return True
        allowed = min(self.embedder.max_tokens, self._room(heading))
        # A token has at least one byte (not one character: a Korean syllable is up to
        # three).
        if (
            len(part) <= allowed
            and len(part.encode("utf-8", "surrogatepass")) <= allowed
        ):
            return True
        return tokens.count(start, end) <= allowed

    def _count_room(self, heading: str) -> int:
        """Return the tokens of a passage below ``heading``, counted apart since no
        token spans the end of a line. At least half of what the embedder reads is left
        for the text: a long heading would shred it.
        """
        limit = self.embedder.max_tokens
        return (
            max(limit - self.embedder.count_tokens(f"{heading}\n"), limit // 2)
            if heading
            else limit
        )


def _template(document: Document, section: Section, collection: str) -> Chunk:
    """Return a chunk with everything that a section's chunks have in common; text and
    offsets are empty.
    """
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
        url=document.source
        if document.source.startswith(("http://", "https://"))
        else "",
        confidence=section.confidence,
    )


class ParagraphChunker(BaseChunker):
    """Whole paragraphs, joined up to the size; the overlap is in whole ones. Only
    longer ones are cut.
    """

    borders = (paragraphs, words)


class MaxLengthChunker(ParagraphChunker):
    """The paragraph chunker without overlap (R-E5): no text is stored twice."""

    takes_overlap = False


class SentenceChunker(BaseChunker):
    """Whole sentences, joined up to the size; the overlap is in whole ones. Only longer
    ones are cut.
    """

    borders = (sentences, words)


class SlidingWindowChunker(BaseChunker):
    """Windows of one length in words; a text without spaces is cut at any character,
    with the overlap.
    """

    borders = (words,)


class RecursiveChunker(BaseChunker):
    """Paragraphs, then lines, clauses, words, like LangChain's recursive character
    splitter. Pieces of one kind are joined up to the size; the overlap is in whole
    pieces, none if they are longer.
    """

    borders = (paragraphs, lines, clauses, words)


class SectionChunker(RecursiveChunker):
    """One passage for each section, cut only if it is too long. `Chunk.search_text` has
    the headings. Short sections are not joined: a passage about many things is found by
    none of them ("What is the population growth rate?" scores .82 against its own
    section and .70 inside 900 characters, by MiniLM). The prompt shows a passage with
    its surroundings instead.
    """

    takes_overlap = False
    joins_sections = False


class RowChunker(SectionChunker):
    """A knowledge base in a table (seed 001, R-B1): each row is a passage with a column
    for its text. The loader has made a section of each row.
    """

    def chunk(self, document: Document, **options: Any) -> list[Chunk]:
        """Chunk the rows. Raises LoadError: the table has no column for the text. The
        message names its columns.
        """
        require_text_column(document.name, document.columns)
        return super().chunk(document, **options)


def require_text_column(name: str, columns: Sequence[str]) -> None:
    """Raise LoadError for a table without a column of text. ``columns``:
    `Loaded.columns`, empty if it has one.
    """
    if columns:
        raise LoadError(
            f'{name} has no column "Text". Columns found: {", ".join(columns)}.'
        )
