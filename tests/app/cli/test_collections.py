"""A third collection, through the commands: what is put there is found."""

import json
from pathlib import Path

import pytest

from tests.app.cli.conftest import Run
from tests.conftest import write_report

pytestmark = pytest.mark.extras("all")
COLLECTIONS = "news: Daily news.; report_chatting: Country reports."


@pytest.fixture
def environment(environment: dict[str, str]) -> dict[str, str]:
    others = {
        name: value
        for name, value in environment.items()
        if name != "EMBEDDING_PROVIDER"
    }
    return {**others, "COLLECTIONS": COLLECTIONS}


@pytest.fixture
def loaded(run: Run, kenya_file: Path, tmp_path: Path) -> Run:
    """Kenya among the reports, a zebra in the news."""
    news = write_report(
        tmp_path / "news", "# Zebras today\n\nA zebra was seen in Kenya.", "news"
    )
    for arguments in (
        (str(kenya_file), "--country", "Kenya"),
        (str(news), "--collection", "news"),
    ):
        done = run(
            "ingest", *arguments, EMBEDDING_PROVIDER="hashing", EMBEDDING_MODEL="64"
        )
        assert done.status == 0, done.err
    return run


def test_a_question_within_one(loaded: Run) -> None:
    def found(*arguments: str) -> set[str]:
        body = json.loads(
            loaded(
                "ask", "zebra Kenya", "--retrieval-method", "bm25", "--json", *arguments
            ).out
        )
        return {hit["title"] for hit in body["trace"]["hits"]}

    assert found() == {"Zebras today", "Kenya: Country Report 2023"}
    assert found("--collection", "news") == {"Zebras today"}
    assert found("--collection", "chatbot_data") == set()
    refused = loaded("ask", "zebra", "--collection", "laws")
    assert refused.status == 2
    assert (
        "unknown collection 'laws'. Valid: chatbot_data, report_chatting, news."
        in refused.err
    )


def test_the_doctor_looks_into_it_and_knows_one_that_is_not_named(loaded: Run) -> None:
    assert "collection news: 1 passage" in loaded("doctor").out
    assert (
        "No setting names the collection 'news'" in loaded("doctor", COLLECTIONS="").out
    )
