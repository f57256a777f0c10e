"""Tables of a PDF: a line per row, each cell with its column's name, nowhere a second
time as prose.
"""

from pathlib import Path

import pytest

from chatbot.domain import Section
from chatbot.domain.tables import TableRows
from chatbot.library.loaders.pdf import PdfLoader
from chatbot.library.tables import statements
from tests.data import cases
from tests.library.loaders.pdfs import Page, prose, write

XS = (72, 250, 350, 450)
RATES = [
    ("Kenya", "26.1", "4.9"),
    ("Peru", "16.8", "11.0"),
    ("Costa Rica", "10.8", "5.3"),
]
RATES_AS_TEXT = [
    f"Country: {country}; Births: {births}; Deaths: {deaths}"
    for country, births, deaths in RATES
]


def load(tmp_path: Path, *pages: Page) -> list[Section]:
    return list(
        PdfLoader()
        .load(write(tmp_path / "report.pdf", pages, title="Some Report"))
        .sections
    )


def lines(tmp_path: Path, *pages: Page) -> list[str]:
    return "\n".join(section.text for section in load(tmp_path, *pages)).split("\n")


def cells(*texts: str) -> list[tuple[float, str]]:
    return [
        (x, text) for x, text in zip((80.0, 260.0, 360.0), texts, strict=False) if text
    ]


def bordered(page: Page, top: float, rows: list[tuple[str, ...]]) -> Page:
    page.grid(XS, [top + 20 * at for at in range(len(rows) + 1)])
    for at, row in enumerate(rows):
        page.row(top + 14 + 20 * at, cells(*row))
    return page


def test_a_bordered_table_is_a_line_per_row(tmp_path: Path) -> None:
    page = bordered(
        Page().lines(72, 80, prose("Above", 2)),
        120,
        [("Item", "2023", "Note"), ("tea", "7", "est."), ("milk", "", "none")],
    )
    page.lines(72, 220, prose("Below", 2))
    assert lines(tmp_path, page)[1:-1] == [
        "Item: tea; 2023: 7; Note: est.",
        "Item: milk; Note: none",
    ]


def test_a_header_of_words_names_the_cells(tmp_path: Path) -> None:
    page = bordered(
        Page(),
        120,
        [("Item", "Value", "Note"), ("tea", "7", "est."), ("milk", "", "none")],
    )
    assert lines(tmp_path, page) == [
        "Item: tea; Value: 7; Note: est.",
        "Item: milk; Note: none",
    ]


def test_a_table_goes_on_over_the_page_under_its_header(tmp_path: Path) -> None:
    first = bordered(Page(), 700, [("Item", "Value", "Note"), ("tea", "7", "est.")])
    second = bordered(Page(), 60, [("milk", "8", "none"), ("salt", "9", "none")])
    assert [
        (section.page, section.text) for section in load(tmp_path, first, second)
    ] == [
        (1, "Item: tea; Value: 7; Note: est."),
        (2, "Item: milk; Value: 8; Note: none\nItem: salt; Value: 9; Note: none"),
    ]


def test_a_table_without_borders_goes_on_over_the_page_under_its_header(
    tmp_path: Path,
) -> None:
    rows = [
        ("Zone", "Cases"),
        *((f"Zone {letter}", str(at)) for at, letter in enumerate("ABCDEFGHIJ", 10)),
    ]
    pages = [Page().lines(72, 100, prose("Text", 9)), Page()]
    for at, row in enumerate(rows):
        pages[at // 6].row(
            (640, 72)[at // 6] + 14 * (at % 6), list(zip((72, 250), row, strict=True))
        )
    assert load(tmp_path, *pages)[-1].text.startswith(
        "Zone: Zone F; Cases: 15\nZone: Zone G; Cases: 16\n"
    )


def test_a_wrapped_cell_is_one_line(tmp_path: Path) -> None:
    page = Page().grid((72, 250, 450), (120, 140, 170))
    page.row(134, cells("Item", "Value")).row(152, cells("a label that", "7")).row(
        164, cells("goes on")
    )
    assert lines(tmp_path, page) == ["Item: a label that goes on; Value: 7"]


def test_a_frame_around_text_is_no_table(tmp_path: Path) -> None:
    page = (
        Page()
        .grid((72, 500), (100, 160))
        .lines(80, 120, ["A boxed note that takes", "two lines."])
    )
    assert lines(tmp_path, page) == ["A boxed note that takes two lines."]


def between_rules(page: Page, top: float, *, is_one_rule: bool = False) -> Page:
    """Rules above, below the header and at the end; two headings span two columns each,
    each over its own rule or both over one, and rows are grouped.
    """
    at = (72.0, 250.0, 310.0, 400.0, 460.0)
    page.rule(72, top, 520, top)
    if is_one_rule:
        page.rule(240, top + 16, 520, top + 16)
    else:
        page.rule(240, top + 16, 360, top + 16).rule(390, top + 16, 520, top + 16)
    page.row(top + 12, [(285, "2007"), (440, "2009")])
    page.row(
        top + 28, list(zip(at, ("Group", "No.", "Share", "No.", "Share"), strict=True))
    ).rule(72, top + 34, 520, top + 34)
    rows = [
        ("Sex",),
        ("  Male", "61", "4.7", "60", "4.9"),
        ("  Female", "49", "5.9", "51", "5.5"),
        ("Region",),
        ("  South of the great", "8", "1.2", "9", "1.3"),
        ("   river",),
        ("Total", "110", "5.2", "111", "5.2"),
    ]
    for number, row in enumerate(rows):
        indent = 4 * (len(row[0]) - len(row[0].lstrip()))
        page.row(
            top + 48 + 12 * number,
            [
                (at[i] + (indent if i == 0 else 0), cell.strip())
                for i, cell in enumerate(row)
            ],
        )
    return page.rule(72, top + 126, 520, top + 126)


CASES = cases(__file__)
TABLE = CASES["table"]


@pytest.mark.parametrize("is_one_rule", [False, True])
def test_a_table_between_rules_has_spanning_headings_and_groups(
    tmp_path: Path, is_one_rule: bool
) -> None:
    page = between_rules(Page(), 120, is_one_rule=is_one_rule)
    assert lines(tmp_path, page) == TABLE


@pytest.mark.parametrize("unit", ["", "Millions of pesos"])
def test_a_caption_is_the_tables_section_and_the_text_goes_on_after_it(
    tmp_path: Path, unit: str
) -> None:
    page = (
        Page()
        .text(72, 60, "Housing", size=16)
        .lines(72, 80, prose("Before", 1, each=60))
    )
    page.text(72, 100, "TABLE IV. Householders by group", size=9).text(
        72, 114, unit, bold=True
    )
    between_rules(page, 120).text(72, 256, "Abbreviation: No. = number.", size=7)
    page.lines(72, 290, prose("After", 3, each=60))
    table = ("Housing", f"TABLE IV. Householders by group {unit}".strip())
    assert [
        (section.path, section.text.split("\n")[-1][:12])
        for section in load(tmp_path, page)
    ] == [
        (("Housing",), "Before 00 lo"),
        (table, "Group: Total"),
        (table, "Abbreviation"),
        (("Housing",), "After 00 lor"),
    ]


def test_two_rules_around_prose_are_no_table(tmp_path: Path) -> None:
    page = (
        Page()
        .rule(72, 90, 520, 90)
        .lines(72, 105, prose("Text", 4, each=60))
        .rule(72, 150, 520, 150)
    )
    page.lines(72, 170, prose("More", 4, each=60)).rule(72, 220, 520, 220)
    assert lines(tmp_path, page)[0].startswith("Text 00 lorem")
    assert not any(": " in line for line in lines(tmp_path, page))


def test_figures_in_columns_without_any_rule_are_a_table(tmp_path: Path) -> None:
    page = Page().lines(72, 80, prose("Above", 3, each=60))
    page.row(130, cells("Country", "Births", "Deaths"))
    for at, row in enumerate(RATES):
        page.row(142 + 12 * at, cells(*row))
    page.lines(72, 200, prose("Below", 3, each=60))
    assert lines(tmp_path, page)[1:-1] == RATES_AS_TEXT


def test_without_a_header_the_rows_keep_their_cells_in_order(tmp_path: Path) -> None:
    page = Page()
    for at, row in enumerate(RATES):
        page.row(142 + 12 * at, cells(*row))
    assert lines(tmp_path, page)[0] == "Kenya: 26.1; 4.9"
    assert lines(tmp_path, page)[-1] == "Costa Rica: 10.8; 5.3"


def test_a_wide_row_of_a_table_is_a_section_by_itself(tmp_path: Path) -> None:
    """Two such rows in one passage are found by neither of their labels; short rows
    stay together.
    """
    names = [
        "Households",
        "Rooms in use for living",
        "Inhabitants in spring",
        "Inhabitants in autumn",
        "Owners counted",
    ]
    page, xs = Page().rule(40, 100, 600, 100), (40, 120, 190, 300, 410, 520)
    page.row(114, list(zip(xs, ["Sex", *names], strict=True)), size=8).rule(
        40, 120, 600, 120
    )
    for at, label in enumerate(
        ("Male householder", "Female householder", "All of them")
    ):
        page.row(
            132 + 14 * at,
            [
                (xs[0], label),
                *((x, f"{at + 1},{place}00") for place, x in enumerate(xs[1:])),
            ],
            size=8,
        )
    page.rule(40, 170, 600, 170).lines(72, 200, ["Sources: the census of some year."])
    sections = load(tmp_path, page)
    assert [section.text.partition(";")[0] for section in sections] == [
        "Sex: Male householder",
        "Sex: Female householder",
        "Sex: All of them",
        "Sources: the census of some year.",
    ]
    assert len({(section.path, section.page) for section in sections}) == 1


def test_labels_outside_of_the_rules_stay_with_their_figures(tmp_path: Path) -> None:
    page = (
        Page()
        .rule(200, 100, 500, 100)
        .row(114, [(90, "Category"), (220, "Costs"), (320, "Staff"), (420, "Rent")])
    )
    page.rule(72, 120, 500, 120)
    rows = [
        ("Travel", "94", "20", "74"),
        ("Salaries", "1,314", "373", "940"),
        ("Debts", "10", "11", "12"),
    ]
    for at, row in enumerate(rows):
        page.row(132 + 14 * at, list(zip((72, 220, 320, 420), row, strict=True)))
        page.rule(200, 136 + 14 * at, 500, 136 + 14 * at)
    assert (
        lines(tmp_path, page)[0] == "Category: Travel; Costs: 94; Staff: 20; Rent: 74"
    )


def test_labels_left_of_the_borders_stay_with_their_figures(tmp_path: Path) -> None:
    page = Page().grid((250, 350, 450), [120, 140, 160, 180, 200])
    heads = [(260.0, "Births"), (360.0, "Deaths")]
    page.row(134, heads)
    for place, (country, births, deaths) in enumerate(RATES):
        page.row(154 + 20 * place, [(80, country), (260, births), (360, deaths)])
    read = lines(tmp_path, page)
    assert [line for line in read if "Births: 26.1; Deaths: 4.9" in line] == [
        "Kenya; Births: 26.1; Deaths: 4.9"
    ]
    assert "Costa Rica; Births: 10.8; Deaths: 5.3" in read


def test_labels_left_of_the_rules_stay_with_their_figures(tmp_path: Path) -> None:
    page = Page()
    for y in (120, 140, 200):
        page.rule(250, y, 450, y)
    page.row(134, [(260, "Births"), (360, "Deaths")])
    for place, (country, births, deaths) in enumerate(RATES):
        page.row(154 + 20 * place, [(80, country), (260, births), (360, deaths)])
    assert lines(tmp_path, page)[-3:] == [
        "Kenya; Births: 26.1; Deaths: 4.9",
        "Peru; Births: 16.8; Deaths: 11.0",
        "Costa Rica; Births: 10.8; Deaths: 5.3",
    ]


def test_figures_and_heads_without_a_border_between_them(tmp_path: Path) -> None:
    page = Page().grid((72, 250, 450), [120, 140, 160, 180, 200])
    # Only one row has the border between the two last columns.
    page.rule(350, 160, 350, 180)
    page.row(134, cells("Country", "Births", "Deaths"))
    for place, row in enumerate(RATES):
        page.row(154 + 20 * place, cells(*row))
    assert lines(tmp_path, page) == RATES_AS_TEXT


def test_lines_that_fill_all_columns_between_two_borders_are_rows(
    tmp_path: Path,
) -> None:
    page = Page().grid(XS, [120, 140, 200])
    page.row(134, cells("Length", "Kind", "Dose"))
    for place, length in enumerate(("4.2", "11.5", "7.3")):
        page.row(154 + 15 * place, cells(length, "VC", "0.5"))
    assert lines(tmp_path, page) == [
        "Length: 4.2; Kind: VC; Dose: 0.5",
        "Length: 11.5; Kind: VC; Dose: 0.5",
        "Length: 7.3; Kind: VC; Dose: 0.5",
    ]


def test_rows_without_rules_in_one_row_of_borders_stand_apart(tmp_path: Path) -> None:
    page = Page().grid((72, 200, 300, 400), (100, 120, 200, 220))
    page.row(114, [(80, "Country"), (210, "Births"), (310, "Deaths")])
    for at, row in enumerate(RATES):
        page.row(136 + 20 * at, list(zip((80, 210, 310), row, strict=True)))
    page.row(214, [(80, "All"), (210, "53.7"), (310, "21.2")])
    assert lines(tmp_path, page) == [
        *RATES_AS_TEXT,
        "Country: All; Births: 53.7; Deaths: 21.2",
    ]


def test_a_typed_rule_ends_a_header_of_numbers(tmp_path: Path) -> None:
    page = Page().lines(72, 60, prose("Above", 2, each=60))
    page.row(110, [(80, "Share"), (250, "1.0"), (320, "1.1")]).text(72, 122, "-" * 60)
    for at, row in enumerate(
        [("0.99", "800", "880"), ("0.95", "160", "176"), ("0.90", "80", "88")]
    ):
        page.row(134 + 12 * at, list(zip((80, 250, 320), row, strict=True)))
    assert "Share: 0.95; 1.0: 160; 1.1: 176" in lines(tmp_path, page)


def test_typed_rules_alone_are_no_table(tmp_path: Path) -> None:
    page = Page()
    for at in range(5):
        page.row(100 + 12 * at, [(80, "-" * 12), (250, "=" * 12)])
    assert lines(tmp_path, page)


def tables(sections: list[Section]) -> list[TableRows]:
    return [section.rows for section in sections if section.rows is not None]


def facts(rows: TableRows) -> list[tuple[str, str, str, str]]:
    return [
        (figure.subject, figure.heading, figure.label, figure.text)
        for row in statements(rows.table)
        for figure in row.values()
    ]


def test_groups_and_heads_over_columns_are_paths_of_the_cells(tmp_path: Path) -> None:
    page = Page().text(72, 100, "Table 4. Householders by group", size=9)
    (shown,) = tables(load(tmp_path, between_rules(page, 120)))
    assert shown.table.title == "Table 4. Householders by group"
    assert shown.table.columns[:2] == (("2007", "No."), ("2007", "Share"))
    assert [row.path for row in shown.rows] == [
        ("Sex", "Male"),
        ("Sex", "Female"),
        ("Region", "South of the great river"),
        ("Total",),
    ]


def test_a_head_that_breaks_over_lines_is_one_name(tmp_path: Path) -> None:
    page = Page().rule(72, 100, 500, 100).row(112, cells("", "Births", "Deaths"))
    page.row(124, cells("Country", "in a year", "in a year"))
    page.rule(72, 130, 500, 130)
    for at, row in enumerate(RATES):
        page.row(144 + 12 * at, cells(*row))
    page.rule(72, 180, 500, 180)
    (shown,) = tables(load(tmp_path, page))
    assert facts(shown)[:2] == [
        ("Kenya", "Births in a year", "", "26.1"),
        ("Kenya", "Deaths in a year", "", "4.9"),
    ]


def test_a_table_over_two_pages_is_one_whose_head_is_repeated(tmp_path: Path) -> None:
    head = ("Zone", "Births", "Deaths")
    first = Page().text(72, 600, "Table 7: Registers of 2021")
    bordered(first, 620, [head, ("Ab", "12", "3"), ("Bo", "14", "4")])
    second = bordered(Page(), 60, [head, ("Cu", "15", "5"), ("Di", "16", "6")])
    before, after = load(tmp_path, first, second)
    assert before.rows is not None
    assert after.rows is not None
    assert after.rows.table.title == "Table 7: Registers of 2021"
    assert after.path == before.path == ("Table 7: Registers of 2021",)
    assert (
        after.text == "Zone: Cu; Births: 15; Deaths: 5\nZone: Di; Births: 16; Deaths: 6"
    )
    assert [row.path for row in after.rows.rows] == [("Cu",), ("Di",)]
    assert (before.page, after.page) == (1, 2)


def test_a_table_with_a_name_of_its_own_does_not_continue_another(
    tmp_path: Path,
) -> None:
    head = ("Zone", "Births", "Deaths")
    first = bordered(Page(), 660, [head, ("Ab", "12", "3"), ("Bo", "14", "4")])
    second = Page().text(72, 110, "Table 8: Registers of 2022")
    bordered(second, 120, [head, ("Cu", "15", "5"), ("Di", "16", "6")])
    before, after = tables(load(tmp_path, first, second))
    assert after.table is not before.table
    assert after.table.title == "Table 8: Registers of 2022"


@pytest.mark.parametrize("first", ["Boys", "Urban"])
def test_a_label_alone_groups_rows_between_borders_if_all_are_in_groups(
    tmp_path: Path, first: str
) -> None:
    rows = [("Zone", "Births", "Deaths"), ("Total", "90", "9"), (first, "", "")]
    rows += [("Ab", "12", "3"), ("Girls", "", ""), ("Bo", "14", "4")]
    if first == "Boys":
        rows.pop(1)
    (shown,) = tables(load(tmp_path, bordered(Page(), 120, rows)))
    paths = [row.path for row in shown.rows]
    if first == "Boys":
        assert paths == [("Boys", "Ab"), ("Girls", "Bo")]
    else:
        # A place without values among others.
        assert paths == [("Total",), ("Urban",), ("Ab",), ("Girls",), ("Bo",)]


def test_a_label_that_breaks_before_its_figures_is_no_group(tmp_path: Path) -> None:
    page = Page().lines(72, 60, prose("Above", 2, each=60))
    page.row(110, cells("Country", "Births", "Deaths"))
    for at, row in enumerate(RATES):
        page.row(122 + 12 * at, cells(*row))
    page.row(158, cells("Islands and")).row(169, cells("atolls", "7.5", "2.5"))
    (shown,) = tables(load(tmp_path, page))
    assert shown.rows[-1].path == ("Islands and atolls",)


def test_the_unit_below_a_caption_is_that_of_the_figures(tmp_path: Path) -> None:
    page = Page().lines(72, 60, prose("Above", 2, each=60))
    page.text(72, 100, "Table 2: Exports").text(72, 112, "in thousands of tonnes")
    page.row(130, cells("Country", "Cocoa", "Coffee"))
    for at, row in enumerate(RATES):
        page.row(142 + 12 * at, cells(*row))
    (shown,) = tables(load(tmp_path, page))
    assert shown.table.title == "Table 2: Exports"
    assert facts(shown)[0] == ("Kenya", "Cocoa", "", "26.1 thousands of tonnes")


def test_items_with_their_values_stay_text(tmp_path: Path) -> None:
    page = bordered(Page(), 120, [("Item", "Value"), ("Tea", "7"), ("Milk", "8")])
    (section,) = load(tmp_path, page)
    assert section.rows is None
    assert section.text == "Item: Tea; Value: 7\nItem: Milk; Value: 8"


@pytest.mark.parametrize(("name", "heads"), [("(a year)", 2), ("1,200 (est.)", 1)])
def test_words_above_nothing_but_figures_are_heads_too(
    tmp_path: Path, name: str, heads: int
) -> None:
    rows = [("Zone", "Births", "Deaths"), ("of a town", name, "(others)")]
    rows += [("Ab", "12", "3"), ("Bo", "14", "4")]
    (shown,) = tables(load(tmp_path, bordered(Page(), 120, rows)))
    assert len(shown.rows) == 4 - heads
