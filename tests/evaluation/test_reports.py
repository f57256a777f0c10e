"""A data set's passages as registered reports."""

from __future__ import annotations

from chatbot.evaluation.reports import register
from chatbot.schema import Chunk, Scope, Value, Values
from chatbot.services import Services


def chunk(number: int, **metadata: Value) -> Chunk:
    return Chunk(str(number), str(number), f"name {number}", "title", "text", metadata=metadata)


def test_one_report_for_what_the_passages_have_in_common(services: Services) -> None:
    kenya = {"country_name": "Kenya", "year": 2021}
    chunks = [chunk(1, **kenya), chunk(2, **kenya), chunk(3, country_name="Mali", year=2021), chunk(4)]
    assert register(services.documents, chunks) == 3
    assert services.documents.values("country_name") == ["Kenya", "Mali"]
    found = services.documents.all(Scope.of({"country_name": Values(("Kenya",))}))
    assert [(record.name, record.chunks, record.status) for record in found] == [("Kenya, 2021", 2, "ready")]
    assert len(services.documents.all()) == 3
