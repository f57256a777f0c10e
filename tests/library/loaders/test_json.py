"""JSON records, documents and JSON Lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from chatbot.domain import Loaded
from chatbot.domain.documents import document_text
from chatbot.domain.errors import LoadError
from chatbot.library.loaders.records import JsonLoader
from tests.data import cases

CASES = cases(__file__)


def load(tmp_path: Path, content: Any, name: str = "data.json") -> Loaded:
    path = tmp_path / name
    path.write_text(
        content if isinstance(content, str) else json.dumps(content), encoding="utf-8"
    )
    return JsonLoader().load(path)


def found(loaded: Loaded) -> list[tuple[tuple[str, ...], str]]:
    return [(section.path, section.text) for section in loaded.sections]


@pytest.mark.parametrize(
    ("content", "sections"), CASES["records"].values(), ids=CASES["records"]
)
def test_lists_of_json_become_sections(
    tmp_path: Path, content: Any, sections: list[tuple[list[str], str]]
) -> None:
    loaded = load(tmp_path, content)
    assert found(loaded) == [(tuple(path), text) for path, text in sections]
    assert loaded.title == "data"


def test_rows_have_metadata_of_their_own(tmp_path: Path) -> None:
    loaded = load(
        tmp_path, [{"Text": "t", "metadata": {"country": "Kenya", "year": 2020}}]
    )
    assert loaded.sections[0].metadata == {"country_name": "Kenya", "year": 2020}


def test_a_document_has_headings_lines_and_rows(tmp_path: Path) -> None:
    content, expected = CASES["a document with headings, lines and rows"]
    loaded = load(tmp_path, content)
    assert loaded.title == "Kenya"
    assert loaded.metadata == {"country_name": "Kenya", "year": 2024}
    assert [[list(path), text] for path, text in found(loaded)] == expected
    text = document_text(loaded.sections)
    assert all(text[s.start : s.start + len(s.text)] == s.text for s in loaded.sections)


@pytest.mark.parametrize(
    ("name", "content"), CASES["lines"].values(), ids=CASES["lines"]
)
def test_lines_of_json_become_sections(tmp_path: Path, name: str, content: str) -> None:
    assert found(load(tmp_path, content, name)) == [(("x",), "a: x"), (("y",), "a: y")]


def test_what_cannot_be_stored_is_replaced(tmp_path: Path) -> None:
    loaded = load(tmp_path, '{"k\\u0000": "a\\u0000b \\ud800 c\\r\\nd"}')
    assert found(loaded) == [(("K",), "a b \ufffd c\nd")]


def test_numbers_stay_as_they_are_written(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        '{"a": 2.10, "b": 1e999, "c": NaN, "d": -Infinity, "e": 12345678901234567890}',
    )
    assert found(loaded) == [
        ((), "A: 2.10\nB: 1e999\nC: NaN\nD: -Infinity\nE: 12345678901234567890")
    ]


BROKEN = {
    **CASES["broken"],
    "deep": (
        "[" * 100_000 + "]" * 100_000,
        "data.json is nested too deeply to be read.",
    ),
    "deep objects": (
        '{"a":' * 990 + "1" + "}" * 990,
        "data.json is nested too deeply to be read.",
    ),
    "a huge number": (
        f'{{"a": {"9" * 5000}}}',
        "data.json has a number with thousands of digits.",
    ),
    "a huge number in a line": (
        f'{{"a": 1}}\n{{"a": {"9" * 5000}}}',
        "data.json is not valid JSON Lines: line 2: a number with thousands",
    ),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_what_is_not_read_is_named(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(LoadError) as raised:
        load(tmp_path, content)
    assert raised.value.message.startswith(message)
