"""Workbooks: sheets to section paths, rows to lines with the names of their columns,
values as a person sees them.
"""

import re
import tracemalloc
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from pathlib import Path
from zipfile import ZipFile

import openpyxl
import pytest
from openpyxl import Workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont

from chatbot.domain import Loaded
from chatbot.domain.errors import LoadError
from chatbot.library.loaders import xlsx
from chatbot.library.loaders.xlsx import XlsxLoader


def load(
    tmp_path: Path,
    *rows: list[object],
    change: Callable[[Workbook], object] | None = None,
) -> Loaded:
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    assert sheet is not None
    sheet.title = "Data"
    for row in rows:
        sheet.append(row)
    if change:
        change(workbook)
    workbook.save(tmp_path / "figures.xlsx")
    return XlsxLoader().load(tmp_path / "figures.xlsx")


def texts(loaded: Loaded) -> list[str]:
    return [section.text for section in loaded.sections]


def test_rows_name_their_columns_and_know_their_country_and_year(
    tmp_path: Path,
) -> None:
    loaded = load(
        tmp_path,
        ["Country", "Year", "Growth"],
        ["Kenya", 2023, 2.09],
        ["Chad", 2022.0, None],
    )
    assert texts(loaded) == [
        "Country: Kenya; Year: 2023; Growth: 2.09",
        "Country: Chad; Year: 2022",
    ]
    assert [dict(section.metadata) for section in loaded.sections] == [
        {"country_name": "Kenya", "year": 2023},
        {"country_name": "Chad", "year": 2022},
    ]
    assert all(
        section.path[0] == "Data" and section.page is None
        for section in loaded.sections
    )
    assert (loaded.title, loaded.pages) == ("figures", None)


VALUES = {
    "a whole number": (3.0, "General", "3"),
    "an artefact": (0.1 + 0.2, "General", "0.3"),
    "a long number": (15856668555.833595, "#,##0", "15,856,668,556"),
    "a percentage": (0.0209, "0.00%", "2.09%"),
    "millions": (2_500_000, '#,##0.0,,"M"', "2.5M"),
    "a date": (date(2024, 1, 31), None, "2024-01-31"),
    "a time stamp": (datetime(2024, 1, 31, 14, 30), None, "2024-01-31 14:30"),
    "a time": (time(14, 30), None, "14:30:00"),
    "a duration": (timedelta(hours=30, minutes=5), None, "30:05:00"),
    "true": (True, None, "TRUE"),
    "lines": ("a\n b", None, "a b"),
}


@pytest.mark.parametrize(
    ("value", "number_format", "text"), VALUES.values(), ids=VALUES
)
def test_values_as_a_person_sees_them(
    tmp_path: Path, value: object, number_format: str | None, text: str
) -> None:
    def change(workbook: Workbook) -> None:
        if number_format:
            workbook["Data"]["B2"].number_format = number_format

    assert texts(load(tmp_path, ["Name", "Value"], ["x", value], change=change)) == [
        f"Name: x; Value: {text}"
    ]


def test_formulas_without_a_result_and_errors_are_left_out(tmp_path: Path) -> None:
    loaded = load(tmp_path, ["Name", "Sum", "Bad", "Good"], ["x", "=1+1", "#REF!", 7])
    assert texts(loaded) == ["Name: x; Good: 7"]
    assert loaded.notes == (
        (
            "Formulas without a stored result: 1. Open the file in a spreadsheet "
            "program, save it and add it again."
        ),
    )


def test_heading_rows_end_with_their_units(tmp_path: Path) -> None:
    def change(workbook: Workbook) -> None:
        for cells in ("A1:A3", "B1:C1"):
            workbook["Data"].merge_cells(cells)

    heads = [
        ["Region", "Urban", None, "Rural"],
        [None, "Men", "Women", "All"],
        [None, "(000)", "%", "(000)"],
    ]
    assert texts(load(tmp_path, *heads, ["North", 1, 2, 3], change=change)) == [
        "Region: North; Urban Men (000): 1; Women %: 2; Rural All (000): 3"
    ]


def test_captions_notes_and_a_second_table(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        [None, "Population"],
        [None, "in thousands"],
        [None, "Land", "Count"],
        [None, "Chad", 5],
        [None, "Source: UN"],
        [],
        [None, "City", "Height", "Rivers"],
        [None, "Quito", 2850, 3],
        [],
        [None, "Lima", 154, 3],
    )
    assert [(section.path[:2], section.text) for section in loaded.sections] == [
        (("Data", "Population"), "in thousands\nLand: Chad; Count: 5"),
        (("Data", "Population"), "Source: UN"),
        (("Data", "Quito"), "City: Quito; Height: 2850; Rivers: 3"),
        (("Data", "Lima"), "City: Lima; Height: 154; Rivers: 3"),
    ]


def test_labels_indented_by_columns_and_empty_columns_between(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        [None, None, "April", None, "May", None, "Total"],
        ["Opening balance", None, 0, None, 7, None, 7],
        ["Income"],
        [None, "Collections", 2, None, 3, None, 5],
        [],
        [None, "Total income", 2, None, 3, None, 5],
    )
    assert [text.partition("; ")[2] for text in texts(loaded)] == [
        "April: 0; May: 7; Total: 7",
        "April: 2; May: 3; Total: 5",
        "April: 2; May: 3; Total: 5",
    ]
    assert loaded.sections[1].path == ("Data", "Income", "Collections")


def test_a_column_of_merged_cells_only_is_no_column(tmp_path: Path) -> None:
    def change(workbook: Workbook) -> None:
        for row in (1, 2, 3):
            workbook.worksheets[0].merge_cells(f"B{row}:C{row}")

    rows = [
        ["Town", "Girls", None, "Boys"],
        ["Quito", 4, None, 5],
        ["Lima", 6, None, 7],
    ]
    loaded = load(tmp_path, *rows, change=change)
    assert texts(loaded) == [
        "Town: Quito; Girls: 4; Boys: 5",
        "Town: Lima; Girls: 6; Boys: 7",
    ]


def test_raised_figures_are_marks_of_notes(tmp_path: Path) -> None:
    def change(workbook: Workbook) -> None:
        raised = InlineFont(vertAlign="superscript")
        sheet = workbook.worksheets[0]
        sheet["B1"] = CellRichText("Population", TextBlock(raised, "2"))
        sheet["A2"] = CellRichText("Quito", TextBlock(raised, "6, 7"))

    loaded = load(tmp_path, ["Town", None], [None, 4], ["Lima", 6], change=change)
    assert texts(loaded) == [
        "Town: Quito [6, 7]; Population²: 4",
        "Town: Lima; Population²: 6",
    ]


def test_a_table_without_names_and_a_sheet_of_notes(tmp_path: Path) -> None:
    def change(workbook: Workbook) -> None:
        sheet = workbook.create_sheet("Notes")
        sheet["C7"] = "Only this."

    loaded = load(tmp_path, ["land", 5], ["water", 6], change=change)
    assert [(section.path, section.text) for section in loaded.sections] == [
        (("Data",), "land: 5\nwater: 6"),
        (("Notes",), "Only this."),
    ]


def test_hidden_sheets_are_left_out_and_properties_kept(tmp_path: Path) -> None:
    def change(workbook: Workbook) -> None:
        hidden = workbook.create_sheet("Secret")
        hidden["A1"] = "secret"
        hidden.sheet_state = "hidden"
        workbook["Data"].row_dimensions[2].hidden = True
        workbook.properties.title = "Indicators"

    loaded = load(tmp_path, ["seen"], ["=1+1"], change=change)
    assert (loaded.title, texts(loaded)) == ("Indicators", ["seen"])
    assert loaded.notes == ("Hidden rows left out: 1.", "Hidden sheets left out: 1.")


def test_a_cell_far_out_costs_no_memory(tmp_path: Path) -> None:
    def change(workbook: Workbook) -> None:
        workbook["Data"]["XFD100000"] = "far"

    load(tmp_path, ["near"], change=change)
    tracemalloc.start()
    loaded = XlsxLoader().load(tmp_path / "figures.xlsx")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert texts(loaded) == ["near\nfar"]
    assert peak < 20 * 1024**2


def test_a_row_beyond_any_sheet_ends_in_an_error_not_in_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xlsx, "MAX_CELLS", 500_000)
    load(tmp_path, ["a", "b"], ["c", "d"])
    with ZipFile(tmp_path / "figures.xlsx") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["xl/worksheets/sheet1.xml"] = re.sub(
        rb'<row r="2"', b'<row r="99999999999"', parts["xl/worksheets/sheet1.xml"]
    )
    with ZipFile(tmp_path / "far.xlsx", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(LoadError, match=r"far\.xlsx has cells too far apart"):
        XlsxLoader().load(tmp_path / "far.xlsx")


def test_an_empty_workbook_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"figures\.xlsx has no filled cell"):
        load(tmp_path)
