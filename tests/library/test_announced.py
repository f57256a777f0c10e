"""What another process is told of an upload, a new version and a deletion, and what it
shows meanwhile.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pymongo.errors import OperationFailure

from chatbot.app.services import Services, build
from chatbot.app.services.preparing import prepare_database
from chatbot.config.settings import Settings
from chatbot.database.mongo import MongoDatabase
from chatbot.domain import Scope
from chatbot.domain.errors import DatabaseError, DiskFullError, StoppedError
from chatbot.library.control import JobControl
from chatbot.stores.faiss import FaissStore
from tests.fakes.mongomock_search import SearchClient
from tests.library.helpers import (
    REPORT_ID,
    assert_consistent,
    ingest,
    passages_of,
    raising,
    record_of,
    stored,
    write,
)

WRITES = {"insert_one", "update_one", "update_many", "bulk_write"}


class FullCollection:
    """A collection of a cluster that refuses writes for lack of space, but for
    deletions.
    """

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def __getattr__(self, method: str) -> Any:
        if method in WRITES or method == "find_one_and_update":
            return self._refuse
        return getattr(self._raw, method)

    def _refuse(self, *arguments: object, **options: object) -> None:
        message = "you are over your space quota, using 513 MB of 512 MB"
        raise OperationFailure(message, 8000, {"errmsg": message, "code": 8000})


class SmallCluster(MongoDatabase):
    """A cluster that is full when the test says so."""

    is_full = False

    def raw(self, name: str) -> Any:
        raw = super().raw(name)
        return FullCollection(raw) if self.is_full else raw


@pytest.fixture
def pair(settings: Settings, tmp_path: Path) -> Iterator[tuple[Services, Services]]:
    """Two processes over one cluster."""
    client = SearchClient()
    client.engine.enabled = False
    settings = settings.override(vector_search="faiss")
    opened = [
        build(
            settings.override(data_dir=tmp_path / name),
            database=SmallCluster(client, "small"),
        )
        for name in ("one", "other")
    ]
    yield opened[0], opened[1]
    for services in opened:
        services.close()


def words(services: Services) -> list[str]:
    retrieval = services.everything.retriever.retrieve(
        "lives here", top_k=10, scope=Scope(), method="bm25"
    )
    return sorted(hit.chunk.text.split()[1] for hit in retrieval.hits)


def test_a_report_is_deleted_on_a_full_cluster_and_shown_by_no_process(
    pair: tuple[Services, Services], tmp_path: Path
) -> None:
    one, other = pair
    ingest(one, write(tmp_path, passages_of("zebra", "lion")))
    ingest(one, write(tmp_path, passages_of("ant"), "b.md"), identity="uploads/b.md")
    for services in pair:
        assert words(services) == ["ant", "lion", "zebra"]
        services.storage.database.is_full = True  # type: ignore[attr-defined]
    assert one.ingesting.ingestor.delete(REPORT_ID)
    for services in pair:
        assert words(services) == ["ant"]
        assert len(services.storage.documents.all()) == 1
        services.storage.database.is_full = False  # type: ignore[attr-defined]
    assert stored(other) == []
    ingest(one, write(tmp_path, passages_of("bee"), "c.md"), identity="uploads/c.md")
    for services in pair:
        assert words(services) == ["ant", "bee"]


def test_a_report_is_not_uploaded_to_a_full_cluster(
    pair: tuple[Services, Services], tmp_path: Path
) -> None:
    one, other = pair
    prepare_database(one.storage)
    one.storage.database.is_full = True  # type: ignore[attr-defined]
    with pytest.raises(DiskFullError):
        ingest(one, write(tmp_path, passages_of("zebra")))
    assert other.storage.documents.all() == []


def test_passages_without_a_report_are_shown_by_nobody_and_removed(
    pair: tuple[Services, Services], tmp_path: Path
) -> None:
    """As after a deletion that was killed where there was no space for its mark."""
    one, other = pair
    ingest(one, write(tmp_path, passages_of("zebra", "lion")))
    ingest(one, write(tmp_path, passages_of("ant"), "b.md"), identity="uploads/b.md")
    one.storage.documents.delete(REPORT_ID)
    assert len(stored(one)) == 2
    assert words(one) == words(other) == ["ant"]
    assert one.ingesting.remove_orphans() == 0, "a copy may be under way"
    assert one.ingesting.remove_orphans() == 1
    assert stored(one) == []
    assert words(one) == words(other) == ["ant"]


def test_registering_a_report_never_replaces_what_another_process_has_registered(
    services: Services, tmp_path: Path
) -> None:
    """A worker that was paused between its look and its registration."""
    ingest(services, write(tmp_path, passages_of("zebra")))
    late = replace(record_of(services), status="pending", writer="late")
    with pytest.raises(StoppedError):
        services.ingesting.ingestor._register(late, None, JobControl())
    assert record_of(services).status == "ready"
    assert words(services) == ["zebra"]


def test_a_clean_up_that_fails_does_not_fail_the_upload_and_is_done_later(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(services, write(tmp_path, passages_of("zebra", "lion")))
    with monkeypatch.context() as patch:
        patch.setattr(FaissStore, "delete_document", raising(DatabaseError("slow")))
        outcome = ingest(services, write(tmp_path, passages_of("okapi"))).outcome
    assert outcome == "replaced"
    assert words(services) == ["okapi"]
    assert record_of(services).replacing
    services.ingesting.clear_up()
    assert_consistent(services)
    assert words(services) == ["okapi"]


def test_a_writer_whose_lease_was_ended_by_another_begins_anew(
    services: Services, tmp_path: Path
) -> None:
    ingest(services, write(tmp_path, passages_of("zebra")))
    documents = services.storage.documents
    mine = record_of(services)
    assert documents.withdraw(REPORT_ID, "another")
    assert not documents.replace(mine, mine)
    assert record_of(services).status == "deleting"
