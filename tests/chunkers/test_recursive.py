"""`recursive`: the best border there is, merged up to the size."""

from __future__ import annotations

from tests.chunkers.conftest import section, texts


def test_paragraphs_are_joined_up_to_the_size() -> None:
    assert texts("recursive", "aaaa\n\nbbbb\n\ncccc", size=10) == ["aaaa\n\nbbbb", "cccc"]


def test_a_long_paragraph_is_cut_at_lines_then_clauses_then_words() -> None:
    text = "short\n\nline one\nA clause; another one. Last\n\nend"
    assert texts("recursive", text, size=12) == ["short", "line one", "A clause;", "another one.", "Last", "end"]


def test_the_overlap_is_in_whole_pieces() -> None:
    assert texts("recursive", "one\n\ntwo\n\nthree\n\nfour", size=13, overlap=5) == [
        "one\n\ntwo",
        "two\n\nthree",
        "three\n\nfour",
    ]


def test_sections_are_joined_with_their_headings() -> None:
    rows = [section("2.09%", "People", "Growth"), section("52 million", "People", "Population")]
    assert texts("recursive", *rows, size=100) == ["Growth\n2.09%\n\nPopulation\n52 million"]


def test_a_heading_does_not_stand_alone() -> None:
    """Not even above a text that is cut: nothing would be found in such a passage."""
    found = texts("recursive", section("One sentence here. And another one.", "Growth"), size=25)
    assert found == ["Growth\nOne sentence here.", "And another one."]
