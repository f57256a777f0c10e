"""The product with its passages in PostgreSQL (seed 004): ingest, answer, re-ingest,
delete.
"""

from pathlib import Path

import pytest

from chatbot.answering.conversation import Saved
from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import Answer, Cancellation, Question, Scope
from chatbot.extras.operator.doctor import diagnose
from tests.conftest import KENYA_2023, AddReport
from tests.fakes import postgres

CHAD_2022 = (
    KENYA_2023.replace("Kenya", "Chad")
    .replace("2023", "2022")
    .replace("52,428,290", "17,963,211")
)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.override(
        vector_search="pgvector", postgres_uri=postgres.empty_database()
    )


def rows() -> int:
    with postgres.connect() as connection:
        return int(connection.execute("SELECT count(*) FROM chunks").fetchone()[0])


def ask(
    services: Services, query: str, method: str, **filters: list[str | int]
) -> Answer:
    scope = services.storage.scopes.resolve(filters)
    asked = Question(query, scope, top_k=5, retrieval_method=method, mode="direct")
    last = services.chat.answer(asked, cancel=Cancellation())
    assert isinstance(last, Saved)
    return last.answer


def test_passages_whose_database_was_lost_are_found(
    services: Services, add_report: AddReport, settings: Settings, tmp_path: Path
) -> None:
    add_report(KENYA_2023, "kenya-2023", country_name="Kenya", year=2023)
    findings = list(diagnose(services))
    assert "passages_of_another_database" not in {finding.name for finding in findings}
    said = [finding.message for finding in findings if finding.name == "count"]
    assert f"pgvector: {services.runtime.store.count(Scope())} passages" in said
    assert not [one for one in said if one.startswith("collection")]
    with build(settings.override(data_dir=tmp_path / "new")) as anew:
        [found] = [finding for finding in diagnose(anew) if finding.severity == "error"]
    assert found.name == "passages_of_another_database"
    assert "restore its backup" in found.remedy


def test_two_reports_are_ingested_asked_and_deleted(
    services: Services, add_report: AddReport
) -> None:
    """R-E2, R-E6, R-E7."""
    kenya = add_report(
        KENYA_2023, "kenya-2023", country_name="Kenya", year=2023, type="country_report"
    )
    chad = add_report(
        CHAD_2022, "chad-2022", country_name="Chad", year=2022, type="country_report"
    )
    assert (
        rows()
        == services.runtime.store.count(Scope())
        == kenya.chunks + chad.chunks
        > 0
    )
    again = add_report(
        KENYA_2023, "kenya-2023", country_name="Kenya", year=2023, type="country_report"
    )
    assert again.outcome == "unchanged"

    for method in ("vector", "bm25", "hybrid"):
        answer = ask(
            services,
            "What is the population of Chad?",
            method,
            country_name=["Chad"],
            year=[2022],
        )
        assert answer.answered
        assert "17,963,211" in " ".join(hit.chunk.text for hit in answer.trace.hits)
        assert {hit.chunk.metadata["country_name"] for hit in answer.trace.hits} == {
            "Chad"
        }
        assert answer.citations

    changed = KENYA_2023.replace("52,428,290", "53,000,000")
    assert add_report(
        changed, "kenya-2023", country_name="Kenya", year=2023, type="country_report"
    ).outcome == ("replaced")
    assert rows() == kenya.chunks + chad.chunks

    for report in (kenya, chad):
        assert services.ingesting.ingestor.delete(report.document_id)
    assert rows() == 0
    assert services.storage.documents.all() == []
