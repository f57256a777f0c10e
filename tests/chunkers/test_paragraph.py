"""`paragraph`: whole paragraphs up to the size."""

from __future__ import annotations

from tests.chunkers.conftest import texts

NEURAL = """Neural networks are the backbone of modern AI.
They consist of layers of artificial neurons.

Transformers are a type of neural network.
They rely on attention mechanisms.

Large language models are built on transformers.
They can generate human-like text."""


def test_paragraphs_are_kept_whole() -> None:
    """The seed's own example, with its figures; there the first passage has 172 characters."""
    assert texts("paragraph", NEURAL, size=100, overlap=20) == NEURAL.split("\n\n")


def test_the_overlap_is_in_whole_paragraphs() -> None:
    assert texts("paragraph", "one\n\ntwo\n\nthree\n\nfour", size=13, overlap=5) == [
        "one\n\ntwo",
        "two\n\nthree",
        "three\n\nfour",
    ]


def test_a_paragraph_longer_than_the_size_is_cut_between_words() -> None:
    assert texts("paragraph", "aa bb cc. dd ee\nff\n\ngg", size=8) == ["aa bb", "cc. dd", "ee\nff", "gg"]
