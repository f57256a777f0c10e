"""The registered reports and their facets, of which `tests/web/test_read` has more."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from chatbot.app.services import Services
from chatbot.database.core import Collection
from chatbot.database.repositories.documents import DocumentRepository
from chatbot.domain import DocumentRecord, Scope
from chatbot.domain.documents import Chunking, Holdings, Part
from chatbot.domain.scope import Values
from tests.data import cases
from tests.library.helpers import running
from tests.rows import outside

CASES = cases(__file__)
FIELDS = ("country_name", "year", "document_name", "type")

REPORTS: list[tuple[str, dict[str, Any], int]] = [
    (
        "Kenya 2021",
        {"country_name": "Kenya", "year": 2021, "type": "country_report"},
        10,
    ),
    (
        "Kenya 2023",
        {"country_name": "Kenya", "year": 2023, "type": "country_report"},
        20,
    ),
    ("Mali 2023", {"country_name": "Mali", "year": 2023, "type": "country_report"}, 40),
    ("World 2023", {"year": 2023, "type": "year_in_review"}, 80),
    ("Handbook", {}, 160),
]


def record(
    name: str, metadata: dict[str, Any], chunks: int, **other: Any
) -> DocumentRecord:
    fields: dict[str, Any] = {
        "source": "s",
        "collection": "c",
        "status": "ready",
        "version": "v",
        **other,
    }
    return DocumentRecord(
        id=name.lower().replace(" ", "-"),
        name=name,
        title=name,
        metadata=metadata,
        chunks=chunks,
        **fields,
    )


@pytest.fixture
def documents(services: Services) -> DocumentRepository:
    for row in REPORTS:
        services.storage.documents.put(record(*row))
    return services.storage.documents


def counts(facets: dict[str, Any], field: str) -> dict[Any, int]:
    return {row["value"]: row["documents"] for row in facets[field]}


def test_a_record_comes_back_as_it_was_put_with_its_time(
    documents: DocumentRepository,
) -> None:
    put = record(
        "New",
        {"year": 2020},
        3,
        pages=7,
        sample=True,
        error="e",
        labels=("a", "b"),
        description="d",
        file_id="f",
        fingerprint="fp",
        overrides={"country_name": None, "labels": ["a"]},
        chunking=Chunking("recursive", 800, 100, "tokens", 256),
        several=(Part({"year": 2020}, 2), Part({}, 1)),
        replacing="v0",
    )
    documents.put(put)
    found = documents.get("new")
    assert found is not None
    assert found.updated_at.endswith("+00:00")
    for name in DocumentRecord.__slots__:
        assert getattr(found, name) == getattr(put, name) or name == "updated_at"
    assert documents.get("unknown") is None


def test_facets_and_values_follow_scope_filter_fields_and_reports(
    documents: DocumentRepository, services: Services
) -> None:
    facets = documents.facets(
        Scope.of({"country_name": Values(("Mali",)), "year": Values((2021,))})
    )
    assert (facets["documents"], facets["chunks"]) == (0, 0)
    assert counts(facets, "year") == {2023: 1}
    assert counts(facets, "country_name") == {"Kenya": 1}
    facets = DocumentRepository(services.storage.database, ("year",)).facets(Scope())
    assert set(facets) == {"year", "total", "documents", "chunks"}
    documents.values("country_name").append("Narnia")
    assert documents.values("country_name") == ["Kenya", "Mali"]
    documents.put(record("Peru 2021", {"country_name": "Peru", "year": 2021}, 1))
    assert documents.values("country_name") == ["Kenya", "Mali", "Peru"]
    documents.delete("mali-2023")
    assert documents.values("country_name") == ["Kenya", "Peru"]


def test_an_older_report_with_rows_in_two_collections_is_in_both(
    services: Services,
) -> None:
    for name, rows in (("chatbot_data", 1), ("report_chatting", 2)):
        for number in range(rows):
            row = {
                "_id": f"{name}{number}",
                "document_name": "Old",
                "year": "2020",
                "data": "text",
            }
            outside(services.storage.database, name).insert_one(row)
    outside(services.storage.database, "chatbot_data").insert_one(
        {"_id": "x", "document_name": "Other", "data": "text"}
    )
    reports, general = (
        [r.name for r in services.storage.documents.all(Scope().within([name]))]
        for name in ("report_chatting", "chatbot_data")
    )
    assert (reports, general) == (["Old"], ["Old", "Other"])


# Parts: a table's rows have countries and years of their own

TABLE = (
    Part({"country_name": "Kenya", "year": 2022}, 10),
    Part({"country_name": "Kenya", "year": 2023}, 20),
    Part({"country_name": "Chad", "year": 2022}, 5),
    Part({}, 1),
)


@pytest.fixture
def table(documents: DocumentRepository) -> DocumentRecord:
    """One more report: a table of 36 rows."""
    put = record("Table", {}, 36, several=TABLE)
    documents.put(put)
    return put


def test_a_table_counts_once_and_only_with_its_rows_inside(
    documents: DocumentRepository, table: DocumentRecord
) -> None:
    facets = documents.facets(Scope.of({"document_name": Values(("Table",))}))
    assert counts(facets, "country_name") == {"Chad": 1, "Kenya": 1}
    assert counts(facets, "year") == {2022: 1, 2023: 1}
    assert (facets["documents"], facets["chunks"]) == (1, 36)
    kenya = Scope.of(
        {"country_name": Values(("Kenya",)), "document_name": Values(("Table",))}
    )
    facets = documents.facets(kenya)
    assert (facets["documents"], facets["chunks"]) == (1, 30)
    chad = documents.facets(
        Scope.of(
            {"country_name": Values(("Chad",)), "document_name": Values(("Table",))}
        )
    )
    assert counts(chad, "year") == {2022: 1}
    assert documents.values("country_name") == ["Chad", "Kenya", "Mali"]
    inside = Scope.of({"year": Values((2022,))})
    assert documents.holdings(inside).chunks == 15
    assert (
        documents.holdings(Scope.of({"document_name": Values(("Table",))})).chunks == 36
    )
    assert documents.holdings(Scope.of({"year": Values((1066,))})) == Holdings()


def test_unsettled_reports_are_named_with_the_version_to_be_seen(
    documents: DocumentRepository,
) -> None:
    assert documents.unsettled() == {}
    for name, status, replacing in CASES[
        "unsettled reports are named with the version to be seen"
    ]:
        documents.put(
            replace(
                record(name, {}, 1), status=status, version="v1", replacing=replacing
            )
        )
    assert documents.unsettled() == {"a": "", "b": "", "c": "", "d": "v1", "e": ""}


def test_what_is_kept_of_the_catalog_follows_every_write_by_any_process(
    services: Services, documents: DocumentRepository
) -> None:
    other = DocumentRepository(services.storage.database, FIELDS)
    assert len(other.all()) == len(documents.all()) == len(REPORTS)
    documents.put(record("New", {"year": 1999}, 1))
    assert 1999 in other.values("year")
    other.delete("new")
    assert 1999 not in documents.values("year")
    other.put(replace(record("Handbook", {}, 1), replacing="v2"))
    assert set(documents.unsettled()) == {"handbook"}


def test_the_catalog_is_read_once_while_nothing_is_written(
    services: Services, documents: DocumentRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents.all()
    found: list[str] = []
    find = Collection.find

    def counting(collection: Collection, *arguments: Any, **options: Any) -> Any:
        found.append(collection.name)
        return find(collection, *arguments, **options)

    monkeypatch.setattr(Collection, "find", counting)
    for _ in range(3):
        documents.all()
        documents.facets(Scope())
        documents.unsettled()
    assert "documents" not in found
    documents.put(record("New", {}, 1))
    documents.all()
    assert found.count("documents") == 1


def test_a_reader_beside_a_writer_sees_every_finished_write(
    services: Services, documents: DocumentRepository
) -> None:
    other = DocumentRepository(services.storage.database, FIELDS)
    written, missed = [0], list[int]()
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            before = written[0]
            seen = {found.chunks for found in other.all() if found.id == "counter"}
            if before and max(seen, default=0) < before:
                missed.append(before)

    with running(read, read) as errors:
        for number in range(1, 60):
            documents.put(record("Counter", {}, number))
            written[0] = number
        stop.set()
    assert (errors, missed) == ([], [])
