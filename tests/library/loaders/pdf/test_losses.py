"""No page is lost, and no letter without a note."""

from pathlib import Path

import pytest

from chatbot.domain import Loaded
from chatbot.domain.documents import document_text
from chatbot.library.loaders import read_file
from chatbot.library.loaders.pdf import PdfLoader, page
from chatbot.library.loaders.pdf.drawing import DrawnPage, Loss
from chatbot.library.loaders.pdf.page import PageText, PdfPageReader
from chatbot.library.loaders.pdf.pages import LOSS_NOTE, PLAIN_NOTE
from chatbot.library.loaders.pdf.words import Word, page_words
from tests.library.loaders.pdfs import Page, prose, write


def loaded_from(path: Path) -> Loaded:
    return read_file(PdfLoader(), path)


def text_of(folder: Path, *pages: Page) -> str:
    return document_text(loaded_from(write(folder / "r.pdf", pages)).sections)


BOXES = ("[0 792 612 0]", "[612 0 0 792]", "[612 792 0 0]", "[0 0 0 0]", "[7]")


@pytest.mark.parametrize("box", BOXES)
def test_corners_of_a_page_box_come_in_any_order(tmp_path: Path, box: str) -> None:
    path = write(tmp_path / "r.pdf", [Page().text(72, 100, "Tea is grown here.")])
    content = path.read_bytes().replace(b"[0 0 612 792]", box.encode().ljust(13))
    path.write_bytes(content)
    assert document_text(loaded_from(path).sections) == "Tea is grown here."


def test_a_page_may_be_of_negative_height(tmp_path: Path) -> None:
    drawn = Page(["1 0 0 1 0 -792 cm"]).text(72, 100, "Tea is grown here.")
    path = write(tmp_path / "r.pdf", [drawn])
    content = path.read_bytes().replace(b"[0 0 612 792]", b"[0 0 612 -792]")
    path.write_bytes(content)
    found = loaded_from(path)
    assert document_text(found.sections) == "Tea is grown here."
    assert found.notes == ()


def test_a_link_that_cannot_be_parsed_loses_only_itself(tmp_path: Path) -> None:
    drawn = Page().text(72, 100, "Tea is grown here.").field(72, 200, "by Ann")
    drawn.fields.insert(0, "5 0 R")
    path = write(tmp_path / "r.pdf", [drawn])
    path.write_bytes(path.read_bytes().replace(b"/Width 1", b"/\nF _, 1"))
    found = loaded_from(path)
    assert document_text(found.sections) == "Tea is grown here.\n\nby Ann"
    assert found.notes == ()


@pytest.fixture
def two_pages(tmp_path: Path) -> Path:
    first = Page().text(72, 80, "The first", size=16).lines(72, 110, prose("A", 6))
    second = Page().lines(72, 110, prose("B", 6)).text(72, 300, "white", bold=True)
    second.ops[-1] = f"1 g {second.ops[-1]} 0 g"
    return write(tmp_path / "r.pdf", [first, second])


def test_a_page_whose_layout_fails_is_plain_text_and_the_rest_is_as_before(
    two_pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = loaded_from(two_pages)
    read = PdfPageReader.read

    def failing(reader: PdfPageReader, page: DrawnPage) -> list[PageText]:
        if page.page_number == 2:
            raise IndexError
        return read(reader, page)

    monkeypatch.setattr(PdfPageReader, "read", failing)
    found = loaded_from(two_pages)
    assert found.notes == (PLAIN_NOTE.format(pages="page 2"),)
    assert found.sections[0] == before.sections[0]
    assert found.sections[1].text.replace("\n\n", " ") == before.sections[1].text
    assert "white" not in document_text(found.sections)


def test_a_page_that_loses_letters_is_plain_text(
    two_pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def losing(drawn: DrawnPage) -> list[Word]:
        words = page_words(drawn)
        return words[::2] if drawn.page_number == 1 else words

    monkeypatch.setattr(page, "page_words", losing)
    found = loaded_from(two_pages)
    assert PLAIN_NOTE.format(pages="page 1") in found.notes
    assert "lorem ipsum dolor sit amet lorem" in found.sections[0].text


def test_what_is_left_out_is_noted_with_how_much(two_pages: Path) -> None:
    note = LOSS_NOTE.format(why=Loss.HIDDEN, count=5, pages="page 2")
    assert loaded_from(two_pages).notes == (note,)


def test_letters_set_at_an_angle_are_noted(tmp_path: Path) -> None:
    drawn = Page().text(72, 100, "Tea is grown here.")
    drawn.ops.append("BT /F1 40 Tf 0.7 0.7 -0.7 0.7 200 300 Tm (DRAFT) Tj ET")
    found = loaded_from(write(tmp_path / "r.pdf", [drawn]))
    assert document_text(found.sections) == "Tea is grown here."
    assert found.notes == (LOSS_NOTE.format(why=Loss.SLANTED, count=5, pages="page 1"),)


def test_letters_without_a_unicode_value_are_noted(tmp_path: Path) -> None:
    drawn = Page().text(72, 100, "Tea is grown here.")
    drawn.ops.append("BT /F1 10 Tf 72 600 Td <418141> Tj ET")
    found = loaded_from(write(tmp_path / "r.pdf", [drawn]))
    assert found.notes == (
        LOSS_NOTE.format(why=Loss.NO_UNICODE, count=1, pages="page 1"),
    )


def test_each_direction_is_read_in_its_own_order(tmp_path: Path) -> None:
    drawn = Page().lines(72, 100, ["Upright comes first", "and goes on."])
    drawn.sideways(300, 700, "Up the page").sideways(312, 700, "it goes on.")
    drawn.sideways(500, 300, "Down the page", turn=3)
    drawn.sideways(488, 300, "it goes on.", turn=3)
    drawn.sideways(250, 770, "Upside down", turn=2)
    drawn.sideways(250, 758, "it goes on.", turn=2)
    assert text_of(tmp_path, drawn).split("\n\n") == [
        "Upright comes first and goes on.",
        "Up the page it goes on.",
        "Down the page it goes on.",
        "Upside down it goes on.",
    ]


@pytest.mark.parametrize("turn", [1, 3])
def test_a_table_set_sideways_beside_upright_text_keeps_its_columns(
    tmp_path: Path, turn: int
) -> None:
    drawn = Page().lines(72, 80, ["Annex 2", "Districts and what they grow"])
    rows = [("District", "Tea", "Rice"), ("Arbo", "41", "7"), ("Belun", "38", "12")]
    rows += [("Corva", "29", "6"), ("Dimsa", "33", "8")]
    for at, row in enumerate(rows):
        for left, cell in zip((0, 120, 200), row, strict=True):
            if turn == 1:
                drawn.sideways(200 + 16 * at, 600 - left, cell)
            else:
                drawn.sideways(400 - 16 * at, 200 + left, cell, turn=3)
    text = text_of(tmp_path, drawn)
    assert "District: Belun; Tea: 38; Rice: 12" in text
    assert text.startswith("Annex 2 Districts and what they grow")


def test_headings_set_sideways_name_the_columns_below_them(tmp_path: Path) -> None:
    drawn = Page().text(72, 240, "District")
    for x, head in ((200, "Births"), (230, "Pregnant"), (270, "Deaths")):
        drawn.sideways(x, 240, head)
    drawn.sideways(241, 240, "women")
    for at, name in enumerate(("Arbo", "Belun", "Corva", "Dimsa")):
        cells = [(72, name), (192, f"{at}11"), (230, f"{at}22"), (262, f"{at}33")]
        drawn.row(260 + 14 * at, cells)
    text = text_of(tmp_path, drawn)
    assert "District: Belun; Births: 111; Pregnant women: 122; Deaths: 133" in text
    assert text.count("Births") == 4
