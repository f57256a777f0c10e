"""The registered reports and their facets."""

from __future__ import annotations

from typing import Any

import pytest

from chatbot.repositories.documents import DocumentRepository
from chatbot.schema import DocumentRecord, Range, Scope, Values
from chatbot.services import Services

REPORTS: list[tuple[str, dict[str, Any], int]] = [
    ("Kenya 2021", {"country_name": "Kenya", "year": 2021, "type": "country_report"}, 10),
    ("Kenya 2023", {"country_name": "Kenya", "year": 2023, "type": "country_report"}, 20),
    ("Mali 2023", {"country_name": "Mali", "year": 2023, "type": "country_report"}, 40),
    ("World 2023", {"year": 2023, "type": "year_in_review"}, 80),
    ("Handbook", {}, 160),
]


def record(name: str, metadata: dict[str, Any], chunks: int, **other: Any) -> DocumentRecord:
    fields: dict[str, Any] = {"source": "s", "collection": "c", "status": "ready", "version": "v", **other}
    return DocumentRecord(
        id=name.lower().replace(" ", "-"), name=name, title=name, metadata=metadata, chunks=chunks, **fields
    )


@pytest.fixture
def documents(services: Services) -> DocumentRepository:
    for row in REPORTS:
        services.documents.put(record(*row))
    return services.documents


def counts(facets: dict[str, Any], field: str) -> dict[Any, int]:
    return {row["value"]: row["documents"] for row in facets[field]}


def test_a_record_comes_back_as_it_was_put_with_its_time(documents: DocumentRepository) -> None:
    put = record("New", {"year": 2020}, 3, pages=7, sample=True, error="e")
    documents.put(put)
    found = documents.get("new")
    assert found is not None
    assert found.updated_at.endswith("+00:00")
    for name in DocumentRecord.__slots__:
        assert getattr(found, name) == getattr(put, name) or name == "updated_at"
    assert documents.get("unknown") is None


def test_put_replaces_and_delete_removes(documents: DocumentRepository) -> None:
    documents.put(record("Handbook", {"year": 2020}, 1))
    assert len(documents.all()) == len(REPORTS)
    assert documents.delete("handbook") is True
    assert documents.delete("handbook") is False
    assert len(documents.all()) == len(REPORTS) - 1


def test_the_list_is_by_title_and_follows_the_scope(documents: DocumentRepository) -> None:
    assert [found.title for found in documents.all()] == sorted(name for name, _, _ in REPORTS)
    scope = Scope.of({"country_name": Values(("Kenya", "Mali")), "year": Range(2022, None)})
    assert [found.title for found in documents.all(scope)] == ["Kenya 2023", "Mali 2023"]
    assert documents.all(Scope.of({"document_name": Values(("Handbook",))}))[0].chunks == 160


def test_facets_count_everything_without_a_scope(documents: DocumentRepository) -> None:
    facets = documents.facets(Scope())
    assert counts(facets, "country_name") == {"Kenya": 2, "Mali": 1}
    assert counts(facets, "year") == {2021: 1, 2023: 3}
    assert counts(facets, "type") == {"country_report": 3, "year_in_review": 1}
    assert (facets["documents"], facets["chunks"]) == (5, 310)


def test_each_field_is_counted_under_the_rest_of_the_scope(documents: DocumentRepository) -> None:
    """DESIGN.md, GET /api/facets: choosing Kenya must not hide Mali, but hides years that Kenya lacks."""
    facets = documents.facets(Scope.of({"country_name": Values(("Kenya",)), "year": Values((2023,))}))
    assert counts(facets, "country_name") == {"Kenya": 1, "Mali": 1}
    assert counts(facets, "year") == {2021: 1, 2023: 1}
    assert counts(facets, "type") == {"country_report": 1}
    assert (facets["documents"], facets["chunks"]) == (1, 20)


def test_an_empty_scope_has_no_reports_but_still_its_neighbours(documents: DocumentRepository) -> None:
    facets = documents.facets(Scope.of({"country_name": Values(("Mali",)), "year": Values((2021,))}))
    assert (facets["documents"], facets["chunks"]) == (0, 0)
    assert counts(facets, "year") == {2023: 1}
    assert counts(facets, "country_name") == {"Kenya": 1}


def test_facets_follow_the_filter_fields(services: Services, documents: DocumentRepository) -> None:
    facets = DocumentRepository(services.database, ("year",)).facets(Scope())
    assert set(facets) == {"year", "documents", "chunks"}


def test_values_are_those_the_data_has_sorted(documents: DocumentRepository) -> None:
    assert documents.values("country_name") == ["Kenya", "Mali"]
    assert documents.values("year") == [2021, 2023]
    assert documents.values("document_name") == sorted(name for name, _, _ in REPORTS)
    assert documents.values("planet") == []
