"""Searches that follow writes late, as MongoDB's do: what is shown is whole, and
nothing is kept of what was not. mongodb.com/docs/vector-search: results are eventually
consistent; mongod drops the ids whose rows are gone
(document_source_internal_search_id_lookup.cpp).
"""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.database.mongo import MongoDatabase
from chatbot.domain import Question, RequestContext, Scope, Vector
from chatbot.domain.errors import SearchEngineError
from chatbot.library.control import JobControl
from chatbot.stores.atlas.indexes import ensure_indexes, index_plans
from tests.asking import Finished, by_mode
from tests.campaigns import times
from tests.fakes.mongomock_search import SearchClient
from tests.fakes.search_engine import failure
from tests.library.helpers import (
    REPORT_ID,
    KilledError,
    ingest,
    passages_of,
    raising,
    record_of,
    running,
    write,
)

OLD, NEW, OTHER = (
    [f"zebra{n}" for n in range(6)],
    [f"lion{n}" for n in range(9)],
    [f"okapi{n}" for n in range(6)],
)
SPEED = 40.0
"""How much faster the engine's clock goes than ours."""
REPLACEMENTS = times("REPLACEMENTS", 5)
AWAY = failure(
    "Error connecting to localhost:28000 :: caused by :: Connection refused",
    6,
    "HostUnreachable",
)


@pytest.fixture
def client() -> SearchClient:
    made = SearchClient()
    made.engine.clock = lambda: time.monotonic() * SPEED
    return made


@pytest.fixture
def services(settings: Settings, client: SearchClient) -> Iterator[Services]:
    database = MongoDatabase(client, "late")
    changed = settings.override(
        vector_search="atlas",
        embedding_provider="hashing",
        embedding_model="64",
        cache_seconds=60,
    )
    with build(changed, database=database) as opened:
        opened.prepare()
        ensure_indexes(database, index_plans(changed, {"": 64}))
        yield opened


@pytest.fixture
def other(services: Services, tmp_path: Path) -> None:
    """A second report, so that a search has something to fill up with."""
    ingest(
        services,
        write(tmp_path / "other", passages_of(*OTHER)),
        identity="uploads/other.md",
    )


def words(services: Services, top_k: int = 50, method: str = "hybrid") -> list[str]:
    found = services.everything.retriever.retrieve(
        "lives here", top_k=top_k, scope=Scope(), method=method
    )
    return sorted(
        hit.chunk.text.split()[1]
        for hit in found.hits
        if hit.chunk.document_id == REPORT_ID
    )


def unit() -> Vector:
    return np.eye(64, dtype=np.float32)[0] + np.float32(0.1)


def all_words(services: Services, top_k: int) -> list[str]:
    found = services.everything.retriever.retrieve(
        "lives here", top_k=top_k, scope=Scope(), method="vector"
    )
    return [hit.chunk.text.split()[1] for hit in found.hits]


@pytest.mark.parametrize("lag", [0.5, 3.0, 20.0])
def test_insert_replace_and_delete_are_whole_at_every_moment(
    services: Services, client: SearchClient, tmp_path: Path, other: None, lag: float
) -> None:
    client.engine.lag = lag
    stop, seen, short = threading.Event(), list[tuple[str, ...]](), list[int]()

    def ask() -> None:
        while not stop.is_set():
            seen.append(tuple(words(services)))
            short.append(len(all_words(services, 5)))

    indexed: list[tuple[int, int]] = []
    control = JobControl(indexing=lambda done, total: indexed.append((done, total)))
    with running(ask) as errors:
        for path in (
            write(tmp_path / "old", passages_of(*OLD)),
            write(tmp_path / "new", passages_of(*NEW)),
        ):
            ingest(services, path, control=control)
        assert tuple(words(services)) == tuple(NEW)
        services.ingesting.ingestor.delete(REPORT_ID)
        assert words(services) == []
        assert len(all_words(services, 5)) == 5
        stop.set()
    assert errors == []
    assert set(seen) <= {(), tuple(OLD), tuple(NEW)}
    assert set(short) == {5}
    assert indexed or lag < 1
    assert services.storage.documents.unsettled() == {}
    assert services.storage.database["report_chatting"].count(
        {}
    ) + services.storage.database["chatbot_data"].count({}) == len(OTHER)


def test_replacements_under_asking_threads(
    services: Services, client: SearchClient, tmp_path: Path
) -> None:
    """REPORT_CHAT_REPLACEMENTS=200 for the whole of it."""
    paths = (
        write(tmp_path / "old", passages_of(*OLD)),
        write(tmp_path / "new", passages_of(*NEW)),
    )
    ingest(services, paths[0])
    client.engine.lag = 3.0
    stop, seen = threading.Event(), set[tuple[str, ...]]()

    def ask() -> None:
        while not stop.is_set():
            seen.add(tuple(words(services)))

    with running(ask, ask, ask, ask) as errors:
        for turn in range(REPLACEMENTS):
            ingest(services, paths[1 - turn % 2])
        stop.set()
    assert errors == []
    assert seen == {tuple(OLD), tuple(NEW)}


def test_an_answer_given_while_a_report_is_written_or_removed_is_not_repeated_later(
    services: Services, client: SearchClient, tmp_path: Path, other: None
) -> None:
    def ask() -> bool:
        question = Question(
            "Where does the okapi1 live?",
            Scope(),
            top_k=3,
            retrieval_method="hybrid",
            mode="direct",
        )
        *_, last = by_mode(services, question, request=RequestContext())
        assert isinstance(last, Finished)
        return last.answer.trace.cached

    client.engine.lag = 20.0
    asked: list[bool] = []

    def meanwhile(done: int, total: int) -> None:
        asked.append(ask())

    ingest(
        services,
        write(tmp_path / "old", passages_of(*OLD)),
        control=JobControl(indexing=meanwhile),
    )
    assert [ask(), ask()] == [False, True]
    before = len(asked)
    services.ingesting.ingestor.delete(REPORT_ID, JobControl(indexing=meanwhile))
    assert len(asked) > before > 0
    assert [ask(), ask()] == [False, True]


def test_a_deletion_that_nobody_waits_for_is_finished_later(
    services: Services, client: SearchClient, tmp_path: Path, other: None
) -> None:
    ingest(services, write(tmp_path / "old", passages_of(*OLD)))
    client.engine.lag = 1e6
    services.ingesting.ingestor.delete(REPORT_ID, JobControl(patience=0))
    assert record_of(services).status == "deleting"
    assert words(services) == []
    for top_k in range(1, 7):
        assert len(set(all_words(services, top_k)) & set(OTHER)) == top_k
        found = services.runtime.store.hybrid_search(
            "lives here", unit(), top_k=top_k, scope=Scope()
        )  # type: ignore[attr-defined]
        assert [len(matches) for matches in found] == [top_k, top_k]
    assert services.ingesting.finish_deletions()
    client.engine.lag = 1e-6
    assert not services.ingesting.finish_deletions()
    assert services.storage.documents.get(REPORT_ID) is None


def test_what_a_killed_replacement_leaves_is_cleared_up_at_the_next_start(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else nothing would ever be cached again."""
    ingest(services, write(tmp_path / "old", passages_of(*OLD)))
    store, die = type(services.runtime.store), raising(KilledError)
    with monkeypatch.context() as patch:
        patch.setattr(store, "retire", lambda *arguments, **options: die())
        with pytest.raises(KilledError):
            ingest(services, write(tmp_path / "new", passages_of(*NEW)))
    assert words(services) == NEW
    assert services.storage.documents.unsettled()
    services.ingesting.clear_up()
    assert services.storage.documents.unsettled() == {}
    assert words(services) == NEW
    assert services.storage.database["chatbot_data"].count({}) == len(NEW)


def test_an_engine_that_never_follows_ends_in_an_error_and_the_old_version(
    services: Services, client: SearchClient, tmp_path: Path
) -> None:
    ingest(services, write(tmp_path / "old", passages_of(*OLD)))
    client.engine.lag = 1e6
    with pytest.raises(SearchEngineError, match="has not indexed all passages"):
        ingest(
            services,
            write(tmp_path / "new", passages_of(*NEW)),
            control=JobControl(patience=0.2),
        )
    assert words(services) == OLD
    client.engine.lag = 0
    client.engine.states.clear()
    ingest(services, write(tmp_path / "new", passages_of(*NEW)))
    assert words(services) == NEW


def test_an_engine_that_is_away_for_a_while_is_waited_for(
    services: Services, client: SearchClient, tmp_path: Path
) -> None:
    client.engine.failure = AWAY
    said: list[str] = []

    def come_back(reason: str) -> None:
        said.append(reason)
        client.engine.failure = None

    ingest(
        services,
        write(tmp_path / "old", passages_of(*OLD)),
        control=JobControl(waiting=come_back),
    )
    assert said == ["MongoDB cannot reach its search engine."]
    assert words(services) == OLD


def test_an_index_of_an_older_release_is_written_as_before_and_told(
    services: Services,
    client: SearchClient,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for indexes in client.engine.indexes.values():
        for index in indexes.values():
            if index.type == "vectorSearch":
                fields = [
                    field
                    for field in index.latest["fields"]
                    if field["path"] != "document_id"
                ]
                index.serving = index.latest = {"fields": fields}
            else:
                index.latest["mappings"]["fields"].pop("document_id", None)
    for path in (
        write(tmp_path / "old", passages_of(*OLD)),
        write(tmp_path / "new", passages_of(*NEW)),
    ):
        ingest(services, path)
    assert words(services) == NEW
    told = [
        record.getMessage()
        for record in caplog.records
        if "'document_id' is not declared" in record.getMessage()
    ]
    assert len(told) == 2
    assert all("Run: python -m chatbot index create" in message for message in told)


@pytest.mark.parametrize("kind", ["search", "vectorSearch"])
def test_an_index_that_cannot_answer_is_not_waited_for(
    services: Services, client: SearchClient, tmp_path: Path, kind: str
) -> None:
    for collection, indexes in client.engine.indexes.items():
        for name in [name for name, index in indexes.items() if index.type == kind]:
            services.storage.database[collection].drop_search_index(name)
    ingest(services, write(tmp_path / "old", passages_of(*OLD)))
    if kind == "search":
        assert words(services) == OLD
        found = services.everything.retriever.retrieve(
            "lives here", top_k=5, scope=Scope(), method="hybrid"
        )
        assert "keywords_missing" in [step.name for step in found.steps]
    else:
        with pytest.raises(SearchEngineError, match="no search index 'vector_index'"):
            words(services)
