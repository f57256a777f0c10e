"""What every strategy of the registry keeps (R-B2, R-A7), whatever the text and the
embedder. A new strategy is tested by its line in the registry: what it can do is asked
of it.
"""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatbot.domain import Chunk, Document, Section
from chatbot.domain.documents import SECTION_SEPARATOR, document_text
from chatbot.domain.errors import InvalidRequestError
from chatbot.domain.protocols import Chunker, Embedder
from chatbot.library.chunkers import CHUNKERS
from chatbot.models.embed.hashing import HashingEmbedder
from chatbot.models.embed.minilm import MiniLMEmbedder
from tests.library.chunkers.conftest import CountingEmbedder, cut, document, section

NAMES = CHUNKERS.names()
BUILT: dict[str, Chunker] = {
    name: CHUNKERS.builder(name)(HashingEmbedder(8), chunk_size=100) for name in NAMES
}
OVERLAPPING = [name for name, chunker in BUILT.items() if chunker.takes_overlap]
WITHOUT_OVERLAP = [name for name in NAMES if name not in OVERLAPPING]

PIECES = st.one_of(
    st.sampled_from(
        [
            "the population",
            "2,345,678.",
            "Dr. Who",
            "grew; fell",
            "(2023 est.)",
            "Is it? Yes! No.",
        ]
    ),
    st.sampled_from(["\n", "\n\n", "\n \t\n", "\u00a0", "   ", "\u2003", " "]),
    st.sampled_from(
        [
            "a" * 150,
            "人口" * 40,
            "각나다" * 30,
            "👨‍👩‍👧" * 9,
            "e\u0301" * 30,
            "." * 70,
            "ﷺ",
            "\u200b",
        ]
    ),
    st.text(max_size=20),
)
TEXTS = st.lists(PIECES, max_size=40).map(" ".join) | st.lists(PIECES, max_size=25).map(
    "".join
)
SECTIONS = st.builds(
    Section,
    st.sampled_from(
        [(), ("People",), ("People", "Growth rate"), ("Geography",), ("人口", "概要 2")]
    ),
    TEXTS,
    page=st.sampled_from([None, 1, 2]),
    metadata=st.sampled_from(
        [{}, {}, {"year": 2020}, {"country_name": "Mali", "year": 2020}]
    ),
)
DOCUMENTS = st.lists(SECTIONS, max_size=5).map(lambda found: document(*found))


@st.composite
def figures(draw: st.DrawFn) -> tuple[int, int]:
    """A size, often small, and an overlap below it, often none."""
    size = draw(st.integers(1, 60) | st.integers(60, 400))
    return size, draw(st.just(0) | st.integers(0, size - 1))


def check(
    name: str, found: Document, chunks: list[Chunk], *, size: int, embedder: Embedder
) -> None:
    """Everything that holds whatever the overlap."""
    text = document_text(found.sections)
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    assert [chunk.id for chunk in chunks] == [
        f"doc-v1-{n:05d}" for n in range(len(chunks))
    ]
    assert all(a.start < b.start and a.end < b.end for a, b in pairwise(chunks))
    for chunk in chunks:
        assert chunk.text
        assert chunk.text == chunk.text.strip()
        assert text[chunk.start : chunk.end] == chunk.text
        assert len(chunk.text) <= size
        assert embedder.count_tokens(chunk.search_text) <= embedder.max_tokens
        check_place(found, chunk)
    expected = (
        text if BUILT[name].joins_sections else "".join(s.text for s in found.sections)
    )
    assert without_white_space(rebuilt(chunks)) == without_white_space(expected)


def check_place(found: Document, chunk: Chunk) -> None:
    """Page, section path and metadata of the section the passage starts in; it stays on
    the page and in the row.
    """
    home = next(s for s in found.sections if chunk.start < s.start + len(s.text))
    last = next(s for s in found.sections if chunk.end <= s.start + len(s.text))
    assert (chunk.page, chunk.section) == (home.page, SECTION_SEPARATOR.join(home.path))
    assert chunk.metadata == {**found.metadata, **home.metadata}
    assert (last.page, last.metadata) == (home.page, home.metadata)


def rebuilt(chunks: list[Chunk]) -> str:
    """The text without what neighbours share."""
    ends = [0, *(chunk.end for chunk in chunks)]
    return "".join(
        chunk.text[max(0, end - chunk.start) :]
        for end, chunk in zip(ends, chunks, strict=False)
    )


def without_white_space(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), found=DOCUMENTS)
@settings(max_examples=40)
def test_any_text_is_cut_within_the_size_and_nothing_is_lost(
    name: str, data: st.DataObject, found: Document
) -> None:
    size, overlap = data.draw(figures())
    overlap = 0 if name in WITHOUT_OVERLAP else overlap
    embedder = HashingEmbedder(8)
    chunks = cut(name, found, size=size, overlap=overlap, embedder=embedder)
    check(name, found, chunks, size=size, embedder=embedder)
    check_overlaps(found, chunks, overlap=overlap)
    assert chunks == cut(name, found, size=size, overlap=overlap, embedder=embedder)


def check_overlaps(found: Document, chunks: list[Chunk], *, overlap: int) -> None:
    text = document_text(found.sections)
    for before, after in pairwise(chunks):
        if after.start < before.end:
            assert overlap > 0
            assert len(text[after.start : before.end]) <= overlap


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), found=DOCUMENTS)
@settings(max_examples=15)
def test_no_passage_is_longer_than_what_a_real_model_reads(
    minilm: MiniLMEmbedder, name: str, data: st.DataObject, found: Document
) -> None:
    """R-A7. MiniLM's tokens are neither characters nor words, and more text may be
    fewer of them.
    """
    size = data.draw(st.integers(40, 3000))
    overlap = 0 if name in WITHOUT_OVERLAP else data.draw(st.integers(0, 30))
    chunks = cut(name, found, size=size, overlap=overlap, embedder=minilm)
    check(name, found, chunks, size=size, embedder=minilm)
    check_overlaps(found, chunks, overlap=overlap)


@pytest.mark.parametrize("name", NAMES)
def test_a_document_without_text_has_no_passages(name: str) -> None:
    assert cut(name, document("  \n\n\u00a0 "), size=100) == []
    assert cut(name, document(), size=100) == []


@pytest.mark.parametrize("name", NAMES)
def test_what_is_known_of_document_and_section_is_copied(name: str) -> None:
    """R-B2, R-D7. What a section says of itself wins over the document."""
    row = section("52 million", "People", page=7, metadata={"year": 2020})
    (chunk,) = cut(name, document(row), size=100)
    assert chunk.metadata == {"country_name": "Kenya", "year": 2020}
    assert (chunk.page, chunk.section, chunk.collection) == (7, "People", "c")
    assert (chunk.document_id, chunk.document_name, chunk.title) == (
        "doc",
        "kenya",
        "Kenya 2023",
    )
    assert (chunk.labels, chunk.description) == (("a",), "about")


@pytest.mark.parametrize("name", NAMES)
def test_a_passage_stays_on_its_page_and_in_its_row(name: str) -> None:
    other = {"year": 2020}
    rows = [
        section("one", page=1),
        section("two", page=2),
        section("three", page=2, metadata=other),
    ]
    found = cut(name, document(*rows), size=100)
    assert [(chunk.text, chunk.page, chunk.metadata["year"]) for chunk in found] == [
        ("one", 1, 2023),
        ("two", 2, 2023),
        ("three", 2, 2020),
    ]


@pytest.mark.parametrize("name", OVERLAPPING)
def test_an_overlap_is_there(name: str) -> None:
    """And is no more than asked for (above): words of six characters, each a paragraph
    and a sentence.
    """
    text = "\n\n".join(f"Word{n}." for n in range(100, 400))
    chunks = cut(name, document(text), size=90, overlap=30)
    assert len(chunks) > 3
    shared = [before.end - after.start for before, after in pairwise(chunks)]
    assert min(shared) >= 20


@pytest.mark.parametrize("name", OVERLAPPING)
@pytest.mark.parametrize("overlap", [-1, 100, 1000])
def test_an_overlap_is_at_least_none_and_below_the_size(
    name: str, overlap: int
) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        cut(name, document("text"), size=100, overlap=overlap)
    assert raised.value.details[0]["field"] == "chunk_overlap"
    for part in (str(overlap), "at least 0", "below the chunk size, 100 characters"):
        assert part in raised.value.message


@pytest.mark.parametrize("name", OVERLAPPING)
def test_an_overlap_is_measured_against_the_size_that_is_used(
    name: str, minilm: MiniLMEmbedder
) -> None:
    with pytest.raises(
        InvalidRequestError,
        match=r"below the chunk size, 1016 characters \(2000 asked for",
    ):
        cut(name, document("text"), size=2000, overlap=1016, embedder=minilm)


@pytest.mark.parametrize("name", WITHOUT_OVERLAP)
@pytest.mark.parametrize("overlap", [-1, 1, 50])
def test_an_overlap_is_refused_where_there_is_none(name: str, overlap: int) -> None:
    with pytest.raises(InvalidRequestError, match="no overlap") as raised:
        cut(name, document("text"), size=100, overlap=overlap)
    assert raised.value.details[0]["field"] == "chunk_overlap"
    assert raised.value.details[0]["valid_values"] == [0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [0, -5])
def test_a_size_that_cuts_nothing_is_refused(name: str, size: int) -> None:
    with pytest.raises(InvalidRequestError, match="too small") as raised:
        cut(name, document("text"), size=size)
    assert raised.value.details[0]["field"] == "chunk_size"


@pytest.mark.parametrize("name", NAMES)
def test_no_passage_is_longer_than_the_embedder_reads(
    name: str, minilm: MiniLMEmbedder
) -> None:
    built = CHUNKERS.builder(name)(minilm, chunk_size=1500)
    assert built.longest == 254 * 4
    built = CHUNKERS.builder(name)(minilm, chunk_size=900)
    assert built.longest == 900


@pytest.mark.parametrize("name", NAMES)
def test_each_passage_leaves_room_for_its_own_heading(name: str) -> None:
    embedder = CountingEmbedder(max_tokens=60)
    rows = [
        section("word " * 100, "Short"),
        section("word " * 100, "a rather long heading " * 6),
    ]
    chunks = cut(name, document(*rows), size=400, embedder=embedder)
    counts = [embedder.count_tokens(chunk.search_text) for chunk in chunks]
    assert max(counts) == embedder.max_tokens
    assert {chunk.section for chunk in chunks} == {
        "Short",
        "a rather long heading " * 6,
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_heading_that_leaves_no_room_does_not_shred_the_text(name: str) -> None:
    """Half of what the embedder reads is the text's."""
    embedder = CountingEmbedder(max_tokens=100)
    found = document(section("two words. " * 100, "very long heading " * 60))
    counts = [
        len(chunk.text.split())
        for chunk in cut(name, found, size=4000, embedder=embedder)
    ]
    assert max(counts) == 50
    assert sum(counts) / len(counts) > 40


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "text", ["abcdefghi " * 5_000, "One more. " * 5_000, "a\n\n" * 15_000, "x" * 50_000]
)
def test_tokens_are_counted_a_few_times_over_not_for_every_try(
    name: str, text: str
) -> None:
    """Linear: a text ten times as long takes ten times the work, also without any
    border in it.
    """
    overlap = 0 if name in WITHOUT_OVERLAP else 10
    embedder = CountingEmbedder(max_tokens=60)
    cut(name, document(text), size=200, overlap=overlap, embedder=embedder)
    assert embedder.counted <= 20 * len(text)


@pytest.mark.parametrize("name", NAMES)
def test_texts_embedded_before_are_not_counted(name: str) -> None:
    embedder = CountingEmbedder(max_tokens=60)
    found = document(section("Some words. " * 200, "People"))
    known = {
        chunk.search_text for chunk in cut(name, found, size=200, embedder=embedder)
    }
    before, embedder.counted = embedder.counted, 0
    again = CHUNKERS.builder(name)(embedder, chunk_size=200, known=known).chunk(
        found, version="v1", collection="c"
    )
    assert {chunk.search_text for chunk in again} == known
    assert embedder.counted < before
