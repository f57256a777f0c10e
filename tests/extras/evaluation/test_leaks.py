"""What counts as a passage outside of a question's scope."""

from pathlib import Path

from chatbot.app.services import build
from chatbot.domain import Scope
from chatbot.domain.scope import Values
from chatbot.extras.evaluation.dataset import Dataset, EvaluationQuery, Expectation
from chatbot.extras.evaluation.runner import measure_retrieval
from tests.conftest import small_settings
from tests.library.helpers import ingest, write
from tests.search.test_general import QUESTION, REPORTS


def test_general_documents_are_no_leaks_of_the_scope(tmp_path: Path) -> None:
    settings = small_settings(tmp_path / "data", embedding_provider="minilm")
    scope = Scope.of({"country_name": Values(("Kenya",))})
    with build(settings) as services:
        for name, (text, about) in REPORTS.items():
            path = write(tmp_path / name, text, f"{name}.md")
            ingest(services, path, about, identity=f"uploads/{name}.md")
        retriever = services.everything.retriever
        hits = retriever.retrieve(QUESTION, top_k=10, scope=scope, method="hybrid").hits
        (expected,) = {hit.chunk.document_id for hit in hits if hit.general}
        asked = EvaluationQuery("1", QUESTION, scope, (Expectation(expected),))
        measured = measure_retrieval(
            Dataset("general", [], [asked]),
            "",
            retriever,
            method="hybrid",
            progress=lambda done: None,
        )
    assert (measured.leaks, measured.values["recall@5"]) == (0, [1.0])
