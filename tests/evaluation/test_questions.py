"""A person's own questions in a CSV file: what is read, and what is said of a file that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot.errors import LoadError
from chatbot.evaluation.dataset import Dataset, Target
from chatbot.evaluation.questions import QuestionReader
from chatbot.ingestion.pipeline import Ingested
from chatbot.schema import Scope, Values
from chatbot.services import Services
from tests.conftest import AddReport


@pytest.fixture
def reports(kenya: Ingested, add_report: AddReport) -> dict[str, str]:
    """Kenya 2023 and two reports of one title, by name of the file."""
    found = {"kenya": kenya.document_id}
    for year in (2021, 2022):
        text = f"# Mali: Country Report\n\n## Land\n\nDesert in {year}."
        found[f"mali-{year}"] = add_report(text, f"mali-{year}", country_name="Mali", year=year).document_id
    return found


def read(services: Services, path: Path, text: str) -> Dataset:
    path.write_text(text, encoding="utf-8")
    return QuestionReader(services.documents, services.scopes, services.settings.filter_fields).read(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mine.csv"


@pytest.mark.parametrize(
    "name", ["Kenya: Country Report 2023", "kenya: country report 2023", "KENYA-2023", "test/kenya-2023"]
)
def test_a_report_is_named_by_title_or_file(services: Services, path: Path, reports, name: str) -> None:
    data = read(services, path, f'question,expected_document\nHow many?,"{name}"\n')
    assert (data.name, data.chunks) == ("mine", [])
    (query,) = data.queries
    assert (query.id, query.text, query.scoped_text) == ("2", "How many?", "How many?")
    assert query.targets == (Target(reports["kenya"]),)
    assert query.scope == Scope()


def test_a_report_is_named_by_its_id(services: Services, path: Path, reports) -> None:
    (query,) = read(services, path, f"question,expected_document\nHow many?,{reports['mali-2021']}\n").queries
    assert query.targets == (Target(reports["mali-2021"]),)


def test_all_columns_with_semicolons_and_a_title_in_its_own_case(services: Services, path: Path, reports) -> None:
    """As a spreadsheet in Europe writes it; several values are separated inside the quotes."""
    text = (
        "Question;Expected Document;Page;Answer;Country_Name;Year;Type;Document_Name;Answerable;Note\n"
        'Where?;"mali-2021; mali-2022";3;In the Sahel;"KE; Mali";2021;;;Yes;two\n'
        ";;;;;;;;;\n"
        "How?;;;;;;;;no;\n"
    )
    first, second = read(services, path, text).queries
    assert first.targets == tuple(Target(reports[name], 3, "In the Sahel") for name in ("mali-2021", "mali-2022"))
    assert first.scope == Scope.of({"country_name": Values(("Kenya", "Mali")), "year": Values((2021,))})
    assert (second.id, second.text, second.answerable) == ("4", "How?", False)


def test_the_scope_tells_reports_of_one_title_apart(services: Services, path: Path, reports) -> None:
    text = "question,expected_document,year\nWhere?,Mali: Country Report,2022\n"
    assert read(services, path, text).queries[0].targets == (Target(reports["mali-2022"]),)


EXPECTED = "question,expected_document"
WRONG = {
    "an unknown column": (f"{EXPECTED},contry\nx,kenya-2023,KE\n", "unknown column 'contry'. Columns: question,"),
    "no question column": ("expected_document,note\nkenya-2023,x\n", "question is missing"),
    "a column twice": ("question,year,year\nx,1,2\n", "a column is there twice"),
    "no question": (f"{EXPECTED}\n,kenya-2023\n", "line 2: the question is missing"),
    "no such report": (f"{EXPECTED}\nx,Atlantis\n", "line 2: expected_document: no report is called 'Atlantis'"),
    "two such reports": (f"{EXPECTED}\nx,Mali: Country Report\n", "2 reports are called"),
    "no such country": (
        f"{EXPECTED},country_name\nx,kenya-2023,Peru\n",
        "line 2: filters.country_name: there is no report on 'Peru'",
    ),
    "no such year": (f"{EXPECTED},year\nx,kenya-2023,soon\n", "line 2: filters.year"),
    "a page that is none": (f"{EXPECTED},page\nx,kenya-2023,iv\n", "line 2: page: 'iv' is no page number"),
    "answerable is neither": (f"{EXPECTED},answerable\nx,kenya-2023,maybe\n", "line 2: answerable: 'maybe'"),
    "nothing expected": (f"{EXPECTED}\nx,kenya-2023\ny,\n", "line 3: a question has an expected_document, or"),
    "expected, not answerable": (f"{EXPECTED},answerable\nx,kenya-2023,no\n", "not both, and not neither"),
    "too many cells": (f"{EXPECTED}\nx,y,kenya-2023\n", "line 2: it has more cells than the header"),
    "an open quotation mark": (f'{EXPECTED}\n"x,kenya-2023\n', "not a valid CSV table from line 2"),
    "only what has no answer": ("question,answerable\nx,no\n", "no question has an expected_document"),
    "nothing": ("  \n", "mine.csv has no text"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_with_file_and_line(services, path, reports, text: str, message: str) -> None:
    with pytest.raises(LoadError) as raised:
        read(services, path, text)
    assert message in raised.value.message
    assert raised.value.message.startswith("mine.csv")


def test_the_filter_fields_of_the_settings_are_the_columns(services: Services, path: Path, reports) -> None:
    path.write_text("question,expected_document,year\nx,kenya-2023,2023\n", encoding="utf-8")
    with pytest.raises(LoadError, match="unknown column 'year'"):
        QuestionReader(services.documents, services.scopes, ("country_name",)).read(path)
