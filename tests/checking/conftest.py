"""Passages by hand, and a store that knows the neighbours of a chunk."""

from collections.abc import Sequence

from chatbot.domain import Chunk, Context, Passage, SearchHit


def chunk(
    ordinal: int, text: str, *, start: int = 0, document: str = "doc", **fields: object
) -> Chunk:
    return Chunk(
        id=Chunk.make_id(document, "v1", ordinal),
        document_id=document,
        document_name=document,
        title=str(fields.pop("title", "Kenya 2023")),
        text=text,
        ordinal=ordinal,
        start=start,
        end=start + len(text),
        **fields,  # type: ignore[arg-type]
    )


def hits(*chunks: Chunk) -> list[SearchHit]:
    return [
        SearchHit(found, rank, score=1 - rank / 10)
        for rank, found in enumerate(chunks, start=1)
    ]


def context(*texts: str, **fields: object) -> Context:
    """Passages 1, 2, ... that show just their text."""
    passages = [
        Passage(n, SearchHit(chunk(n, text, **fields), n), text)
        for n, text in enumerate(texts, start=1)
    ]
    return Context(tuple(passages))


class Shelf:
    """A document's chunks in order, cut from one text: what a store knows of
    surroundings. Counts what is asked.
    """

    def __init__(
        self,
        texts: Sequence[str],
        *,
        sections: Sequence[str] = (),
        document: str = "doc",
    ) -> None:
        self.chunks: list[Chunk] = []
        start = 0
        for ordinal, text in enumerate(texts):
            section = sections[ordinal] if sections else ""
            self.chunks.append(
                chunk(ordinal, text, start=start, section=section, document=document)
            )
            start += len(text) + 2

    def surroundings(
        self, chunks: Sequence[Chunk], *, margin: int
    ) -> list[list[Chunk]]:
        return [
            [
                other
                for other in self.chunks
                if other.end >= one.start - margin and other.start <= one.end + margin
            ]
            for one in chunks
        ]
