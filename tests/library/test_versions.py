"""Versions beside each other: questions see one of them, whatever fails, ends or comes
between (R-E6).
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chatbot.app.services import Services
from chatbot.database.changes import Change, Changes
from chatbot.domain import Scope
from chatbot.domain.errors import (
    CancelledError,
    DatabaseError,
    EmbeddingError,
    StoppedError,
)
from chatbot.library import versions
from chatbot.library.control import JobControl
from chatbot.stores.faiss import FaissStore
from tests.library.helpers import (
    IDENTITY,
    REPORT_ID,
    Embedding,
    KilledError,
    assert_consistent,
    ingest,
    leases,
    passages_of,
    raising,
    record_of,
    running,
    stored,
    write,
)

OLD, NEW = [f"zebra{n}" for n in range(6)], [f"lion{n}" for n in range(9)]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "BATCH", 2)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return write(tmp_path / "old", passages_of(*OLD))


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return write(tmp_path / "new", passages_of(*NEW))


def words(services: Services) -> list[str]:
    """What a question is shown, in reading order."""
    found = services.everything.retriever.retrieve(
        "lives here", top_k=50, scope=Scope(), method="bm25"
    )
    hits = sorted(found.hits, key=lambda hit: hit.chunk.ordinal)
    return [hit.chunk.text.split()[1] for hit in hits]


def test_a_question_sees_exactly_one_version_while_a_report_is_replaced_back_and_forth(
    services: Services, old: Path, new: Path
) -> None:
    ingest(services, old)
    stop, seen = threading.Event(), set[tuple[str, ...]]()

    def ask() -> None:
        while not stop.is_set():
            seen.add(tuple(words(services)))

    with running(ask, ask) as errors:
        for turn in range(12):
            ingest(services, (new, old)[turn % 2])
        stop.set()
    assert errors == []
    assert seen == {tuple(OLD), tuple(NEW)}
    assert_consistent(services)


def test_every_step_of_a_replacement_shows_one_version(
    services: Services, old: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deterministic: a question after each change of the library."""
    ingest(services, old)
    seen: list[list[str]] = []
    change_it, depth = Changes.of, [0]

    @contextmanager
    def then_ask(changes: Changes, *arguments: Any, **options: Any) -> Iterator[Change]:
        depth[0] += 1
        with change_it(changes, *arguments, **options) as change:
            yield change
        depth[0] -= 1
        if not depth[0]:
            seen.append(words(services))

    monkeypatch.setattr(Changes, "of", then_ask)
    ingest(services, new)
    assert len(seen) == 5 + 1 + 4
    switch = seen.index(NEW)
    assert seen == [OLD] * switch + [NEW] * (len(seen) - switch)
    assert switch == 6, (
        "in the step that shows the new version, not before all of it is there"
    )


def test_passages_that_go_between_the_search_and_their_loading_are_searched_again(
    services: Services, old: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(services, old)
    get, replaced = FaissStore.get, list[bool]()

    def late(store: FaissStore, chunk_ids: Sequence[str]) -> object:
        if not replaced:
            replaced.append(True)
            ingest(services, new)
        return get(store, chunk_ids)

    monkeypatch.setattr(FaissStore, "get", late)
    assert words(services) == NEW


def test_a_report_replaced_between_the_two_searches_is_searched_again(
    services: Services, old: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So quickly that nothing was unsettled before or after."""
    ingest(services, old)
    search, replaced = FaissStore.keyword_search, list[bool]()

    def late(store: FaissStore, query: str, **options: object) -> object:
        if not replaced:
            replaced.append(True)
            ingest(services, new)
        return search(store, query, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(FaissStore, "keyword_search", late)
    assert words(services) == NEW


def test_a_new_report_is_not_seen_before_it_is_whole(
    services: Services, new: Path, embedding: Embedding
) -> None:
    seen: list[list[str]] = []
    embedding.before = lambda texts: seen.append(words(services))
    ingest(services, new)
    assert len(seen) == 5
    assert not any(seen)
    assert words(services) == NEW


def test_a_failed_call_keeps_the_old_version(
    services: Services, old: Path, new: Path, embedding: Embedding
) -> None:
    ingest(services, old)
    for after in range(4):
        embedding.before = raising(EmbeddingError("The model failed."), after)
        with pytest.raises(EmbeddingError):
            ingest(services, new)
        assert words(services) == OLD
        assert_consistent(services)


def test_a_failed_first_ingest_says_why_and_leaves_no_passage(
    services: Services, old: Path, embedding: Embedding
) -> None:
    embedding.before = raising(
        EmbeddingError("The model failed.", remedy="Mend it."), 1
    )
    with pytest.raises(EmbeddingError):
        ingest(services, old)
    record = record_of(services)
    assert (record.status, record.error, record.chunks) == (
        "failed",
        "The model failed. Mend it.",
        0,
    )
    assert stored(services) == []
    embedding.plain()
    assert ingest(services, old).outcome == "added"
    assert_consistent(services)


def test_a_failed_report_that_is_tried_again_is_pending_meanwhile(
    services: Services, old: Path, embedding: Embedding
) -> None:
    embedding.before = raising(EmbeddingError("The model failed."))
    with pytest.raises(EmbeddingError):
        ingest(services, old)
    seen: list[tuple[str, str]] = []
    embedding.before = lambda texts: seen.append(
        (record_of(services).status, record_of(services).error)
    )
    ingest(services, old)
    assert seen == [("pending", "")] * 3


@pytest.mark.parametrize("first", [True, False], ids=["new", "replaced"])
def test_a_database_that_fails_in_the_middle_leaves_what_the_next_try_mends(
    services: Services,
    old: Path,
    new: Path,
    monkeypatch: pytest.MonkeyPatch,
    first: bool,
) -> None:
    if not first:
        ingest(services, old)
    upsert, calls = FaissStore.upsert, list[int]()

    def failing(store: FaissStore, *arguments: object) -> None:
        calls.append(1)
        if len(calls) > 2:
            raise DatabaseError("Gone.", retry_after=1)
        upsert(store, *arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(FaissStore, "upsert", failing)
        patch.setattr(
            FaissStore,
            "delete_document",
            lambda *arguments, **options: failing(services.runtime.store),
        )  # type: ignore[arg-type]
        with pytest.raises(DatabaseError):
            ingest(services, new)
    assert words(services) == ([] if first else OLD)
    ingest(services, new)
    assert words(services) == NEW
    assert_consistent(services)


def test_stopping_keeps_what_is_done_for_the_next_process(
    services: Services, old: Path, new: Path, embedding: Embedding
) -> None:
    ingest(services, old)
    control = JobControl(
        lambda done, total: control.cancel.cancel() if done == 6 else None,
        stopping=lambda: True,
    )
    with pytest.raises(StoppedError):
        ingest(services, new, control=control)
    assert len(stored(services)) == len(OLD) + 6
    assert words(services) == OLD
    embedding.taken()
    ingest(services, new)
    assert len(embedding.taken()) <= 3
    assert words(services) == NEW
    assert_consistent(services)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("step", range(1, 12))
def test_killed_after_any_write_the_next_try_completes(
    services: Services, old: Path, new: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    ingest(services, old)
    done = _killed_at(step, services, lambda: ingest(services, new), monkeypatch)
    assert words(services) in (OLD, NEW)
    for path, expected in (
        ((old, OLD), (new, NEW)) if step % 2 else ((new, NEW), (old, OLD))
    ):
        ingest(services, path)
        assert words(services) == expected
        assert_consistent(services)
    assert done == (step > 9)


@pytest.mark.parametrize("step", range(1, 5))
def test_a_deletion_that_was_killed_is_finished_by_the_next_one(
    services: Services, old: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    ingest(services, old)
    done = _killed_at(
        step,
        services,
        lambda: services.ingesting.ingestor.delete(REPORT_ID),
        monkeypatch,
    )
    assert done == (step > 3)
    assert words(services) == [], "nothing of it is seen from the first step on"
    services.ingesting.ingestor.delete(REPORT_ID)
    assert (services.storage.documents.get(REPORT_ID), stored(services)) == (None, [])
    assert services.storage.documents.all() == []


@pytest.mark.parametrize("step", range(1, 4))
def test_a_report_whose_deletion_was_killed_can_be_added_again(
    services: Services, old: Path, new: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    ingest(services, old)
    _killed_at(
        step,
        services,
        lambda: services.ingesting.ingestor.delete(REPORT_ID),
        monkeypatch,
    )
    ingest(services, new)
    assert words(services) == NEW
    assert_consistent(services)


def _killed_at(
    step: int,
    services: Services,
    work: Callable[[], object],
    monkeypatch: pytest.MonkeyPatch,
) -> bool:
    """Do the work, but be gone right after its write number ``step``. True when it has
    fewer writes.
    """
    count = [0]
    documents = type(services.storage.documents)

    def counting(kind: type, name: str, patch: pytest.MonkeyPatch) -> None:
        write_it = getattr(kind, name)

        def then_die(*arguments: object, **options: object) -> object:
            found = write_it(*arguments, **options)
            count[0] += 1
            if count[0] == step:
                raise KilledError
            return found

        patch.setattr(kind, name, then_die)

    with monkeypatch.context() as patch:
        for kind, name in ((FaissStore, "upsert"), (FaissStore, "delete_document")):
            counting(kind, name, patch)
        for name in ("insert", "withdraw", "replace", "delete"):
            counting(documents, name, patch)
        try:
            work()
        except KilledError:
            return False
    return True


@pytest.mark.parametrize("first", [True, False], ids=["new", "replaced"])
@pytest.mark.parametrize("call", [1, 3, 5])
def test_a_report_that_is_deleted_while_it_is_read_stays_deleted(
    services: Services,
    old: Path,
    new: Path,
    embedding: Embedding,
    first: bool,
    call: int,
) -> None:
    if not first:
        ingest(services, old)
    calls: list[int] = []

    def delete(texts: Sequence[str]) -> None:
        calls.append(1)
        if len(calls) == call:
            services.ingesting.ingestor.delete(REPORT_ID)

    embedding.before = delete
    with pytest.raises(CancelledError, match="Report was deleted while it was read"):
        ingest(services, new)
    assert (
        services.storage.documents.get(REPORT_ID),
        stored(services),
        leases(services),
    ) == (None, [], [])


def test_two_reports_are_replaced_apart_from_each_other(
    services: Services, old: Path, new: Path, tmp_path: Path, embedding: Embedding
) -> None:
    ingest(services, old)
    ingest(services, write(tmp_path, passages_of("okapi")), identity="uploads/other.md")
    embedding.before = raising(EmbeddingError("The model failed."), 2)
    with pytest.raises(EmbeddingError):
        ingest(services, new)
    assert sorted(words(services)) == sorted([*OLD, "okapi"])
    assert services.storage.documents.unsettled() == {}


def test_what_is_registered_of_a_report_is_whole(services: Services, old: Path) -> None:
    ingest(services, old)
    record = record_of(services)
    assert record.chunk_ids()[:6] == [chunk.id for chunk in stored(services)]
    assert record.source == IDENTITY
    assert replace(record, status="pending").visible_version == ""
    assert record.visible_version == record.version
