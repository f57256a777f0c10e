"""`sliding_window`: windows of one length, moved to word borders."""

from __future__ import annotations

from tests.chunkers.conftest import texts


def test_windows_are_moved_to_words() -> None:
    """The seed's own example, with its figures; there words are cut."""
    text = "The quick brown fox jumps over the lazy dog."
    assert texts("sliding_window", text, size=10, overlap=2) == [
        "The quick",
        "brown fox",
        "jumps over",
        "the lazy",
        "dog.",
    ]


def test_the_overlap_is_in_whole_words() -> None:
    assert texts("sliding_window", "aa bb cc dd ee ff", size=8, overlap=4) == ["aa bb cc", "cc dd ee", "ee ff"]


def test_sentences_and_paragraphs_are_no_borders() -> None:
    assert texts("sliding_window", "One. Two.\n\nThree", size=12) == ["One. Two.", "Three"]
    assert texts("sliding_window", "One.\n\nTwo. Three", size=12) == ["One.\n\nTwo.", "Three"]


def test_a_text_without_spaces_is_cut_anywhere_with_the_overlap() -> None:
    assert texts("sliding_window", "abcdefghij", size=4, overlap=1) == ["abcd", "defg", "ghij"]
    assert texts("sliding_window", "人口增长率百分之二", size=4, overlap=2) == [
        "人口增长",
        "增长率百",
        "率百分之",
        "分之二",
    ]
