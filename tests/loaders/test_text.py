"""Plain text, and what no loader can read: the error names the file and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot.errors import LoadError
from chatbot.loaders import loader_for
from chatbot.loaders.text import TextLoader
from chatbot.schema import Loaded, Section


def written(tmp_path: Path, content: bytes, name: str = "notes.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def test_a_text_file_is_one_section_titled_by_its_name(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff  First.\r\n\r\nÜber zwei.  \n".encode())
    assert TextLoader().load(path) == Loaded("notes", (Section((), "First.\n\nÜber zwei."),))


BROKEN = {
    "empty": (b"", "notes.txt has no text."),
    "blank": (b" \n\t\r\n", "notes.txt has no text."),
    "binary": (b"abc\x00def", "notes.txt is not a text file."),
    "latin-1": ("Côte".encode("latin-1"), "notes.txt is not UTF-8 text. Save it as UTF-8 and try again."),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_text_is_refused_by_name(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(LoadError) as raised:
        TextLoader().load(written(tmp_path, content))
    assert raised.value.message == message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"gone\.txt cannot be read: No such file"):
        TextLoader().load(tmp_path / "gone.txt")


@pytest.mark.parametrize("name", ["a.txt", "a.TXT", "b.text", "c.md", "c.Markdown"])
def test_formats_are_told_by_suffix_in_any_case(name: str) -> None:
    assert Path(name).suffix.lower() in loader_for(Path(name)).suffixes


@pytest.mark.parametrize("name", ["report.xyz", "report"])
def test_an_unread_format_lists_the_readable_ones(name: str) -> None:
    with pytest.raises(LoadError) as raised:
        loader_for(Path("folder") / name)
    assert raised.value.message.startswith(f"{name}: this format is not read. Readable: ")
    for suffix in (".markdown", ".md", ".text", ".txt"):
        assert suffix in raised.value.message
