"""`sentence`: whole sentences up to the size."""

from __future__ import annotations

from tests.chunkers.conftest import section, texts


def test_sentences_are_kept_whole() -> None:
    """The seed's own example; a size of 30 there gave 38 characters, and an overlap cut a sentence."""
    text = "AI is amazing. It can recognize images. It can understand text. It can generate content."
    assert texts("sentence", text, size=40, overlap=25) == [
        "AI is amazing. It can recognize images.",
        "It can understand text.",
        "It can generate content.",
    ]
    assert texts("sentence", text, size=50, overlap=25) == [
        "AI is amazing. It can recognize images.",
        "It can recognize images. It can understand text.",
        "It can understand text. It can generate content.",
    ]


def test_an_abbreviation_ends_no_sentence() -> None:
    assert texts("sentence", "He met Dr. Who today. She left.", size=24) == ["He met Dr. Who today.", "She left."]


def test_a_sentence_longer_than_the_size_is_cut_between_words() -> None:
    text = "Short. This one is a little longer. Short."
    assert texts("sentence", text, size=16) == ["Short.", "This one is a", "little longer.", "Short."]


def test_a_heading_does_not_stand_alone() -> None:
    found = texts("sentence", section("A sentence of some length. More.", "Growth"), size=34)
    assert found == ["Growth\nA sentence of some length.", "More."]
