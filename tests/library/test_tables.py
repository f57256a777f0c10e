"""What the cells of tables say, from the file to the table of figures' statements."""

from decimal import Decimal
from pathlib import Path

import openpyxl
import pytest

from chatbot.domain import Loaded
from chatbot.domain.tables import Stated, Table
from chatbot.library.chunkers.tables import table_passages
from chatbot.library.loaders import loader_for, read_file
from chatbot.library.tables import statements


def read(path: Path) -> Loaded:
    return read_file(loader_for(path), path)


def csv_table(tmp_path: Path, content: str) -> Table:
    path = tmp_path / "data.csv"
    path.write_text(content, "utf-8")
    (rows, *_) = [section.rows for section in read(path).sections if section.rows]
    assert rows is not None
    return rows.table


def sheet_table(tmp_path: Path, *rows: list[object]) -> Table:
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    assert sheet is not None
    sheet.title = "Data"
    for row in rows:
        sheet.append(row)
    workbook.save(tmp_path / "data.xlsx")
    loaded = read(tmp_path / "data.xlsx")
    (shown, *_) = [section.rows for section in loaded.sections if section.rows]
    assert shown is not None
    return shown.table


def figures(table: Table) -> list[Stated]:
    return [figure for row in statements(table) for figure in row.values()]


def facts(table: Table) -> list[tuple[str, str, str, Decimal, str, int | None]]:
    return [
        (
            figure.subject,
            figure.heading,
            figure.label,
            figure.value,
            figure.unit,
            figure.year,
        )
        for figure in figures(table)
    ]


def test_tidy_data_names_its_indicator_and_unit(tmp_path: Path) -> None:
    table = csv_table(
        tmp_path,
        "area,year,Indicator,Value,Unit\n"
        "Tundria,2022,Literacy rate,71.0,%\n"
        "Veldia,2023,Under-five mortality,24.9,per 1000\n",
    )
    assert facts(table) == [
        ("Tundria", "Literacy rate", "", Decimal("71.0"), "%", 2022),
        ("Veldia", "Under-five mortality", "", Decimal("24.9"), "per 1000", 2023),
    ]
    assert [figure.text for figure in figures(table)] == ["71.0%", "24.9 per 1000"]


def test_sdmx_names_its_columns_outright(tmp_path: Path) -> None:
    table = csv_table(
        tmp_path,
        "DATAFLOW,REF_AREA,INDICATOR,TIME_PERIOD,OBS_VALUE,UNIT_MEASURE,OBS_STATUS\n"
        "WB:WDI,KEN,Population,2021,53005614,persons,A\n"
        "WB:WDI,TZA,Population,2021,63588334,persons,A\n",
    )
    assert facts(table) == [
        ("KEN", "Population", "", Decimal(53005614), "persons", 2021),
        ("TZA", "Population", "", Decimal(63588334), "persons", 2021),
    ]


def test_tags_say_what_columns_are(tmp_path: Path) -> None:
    table = csv_table(
        tmp_path,
        "Lugar,Periodo,Afectados\n#adm1+name,#date+year,#affected\n"
        "Norte,2021,1200\nSur,2021,900\n",
    )
    assert facts(table) == [
        ("Norte", "Afectados", "", Decimal(1200), "", 2021),
        ("Sur", "Afectados", "", Decimal(900), "", 2021),
    ]


def test_columns_of_years_below_a_title_with_a_unit(tmp_path: Path) -> None:
    table = sheet_table(
        tmp_path,
        ["Table 2: Export revenue"],
        ["(FCFA billion)"],
        ["", 2018, 2019],
        ["Cocoa beans", 240.1, 253.6],
        ["Coffee", 30.2, 28.9],
        ["Total", 270.3, 282.5],
    )
    last = figures(table)[1]
    assert (last.subject, last.heading, last.label) == (
        "",
        "Export revenue",
        "Cocoa beans",
    )
    assert (last.value, last.unit, last.year) == (Decimal("253600000000"), "FCFA", 2019)
    assert last.text == "253.6 FCFA billion"
    assert figures(table)[-1].label == ""


def test_a_row_groups_those_below_it(tmp_path: Path) -> None:
    table = sheet_table(
        tmp_path,
        ["Level", "Girls", "Boys"],
        ["Primary schools"],
        ["Urban", 1200, 1310],
        ["Rural", 2207, 2415],
        ["Secondary schools"],
        ["Urban", 640, 655],
        ["Rural", 389, 512],
    )
    girls = {figure.subject: figure.value for figure in figures(table)[::2]}
    assert girls["Secondary schools: Rural"] == 389
    assert girls["Primary schools: Rural"] == 2207


def test_heads_of_two_levels_with_years_and_units(tmp_path: Path) -> None:
    def heads() -> list[list[object]]:
        return [
            ["Region", "Population (thousands)", None, "Literacy rate (%)", None],
            [None, 2010, 2020, 2010, 2020],
        ]

    table = sheet_table(
        tmp_path, *heads(), ["North", 12.5, 14, 61, 70], ["South", 8, 9.1, 55, 66]
    )
    assert facts(table)[:4] == [
        ("North", "Population", "", Decimal(12500), "", 2010),
        ("North", "Population", "", Decimal(14000), "", 2020),
        ("North", "Literacy rate", "", Decimal(61), "%", 2010),
        ("North", "Literacy rate", "", Decimal(70), "%", 2020),
    ]


def test_columns_of_countries_make_the_rows_indicators(tmp_path: Path) -> None:
    table = csv_table(
        tmp_path, "Indicator,Kenya,Uganda\nInflation (%),4.5,3.2\nGDP,100,40\n"
    )
    assert facts(table)[:3] == [
        ("Kenya", "Inflation", "", Decimal("4.5"), "%", None),
        ("Uganda", "Inflation", "", Decimal("3.2"), "%", None),
        ("Kenya", "GDP", "", Decimal(100), "", None),
    ]


NO_FIGURES = ["2021-03-04", "12:30", "0123", "+254 700 1", "Zone 3", "12-15", "n/a"]


@pytest.mark.parametrize("corner", ["Indicator", ""])
def test_columns_of_places_are_subjects_above_indicators(
    tmp_path: Path, corner: str
) -> None:
    table = sheet_table(
        tmp_path,
        ["Health profile, 2021"],
        [corner, "Northgate", "Quarry Hill", "Total"],
        ["Vaccinated children (%)", 81, 64, 74],
        ["Malaria cases (thousands)", 1.5, 20, 21.5],
    )
    shown: list[tuple[object, ...]] = []
    for subject, heading, label, *rest in facts(table):
        shown.append((subject, label or heading, *rest))
    assert shown == [
        ("Northgate", "Vaccinated children", 81, "%", 2021),
        ("Quarry Hill", "Vaccinated children", 64, "%", 2021),
        ("", "Vaccinated children", 74, "%", 2021),
        ("Northgate", "Malaria cases", 1500, "", 2021),
        ("Quarry Hill", "Malaria cases", 20000, "", 2021),
        ("", "Malaria cases", 21500, "", 2021),
    ]


def test_columns_of_parts_and_years_are_no_subjects(tmp_path: Path) -> None:
    table = sheet_table(
        tmp_path,
        ["Indicator", "Baseline", "Target"],
        ["Access to water (%)", 40, 80],
        ["Farm income (US$)", 310, 500],
    )
    assert {subject for subject, *_ in facts(table)} == {""}


def test_a_unit_and_a_span_beside_a_table_are_not_those_of_every_figure(
    tmp_path: Path,
) -> None:
    table = sheet_table(
        tmp_path,
        ["Sources of funds, 1900-2008"],
        ["(billions of pesos)"],
        ["Source", "Amount", "Share"],
        ["Loans", 1.5, 60],
        ["Taxes", 1, 40],
    )
    assert [(value, unit, year) for *_, value, unit, year in facts(table)] == [
        (1_500_000_000, "pesos", None),
        (60, "", None),
        (1_000_000_000, "pesos", None),
        (40, "", None),
    ]


def test_lines_about_a_csv_table_stand_above_and_below_it(tmp_path: Path) -> None:
    content = (
        "Production par culture\n(en milliers de tonnes)\n\n"
        "Culture;2018;2019;2020;2021\n"
        "Maïs;687,1;693,6;842,0;154,8\nRiz;627,0;795,6;449,8;832,8\nSource : ministère"
    )
    maize, *_ = facts(csv_table(tmp_path, content))
    assert maize == ("Maïs", "Production par culture", "", 687100, "tonnes", 2018)


@pytest.mark.parametrize("text", NO_FIGURES)
def test_dates_codes_and_ranges_are_no_figures(tmp_path: Path, text: str) -> None:
    table = csv_table(tmp_path, f"Site,Households\nA,5\nB,6\nC,{text}\n")
    assert [figure.value for figure in figures(table)] == [5, 6]


def test_decimal_commas_of_a_table_are_told_from_all_its_cells(tmp_path: Path) -> None:
    table = csv_table(
        tmp_path, "Région;Taux (%);Ménages\nNord;12,5;1.234\nSud;8,25;2.100\n"
    )
    assert [figure.value for figure in figures(table)] == [
        Decimal("12.5"),
        1234,
        Decimal("8.25"),
        2100,
    ]


def test_a_wide_row_is_cut_by_columns_with_its_labels_repeated(tmp_path: Path) -> None:
    years = range(1990, 2020)
    names = ",".join(map(str, years))
    values = ",".join(str(1000 + year) for year in years)
    path = tmp_path / "wide.csv"
    path.write_text(f"Country,Indicator,{names}\nKenya,Births,{values}\n", "utf-8")
    (section,) = read(path).sections
    assert section.rows is not None
    stated = list(statements(section.rows.table))
    passages = list(
        table_passages(section.rows, stated, lambda text: len(text) <= 120, 120)
    )
    assert len(passages) > 3
    for passage in passages:
        assert passage.text.startswith("Country: Kenya; Indicator: Births; ")
        assert len(passage.text) <= 120
    assert sum(len(passage.figures) for passage in passages) == 30


def test_many_rows_of_many_years_make_a_passage_each(tmp_path: Path) -> None:
    years = range(1999, 2024)
    rows = [["Indicator Name", "Indicator Code", *map(str, years)]]
    rows += [
        [f"Indicator {at}", f"AG.{at}", *(str(at + year / 100) for year in years)]
        for at in range(20)
    ]
    path = tmp_path / "many.csv"
    path.write_text("\n".join(map(",".join, rows)), "utf-8")
    sections = read(path).sections
    assert len(sections) == 20
    shown = sections[0].rows
    assert shown is not None
    stated = list(statements(shown.table))
    # The embedder reads less than a row, which is found by its labels all the same.
    (passage,) = table_passages(shown, stated[:1], lambda text: len(text) < 300, 900)
    assert len(passage.figures) == 25


def test_numbers_with_an_exponent_are_figures(tmp_path: Path) -> None:
    table = csv_table(tmp_path, "Site,Energy\nA,2.5e+07\nB,6\n")
    assert [figure.value for figure in figures(table)] == [25_000_000, 6]
