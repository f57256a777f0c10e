"""`feedback export`."""

import csv
import io
from pathlib import Path

from chatbot.app.services import Services, build
from chatbot.database.repositories.answers import Feedback, Rating
from tests.app.cli.conftest import Run
from tests.conftest import KENYA_2023, small_settings, write_report

QUESTION = "How fast does the population of Kenya grow?"


def rated(
    services: Services,
    question: str,
    rating: Rating,
    *,
    answered: bool = True,
    comment: str = "",
) -> Feedback:
    """What the service keeps of a question and its answer, and what somebody says of
    that.
    """
    chunks = (
        services.runtime.store.get([hit.chunk.id for hit in found(services, question)])
        if answered
        else []
    )
    asked = {
        "role": "user",
        "content": question,
        "scope": {"country_name": ["Kenya"]},
        "mode": "direct",
    }
    citations = (
        [{"number": 1, "chunk_id": chunks[0].id, "supported": True}] if chunks else []
    )
    said = {
        "role": "assistant",
        "content": "It grows.",
        "answered": answered,
        "citations": citations,
    }
    added = services.storage.conversations.add(None, [asked, said])
    reason = "incomplete" if rating == "down" else ""
    return services.storage.feedback.put(added.message_id, "", rating, reason, comment)


def found(services: Services, question: str):  # type: ignore[no-untyped-def]
    scope = services.storage.scopes.resolve({})
    return services.everything.retriever.retrieve(
        question, top_k=1, scope=scope, method="bm25"
    ).hits


def test_what_was_good_is_expected_and_what_was_bad_waits(
    run: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    report = write_report(tmp_path, KENYA_2023, "kenya-2023")
    assert (
        run("ingest", str(report), "--country", "Kenya", "--year", "2023").status == 0
    )
    settings = small_settings(Path(environment["DATA_DIR"]))
    with build(settings) as services:
        rated(services, QUESTION, "up")
        rated(services, "Who won the cup?", "up", answered=False)
        rated(services, "What else?", "down", comment="=HYPERLINK(1)")
        (document,) = services.storage.documents.all()
    path = tmp_path / "feedback.csv"
    assert run("feedback", "export", "--to", str(path)).status == 0
    rows = {
        row["question"]: row
        for row in csv.DictReader(io.StringIO(path.read_text("utf-8")))
    }
    assert rows[QUESTION]["expected_document"] == rows[QUESTION]["cited"] == document.id
    assert rows[QUESTION]["country_name"] == "Kenya"
    assert rows["Who won the cup?"]["answerable"] == "no"
    assert (rows["What else?"]["expected_document"], rows["What else?"]["reason"]) == (
        "",
        "incomplete",
    )
    assert rows["What else?"]["comment"] == "'=HYPERLINK(1)"
    assert run("feedback", "export").out.encode() == path.read_bytes()
