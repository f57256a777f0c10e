"""Data sets in BEIR layout and own questions in a CSV file: what is read, and what is
said of broken ones.
"""

from pathlib import Path

import pytest

from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.domain import Chunk, Scope
from chatbot.domain.errors import LoadError
from chatbot.domain.scope import Value, Values
from chatbot.extras.evaluation.dataset import (
    Dataset,
    EvaluationQuery,
    Expectation,
    read_dataset,
    read_questions,
    register_reports,
)
from chatbot.library.pipeline import Ingested
from tests.conftest import AddReport
from tests.data import cases
from tests.extras.evaluation import beir

CASES = cases(__file__)

FIELDS = Settings().filter_fields


def test_passages_keep_id_title_text_and_filter_fields(tmp_path: Path) -> None:
    data = read_dataset(beir.write(tmp_path / "tiny"), FIELDS)
    assert data.name == "tiny"
    assert [chunk.id for chunk in data.chunks] == ["k21", "k23", "m23", "free"]
    first, last = data.chunks[0], data.chunks[-1]
    assert first.search_text == "Kenya 2021\nzebra growth 2.12%"
    assert first.metadata == {"country_name": "Kenya", "year": 2021}
    assert last.search_text == "giraffes eat leaves"


def test_questions_keep_filters_and_judgements(tmp_path: Path) -> None:
    scoped, free = read_dataset(beir.write(tmp_path / "tiny"), FIELDS).queries
    assert scoped.targets == (Expectation("k23"),), (
        "a score of 0 is no judgement in favour"
    )
    assert scoped.scope == Scope.of(
        {"country_name": Values(("Kenya",)), "year": Values((2023,))}
    )
    assert scoped.text == "zebra growth in Kenya in 2023"
    assert free.scope == Scope()
    assert free.text == "what do giraffes eat"


def test_lines_end_where_json_lines_end(tmp_path: Path) -> None:
    """U+2028 and U+0085 are text, not line ends."""
    folder = beir.write(
        tmp_path / "tiny", corpus='{"_id": "a", "text": "one\u2028two\x85three"}\n'
    )
    assert read_dataset(folder, FIELDS).chunks[0].text == "one\u2028two\x85three"


BROKEN = {
    **CASES["broken"],
    "second line": (
        {"corpus": '{"_id": "a", "text": "x"}\n[]\n'},
        "corpus.jsonl, line 2: _id and text are required",
    ),
}


@pytest.mark.parametrize(("files", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_named_with_its_line(
    tmp_path: Path, files: dict[str, str | None], message: str
) -> None:
    folder = beir.write(tmp_path / "tiny", **files)
    with pytest.raises(LoadError) as raised:
        read_dataset(folder, FIELDS)
    assert message in raised.value.message
    assert str(folder) in raised.value.message


def passage(document: str, text: str = "", page: int | None = None) -> Chunk:
    return Chunk("c", document, document, document, text, page=page)


@pytest.mark.parametrize(
    ("target", "chunk", "holds"),
    [
        (Expectation("a"), passage("a"), True),
        (Expectation("a"), passage("b"), False),
        (Expectation("a", page=3), passage("a", page=3), True),
        (Expectation("a", page=3), passage("a", page=4), False),
        (Expectation("a", page=3), passage("a"), False),
        (
            Expectation("a", answer="2.09 % a year"),
            passage("a", "It grows by 2.09 %\n  A Year."),
            True,
        ),
        (Expectation("a", answer="2.09 %"), passage("a", "It grows by 2.9 %"), False),
    ],
)
def test_what_a_target_asks_of_a_passage(
    target: Expectation, chunk: Chunk, holds: bool
) -> None:
    assert target.holds(chunk) is holds


def test_each_target_is_found_once_at_its_first_passage() -> None:
    targets = (Expectation("a", answer="x"), Expectation("b"))
    query = EvaluationQuery("q", "", Scope(), targets)
    ranking = query.ranking(
        [passage("a", "y"), passage("b"), passage("b"), passage("a", "x")]
    )
    assert ranking == [None, targets[1], None, targets[0]]
    assert query.answerable
    assert not EvaluationQuery("q", "", Scope(), ()).answerable


def chunk(number: int, **metadata: Value) -> Chunk:
    return Chunk(
        str(number), str(number), f"name {number}", "title", "text", metadata=metadata
    )


def test_one_report_for_what_the_passages_have_in_common(services: Services) -> None:
    kenya = {"country_name": "Kenya", "year": 2021}
    chunks = [
        chunk(1, **kenya),
        chunk(2, **kenya),
        chunk(3, country_name="Mali", year=2021),
        chunk(4),
    ]
    assert register_reports(services.storage.documents, chunks) == 3
    assert services.storage.documents.values("country_name") == ["Kenya", "Mali"]
    found = services.storage.documents.all(
        Scope.of({"country_name": Values(("Kenya",))})
    )
    assert [(record.name, record.chunks, record.status) for record in found] == [
        ("Kenya, 2021", 2, "ready")
    ]
    assert len(services.storage.documents.all()) == 3


@pytest.fixture
def reports(kenya: Ingested, add_report: AddReport) -> dict[str, str]:
    """Kenya 2023 and two reports of one title, by name of the file."""
    found = {"kenya": kenya.document_id}
    for year in (2021, 2022):
        text = f"# Mali: Country Report\n\n## Land\n\nDesert in {year}."
        found[f"mali-{year}"] = add_report(
            text, f"mali-{year}", country_name="Mali", year=year
        ).document_id
    return found


def read(services: Services, path: Path, text: str) -> Dataset:
    path.write_text(text, encoding="utf-8")
    return read_questions(
        path,
        services.storage.documents,
        services.storage.scopes,
        services.settings.filter_fields,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mine.csv"


@pytest.mark.parametrize(
    "name",
    [
        "Kenya: Country Report 2023",
        "kenya: country report 2023",
        "KENYA-2023",
        "test/kenya-2023",
    ],
)
def test_a_report_is_named_by_title_or_file(
    services: Services, path: Path, reports, name: str
) -> None:
    data = read(services, path, f'question,expected_document\nHow many?,"{name}"\n')
    assert (data.name, data.chunks) == ("mine", [])
    (query,) = data.queries
    assert (query.id, query.text) == ("2", "How many?")
    assert query.targets == (Expectation(reports["kenya"]),)
    assert query.scope == Scope()


def test_a_report_is_named_by_its_id(services: Services, path: Path, reports) -> None:
    (query,) = read(
        services,
        path,
        f"question,expected_document\nHow many?,{reports['mali-2021']}\n",
    ).queries
    assert query.targets == (Expectation(reports["mali-2021"]),)


def test_all_columns_with_semicolons_and_a_title_in_its_own_case(
    services: Services, path: Path, reports
) -> None:
    """As a spreadsheet in Europe writes it; several values are separated inside the
    quotes.
    """
    text = (
        "Question;Expected "
        "Document;Page;Answer;Country_Name;Year;Type;Document_Name;Answerable;Note\n"
        'Where?;"mali-2021; mali-2022";3;In the Sahel;"KE; Mali";2021;;;Yes;two\n'
        ";;;;;;;;;\n"
        "How?;;;;;;;;no;\n"
    )
    first, second = read(services, path, text).queries
    assert first.targets == tuple(
        Expectation(reports[name], 3, "In the Sahel")
        for name in ("mali-2021", "mali-2022")
    )
    assert first.scope == Scope.of(
        {"country_name": Values(("Kenya", "Mali")), "year": Values((2021,))}
    )
    assert (second.id, second.text, second.answerable) == ("4", "How?", False)


def test_the_scope_tells_reports_of_one_title_apart(
    services: Services, path: Path, reports
) -> None:
    text = "question,expected_document,year\nWhere?,Mali: Country Report,2022\n"
    assert read(services, path, text).queries[0].targets == (
        Expectation(reports["mali-2022"]),
    )


@pytest.mark.parametrize(
    ("text", "message"), CASES["wrong_rows"].values(), ids=CASES["wrong_rows"]
)
def test_what_is_wrong_is_named_with_file_and_line(
    services, path, reports, text: str, message: str
) -> None:
    with pytest.raises(LoadError) as raised:
        read(services, path, text)
    assert message in raised.value.message
    assert raised.value.message.startswith("mine.csv")


def test_the_filter_fields_of_the_settings_are_the_columns(
    services: Services, path: Path, reports
) -> None:
    path.write_text(
        "question,expected_document,year\nx,kenya-2023,2023\n", encoding="utf-8"
    )
    with pytest.raises(LoadError, match="unknown column 'year'"):
        read_questions(
            path, services.storage.documents, services.storage.scopes, ("country_name",)
        )
