"""Presentations: a slide is a page, its title the heading, its notes part of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pptx
import pytest
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from chatbot.domain import Loaded
from chatbot.domain.errors import LoadError
from chatbot.library.loaders.pptx import PptxLoader

TITLED, BLANK = 5, 6
"""Layouts of the default template: a title only, and nothing."""


def load(
    tmp_path: Path,
    *slides: Callable[[Any], object],
    layout: int = TITLED,
    title: str = "",
) -> Loaded:
    presentation = pptx.Presentation()
    presentation.core_properties.title = title
    for fill in slides:
        fill(presentation.slides.add_slide(presentation.slide_layouts[layout]))
    presentation.save(str(tmp_path / "talk.pptx"))
    return PptxLoader().load(tmp_path / "talk.pptx")


def box(shapes: Any, text: str, left: float, top: float) -> Any:
    shape = shapes.add_textbox(Inches(left), Inches(top), Inches(1), Inches(1))
    shape.text_frame.text = text
    return shape


def read(loaded: Loaded) -> list[tuple[int | None, tuple[str, ...], str]]:
    return [(section.page, section.path, section.text) for section in loaded.sections]


def test_slides_are_pages_in_reading_order_with_notes(tmp_path: Path) -> None:
    def first(slide: Any) -> None:
        slide.shapes.title.text = "Growth\nin 2024"
        box(slide.shapes, "low", 1, 5)
        box(slide.shapes, "right", 4, 2)
        box(slide.shapes, "left", 1, 2)
        slide.notes_slide.notes_text_frame.text = "Say it slowly."

    def second(slide: Any) -> None:
        frame = box(slide.shapes, "one", 1, 1).text_frame
        paragraph = frame.add_paragraph()
        paragraph.text, paragraph.level = "deeper", 1

    def only_a_title(slide: Any) -> None:
        slide.shapes.title.text = "Thank you"

    loaded = load(tmp_path, first, lambda slide: None, second, only_a_title)
    assert read(loaded) == [
        (1, ("Growth in 2024",), "left\n\nright\n\nlow\n\nNotes: Say it slowly."),
        (3, (), "one\n  deeper"),
        (4, (), "Thank you"),
    ]
    assert (loaded.title, loaded.pages) == ("Growth in 2024", 4)


def test_tables_groups_and_charts(tmp_path: Path) -> None:
    def table(slide: Any) -> None:
        cells = slide.shapes.add_table(4, 2, 0, 0, Inches(4), Inches(2)).table
        texts = ["Country", "2023", "Chad", "5", "", "6", "Source: UN", ""]
        for cell, text in zip(
            (cell for row in cells.rows for cell in row.cells), texts, strict=True
        ):
            cell.text = text
        cells.cell(1, 0).merge(cells.cell(2, 0))
        cells.cell(3, 0).merge(cells.cell(3, 1))

    def group(slide: Any) -> None:
        shapes = slide.shapes.add_group_shape().shapes
        box(shapes, "below", 0, 1)
        box(shapes, "above", 0, 0)

    def chart(slide: Any) -> None:
        data = CategoryChartData()
        data.categories = ["Kenya", "Chad"]
        data.add_series("2022", (1.5, 2))
        data.add_series("2023", (3, None))
        slide.shapes.add_chart(
            XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(4), Inches(3), data
        )

    loaded = load(tmp_path, table, group, chart, layout=BLANK)
    assert [text for _, _, text in read(loaded)] == [
        "Country: Chad; 2023: 5\nCountry: Chad; 2023: 6",
        "Source: UN",
        "above\nbelow",
        "Kenya; 2022: 1.5; 2023: 3\nChad; 2022: 2",
    ]


def test_what_is_hidden_or_stands_at_the_edge_is_left_out(tmp_path: Path) -> None:
    def hidden(slide: Any) -> None:
        slide._element.set("show", "0")
        box(slide.shapes, "secret", 0, 0)

    def partly(slide: Any) -> None:
        shape = box(slide.shapes, "secret", 0, 0)
        shape._element.nvSpPr.cNvPr.set("hidden", "1")
        box(slide.shapes, "seen", 0, 1)
        number = next(
            one
            for one in slide.slide_layout.placeholders
            if one.placeholder_format.type == 13
        )
        slide.shapes.clone_placeholder(number)
        slide.placeholders[number.placeholder_format.idx].text_frame.text = "2"

    loaded = load(tmp_path, hidden, partly, layout=BLANK)
    assert (read(loaded), loaded.notes) == (
        [(2, (), "seen")],
        ("Hidden slides left out: 1.",),
    )


def test_titles_fall_back(tmp_path: Path) -> None:
    def fill(slide: Any) -> None:
        box(slide.shapes, "x", 0, 0)

    assert load(tmp_path, fill, title="By property").title == "By property"
    assert load(tmp_path, fill, title="PowerPoint Presentation").title == "talk"


@pytest.mark.parametrize(
    "slides", [[], [lambda slide: None]], ids=["no slide", "an empty slide"]
)
def test_a_file_without_text_is_refused(
    tmp_path: Path, slides: list[Callable[[Any], object]]
) -> None:
    with pytest.raises(LoadError, match=r"talk\.pptx has no text"):
        load(tmp_path, *slides)


@pytest.mark.parametrize(
    "kind", [XL_CHART_TYPE.COLUMN_CLUSTERED, XL_CHART_TYPE.LINE, XL_CHART_TYPE.PIE]
)
@pytest.mark.parametrize("solid", [False, True], ids=["flat", "in three dimensions"])
def test_a_chart_of_any_kind_is_read(
    tmp_path: Path, kind: XL_CHART_TYPE, solid: bool
) -> None:
    def fill(slide: Any) -> None:
        data = CategoryChartData()
        data.categories = ["2019", "2020"]
        data.add_series("Ducks", (120, 130.5))
        chart = slide.shapes.add_chart(
            kind, 0, Inches(2), Inches(5), Inches(4), data
        ).chart
        plot = chart._chartSpace.xpath("c:chart/c:plotArea/*[c:ser]")[0]
        plot.tag = plot.tag.replace("Chart", "3DChart") if solid else plot.tag

    (section,) = load(tmp_path, fill).sections
    assert section.text.endswith("2019; Ducks: 120\n2020; Ducks: 130.5")
