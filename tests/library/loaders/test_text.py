"""Plain text: its encodings, and what is none."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.domain import Loaded, Section
from chatbot.domain.errors import LoadError
from chatbot.library.loaders.markdown import TextLoader
from chatbot.library.loaders.text import MAX_TEXT_BYTES, clean, decode
from tests.data import cases
from tests.library.helpers import written

CASES = cases(__file__)
OLDER = CASES["older encodings"]
FRENCH, RUSSIAN = OLDER["French"][0], OLDER["Russian"][0]


def test_a_text_file_is_one_section_titled_by_its_name(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff  First.\r\n\r\nÜber zwei.\rThree.  \n".encode())
    assert TextLoader().load(path) == Loaded(
        "notes", (Section((), "First.\n\nÜber zwei.\nThree."),)
    )


@pytest.mark.parametrize(
    "encoding",
    [
        "utf-8",
        "utf-8-sig",
        "utf-16",
        "utf-32",
        "utf-16-le+mark",
        "utf-16-be+mark",
        "utf-32-be+mark",
    ],
)
def test_unicode_is_told_by_its_mark(encoding: str) -> None:
    text = "Größe: 10 km² \N{SNOWMAN} 日本"
    data = (
        f"\ufeff{text}".encode(encoding.removesuffix("+mark"))
        if encoding.endswith("mark")
        else text.encode(encoding)
    )
    assert decode(data, "a.txt") == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [*OLDER.values(), (f"{FRENCH}\n" * 20_000, "cp1252")],
    ids=[*OLDER, "long"],
)
def test_older_encodings_are_recognised(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding), "a.txt") == text


UNSURE = {
    "one Russian word": "Рост".encode("cp1251"),
    "Czech in Windows-1250": "Největší města jsou Praha, Brno a Plzeň.".encode(
        "cp1250"
    ),
    "French of a Macintosh": FRENCH.encode("mac_roman"),
    "French of DOS": FRENCH.encode("cp850"),
    "a cut character": "abc €".encode()[:-1],
    "UTF-8 with a Latin-1 line": f"{RUSSIAN}\n".encode() + "Größe".encode("latin-1"),
}


@pytest.mark.parametrize("content", UNSURE.values(), ids=UNSURE)
def test_an_encoding_that_is_not_sure_is_refused_rather_than_guessed(
    tmp_path: Path, content: bytes
) -> None:
    with pytest.raises(LoadError) as raised:
        TextLoader().load(written(tmp_path, content))
    assert (
        raised.value.message
        == "notes.txt is not UTF-8 text. Save it as UTF-8 and try again."
    )


BROKEN = {
    "empty": (b"", "notes.txt has no text."),
    "blank": (b" \n\t\r\n", "notes.txt has no text."),
    "binary": (b"abc\x00def", "notes.txt is not a text file."),
    "many control characters": (b"\x01\x02abc" * 50, "notes.txt is not a text file."),
    "NUL in UTF-16": ("a\0b".encode("utf-16"), "notes.txt is not a text file."),
    "cut UTF-16": (
        "ab".encode("utf-16")[:-1],
        (
            "notes.txt is damaged: it begins as utf-16 text and does not continue as "
            "such. Save it again as UTF-8."
        ),
    ),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_text_is_refused_by_name(
    tmp_path: Path, content: bytes, message: str
) -> None:
    with pytest.raises(LoadError) as raised:
        TextLoader().load(written(tmp_path, content))
    assert raised.value.message == message


def test_stray_control_characters_become_spaces() -> None:
    assert decode(b"page one\x0cpage two\x1a" + b" text" * 100, "a.txt").startswith(
        "page one\x0cpage two  text"
    )


@given(st.text(alphabet=st.characters(codec=None), max_size=50))
def test_cleaned_text_can_be_written(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert not set("\0\r\x1b") & set(cleaned)
    assert clean(cleaned) == cleaned


def test_a_long_line_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, b"word " * 1_000_000)
    assert len(TextLoader().load(path).sections[0].text) == 4_999_999


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, b"x" * (MAX_TEXT_BYTES + 1))
    with pytest.raises(
        LoadError,
        match=r"^notes\.txt is larger than 50 MB, the limit for a text file\.",
    ):
        TextLoader().load(path)
