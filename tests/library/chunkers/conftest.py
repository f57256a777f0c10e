"""Documents by hand, cut by a strategy of the registry."""

from collections.abc import Mapping

import pytest

from chatbot.domain import Chunk, Document, Embedder, Section
from chatbot.domain.documents import lay_out
from chatbot.domain.scope import Value
from chatbot.library.chunkers import CHUNKERS
from chatbot.models.embed.hashing import HashingEmbedder
from chatbot.models.embed.minilm import MiniLMEmbedder


def section(
    text: str,
    *path: str,
    page: int | None = None,
    metadata: Mapping[str, Value] | None = None,
) -> Section:
    return Section(path, text, page=page, metadata=metadata or {})


def document(*sections: Section | str, title: str = "Kenya 2023") -> Document:
    """Laid out as a loader does it; a text alone is a section without a heading."""
    found = lay_out(
        Section((), each) if isinstance(each, str) else each for each in sections
    )
    metadata = {"country_name": "Kenya", "year": 2023}
    return Document(
        "doc",
        "kenya",
        title,
        "test",
        metadata,
        found,
        labels=("a",),
        description="about",
    )


def cut(
    strategy: str,
    found: Document,
    *,
    size: int,
    overlap: int = 0,
    embedder: Embedder | None = None,
) -> list[Chunk]:
    chunker = CHUNKERS.builder(strategy)(
        embedder or HashingEmbedder(8), chunk_size=size, chunk_overlap=overlap
    )
    return chunker.chunk(found, version="v1", collection="c")


def texts(
    strategy: str, *sections: Section | str, size: int, overlap: int = 0
) -> list[str]:
    return [
        chunk.text
        for chunk in cut(strategy, document(*sections), size=size, overlap=overlap)
    ]


class CountingEmbedder(HashingEmbedder):
    """Knows how many characters it was asked to count the tokens of."""

    def __init__(self, *, max_tokens: int) -> None:
        super().__init__(8)
        self.max_tokens = max_tokens  # type: ignore[misc]
        self.counted = 0

    def count_tokens(self, text: str) -> int:
        self.counted += len(text)
        return super().count_tokens(text)


@pytest.fixture(scope="session")
def minilm() -> MiniLMEmbedder:
    return MiniLMEmbedder()
