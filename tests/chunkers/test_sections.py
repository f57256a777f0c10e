"""`sections`: one passage per section, cut only where it is too long for the setting or the embedder (R-B2, R-A7)."""

from __future__ import annotations

from chatbot.embedders.minilm import MiniLMEmbedder
from chatbot.schema import Chunk
from tests.chunkers.conftest import cut, document, section, texts


def test_short_sections_are_not_joined() -> None:
    """MODELS.md: a passage about many things is found by none of them."""
    rows = [section("2.09%", "People", "Growth"), section("26.4 births", "People", "Births"), section("Preface")]
    assert [(chunk.section, chunk.text) for chunk in cut("sections", document(*rows), size=900)] == [
        ("People › Growth", "2.09%"),
        ("People › Births", "26.4 births"),
        ("", "Preface"),
    ]


def test_a_chunk_is_all_that_is_known_of_its_document_and_place() -> None:
    found = document(section("first", "A", page=1), section("second", "B", page=2))
    assert cut("sections", found, size=900)[1] == Chunk(
        id="doc-v1-00001",
        document_id="doc",
        document_name="kenya",
        title="Kenya 2023",
        text="second",
        section="B",
        page=2,
        ordinal=1,
        start=len("A\nfirst\n\nB\n"),
        end=len("A\nfirst\n\nB\nsecond"),
        metadata={"country_name": "Kenya", "year": 2023},
        collection="c",
        labels=("a",),
        description="about",
    )


def test_a_long_section_is_cut_at_the_best_borders() -> None:
    text = "short\n\nline one\nA clause; another one. Last\n\nend"
    assert texts("sections", text, size=12) == ["short", "line one", "A clause;", "another one.", "Last", "end"]


def test_passages_are_filled_not_shredded(minilm: MiniLMEmbedder) -> None:
    text = "The population of the country grew by two percent in the year. " * 40
    found = cut("sections", document(section(text, "People")), embedder=minilm, size=5000)
    counts = [minilm.count_tokens(chunk.search_text) for chunk in found]
    assert min(counts[:-1]) > 0.8 * minilm.max_tokens


def test_a_heading_longer_than_the_embedder_reads_does_not_shred_the_text(minilm: MiniLMEmbedder) -> None:
    row = section("Two short sentences. Nothing more.", "A very long heading " * 100)
    assert len(cut("sections", document(row), embedder=minilm, size=900)) == 1


def test_a_long_word_is_cut_at_exactly_the_setting() -> None:
    """R-B2: falls back to a hard cut, and length <= size always holds."""
    assert [len(text) for text in texts("sections", "a" * 1000, size=300)] == [300, 300, 300, 100]
