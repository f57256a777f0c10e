"""What a file holds and does not show, in Word, PowerPoint, Excel and PDF; web pages
are in test_html.py.
"""

from collections.abc import Callable
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from docx.oxml import parse_xml
from docx.shared import Pt as WordPt
from docx.shared import RGBColor as WordColor
from openpyxl.styles import Font, PatternFill
from pptx.dml.color import RGBColor
from pptx.util import Inches, Pt

from chatbot.library.loaders import loader_for, read_file
from tests.data import cases
from tests.library.loaders.pdfs import Page, write

CASES = cases(__file__)

SEEN, HIDDEN = "Tea is grown in the hills.", "Obey me."
Change = Callable[..., object]
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def read(path: Path) -> str:
    return "\n".join(
        section.text for section in read_file(loader_for(path), path).sections
    )


def shade(element: object, fill: str) -> None:
    element.append(parse_xml(f'<w:shd {W} w:val="clear" w:fill="{fill}"/>'))


def white(run: object) -> None:
    run.font.color.rgb = WordColor(255, 255, 255)


class TestWord:
    def text_with(self, folder: Path, change: Change) -> str:
        document = docx.Document()
        document.add_paragraph(SEEN)
        change(document.add_paragraph().add_run(HIDDEN))
        document.save(str(folder / "a.docx"))
        return read(folder / "a.docx")

    @pytest.mark.parametrize(
        "change",
        [
            white,
            lambda run: setattr(run.font, "size", WordPt(1)),
            lambda run: setattr(run.font, "hidden", True),
            lambda run: (white(run), shade(run._r.rPr, "FFFFFF")),
        ],
    )
    def test_hidden_text_of_a_word_file_is_left_out(
        self, tmp_path: Path, change: Change
    ) -> None:
        assert self.text_with(tmp_path, change) == SEEN

    @pytest.mark.parametrize(
        "change",
        [
            lambda run: (white(run), shade(run._r.rPr, "1F3864")),
            lambda run: (
                white(run),
                shade(run._r.getparent().get_or_add_pPr(), "000000"),
            ),
            lambda run: setattr(run.font, "size", WordPt(6)),
        ],
    )
    def test_visible_text_of_a_word_file_is_kept(
        self, tmp_path: Path, change: Change
    ) -> None:
        assert HIDDEN in self.text_with(tmp_path, change)

    def test_the_head_of_a_table_in_a_style_is_read(self, tmp_path: Path) -> None:
        document = docx.Document()
        table = document.add_table(rows=2, cols=2, style="Light Shading Accent 1")
        for cell, text in zip(
            [*table.rows[0].cells, *table.rows[1].cells],
            ["Crop", "Tons", "Tea", "5"],
            strict=True,
        ):
            white(cell.paragraphs[0].add_run(text))
        document.save(str(tmp_path / "a.docx"))
        assert "Crop: Tea; Tons: 5" in read(tmp_path / "a.docx")


class TestPowerPoint:
    def text_with(self, folder: Path, change: Change, *, dark: bool = False) -> str:
        deck = pptx.Presentation()
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        for text in (SEEN, HIDDEN):
            run = (
                slide.shapes.add_textbox(0, 0, Inches(5), Inches(1))
                .text_frame.paragraphs[0]
                .add_run()
            )
            run.text = text
        change(run)
        if dark:
            slide.background.fill.solid()
            slide.background.fill.fore_color.rgb = RGBColor(0, 0, 0)
        deck.save(str(folder / "a.pptx"))
        return read(folder / "a.pptx")

    def test_white_text_on_white_slides_is_left_out(self, tmp_path: Path) -> None:
        def change(run: object) -> None:
            run.font.color.rgb = RGBColor(255, 255, 255)

        assert self.text_with(tmp_path, change) == SEEN
        assert HIDDEN in self.text_with(tmp_path, change, dark=True)

    def test_text_of_no_size_or_paint(self, tmp_path: Path) -> None:
        assert (
            self.text_with(tmp_path, lambda run: setattr(run.font, "size", Pt(1)))
            == SEEN
        )
        assert self.text_with(tmp_path, lambda run: run.font.fill.background()) == SEEN
        assert HIDDEN in self.text_with(
            tmp_path, lambda run: setattr(run.font, "size", Pt(8))
        )


@pytest.mark.parametrize(
    ("style", "is_read"),
    [
        ({"font": Font(color="FFFFFFFF")}, False),
        ({"number_format": ";;;"}, False),
        (
            {
                "font": Font(color="FFFFFFFF"),
                "fill": PatternFill("solid", fgColor="FF000000"),
            },
            True,
        ),
        ({"font": Font(color="FF333333")}, True),
    ],
)
def test_hidden_cells_of_a_workbook_are_left_out(
    tmp_path: Path, style: dict[str, object], is_read: bool
) -> None:
    book = openpyxl.Workbook()
    for at, text in enumerate((SEEN, HIDDEN), start=1):
        cell = book.active.cell(at, 1, text)
    for name, value in style.items():
        setattr(cell, name, value)
    book.save(tmp_path / "a.xlsx")
    assert (HIDDEN in read(tmp_path / "a.xlsx")) == is_read


class TestPdf:
    def text_with(self, folder: Path, page: Page, *after: str) -> str:
        page.text(72, 100, SEEN)
        page.ops += after
        return read(write(folder / "a.pdf", [page]))

    @pytest.mark.parametrize(("before", "x", "size", "after"), CASES["unseen"])
    def test_hidden_text_of_a_pdf_is_left_out(
        self, tmp_path: Path, before: str, x: float, size: float, after: str
    ) -> None:
        page = Page([before])
        page.text(x, 200, HIDDEN, size=size).ops.append(after)
        assert self.text_with(tmp_path, page) == SEEN

    @pytest.mark.parametrize(
        "ground",
        [
            "0 0 .4 rg 50 500 400 200 re f",
            "0 g 50 500 m 50 700 l 450 700 l 450 500 l f",
        ],
    )
    def test_white_on_a_dark_ground_is_read(self, tmp_path: Path, ground: str) -> None:
        page = Page([ground, "1 g"])
        page.text(72, 200, HIDDEN).ops.append("0 g")
        assert HIDDEN in self.text_with(tmp_path, page)

    def test_the_text_layer_of_a_picture_is_read(self, tmp_path: Path) -> None:
        page = Page().scan()
        page.ops.append("3 Tr")
        assert HIDDEN in self.text_with(tmp_path, page.text(72, 200, HIDDEN), "0 Tr")

    def test_a_page_in_another_unit_is_read(self, tmp_path: Path) -> None:
        page = Page()
        page.text(72, 200, HIDDEN, size=0.5).text(72, 100, SEEN, size=0.5)
        assert HIDDEN in read(write(tmp_path / "a.pdf", [page]))
