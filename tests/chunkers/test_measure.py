"""Shares of a size: in characters, in tokens, and of what the embedder reads below a heading."""

from __future__ import annotations

import pytest

from chatbot.chunkers.limits import Unit, chunk_limits
from chatbot.chunkers.measure import Measure
from chatbot.embedders.minilm import MiniLMEmbedder
from chatbot.protocols import Embedder
from tests.chunkers.conftest import CountingEmbedder


def measure(embedder: Embedder, size: int, unit: Unit, *, overlap: int = 10) -> Measure:
    limits = chunk_limits(embedder, size=size, unit=unit)
    return Measure(embedder, limits, overlap=overlap, known=())


def share(measured: Measure, text: str, heading: str = "") -> float:
    return measured.passage(heading, text, 0, len(text))


def test_characters_are_a_share_of_the_size() -> None:
    found = measure(CountingEmbedder(max_tokens=1000), 200, "characters")
    assert [share(found, "a" * n) for n in (50, 200, 201)] == [0.25, 1, 1.005]
    assert [found.overlap("a" * 20, 0, n) for n in (5, 10, 11)] == [0.5, 1, 1.1]


def test_tokens_are_a_share_of_the_size() -> None:
    found = measure(CountingEmbedder(max_tokens=1000), 20, "tokens")
    assert [share(found, "word " * n) for n in (10, 20, 21)] == [0.5, 1, 1.05]
    assert [found.overlap("word " * 20, 0, 5 * n) for n in (5, 10, 11)] == [0.5, 1, 1.1]


def test_what_the_embedder_reads_counts_with_the_heading() -> None:
    found = measure(CountingEmbedder(max_tokens=30), 120, "characters")
    assert share(found, "a b " * 15) == 1
    assert share(found, "a b " * 13, "four words of heading") == 1
    assert share(found, "a b " * 15, "four words of heading") > 1


def test_a_heading_leaves_at_least_half() -> None:
    found = measure(CountingEmbedder(max_tokens=30), 120, "characters")
    heading = "word " * 500
    assert share(found, "long-word " * 15, heading) > 1  # longer than the 120 characters
    assert share(found, "word " * 15, heading) == 1
    assert share(found, "word " * 16, heading) > 1


def test_few_characters_may_be_many_tokens(minilm: MiniLMEmbedder) -> None:
    """A Korean syllable is up to three tokens to MiniLM: 200 of them are more than it reads."""
    assert share(measure(minilm, 900, "characters"), "각 " * 100) > 1


def test_what_is_far_too_long_is_not_counted() -> None:
    embedder = CountingEmbedder(max_tokens=1000)
    assert share(measure(embedder, 20, "tokens"), "word " * 10_000) > 1
    assert embedder.counted == 0


@pytest.mark.parametrize("unit", ["characters", "tokens"])
def test_the_heading_is_counted_once(unit: Unit) -> None:
    embedder = CountingEmbedder(max_tokens=100)
    found = measure(embedder, 80, unit)
    for _ in range(50):
        share(found, "a b " * 20, "h" * 1000)
    assert embedder.counted < 1010 + 50 * 81
