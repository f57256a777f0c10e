"""What proves the country, the year and the title of a new document."""

from pathlib import Path

import pytest

from chatbot.app.services import Services
from chatbot.domain import Loaded, Scope, Section
from chatbot.domain.documents import Proposal
from chatbot.domain.scope import Values
from chatbot.library.description import propose
from chatbot.library.loaders import loader_for, read_file
from chatbot.library.sources import Source, make_document
from tests.conftest import ingest_file, write_report
from tests.data import cases

CASES = cases(__file__)


def proposals(path: Path, text: str, *titles: str) -> dict[str, Proposal]:
    path.write_text(text, encoding="utf-8")
    loaded = read_file(loader_for(path), path)
    return {one.field: one for one in propose(loaded, path, titles)}


def of_rows(*rows: str, stem: str = "cash", suffix: str = ".xlsx") -> Loaded:
    return Loaded(stem, tuple(Section(("Cash",), row) for row in rows))


@pytest.mark.parametrize(("name", "text"), CASES["ordinary"].items())
def test_a_demonym_a_language_or_a_namesake_files_nothing_under_a_country(
    tmp_path: Path, name: str, text: str
) -> None:
    found = proposals(tmp_path / name, text).get("country_name")
    assert found is None or not found.taken


@pytest.mark.parametrize(("name", "case"), CASES["taken"].items())
def test_a_name_beside_a_word_of_states_and_a_second_kind_of_evidence_are_taken(
    tmp_path: Path, name: str, case: list[str]
) -> None:
    text, country = case
    found = proposals(tmp_path / name, text)["country_name"]
    assert (found.value, found.taken) == (country, True)


REPORT_TEXT = """

The government of {0} held a census. The population of {0} grew.
Exports of {0} rose.
"""


@pytest.mark.parametrize(
    ("title", "called", "filed"),
    [
        ("Burma", "Burma", "Burma"),
        ("Russia", "Russia", "Russia"),
        ("The Gambia", "Gambia", "The Gambia"),
        ("Korea, South", "South Korea", "South Korea"),
        ("Republic of Kenya", "Kenya", "Kenya"),
        ("KENYA", "Kenya", "Kenya"),
        ("Perú", "Peru", "Peru"),
    ],
)
def test_a_country_is_filed_under_the_name_that_its_report_uses(
    tmp_path: Path, title: str, called: str, filed: str
) -> None:
    text = f"# {title}: Country Report 2025{REPORT_TEXT.format(called)}"
    found = proposals(tmp_path / "report.md", text)["country_name"]
    assert (found.value, found.taken) == (filed, True)


def test_a_library_keeps_the_name_under_which_it_has_a_country(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text(f"# Burma: Country Report 2025{REPORT_TEXT.format('Burma')}")
    loaded = read_file(loader_for(path), path)
    source = Source(path, "report.md")
    for countries, filed in (((), "Burma"), (("Myanmar",), "Myanmar")):
        document = make_document(source, loaded, countries=countries)
        assert document.metadata["country_name"] == filed


@pytest.mark.parametrize(("name", "case"), CASES["proposed"].items())
def test_less_evidence_is_proposed_with_the_words_it_comes_from(
    tmp_path: Path, name: str, case: list[str]
) -> None:
    text, country, words = case
    found = proposals(tmp_path / name, text)["country_name"]
    assert (found.value, found.taken, found.words) == (country, False, words)


@pytest.mark.parametrize(
    ("titles", "taken"),
    [
        ((), False),
        (("06-cash-yemen-2024",), True),
        (("cash-sudan-2023",), True),
        (("cash-jordan-2024",), False),
        (("cash-lebanon-2023",), False),
        (("grants-yemen-2024",), False),
    ],
)
def test_a_sibling_on_another_country_in_the_library_proves_the_country(
    titles: tuple[str, ...], taken: bool
) -> None:
    loaded = of_rows("Households: 1000", stem="07-cash-lebanon-2024")
    found = propose(loaded, Path("07-cash-lebanon-2024.xlsx"), titles)
    assert [one.taken for one in found if one.field == "country_name"] == [taken]


@pytest.mark.parametrize(
    ("row", "year"),
    [
        ("Month: 2024-01; Households: 2000; USD paid: 90000", 2024),
        ("Households: 2000; Camps: 2001", None),
        ("Year: 2023; Households: 2000", 2023),
        ("January to March 2024; Households: 2003", 2024),
    ],
)
def test_the_number_of_a_cell_is_no_year(row: str, year: int | None) -> None:
    found = {one.field: one for one in propose(of_rows(row), Path("cash.xlsx"))}
    taken = found.get("year")
    assert (taken.value if taken and taken.taken else None) == year


@pytest.mark.parametrize(
    "title",
    [
        "ActiveReports Document",
        "Agriculture Statistics 2012-13..psd",
        "kilograms 2.5 CO2e/boe",
        "Job Announcement Number:",
        "Clave Clave Clave Nombre",
        "HIGHLIGHTS",
        "RAPPORT PROVISOIRE",
        "Appendix 5 Page 8 of 11",
        "Annex A—Glossary",
    ],
)
def test_a_default_a_head_of_a_column_and_a_figure_are_no_title(title: str) -> None:
    loaded = Loaded(title, (Section((), "12"),), properties={"title": title})
    found = {one.field: one for one in propose(loaded, Path("x.pdf"))}
    assert "title" not in found


@pytest.mark.parametrize("title", ["2. Background", "Annex", "Appendix 5 Page 8 of 11"])
def test_a_report_is_not_named_after_a_part_of_it(title: str) -> None:
    loaded = Loaded(title, (Section((), "12"),))
    assert make_document(Source(Path("x.pdf"), "x.pdf"), loaded).title == "x"


@pytest.mark.parametrize(
    "margin", ["Working Paper Series No 1299", "First Page Previous Page Next Page"]
)
def test_a_series_and_links_in_a_running_head_are_no_title(margin: str) -> None:
    loaded = Loaded("x", (Section((), "12"),), margins=(margin,))
    found = {one.field: one for one in propose(loaded, Path("x.pdf"))}
    assert "title" not in found


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("# Maize\n\nThe harvest of the district is 1961 tonnes of maize.\n", None),
        ("# Answers\n\nWe follow the others (Lo et al., 2019; Ra, 2019).\n", None),
        ("# Page\n\nSee https://example.org/2001/schema for all of it.\n", None),
        ("# Lakes\n\nPublished by the Lake Trust, 3 February 2025\n", 2025),
        ("# Water\n\nIt covers January to March 2024 in the valley.\n", 2024),
    ],
)
def test_a_quantity_a_reference_and_an_address_give_no_year(
    tmp_path: Path, text: str, year: int | None
) -> None:
    found = proposals(tmp_path / "report.md", text).get("year")
    assert (found.value if found else None) == year


def test_the_year_of_a_statement_on_the_title_page_is_only_proposed(
    tmp_path: Path,
) -> None:
    text = "Population growth was 2.1 percent in 2023 and nobody knows what it will be"
    found = proposals(tmp_path / "report.txt", f"Kenya\n\n{text}\n")["year"]
    assert (found.value, found.taken) == (2023, False)


def test_a_workbook_of_several_sheets_is_not_named_after_the_first() -> None:
    sheets = (
        Section(("Survey of cocoa exports",), "Note: prices at noon."),
        Section(("Survey of cotton exports",), "Note: prices at night."),
    )
    found = {one.field: one for one in propose(Loaded("x", sheets), Path("x.xlsx"))}
    assert "title" not in found


def test_a_sibling_outside_of_the_uploaders_limit_proves_nothing(
    services: Services, tmp_path: Path
) -> None:
    path = write_report(tmp_path, "# Cash paid in Yemen, 2024\n\nPaid.\n", "yemen")
    ingest_file(services, path, "yemen", country_name="Yemen")
    path = write_report(tmp_path, "# Cash paid in Lebanon, 2024\n\nPaid.\n", "other")
    source = Source(path, "other")
    limit = Scope.of({"country_name": Values(("Lebanon",))})

    def is_taken(limit: Scope) -> list[bool]:
        document, _ = services.ingesting.service.plan(source, limit=limit)
        proposed = document.proposed
        return [one.taken for one in proposed if one.field == "country_name"]

    assert is_taken(Scope()) == [True]
    assert is_taken(limit) == [False]


@pytest.mark.parametrize(
    "line", ["Lower Marsh Annual Meeting Minutes April 9, 2025", "Guide to the marsh"]
)
def test_a_first_line_that_names_a_kind_of_document_is_its_title(
    tmp_path: Path, line: str
) -> None:
    text = f"{line}\n\nThe president welcomed the residents of the village."
    found = proposals(tmp_path / "scan_0417.txt", text)
    assert found["title"].value == line
