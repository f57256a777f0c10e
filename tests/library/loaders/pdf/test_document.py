"""PDF: pages, titles and headings; what cannot be read is refused by name."""

from contextlib import closing
from pathlib import Path

import pytest

from chatbot.domain import Loaded
from chatbot.domain.errors import LoadError
from chatbot.library.loaders.isolation import LoaderPool
from chatbot.library.loaders.ocr import INSTALLED, Ocr
from chatbot.library.loaders.pdf import PdfLoader
from tests.data import cases
from tests.library.loaders.pdfs import Page, prose, write

CASES = cases(__file__)


def load(path: Path) -> Loaded:
    return PdfLoader().load(path)


def sections(loaded: Loaded) -> list[tuple[tuple[str, ...], int | None, str]]:
    return [(section.path, section.page, section.text) for section in loaded.sections]


def body(*pages: Page) -> list[Page]:
    """The pages with enough text to tell the body from the headings."""
    return [page.lines(72, 500, prose("Body", 6, each=60)) for page in pages]


def test_headings_become_paths_and_a_section_goes_on_over_pages(tmp_path: Path) -> None:
    first = (
        Page().text(72, 100, "Land Report", size=24).text(72, 140, "People", size=16)
    )
    first.text(72, 170, "Growth", size=13, bold=True).text(
        72, 190, "It was 2.09 percent."
    )
    first.text(72, 220, "Births", size=13, bold=True)
    second = (
        Page()
        .text(72, 100, "There were 26.")
        .text(72, 140, "Land", size=16)
        .text(72, 160, "It is big.")
    )
    loaded = load(write(tmp_path / "report.pdf", [first, second]))
    assert (loaded.title, loaded.pages) == ("Land Report", 2)
    assert sections(loaded) == [
        (("People", "Growth"), 1, "It was 2.09 percent."),
        (("People", "Births"), 2, "There were 26."),
        (("Land",), 2, "It is big."),
    ]


def test_short_bold_lines_are_headings_and_bold_words_in_a_line_are_none(
    tmp_path: Path,
) -> None:
    page = (
        Page()
        .text(72, 100, "Background", bold=True)
        .text(72, 115, "Note:", bold=True)
        .text(102, 115, "a word.")
    )
    loaded = load(write(tmp_path / "report.pdf", body(page)))
    assert [
        (path, text.split(" Body")[0].split("\n")[0])
        for path, _, text in sections(loaded)
    ] == [(("Background",), "Note: a word.")]


@pytest.mark.parametrize(
    ("line", "rest", "heading"), CASES["a heading goes on in the line below"]
)
def test_a_heading_goes_on_in_the_line_below(
    tmp_path: Path, line: str, rest: str, heading: str
) -> None:
    page = Page().text(72, 100, line, bold=True).text(72, 115, rest)
    [(path, _, text)] = sections(load(write(tmp_path / "r.pdf", body(page))))
    assert (path, text.split(" Body")[0].split("\n")[0]) == ((heading,), "It begins.")


def test_a_heading_with_nothing_below_it_is_kept_as_text(tmp_path: Path) -> None:
    page = (
        Page()
        .text(72, 100, "Jane Roe", size=14)
        .text(72, 130, "May 2024", size=14)
        .text(72, 160, "One", size=14)
    )
    page.text(72, 180, "First comes the text of this section.").text(
        72, 220, "The end", size=14
    )
    assert sections(load(write(tmp_path / "r.pdf", [page], title="A Report"))) == [
        ((), 1, "Jane Roe\n\nMay 2024"),
        (("One",), 1, "First comes the text of this section."),
        ((), 1, "The end"),
    ]


@pytest.mark.parametrize(("said", "title"), CASES["titles"].items())
def test_the_title_is_what_the_file_says_if_that_is_a_title(
    tmp_path: Path, said: str, title: str
) -> None:
    pages = body(Page().text(72, 80, "The Heading", size=20))
    assert load(write(tmp_path / "kenya-2024.pdf", pages, title=said)).title == title


def test_without_title_and_heading_the_file_name_is_the_title(tmp_path: Path) -> None:
    assert load(write(tmp_path / "minutes.pdf", body(Page()))).title == "minutes"


def test_a_heading_that_repeats_the_title_is_no_section(tmp_path: Path) -> None:
    pages = body(Page().text(72, 80, "Annual  REPORT", size=20))
    loaded = load(write(tmp_path / "r.pdf", pages, title="Annual Report"))
    assert [path for path, _, _ in sections(loaded)] == [()]


def test_a_password_against_changes_only_does_not_keep_the_text_back(
    tmp_path: Path,
) -> None:
    path = write(
        tmp_path / "r.pdf", body(Page()), title="Sealed Report", user="", owner="secret"
    )
    loaded = load(path)
    assert b"Sealed Report".hex().encode() not in path.read_bytes()
    assert loaded.title == "Sealed Report"
    assert loaded.sections[0].text.startswith("Body 00 lorem")


def test_a_password_to_open_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = write(
        tmp_path / "closed.pdf", body(Page()), user="open sesame", owner="secret"
    )
    with pytest.raises(LoadError) as raised:
        load(path)
    assert raised.value.message == (
        "closed.pdf is protected with a password. Save it without one and load "
        "that file."
    )


STAMPED = [
    Page().scan().text(72, 780, "Downloaded from example.org on 3 May 2024")
    for _ in range(4)
]
SCANS = {
    "pictures": (
        [Page().scan(), Page().scan()],
        "r.pdf has no text: it is a scan or holds pictures only. Install the extra ocr",
    ),
    "with a stamp on each page": (STAMPED, "r.pdf has no text"),
    "a blank page": ([Page()], "r.pdf has no text"),
}


@pytest.mark.skipif(INSTALLED, reason="the extra ocr reads scans")
@pytest.mark.parametrize(("pages", "message"), SCANS.values(), ids=SCANS)
def test_a_scan_is_named_with_what_to_do(
    tmp_path: Path, pages: list[Page], message: str
) -> None:
    with pytest.raises(LoadError) as raised:
        load(write(tmp_path / "r.pdf", pages))
    assert raised.value.message.startswith(message)


def test_a_picture_page_among_text_is_skipped_and_text_over_a_picture_is_read(
    tmp_path: Path,
) -> None:
    pages = [
        *body(Page()),
        Page().scan(),
        *body(Page().scan()),
        Page().scan(),
        Page().scan(),
    ]
    loaded = load(write(tmp_path / "r.pdf", pages))
    assert [section.page for section in loaded.sections] == [1, 3]
    assert (loaded.pages, loaded.notes) == (
        5,
        (f"3 of 5 pages are images. {Ocr().missing}.",),
    )


def test_the_pages_of_a_file_are_counted_while_they_are_read(tmp_path: Path) -> None:
    path, read = (
        write(tmp_path / "r.pdf", [*body(Page()), *body(Page())]),
        list[tuple[int, int]](),
    )
    with closing(LoaderPool(1)) as pool:
        assert pool.load(path, on_page=lambda *at: read.append(at)) == load(path)
    assert read == [(1, 2), (2, 2)]


def test_a_bold_row_of_figures_is_no_heading(tmp_path: Path) -> None:
    page = Page().text(72, 80, "2. Ministries 2023", size=14)
    page.text(72, 110, "Ministry of Tea 2,023 31,062.94 12.5", bold=True)
    pages = body(page)
    found = sections(load(write(tmp_path / "r.pdf", pages)))
    assert {path for path, _, _ in found} == {()}
    assert "Ministry of Tea 2,023 31,062.94 12.5" in found[0][2]
