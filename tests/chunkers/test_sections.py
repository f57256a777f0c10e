"""One passage per section, cut only where it is too long for the setting or the embedder (R-B2, R-A7)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatbot.chunkers.sections import SectionChunker
from chatbot.embedders.hashing import HashingEmbedder
from chatbot.embedders.minilm import MiniLMEmbedder
from chatbot.protocols import Embedder
from chatbot.schema import Chunk, Document, Section


@pytest.fixture(scope="module")
def minilm() -> MiniLMEmbedder:
    return MiniLMEmbedder()


def document(*sections: tuple[Sequence[str], str], title: str = "Kenya: Country Report 2023") -> Document:
    offset, found = 0, []
    for path, text in sections:
        found.append(Section(tuple(path), text, offset, page=len(found) + 1))
        offset += len(text) + 2
    metadata = {"country_name": "Kenya", "year": 2023}
    return Document("doc", "kenya", title, "test", metadata, tuple(found), labels=("a",), description="about")


def chunks(found: Document, *, embedder: Embedder | None = None, size: int = 900) -> list[Chunk]:
    return SectionChunker(embedder or HashingEmbedder(8), chunk_size=size).chunk(found, version="v1", collection="c")


def test_short_sections_are_not_joined() -> None:
    """MODELS.md: a passage about many things is found by none of them."""
    found = chunks(document((("People", "Growth"), "2.09%"), (("People", "Births"), "26.4 births"), ((), "Preface")))
    assert [(chunk.section, chunk.text) for chunk in found] == [
        ("People › Growth", "2.09%"),
        ("People › Births", "26.4 births"),
        ("", "Preface"),
    ]


def test_a_chunk_carries_what_is_known_of_its_document_and_place() -> None:
    """R-B2, R-D7: the document's metadata is copied to each chunk, with its offsets and page."""
    found = chunks(document((("A",), "first"), (("B",), "second")))[1]
    assert found == Chunk(
        id="doc-v1-00001",
        document_id="doc",
        document_name="kenya",
        title="Kenya: Country Report 2023",
        text="second",
        section="B",
        page=2,
        ordinal=1,
        start=7,
        end=13,
        metadata={"country_name": "Kenya", "year": 2023},
        collection="c",
        labels=("a",),
        description="about",
    )


def test_ids_are_a_function_of_document_version_and_position() -> None:
    found = document((("A",), "word " * 100))
    assert [chunk.id for chunk in chunks(found, size=200)] == [f"doc-v1-{n:05d}" for n in range(3)]
    assert chunks(found, size=200) == chunks(found, size=200)


SECTIONS = st.lists(
    st.tuples(st.lists(st.sampled_from(["People", "Population growth rate"]), max_size=2), st.text(min_size=0)),
    max_size=4,
)


@given(SECTIONS, st.integers(100, 300))
def test_nothing_is_lost_and_no_passage_is_longer_than_the_setting(
    sections: list[tuple[list[str], str]], size: int
) -> None:
    found = document(*sections)
    passages = chunks(found, size=size)
    assert "".join("".join(c.text for c in passages).split()) == "".join("".join(t for _, t in sections).split())
    starts = {chunk.start for chunk in passages}
    assert len(starts) == len(passages)
    for chunk in passages:
        assert 0 < len(chunk.text) <= size
        assert chunk.text == chunk.text.strip()
        home = max((section for section in found.sections if section.start <= chunk.start), key=lambda s: s.start)
        assert home.text[chunk.start - home.start : chunk.end - home.start] == chunk.text


WORDS = st.sampled_from(["population", "2,345,678", "Ouagadougou", "—", "人口", "ﷺ", "a" * 60, "()[]{}!?.;", "\n\n"])


@given(st.lists(WORDS, max_size=200))
@settings(max_examples=30, deadline=None)
def test_no_passage_is_longer_than_what_the_embedder_reads(minilm: MiniLMEmbedder, words: list[str]) -> None:
    """R-A7: long input is never cut silently. Counted with title and section, as it is embedded."""
    found = document((("People and Society", "Population"), " ".join(words)))
    for chunk in chunks(found, embedder=minilm, size=5000):
        assert minilm.count_tokens(chunk.search_text) <= minilm.max_tokens


def test_passages_are_filled_not_shredded(minilm: MiniLMEmbedder) -> None:
    text = "The population of the country grew by two percent in the year. " * 40
    found = chunks(document((("People",), text)), embedder=minilm, size=5000)
    counts = [minilm.count_tokens(chunk.search_text) for chunk in found]
    assert min(counts[:-1]) > 0.8 * minilm.max_tokens


def test_a_heading_longer_than_the_embedder_reads_does_not_shred_the_text(minilm: MiniLMEmbedder) -> None:
    found = chunks(document((("A very long heading " * 100,), "Two short sentences. Nothing more.")), embedder=minilm)
    assert len(found) <= 2


def test_a_long_word_is_cut_at_exactly_the_setting() -> None:
    """R-B2: falls back to a hard cut, and length <= size always holds."""
    assert [len(chunk.text) for chunk in chunks(document(((), "a" * 1000)), size=300)] == [300, 300, 300, 100]
