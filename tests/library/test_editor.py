"""Changing what is said of a report, without its file."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import DocumentRecord, Scope
from chatbot.domain.errors import DatabaseError, EmbeddingError
from chatbot.domain.scope import Values
from chatbot.stores.faiss import FaissStore
from tests.library.helpers import (
    REPORT_ID,
    Embedding,
    assert_consistent,
    ingest,
    passages_of,
    raising,
    record_of,
    run_together,
    stored,
    write,
)

TABLE = "country,year,value\nKenya,2022,1\nMali,2023,3\n,,4\n"
Edit = Callable[..., DocumentRecord]


@pytest.fixture
def edit(services: Services) -> Edit:
    return lambda **said: services.ingesting.service.edit(REPORT_ID, said).after


@pytest.fixture
def report(services: Services, tmp_path: Path, embedding: Embedding) -> Path:
    path = write(tmp_path, passages_of("zebra", "lion"))
    ingest(services, path, {"country_name": "Kenya", "year": 2023})
    embedding.taken()
    return path


def test_editing_metadata_embeds_nothing_and_is_searched(
    services: Services, report: Path, edit: Edit, embedding: Embedding
) -> None:
    said = {
        "country_name": "Mali",
        "year": 2024,
        "type": "t",
        "labels": ["a"],
        "description": "About.",
    }
    edited = edit(**said)
    assert embedding.taken() == []
    assert_consistent(services)
    record = record_of(services)
    assert (
        record.metadata
        == edited.metadata
        == {"country_name": "Mali", "year": 2024, "type": "t"}
    )
    assert (record.labels, record.description) == (("a",), "About.")
    for chunk in stored(services):
        assert (chunk.metadata, chunk.labels, chunk.description) == (
            record.metadata,
            ("a",),
            "About.",
        )
    found = services.everything.retriever.retrieve(
        "zebra",
        top_k=5,
        scope=Scope.of({"country_name": Values(("Mali",))}),
        method="bm25",
    )
    assert [hit.chunk.text for hit in found.hits] == ["The zebra lives here."]
    assert (
        services.runtime.store.count(Scope.of({"country_name": Values(("Kenya",))}))
        == 0
    )
    assert services.storage.documents.values("country_name") == ["Mali"]


def test_editing_the_title_embeds_the_passages_again(
    services: Services, report: Path, edit: Edit, embedding: Embedding
) -> None:
    edit(title="Animals of the coast")
    assert sorted(embedding.taken()) == [
        "The lion lives here.",
        "The zebra lives here.",
    ]
    assert_consistent(services)
    for chunk, vector in zip(*services.runtime.store.stored(REPORT_ID), strict=True):
        assert (chunk.title, chunk.document_name) == (
            "Animals of the coast",
            "Animals of the coast",
        )
        assert vector == pytest.approx(
            services.runtime.embedder.embed_query(chunk.search_text)
        )
    assert record_of(services).name == "Animals of the coast"


def test_an_edit_that_changes_nothing_writes_nothing(
    services: Services, report: Path, edit: Edit
) -> None:
    before, position = record_of(services), services.storage.changes.position()
    edit(country_name="Kenya", year=2023)
    assert (record_of(services), services.storage.changes.position()) == (
        before,
        position,
    )


def test_a_value_that_a_person_confirms_is_kept_as_theirs_without_new_passages(
    services: Services, report: Path, edit: Edit
) -> None:
    before = record_of(services)
    edit(title="Report", type=None)
    after = record_of(services)
    assert after.overrides == {**before.overrides, "title": "Report", "type": None}
    assert after.version == before.version


def test_the_rows_of_a_table_keep_their_own(
    services: Services, tmp_path: Path, edit: Edit
) -> None:
    ingest(services, write(tmp_path, TABLE, "table.csv"))
    edit(country_name="Chad", year=2000)
    assert_consistent(services)

    def rows() -> list[tuple[Any, ...]]:
        return [
            (chunk.metadata.get("country_name"), chunk.metadata.get("year"))
            for chunk in stored(services)
        ]

    assert rows() == [("Kenya", 2022), ("Mali", 2023), ("Chad", 2000)]
    assert services.storage.documents.values("country_name") == [
        "Chad",
        "Kenya",
        "Mali",
    ]
    edit(country_name=None, year=None)
    assert rows() == [("Kenya", 2022), ("Mali", 2023), (None, None)]
    assert services.storage.documents.values("country_name") == ["Kenya", "Mali"]
    assert record_of(services).parts != ()
    assert_consistent(services)


@pytest.mark.xfail(
    strict=True,
    reason="a passage does not say whether a value is its row's own or the report's",
)
def test_a_row_that_says_what_was_said_of_the_whole_keeps_it(
    services: Services, tmp_path: Path, edit: Edit
) -> None:
    ingest(services, write(tmp_path, TABLE, "table.csv"), {"country_name": "Mali"})
    edit(country_name="Chad")
    assert [chunk.metadata["country_name"] for chunk in stored(services)] == [
        "Kenya",
        "Mali",
        "Chad",
    ]


def test_the_summary_is_edited_too(settings: Settings, tmp_path: Path) -> None:
    with build(settings.override(summaries="extractive")) as services:
        text = "Zebras live in the tall grass between the two rivers of the plain."
        ingest(services, write(tmp_path, f"# Report\n\n{text}\n"))
        services.ingesting.service.edit(REPORT_ID, {"country_name": "Kenya"})
        assert [chunk.metadata for chunk in stored(services)] == [
            {"country_name": "Kenya"}
        ] * 2
        assert stored(services)[-1].id == record_of(services).chunk_ids()[-1]
        assert_consistent(services)


def test_a_title_that_cannot_be_embedded_changes_nothing(
    services: Services, report: Path, edit: Edit, embedding: Embedding
) -> None:
    before = record_of(services)

    embedding.before = raising(EmbeddingError("The model failed."))
    with pytest.raises(EmbeddingError):
        edit(title="Other")
    assert replace(record_of(services), updated_at=before.updated_at) == before
    assert {chunk.title for chunk in stored(services)} == {"Report"}
    assert_consistent(services)


def test_a_database_that_fails_shows_the_old_version(
    services: Services, report: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(
            FaissStore, "upsert", raising(DatabaseError("Gone.", retry_after=1))
        )
        with pytest.raises(DatabaseError):
            edit(country_name="Mali")
    assert record_of(services).metadata["country_name"] == "Kenya"
    edit(country_name="Mali")
    assert_consistent(services)


def test_edits_at_once_do_not_undo_each_other(
    settings: Settings, services: Services, report: Path
) -> None:
    def work(said: Mapping[str, Any]) -> None:
        with build(settings) as other:
            other.ingesting.service.edit(REPORT_ID, said)

    changes = (
        {"country_name": "Mali"},
        {"year": 2020},
        {"type": "t"},
        {"title": "Mine"},
    )
    run_together(*(lambda said=said: work(said) for said in changes))  # type: ignore[misc]
    record = record_of(services)
    assert (record.metadata, record.title) == (
        {"country_name": "Mali", "year": 2020, "type": "t"},
        "Mine",
    )
    assert record.overrides == {
        "country_name": "Mali",
        "year": 2020,
        "type": "t",
        "title": "Mine",
    }
    assert_consistent(services)
