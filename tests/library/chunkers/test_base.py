"""What no passage leaves (a page, a row with metadata of its own, a section), and shares of a size."""

from __future__ import annotations

from chatbot.domain import document_text
from chatbot.domain.protocols import Embedder
from chatbot.library.chunkers.base import Measure, chunk_limits, page_stretches, section_stretches
from chatbot.models.embed.minilm import MiniLMEmbedder
from tests.library.chunkers.conftest import CountingEmbedder, document, section

REPORT = document(
    section("first", "People", page=1),
    section("second", "People", "Growth", page=1),
    section("third", "People", "Growth", page=2),
    section("fourth", page=2, metadata={"year": 2020}),
)


def test_consecutive_sections_on_a_page_are_one_stretch_with_their_headings() -> None:
    assert [stretch.text.strip() for stretch in page_stretches(REPORT)] == [
        "People\nfirst\n\nGrowth\nsecond",
        "third",
        "fourth",
    ]


def test_stretches_together_are_the_text_of_the_document() -> None:
    text = document_text(REPORT.sections)
    stretches = list(page_stretches(REPORT))
    assert "".join(stretch.text for stretch in stretches) == text
    assert all(text[stretch.start :].startswith(stretch.text) for stretch in stretches)


def test_a_heading_belongs_to_the_section_below_it() -> None:
    stretch = next(page_stretches(REPORT))
    for word, index in {"People": 0, "first": 0, "Growth": 1, "second": 1}.items():
        assert stretch.section_at(stretch.text.index(word)) == index
    assert {stretch.text[:end].split()[-1] for end in stretch.headings} == {"People", "Growth"}


def test_a_section_by_itself_is_without_its_heading() -> None:
    assert [(stretch.text, stretch.start) for stretch in section_stretches(REPORT)] == [
        (found.text, found.start) for found in REPORT.sections
    ]


def test_a_document_without_sections_has_no_stretches() -> None:
    assert list(page_stretches(document())) == []


def measure(embedder: Embedder, size: int) -> Measure:
    return Measure(embedder, chunk_limits(embedder, size), known=())


def share(measured: Measure, text: str, heading: str = "") -> float:
    return measured.passage(heading, text, 0, len(text))


def test_characters_are_a_share_of_the_size() -> None:
    found = measure(CountingEmbedder(max_tokens=1000), 200)
    assert [share(found, "a" * n) for n in (50, 200, 201)] == [0.25, 1, 1.005]


def test_what_the_embedder_reads_counts_with_the_heading() -> None:
    found = measure(CountingEmbedder(max_tokens=30), 120)
    assert share(found, "a b " * 15) == 1
    assert share(found, "a b " * 13, "four words of heading") == 1
    assert share(found, "a b " * 15, "four words of heading") > 1


def test_a_heading_leaves_at_least_half() -> None:
    found = measure(CountingEmbedder(max_tokens=30), 120)
    heading = "word " * 500
    assert share(found, "long-word " * 15, heading) > 1  # longer than the 120 characters
    assert share(found, "word " * 15, heading) == 1
    assert share(found, "word " * 16, heading) > 1


def test_few_characters_may_be_many_tokens(minilm: MiniLMEmbedder) -> None:
    """A Korean syllable is up to three tokens to MiniLM: 200 of them are more than it reads."""
    assert share(measure(minilm, 900), "각 " * 100) > 1


def test_what_is_far_too_long_is_not_counted() -> None:
    embedder = CountingEmbedder(max_tokens=1000)
    assert share(measure(embedder, 20), "word " * 10_000) > 1
    assert embedder.counted == 0


def test_the_heading_is_counted_once() -> None:
    embedder = CountingEmbedder(max_tokens=100)
    found = measure(embedder, 80)
    for _ in range(50):
        share(found, "a b " * 20, "h" * 1000)
    assert embedder.counted < 1010 + 50 * 81
