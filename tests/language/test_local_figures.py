"""Figures as the language of an answer writes them."""

import pytest

from chatbot.language.figures import figures
from chatbot.language.local_figures import local_text, spellings
from chatbot.language.words import LANGUAGES, in_english, speaking

SPACE = "\u202f"


@pytest.mark.parametrize(
    ("language", "text", "written"),
    [
        ("fr", "4.5%", "4,5%"),
        ("fr", "58,246,378", f"58{SPACE}246{SPACE}378"),
        ("fr", "$328.6 billion", "$328,6 milliards"),
        ("fr", "54.4 years", "54,4 ans"),
        ("es", "1,234 deaths/100,000 live births", "1234 deaths/100.000 live births"),
        ("es", "$328.6 billion", "$328,6 mil millones"),
        ("pt", "1,234.56 km", "1.234,56 km"),
        ("ar", "4.06 times", "4.06 مرات"),
        ("fr", "12.05.2024", "12.05.2024"),
        ("fr", "2024", "2024"),
    ],
)
def test_a_figure_is_written_as_its_language_does(
    language: str, text: str, written: str
) -> None:
    assert local_text(text, speaking(language)) == written


@pytest.mark.parametrize("text", ["4.5%", "58,246,378", "$328.6 billion", "0.25 kg"])
def test_what_is_written_is_read_as_the_same_value(text: str) -> None:
    assert local_text(text, in_english) == text
    (value,) = figures(text)[0].values
    for written in spellings(text):
        commas = written.count(",") == 1 and text.count(",") == 0
        assert value in figures(written, comma=commas)[0].values, written


def test_each_language_has_its_words() -> None:
    for language in set(LANGUAGES) - {"en"}:
        for word in ("million", "billion", "trillion", "times", "years"):
            assert local_text(f"5 {word}", speaking(language)) != f"5 {word}"
