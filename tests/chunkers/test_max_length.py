"""`max_length` (R-E5): paragraphs joined up to the size, nothing twice."""

from __future__ import annotations

from tests.chunkers.conftest import texts


def test_paragraphs_are_joined_up_to_the_size() -> None:
    """The last paragraph break before 1500 characters is the cut."""
    paragraphs = [f"{n} " + "word " * 99 + "end." for n in range(5)]
    found = texts("max_length", "\n\n".join(paragraphs), size=1500)
    assert found == ["\n\n".join(paragraphs[:2]), "\n\n".join(paragraphs[2:4]), paragraphs[4]]


def test_a_paragraph_longer_than_the_size_is_cut_between_words_then_hard() -> None:
    assert texts("max_length", "a\n\nbb cc dd\n\n" + "e" * 12, size=5) == ["a", "bb cc", "dd", "eeeee", "eeeee", "ee"]
