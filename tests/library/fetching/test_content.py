"""What arrived: types, file names, encodings."""

from pathlib import Path

import pytest

from chatbot.domain.errors import LoadError
from chatbot.library.fetching import fetch
from chatbot.library.fetching.transport import ANYWHERE
from tests.data import cases
from tests.fakes.web_server import Page, WebServer

CASES = cases(__file__)

OFFICE = "application/vnd.openxmlformats-officedocument"


def fetched(server: WebServer, folder: Path, page: Page, path: str = "/a") -> Path:
    server.pages[path] = page
    return fetch(server.url(path), folder, rules=ANYWHERE)


@pytest.mark.parametrize(
    ("path", "content_type", "name"),
    [
        *CASES["the_type_gives_the_suffix"],
        ("/a", f"{OFFICE}.wordprocessingml.document", "a.docx"),
        ("/a", f"{OFFICE}.spreadsheetml.sheet", "a.xlsx"),
        ("/a", f"{OFFICE}.presentationml.presentation", "a.pptx"),
    ],
)
def test_the_type_gives_the_suffix(
    path: str, content_type: str | None, name: str, server: WebServer, tmp_path: Path
) -> None:
    assert fetched(server, tmp_path, Page(b"x", content_type), path).name == name


@pytest.mark.parametrize(
    ("path", "content_type", "said"),
    CASES["other_types_are_refused_with_those_that_are_read"],
)
def test_other_types_are_refused_with_those_that_are_read(
    path: str, content_type: str | None, said: str, server: WebServer, tmp_path: Path
) -> None:
    with pytest.raises(LoadError) as caught:
        fetched(server, tmp_path, Page(b"x", content_type), path)
    assert said in caught.value.message
    assert "Readable: HTML, PDF, Word (.docx)" in caught.value.message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("disposition", "name"), CASES["names_stay_in_the_folder"])
def test_names_stay_in_the_folder(
    disposition: str, name: str, server: WebServer, tmp_path: Path
) -> None:
    headers = {"Content-Disposition": disposition}
    found = fetched(server, tmp_path, Page(b"x", "application/pdf", headers=headers))
    assert found == tmp_path / name
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("letter", ["a", "%E0%A4%95"])
def test_a_long_name_is_cut_between_characters(
    letter: str, server: WebServer, tmp_path: Path
) -> None:
    found = fetched(server, tmp_path, Page(b"x"), "/" + letter * 150)
    assert len(found.name.encode()) <= 105
    assert len(set(found.stem)) == 1


@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        ("iso-8859-1", "Côte d’Ivoire".encode("windows-1252"), "Côte d’Ivoire"),
        ("Shift_JIS", "日本の人口".encode("shift_jis"), "日本の人口"),
        ('"windows-1251"', "Украина".encode("windows-1251"), "Украина"),
        ("utf-16le", "Kenya".encode("utf-16le"), "Kenya"),
        ("iso-8859-1", "Côte".encode(), "Côte"),
        ("utf-8", "Côte".encode(), "Côte"),
    ],
)
def test_a_text_whose_encoding_only_the_header_tells(
    charset: str, data: bytes, text: str, server: WebServer, tmp_path: Path
) -> None:
    found = fetched(server, tmp_path, Page(data, f"text/plain; charset={charset}"))
    assert found.read_text(encoding="utf-8-sig") == text


@pytest.mark.parametrize(
    ("content_type", "data"),
    [
        ("text/plain; charset=windows-1252", b"\x81\x8d"),
        ("text/plain; charset=unicode_escape", b"\xe4"),
        ("text/plain; charset=iso-8859-99", b"\xe4"),
        ("application/pdf; charset=iso-8859-1", b"%PDF\xe4"),
    ],
    ids=str,
)
def test_other_bytes_stay_as_they_came(
    content_type: str, data: bytes, server: WebServer, tmp_path: Path
) -> None:
    assert fetched(server, tmp_path, Page(data, content_type)).read_bytes() == data
