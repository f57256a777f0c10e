"""No page is lost, and no letter without a note."""

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from chatbot.domain import Loaded
from chatbot.domain.documents import document_text
from chatbot.library.loaders import read_file
from chatbot.library.loaders.pdf import PdfLoader, page
from chatbot.library.loaders.pdf.drawing import DrawnPage, Loss
from chatbot.library.loaders.pdf.page import PageText, PdfPageReader
from chatbot.library.loaders.pdf.pages import LOSS_NOTE, MISSING_NOTE, PLAIN_NOTE
from chatbot.library.loaders.pdf.pdfium import letters_of
from chatbot.library.loaders.pdf.words import Word, page_words
from tests.library.loaders.pdfs import Page, prose, write


def loaded_from(path: Path) -> Loaded:
    return read_file(PdfLoader(), path)


def text_of(folder: Path, *pages: Page) -> str:
    return document_text(loaded_from(write(folder / "r.pdf", pages)).sections)


@pytest.mark.parametrize(("lines", "is_noted"), [(20, True), (60, False)])
def test_letters_that_were_not_read_are_noted_from_two_in_a_hundred_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: int, is_noted: bool
) -> None:
    def without_last_line(drawn: DrawnPage) -> list[Word]:
        words = page_words(drawn)
        last = max(word.bottom for word in words)
        return [word for word in words if word.bottom < last]

    monkeypatch.setattr(page, "page_words", without_last_line)
    text = Page().lines(72, 60, ["Tea is grown on the hills"] * lines, leading=11)
    path = write(tmp_path / "r.pdf", [text])
    note = MISSING_NOTE.format(count=20, pages="page 1")
    assert (note in loaded_from(path).notes) is is_noted


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


NAMES = ("Arbo", "Belun", "Corva", "Dimsa", "Eltra", "Fosso", "Gindu", "Halor")


def drawn_at_random(dice: random.Random) -> Page:
    """A page of prose, a table with or without rules, and text in other directions."""
    drawn = Page()
    y = 120
    for _ in range(dice.randrange(1, 4)):
        drawn.lines(72, y, prose(dice.choice(NAMES), dice.randrange(2, 7)))
        y += 110
    columns = [72 + 90 * at for at in range(dice.randrange(2, 6))]
    rows = dice.randrange(3, 9)
    if dice.random() < 0.5:
        drawn.grid([*columns, 560], [y - 12 + 14 * at for at in range(rows + 2)])
    heads = dice.sample(NAMES, len(columns))
    drawn.row(y, list(zip([x + 4 for x in columns], heads, strict=True)))
    for at in range(rows):
        figures = [f"{dice.randrange(10_000):,}" for _ in columns[1:]]
        cells = [NAMES[at % len(NAMES)], *figures]
        drawn.row(
            y + 14 * (at + 1), list(zip([x + 4 for x in columns], cells, strict=True))
        )
    for turn in dice.sample((1, 2, 3), dice.randrange(4)):
        x, low = {1: (30, 500), 2: (400, 40), 3: (580, 200)}[turn]
        drawn.sideways(x, low, f"{dice.choice(NAMES)} turned", turn=turn)
    return drawn


def letters_drawn(drawn: Page) -> Counter[str]:
    strings = re.findall(r"<([0-9a-f]+)> Tj", "\n".join(drawn.ops))
    return letters_of("".join(bytes.fromhex(each).decode("cp1252") for each in strings))


def letters_read(found: Loaded) -> Counter[str]:
    parts = [found.title, *found.margins]
    for section in found.sections:
        parts += [*section.path, section.text]
    return letters_of(" ".join(parts))


@pytest.mark.parametrize("seed", range(12))
def test_the_letters_that_are_drawn_are_read(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    pages = [drawn_at_random(dice) for _ in range(4)]
    written = sum(map(letters_drawn, pages), Counter[str]())
    found = loaded_from(write(tmp_path / "r.pdf", pages))
    assert (written & letters_read(found)).total() >= 0.999 * written.total()
    assert not found.notes


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_file_loses_no_page_that_is_whole(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    pages = [Page().lines(72, 100, prose(name, 6)) for name in NAMES]
    path = write(tmp_path / "r.pdf", pages)
    content = bytearray(path.read_bytes())
    number = dice.randrange(len(NAMES))
    # The drawing operators of one page, in a stream of its own.
    start = content.index(b"stream", content.index(b"%d 0 obj" % (11 + 2 * number)))
    for _ in range(dice.choice((1, 5, 30))):
        content[start + dice.randrange(12, 60)] ^= 1 << dice.randrange(8)
    path.write_bytes(content)
    found = loaded_from(path)
    text = document_text(found.sections)
    for at, name in enumerate(NAMES):
        if at != number:
            assert f"{name} 05 lorem" in text
