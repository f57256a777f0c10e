"""Everything that is said to people is said in each language, and nothing is said
beside the words.
"""

import json
import re
from pathlib import Path

import pytest

from chatbot.config import STATIC, TEMPLATES
from chatbot.language.words import ENGLISH, LANGUAGES, counted, in_english, speaking
from tests.words import in_answers, in_messages, in_scripts, in_templates

OTHERS = [language for language in LANGUAGES if language != ENGLISH]
_PLACE = re.compile(r"\{(\w+)\}")
_FORM = re.compile(r"\|(?:zero|two|few|many|other)$")
"""Of a text with a number: a plural form that only some languages have."""
_BARE_TEXT = re.compile(
    r">([^<>{}]*[A-Za-z]{3,}[^<>{}]*)<|\b(?:aria-label|title|placeholder)=\"((?!https://)[^\"{]*[A-Za-z]{3,}[^\"{]*)\""
)
_LITERAL = re.compile(
    r"""(?<![\w.]t\()(?<!\(t\()"([A-Z][a-z]+ [^"]*)"|(?<!t\()`([A-Z][a-z]+ [^`]*)`"""
)
_COMMENT = re.compile(r"/\*.*?\*/|^\s*//.*?$", re.DOTALL | re.MULTILINE)
PAGES = sorted(TEMPLATES.glob("*.html"))
OF_MACHINES = re.compile(r"^M[-\d]|^The session could not be loaded")
"""Outlines of shapes, and what only the console shows."""


@pytest.fixture(scope="module")
def in_english_words() -> set[str]:
    return {*in_templates(), *in_scripts(), *in_answers()}


@pytest.mark.parametrize("language", OTHERS)
def test_no_word_is_missing_and_none_is_left_over(
    language: str, in_english_words: set[str]
) -> None:
    words = json.loads((STATIC / "words" / f"{language}.json").read_text("utf-8"))
    forms = {text for text in words if _FORM.search(text)}
    assert {_FORM.sub("", text) for text in forms} <= in_english_words
    texts = set(words) - forms
    assert in_english_words <= texts <= in_english_words | in_messages()
    assert all(words.values())
    for english, said in words.items():
        # A dual says its number itself.
        if not english.endswith("|two"):
            places = sorted(_PLACE.findall(english))
            assert sorted(_PLACE.findall(said)) == places, english


def test_no_reader_is_told_the_name_of_a_setting(in_english_words: set[str]) -> None:
    for_administrators = "Set OPENAI_API_KEY, or CHAT_MODEL for another provider"
    for text in in_english_words | in_messages_of_the_page():
        if not text.startswith(for_administrators):
            assert not re.search(r"\b[A-Z]{3,}_[A-Z]{2,}", text), text


def in_messages_of_the_page() -> set[str]:
    """Of errors and notes, those that the page translates."""
    return set(json.loads((STATIC / "words" / "fr.json").read_text("utf-8")))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_templates_say_nothing_by_themselves(path: Path) -> None:
    text = re.sub(
        r"\{#.*?#\}|<script.*?</script>", "", path.read_text("utf-8"), flags=re.DOTALL
    )
    assert [found for found in _BARE_TEXT.findall(text) if any(found)] == []


def test_scripts_say_nothing_by_themselves() -> None:
    said = []
    for path in (STATIC / "js").rglob("*.js"):
        script = _COMMENT.sub("", path.read_text("utf-8"))
        said += [
            one or other
            for one, other in _LITERAL.findall(script)
            if not OF_MACHINES.match(one or other)
        ]
    known = set(in_scripts())
    assert [text for text in said if text not in known] == []


def test_what_is_said_in_a_language() -> None:
    say = speaking("es")
    assert (
        say("There is no report on {names}.", names="Atlantis {1}")
        == "No hay ningún informe sobre Atlantis {1}."
    )
    assert say("A word that nobody translated") == "A word that nobody translated"
    assert [counted(say, number, "country") for number in (1, 1200)] == [
        "1 país",
        "1,200 países",
    ]
    arabic = speaking("ar")
    assert [counted(arabic, number, "report") for number in (2, 7, 80, 101)] == [
        "تقريران",
        "7 تقارير",
        "80 تقريرًا",
        "101 تقرير",
    ]
    assert in_english("{braces} without values") == "{braces} without values"
