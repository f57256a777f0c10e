"""PDFs as they are found: bordered tables, journals in columns, tables without borders,
pages that are pictures.
"""

from functools import cache

import pytest

from chatbot.domain import Loaded, Section
from chatbot.library.loaders.pdf import PdfLoader
from tests.data import cases, data_set, needs

CASES = cases(__file__)
FORMATS = data_set("sample_corpus", "formats")
pytestmark = needs(FORMATS)


@cache
def load(name: str) -> Loaded:
    return PdfLoader().load(FORMATS / name)


def section(name: str, page: int, path: tuple[str, ...]) -> Section:
    (found,) = [s for s in load(name).sections if s.page == page and s.path == path]
    return found


def page_text(name: str, page: int) -> str:
    return "\n\n".join(s.text for s in load(name).sections if s.page == page)


TITLES = CASES["titles"]


@pytest.mark.parametrize("name", TITLES)
def test_title_pages_and_page_numbers(name: str) -> None:
    loaded = load(name)
    assert [loaded.title, loaded.pages] == TITLES[name]
    pages = [section.page for section in loaded.sections]
    assert pages == sorted(page for page in pages if page is not None)
    assert set(pages) <= set(range(1, TITLES[name][1] + 1))


KENYA = {
    (2, ("People and Society", "Population")): "Item: total; Value: 58,246,378",
    (
        6,
        ("People and Society", "Alcohol consumption per capita"),
    ): "Item: wine; Value: 0.04 liters of pure alcohol",
    (
        7,
        ("Economy", "Inflation rate (consumer prices)"),
    ): "Item: Inflation rate (consumer prices) 2023; Value: 7.67%",
    (
        8,
        ("Economy", "Inflation rate (consumer prices)"),
    ): "Item: Inflation rate (consumer prices) 2021; Value: 6.11%",
    (
        3,
        ("People and Society", "Demographic profile"),
    ): "sheltering nearly 280,000 Somali refugees as of 2022.",
    (
        4,
        ("People and Society", "Population distribution"),
    ): "the capital of Nairobi, and in the southeast along",
}


@pytest.mark.parametrize(("page", "path"), KENYA)
def test_cells_of_a_table_over_several_pages_are_under_their_headings(
    page: int, path: tuple[str, ...]
) -> None:
    """Cells under their headings; the heading at the foot of page 3 belongs to page 4,
    that of page 5 to page 6.
    """
    assert KENYA[page, path] in section("kenya-2024.pdf", page, path).text


def test_table_cells_do_not_come_a_second_time() -> None:
    text = "\n".join(s.text for s in load("kenya-2024.pdf").sections)
    assert text.count("58,246,378") == 1
    assert "page 2" not in text


def test_a_table_of_items_and_values_names_its_columns() -> None:
    text = section("colombia-2022.pdf", 9, ("Economy", "Real GDP per capita")).text
    assert text.startswith("Item: ")
    assert "Value: $" in text


def test_archive_summary_has_its_table_by_row_and_its_words_whole() -> None:
    text = page_text("factbook-archive-summary-2026.pdf", 2)
    assert (
        "Feature: Data Explorer; Description: Custom SQL-like queries across 102 "
        "indicators with CSV export."
    ) in text
    assert "A canonicalization layer maps 1,132 raw field name variants" in text
    assert "Executive Summary" not in text
    assert "Metric: Parser coverage; Value: 97.6%" in page_text(
        "factbook-archive-summary-2026.pdf", 1
    )


def test_federal_register_reads_three_columns_in_order() -> None:
    text = page_text("federal-register-2020.pdf", 1)
    marks = [
        "This section of the FEDERAL REGISTER",
        "by any of the following methods:",
        "Federal eRulemaking Portal",
        "reference a specific portion of the proposal, explain the reason",
        "On October 29, 2018",
    ]
    assert sorted(marks, key=text.index) == marks
    assert "VerDate" not in text
    assert "Docket No. FAA–2020–0686; or in person at Docket Operations" in text


def test_federal_register_footnotes_do_not_part_a_sentence() -> None:
    text = section("federal-register-2020.pdf", 2, ("Background",)).text
    assert (
        "and altitude disagree alert,5 and may affect the flightcrew’s ability" in text
    )


def test_federal_register_table_at_the_foot_of_three_columns() -> None:
    path = ("Costs of Compliance", "ESTIMATED COSTS")
    *_, row = [
        s
        for s in load("federal-register-2020.pdf").sections
        if s.page == 5 and s.path == path
    ]
    assert row.text == (
        "Action: MDS installation and verification, INOP marker removal.; "
        "Labor cost: 1 work-hour × $85 per hour = $85; Parts cost: $0; "
        "Cost per product: $85; Cost on U.S. operators: $6,205."
    )


def test_federal_register_order_around_a_picture() -> None:
    text = page_text("federal-register-2020.pdf", 7)
    assert sorted(["(1) In", "(2) In", "(3) In"], key=text.index) == [
        "(1) In",
        "(2) In",
        "(3) In",
    ]


def test_us_018_names_each_year_and_its_group_of_columns() -> None:
    first, second = page_text("us-018.pdf", 1), page_text("us-018.pdf", 2)
    assert "Region and state: Texas; Actual 2003–04: 244,165; 2004–05: 239,717" in first
    assert (
        "Region and state: United States; Actual 2003–04: 2,753,438; 2004–05: 2,799,250"
        in first
    )
    assert "; 2012–13: 5,380" in first
    assert "Region and state: Wyoming; Projected—Continued 2013–14: 5,430" in second
    row = (
        "Year: Actual › 1999; Number of teachers Total: 3,319; Control Public: 2,911; "
    )
    assert row in page_text("us-018.pdf", 4)


def test_us_024_reads_two_columns_and_names_each_figure() -> None:
    first = page_text("us-024.pdf", 1)
    marks = [
        "Healthy homes are essential to a healthy community and population",
        "In AHS, housing unit is a house",
        "The proportion of housing units classified as inadequate",
    ]
    assert sorted(marks, key=first.index) == marks
    table = [s for s in load("us-024.pdf").sections if s.page == 2]
    assert all("TABLE 1." in section.path[-1].upper() for section in table)
    (row,) = [
        section.text
        for section in table
        if "Male › Black, non-Hispanic" in section.text
    ]
    assert "\n" not in row, (
        "a wide row is a section by itself: it is found by its label"
    )
    assert "; (%): (9.9); " in row
    assert row.endswith("; (95% CI): (2.1–3.2)")
    text = page_text("us-024.pdf", 2)
    assert (
        "American Indian/Alaska Native; 2007 total occupied housing units: 707" in text
    )
    assert "†" in text
    assert [s.path for s in load("us-024.pdf").sections if s.page == 4][-1] == ()


def test_us_025_parts_a_table_from_the_column_beside_it() -> None:
    *table, prose, references = (s for s in load("us-025.pdf").sections if s.page == 4)
    assert len({section.path for section in table}) == 1
    row = "State/Area: Utah; Coronary heart disease no.: 1,462; Rate: 77.5"
    assert any(row in section.text for section in table)
    assert prose.text.startswith(
        "disparities in heart disease and stroke among persons who already have"
    )
    assert references.path == ("References",)
    two = page_text("us-025.pdf", 2)
    assert "Age group (yrs): Women › ≥85; " in two
    assert "; White no.: 51,632; Rate: 3,396.0" in two


def test_ligatures_that_the_file_maps_to_their_last_letter_are_whole() -> None:
    text = page_text("us-025.pdf", 1)
    assert (
        text.count("Heart disease and stroke are the first and third leading causes")
        == 1
    )
    assert "The Healthy People 2010 objectives" in text
