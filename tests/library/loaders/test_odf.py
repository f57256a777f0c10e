"""OpenDocument files as LibreOffice 7.4 writes them: texts, sheets with what they show,
slides.
"""

import io
import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from chatbot.domain import Loaded
from chatbot.domain.errors import LoadError
from chatbot.library.loaders import loader_for
from tests.library.loaders.samples import open_document


def load(tmp_path: Path, kind: str, body: str, styles: str = "") -> Loaded:
    path = tmp_path / "report.odt"
    path.write_bytes(open_document(kind, body, styles))
    return loader_for(path).load(path)


def test_a_text_has_its_title_headings_items_notes_and_superscripts(
    tmp_path: Path,
) -> None:
    body = """<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>
        <text:p text:style-name="P1">Mali in <text:s/>2024</text:p><text:h text:outline-level="1">People</text:h>
        <text:p>Born in 2023<text:span text:style-name="T1">4</text:span>.<text:note><text:note-citation>1
        </text:note-citation><text:note-body><text:p>Estimated.</text:p></text:note-body></text:note></text:p>
        <text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>two</text:p></text:list-item>
        </text:list></text:list-item></text:list>"""  # noqa: E501
    styles = """<style:style style:name="P1" style:parent-style-name="Title"/>
        <style:style style:name="T1"><style:text-properties style:text-position="super 58%"/></style:style>"""  # noqa: E501
    loaded = load(tmp_path, "text", body, styles)
    assert (loaded.title, loaded.labels) == ("Mali in 2024", ("water",))
    assert [(section.path, section.text) for section in loaded.sections] == [
        (("People",), "Born in 2023⁴.\nNote: Estimated.\n- one\n  - two")
    ]


def test_a_sheet_shows_what_the_program_shows(tmp_path: Path) -> None:
    """Texts of numbers, merged cells and repeated ones; neither hidden rows, columns
    and sheets nor error values.
    """
    body = """<S table:name="Figures"><K table:number-columns-repeated="2"/><K table:visibility="collapse"/>
        <R><D>Country</D><D>Year</D><D>Hidden</D><D>Growth</D><D>Total</D></R>
        <R><C table:number-rows-spanned="2"><P>Mali</P></C><D>2022</D><D>x</D><D>2.95%</D><C table:formula="1"/></R>
        <R><C/><D>2023</D><D>x</D><D>2.90%</D><C calcext:value-type="error"><P>Err:502</P></C></R>
        <R table:visibility="filter"><D>Chad</D></R><R table:number-rows-repeated="1048570"><C/></R></S>
        <S table:style-name="ta1"><R><D>1</D></R></S>"""  # noqa: E501
    body = re.sub(r"<D>(.*?)</D>", r"<C><P>\1</P></C>", body)
    for short, name in {
        "S": "table",
        "K": "table-column",
        "R": "table-row",
        "C": "table-cell",
    }.items():
        body = re.sub(rf"(</?){short}\b", rf"\1table:{name}", body)
    body = re.sub(r"(</?)P\b", r"\1text:p", body)
    styles = (
        '<style:style style:name="ta1"><style:table-properties '
        'table:display="false"/></style:style>'
    )
    loaded = load(tmp_path, "spreadsheet", body, styles)
    assert [section.text for section in loaded.sections] == [
        "Country: Mali; Year: 2022; Growth: 2.95%",
        "Country: Mali; Year: 2023; Growth: 2.90%",
    ]
    assert loaded.notes == (
        (
            "Formulas without a stored result: 1. Open the file in a spreadsheet "
            "program, save it and add it again."
        ),
        *(f"Hidden {part} left out: 1." for part in ("columns", "rows", "sheets")),
    )


def test_a_slide_is_a_page_under_its_title(tmp_path: Path) -> None:
    frame = (
        "<draw:frame {}><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
    )
    first = frame.format('presentation:class="title"', "Water") + frame.format(
        "", "Wells dried up."
    )
    body = (
        "<draw:page "
        f'draw:style-name="dp1">{first}</draw:page><draw:page>{first}</draw:page>'
    )
    hidden = '<style:drawing-page-properties presentation:visibility="hidden"/>'
    loaded = load(
        tmp_path,
        "presentation",
        body,
        f'<style:style style:name="dp1">{hidden}</style:style>',
    )
    assert [
        (section.page, section.path, section.text) for section in loaded.sections
    ] == [(2, ("Water",), "Wells dried up.")]
    assert (loaded.pages, loaded.notes) == (2, ("Hidden slides left out: 1.",))


@pytest.mark.parametrize(
    ("part", "content"),
    [("content.xml", b"<a"), ("META-INF/manifest.xml", b"<m:encryption-data/>")],
)
def test_a_damaged_or_protected_file_is_named(
    tmp_path: Path, part: str, content: bytes
) -> None:
    whole = ZipFile(io.BytesIO(open_document("text", "")))
    path = tmp_path / "a.odt"
    with ZipFile(path, "w") as copy:
        for name in whole.namelist():
            copy.writestr(name, content if name == part else whole.read(name))
    with pytest.raises(LoadError, match=r"^a\.odt is (damaged or|protected)"):
        loader_for(path).load(path)
