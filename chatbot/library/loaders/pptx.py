"""PowerPoint presentations (.pptx): each slide a page, headed by its title, with its
notes.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from lxml import etree

from ...domain import Section
from ...domain.documents import lay_out
from .office import SLIDES_NOTE, OfficeLoader, diagram_texts, left_out
from .sections import (
    LINE,
    PARAGRAPH,
    HeadingOutline,
    apart,
    label,
    on_page,
    one_line,
)

_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/"
_NAMES = {
    "c": f"{_DRAWING}chart",
    "a": f"{_DRAWING}main",
    "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
}
_HIDDEN = "a:rPr[@sz <= 100 or a:noFill or a:solidFill/*/a:alpha[@val < 5000]]"
_WHITE = (
    "a:rPr/a:solidFill[a:srgbClr[translate(@val, 'abcdef', 'ABCDEF') = 'FFFFFF'] or "
    "a:schemeClr[@val = 'bg1']]"
)
_BACKGROUNDS = (
    "//p:bgPr | //p:pic | //a:blipFill | //p:spPr/a:solidFill | "
    "//p:spPr/a:gradFill | //p:style | //a:tbl"
    " | //p:clrMap[@bg1 != 'lt1']"
)
_NO = {"0", "false"}
_MARGINAL = {"FOOTER", "DATE", "SLIDE_NUMBER", "HEADER"}


class PptxLoader(OfficeLoader):
    """Hidden slides are counted, as in PowerPoint, but not read."""

    noun = "a PowerPoint presentation"
    suffixes = (".pptx",)
    parts = "ppt/"
    nothing = "text in a visible slide. Pictures of text are not read."

    def library(self) -> tuple[Callable[[IO[bytes]], Any], tuple[type[Exception], ...]]:
        import pptx
        from pptx.exc import PythonPptxError

        return pptx.Presentation, (PythonPptxError,)

    def read(
        self, document: Any, path: Path
    ) -> tuple[str, list[Section], int, list[str]]:
        slides = list(document.slides)
        shown = [
            (slide, number)
            for number, slide in enumerate(slides, 1)
            if slide._element.get("show") not in _NO
        ]
        sections: list[Section] = []
        for slide, number in shown:
            sections += _sections(slide, number)
        notes = left_out((SLIDES_NOTE, len(slides) - len(shown)))
        return _title(slides[0]) if slides else "", sections, len(slides), notes


def _sections(slide: Any, number: int) -> Iterator[Section]:
    _drop_hidden(slide)
    _part_scripts(slide)
    head = slide.shapes.title
    outline = HeadingOutline()
    for shape in _in_order(slide.shapes):
        if head is None or shape._element is not head._element:
            _read_shape(shape, outline)
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    text = "" if notes is None else _frame_text(notes)
    if text:
        outline.add(f"Notes: {text}")
    return on_page(lay_out(outline.sections()), _title(slide), number)


def _drop_hidden(slide: Any) -> None:
    """Remove invisible text: tiny, unpainted, or white on a slide that is white
    throughout.
    """
    white_background = not any(
        _xpath(part._element, _BACKGROUNDS)
        for part in (slide, slide.slide_layout, slide.slide_layout.slide_master)
    )
    for run in _xpath(slide._element, "//a:r[a:rPr]"):
        if _xpath(run, _HIDDEN) or (white_background and _xpath(run, _WHITE)):
            run.getparent().remove(run)


def _part_scripts(slide: Any) -> None:
    for run in _xpath(
        slide._element, "//a:r[a:rPr[@baseline and @baseline != 0] and a:t]"
    ):
        before = _xpath(run, "preceding-sibling::a:r[1]/a:t")
        text = run.find(f"{{{_NAMES['a']}}}t")
        lowered = bool(_xpath(run, "a:rPr[@baseline < 0]"))
        text.text = apart(
            text.text or "", (before[0].text or "") if before else "", lowered=lowered
        )


def _title(slide: Any) -> str:
    head = slide.shapes.title
    return "" if head is None else one_line(head.text_frame.text)


def _in_order(shapes: Iterable[Any]) -> list[Any]:
    """Sort shapes from the top, then from the left; those without a place come
    first.
    """
    return sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0))


def _read_shape(shape: Any, outline: HeadingOutline, gap: str = PARAGRAPH) -> None:
    """Add what a shape shows."""
    if shape.is_placeholder and shape.placeholder_format.type.name in _MARGINAL:
        return
    if shape._element.xpath("./*/p:cNvPr[@hidden='1' or @hidden='true']"):
        return
    if hasattr(shape, "shapes"):  # a group
        for inner in _in_order(shape.shapes):
            _read_shape(inner, outline, gap)
            gap = LINE
    elif shape.has_text_frame:
        outline.add(_frame_text(shape.text_frame), gap=gap)
    elif shape.has_table:
        heads = int(shape.table.first_row) or None
        outline.table(_table_rows(shape.table), heads=heads)
    elif shape.has_chart:
        _read_chart(shape.chart, outline)
    else:
        outline.add("\n".join(diagram_texts(shape._element, shape.part)), gap=gap)


def _table_rows(table: Any) -> list[list[str]]:
    """Return the cells. One over several columns comes once, one over several rows in
    each of them.
    """
    rows: list[list[str]] = []
    for row in table.rows:
        above = rows[-1] if rows else []
        texts = list[str]()
        for place, cell in enumerate(row.cells):
            text = cell.text
            if cell.is_spanned:
                text = label(above[place]) if cell._tc.vMerge and above else ""
            texts.append(text)
        rows.append(texts)
    return rows


def _frame_text(frame: Any) -> str:
    """Return a line for each paragraph, indented by its level."""
    lines = (
        (paragraph.level, one_line(paragraph.text)) for paragraph in frame.paragraphs
    )
    return "\n".join("  " * level + text for level, text in lines if text)


def _read_chart(chart: Any, outline: HeadingOutline) -> None:
    """Add the numbers of a chart: a row for each category, with the names of the
    series. They are the values that the file stores for drawing, because python-pptx
    cannot read three-dimensional charts.
    """
    title = ""
    if chart.has_title and chart.chart_title.has_text_frame:
        title = one_line(_frame_text(chart.chart_title.text_frame))
    for plot in _xpath(chart._chartSpace, "c:chart/c:plotArea/*[c:ser]"):
        names = [""]
        categories = []
        values = []
        for series in _xpath(plot, "c:ser"):
            names.append(one_line(" ".join(_xpath(series, "c:tx//c:v/text()"))))
            # In a scatter plot, the x and the y of each point.
            categories.append(_points(series, "c:cat//c:pt | c:xVal//c:pt"))
            values.append(_points(series, "c:val//c:pt | c:yVal//c:pt"))
        rows = [names]
        for place in sorted(set[int]().union(*values)):
            category = next(
                (points[place] for points in categories if place in points),
                str(place + 1),
            )
            rows.append(
                [category, *(_figure(points.get(place, "")) for points in values)]
            )
        outline.table(rows, heads=1, title=title)


def _points(series: Any, path: str) -> dict[int, str]:
    """Return the labels of a chart's points; for categories in levels the lowest one,
    which comes first.
    """
    points: dict[int, str] = {}
    for point in _xpath(series, path):
        place = point.get("idx", "")
        # The number of a point has at most seven digits.
        if place.isdecimal() and len(place) < 8 and int(place) not in points:
            points[int(place)] = one_line(" ".join(_xpath(point, "c:v/text()")))
    return points


def _xpath(element: Any, path: str) -> list[Any]:
    return list(etree.ElementBase.xpath(element, path, namespaces=_NAMES))


def _figure(text: str) -> str:
    try:
        return f"{float(text):.15g}"
    except ValueError:
        return text
