"""Background ingestion over the real database: files of jobs, taken one at a time, by
whoever is there.
"""

import errno
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from chatbot.app.services import Services, build, retention
from chatbot.config.settings import Settings
from chatbot.database.repositories.files import FileRepository
from chatbot.domain import DocumentRecord
from chatbot.domain.errors import EmbeddingError
from chatbot.jobs import queue as repository
from chatbot.jobs import worker
from chatbot.jobs.queue import Ingestion, IngestionFile
from chatbot.jobs.worker import MAX_TRIES
from chatbot.library import control, versions
from chatbot.library.control import Retries
from chatbot.library.sources import document_id, folder_sources
from tests.fakes.hooked_database import HookedDatabase
from tests.fakes.openai_server import EMBEDDINGS, FakeOpenAI, Reply
from tests.library.helpers import (
    Embedding,
    KilledError,
    assert_consistent,
    file_of,
    passages_of,
    raising,
    until,
    write,
)
from tests.library.helpers import record_of as registered
from tests.rows import outside

Start = Callable[..., Ingestion]
UPLOAD = document_id("uploads/a.md")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beats, leases and batches of tests: small."""
    for module, name, value in (
        (worker, "IDLE_SECONDS", 0.05),
        (worker, "BEAT_SECONDS", 0.05),
        (worker, "NOTE_SECONDS", 0.0),
        (control, "LEASE_SECONDS", 0.6),
        (control, "POLL_SECONDS", 0.02),
        (repository, "LEASE_SECONDS", 0.5),
        (versions, "BATCH", 2),
    ):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(
        "chatbot.app.services.runtime.Retries",
        lambda: Retries(tries=4, first_seconds=0.01),
    )


@pytest.fixture
def start(services: Services, start_in: Callable[[Services], Start]) -> Start:
    return start_in(services)


@pytest.fixture
def start_in(tmp_path: Path) -> Callable[[Services], Start]:
    """``start(a="zebra", b="lion ant")``: stores these files, as an upload does, and
    queues them as one job.
    """

    def queue(services: Services, /, **texts: str) -> Ingestion:
        services.prepare()
        files = []
        for name, words in texts.items():
            file_id = services.storage.files.put(
                write(tmp_path, passages_of(*words.split()), f"{name}.md")
            )
            files.append(
                IngestionFile(
                    name=f"{name}.md", identity=f"uploads/{name}.md", file_id=file_id
                )
            )
        return services.storage.ingestions.create(files)

    return lambda services: partial(queue, services)


def states(services: Services, job: Ingestion) -> list[str]:
    return [file.state for file in services.storage.ingestions.get(job.id).files]


def work_all(services: Services) -> None:
    while services.ingesting.worker.work_once():
        pass


def record_of(services: Services, name: str = "a") -> DocumentRecord | None:
    return services.storage.documents.get(document_id(f"uploads/{name}.md"))


def test_a_file_waits_while_there_is_no_space_for_its_copy(
    services: Services, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work on it once ended as a bug, with a traceback."""
    job = start(a="zebra lion ant ibex")
    copy_to = services.storage.files.copy_to

    def fail(file_id: str, path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(FileRepository, "copy_to", staticmethod(fail))
    services.ingesting.worker.work_once()
    assert states(services, job) == ["waiting"]
    monkeypatch.setattr(FileRepository, "copy_to", staticmethod(copy_to))
    until(services.ingesting.worker.work_once)
    assert states(services, job) == ["done"]


def test_waiting_for_the_model_is_said_and_only_what_was_refused_is_repeated(
    services: Services, start: Start, embedding: Embedding
) -> None:
    """R-B3."""
    job = start(a="zebra lion ant ibex")
    seen: list[tuple[str, str]] = []

    def refuse(texts: Sequence[str]) -> None:
        file = file_of(services, job)
        seen.append((file.state, file.detail))
        if len(seen) in {2, 3}:
            raise EmbeddingError("Too many requests.", retry_after=0)

    embedding.before = refuse
    services.ingesting.worker.work_once()
    assert [state for state, _ in seen] == [
        "embedding",
        "embedding",
        "waiting",
        "waiting",
    ]
    assert all(
        detail.startswith("Too many requests. Trying again in")
        for _, detail in seen[2:]
    )
    assert len(embedding.taken()) == 4
    assert (file_of(services, job).state, file_of(services, job).detail) == ("done", "")


def test_files_are_read_while_others_wait_for_the_embedding_endpoint(
    settings: Settings, tmp_path: Path, start_in: Callable[[Services], Start]
) -> None:
    """With one turn; the passages of the files that waited go in one request."""
    with FakeOpenAI(dimensions=1536) as server:
        server.embed(*[Reply(silent_before=1.0)] * 2)
        remote = {
            "embedding_provider": "openai",
            "embedding_model": "text-embedding-ada-002",
            "ingestion_workers": 1,
        }
        with build(settings.override(**remote, **server.as_settings)) as services:
            job = start_in(services)(
                **{f"n{number}": f"zebra lion {number}" for number in range(8)}
            )
            worker = services.ingesting.worker
            thread = threading.Thread(target=worker.run)
            thread.start()
            until(lambda: set(states(services, job)) == {"done"})
            worker.close()
            thread.join()
            assert not worker._helpers
            assert (
                sum(record.chunks for record in services.storage.documents.all()) >= 16
            )
        assert (
            max(len(request.body["input"]) for request in server.received(EMBEDDINGS))
            > versions.BATCH
        )


def test_a_stored_file_that_vanished_is_said(services: Services, start: Start) -> None:
    job = start(a="zebra")
    for name in ("files", "file_pieces"):
        outside(services.storage.database, name).delete_many({})
    services.ingesting.worker.work_once()
    file = file_of(services, job)
    assert (file.state, file.error) == ("failed", "The original file is not kept.")
    assert services.storage.documents.all() == []


def test_what_a_manifest_said_holds_when_a_document_is_read_again(
    services: Services, settings: Settings, tmp_path: Path
) -> None:
    write(tmp_path, passages_of("zebra"), "a.md")
    row = (
        '[{"file": "a.md", "title": "T", "country_name": "Kenya", "labels": ["l"], '
        '"description": "D"}]'
    )
    (tmp_path / "manifest.json").write_text(row, encoding="utf-8")
    services.prepare()
    added = services.ingesting.service.ingest(folder_sources(tmp_path)[0])
    before = registered(services, added.document_id)
    file = services.ingesting.originals.job_file(before)
    assert file is not None
    job = services.storage.ingestions.create([file])
    services.ingesting.worker.work_once()
    after = registered(services, added.document_id)
    assert file_of(services, job).outcome == "unchanged"
    kept = ("title", "metadata", "labels", "description", "version")
    assert [getattr(after, name) for name in kept] == [
        getattr(before, name) for name in kept
    ]
    assert before.labels == ("l",)


def test_a_dead_workers_file_is_gone_on_with_where_it_ended(
    services: Services, settings: Settings, start: Start, embedding: Embedding
) -> None:
    job = start(a="zebra lion ant ibex okapi")
    embedding.at("okapi", raising(KilledError))
    with pytest.raises(KilledError):
        services.ingesting.worker.work_once()
    assert services.storage.ingestions.get(job.id).state == "running"
    embedding.plain()
    with build(settings) as other:
        assert other.ingesting.worker.work_once() is False, "its lease has not ended"
        until(other.ingesting.worker.work_once)
    assert embedding.taken() == ["The okapi lives here."]
    assert states(services, job) == ["done"]
    assert_consistent(services, UPLOAD)


def test_a_file_that_takes_its_process_with_it_is_given_up(
    services: Services, start: Start, embedding: Embedding
) -> None:
    job = start(a="zebra", b="lion")
    embedding.at("zebra", raising(KilledError))
    for _ in range(MAX_TRIES):
        with pytest.raises(KilledError):
            services.ingesting.worker.work_once()
        time.sleep(0.55)
    work_all(services)
    first, second = services.storage.ingestions.get(job.id).files
    assert (first.state, first.error) == (
        "failed",
        "Reading a.md ended the process 3 times. It is not tried again.",
    )
    assert second.state == "done"
    assert record_of(services) is None, "nobody would ever finish it"
    assert record_of(services, "b") is not None
    embedding.plain()
    services.storage.ingestions.retry(job.id)
    services.ingesting.worker.work_once()
    assert states(services, job) == ["done", "done"]


def test_a_worker_that_slept_too_long_leaves_everything_to_the_next(
    services: Services, settings: Settings, start: Start, embedding: Embedding
) -> None:
    """Its file is another's by now: it may neither take back what that one writes nor
    say how it ended.
    """
    job = start(a="zebra lion ant ibex okapi")

    def sleep(texts: Sequence[str]) -> None:
        if "ibex" in "".join(texts) and embedding.before != keep:
            embedding.before = keep
            taken = {"owner": "another", "until": time.time() + 60}
            services.storage.database["ingestion_items"].update_one(
                {"_id": job.files[0].id}, {"$set": taken}
            )
            time.sleep(0.3)

    def keep(texts: Sequence[str]) -> None:
        return None

    embedding.before = sleep
    services.ingesting.worker.work_once()
    file = file_of(services, job)
    assert (file.owner, file.state, file.error) == ("another", "embedding", "")
    record = registered(services, UPLOAD)
    assert record.status == "pending"
    assert len(services.runtime.store.stored(record.id)[0]) == 2


def test_cancelling_what_a_dead_worker_had_begun_takes_it_back(
    services: Services, settings: Settings, start: Start, embedding: Embedding
) -> None:
    job = start(a="zebra lion ant ibex")
    embedding.at("ant", raising(KilledError))
    with pytest.raises(KilledError):
        services.ingesting.worker.work_once()
    services.storage.ingestions.cancel(job.id)
    until(services.ingesting.worker.work_once)
    assert states(services, job) == ["cancelled"]
    assert record_of(services) is None, "a pending report would be waited for forever"
    assert services.runtime.store.stored(UPLOAD)[0] == []


def test_a_stopped_worker_lets_go_and_the_next_goes_on(
    services: Services, settings: Settings, start: Start, embedding: Embedding
) -> None:
    job = start(a="zebra lion ant ibex")
    embedding.at("ant", services.ingesting.worker.close)
    services.ingesting.worker.run()
    file = file_of(services, job)
    assert (file.state, file.tries, file.owner) == ("waiting", 0, "")
    assert services.storage.ingestions.get(job.id).state == "running"
    embedding.plain()
    with build(settings) as other:
        assert other.ingesting.worker.work_once() is True, (
            "at once: nobody's lease has to end"
        )
    assert "The zebra lives here." not in embedding.taken()
    assert states(services, job) == ["done"]
    assert_consistent(services, UPLOAD)


def rows(services: Services) -> tuple[int, int]:
    return services.storage.database["files"].count({}), services.storage.database[
        "file_pieces"
    ].count({})


def test_without_keep_files_nothing_is_left_when_a_file_is_done(
    settings: Settings, tmp_path: Path
) -> None:
    with build(settings.override(keep_files=False)) as services:
        services.prepare()
        file_id = services.storage.files.put(
            write(tmp_path, passages_of("zebra"), "a.md")
        )
        other_id = services.storage.files.put(
            write(tmp_path, passages_of("lion"), "b.md")
        )
        files = [
            IngestionFile(name="a.md", identity="uploads/a.md", file_id=file_id),
            IngestionFile(name="b.md", identity="uploads/b.md", file_id=other_id),
        ]
        services.storage.ingestions.create(files)
        services.ingesting.worker.work_once()
        assert rows(services) == (1, 1), "the other one is still needed"
        services.ingesting.worker.work_once()
        assert rows(services) == (0, 0)
        record = registered(services, UPLOAD)
        assert (record.file_id, services.ingesting.originals.file_name(record)) == (
            "",
            "",
        )


def test_an_original_goes_with_its_document(services: Services, start: Start) -> None:
    start(a="zebra", b="zebra")
    work_all(services)
    assert rows(services) == (1, 1), "the same content, once"
    services.ingesting.ingestor.delete(UPLOAD)
    services.ingesting.originals.tidy()
    assert rows(services) == (1, 1), "the other one has it too"
    services.ingesting.ingestor.delete(document_id("uploads/b.md"))
    services.ingesting.originals.tidy()
    assert rows(services) == (0, 0)


def test_an_upload_that_is_not_registered_yet_is_not_tidied_away(
    services: Services, start: Start, tmp_path: Path
) -> None:
    start(a="zebra")
    services.ingesting.worker.work_once()
    services.ingesting.ingestor.delete(UPLOAD)
    again = services.storage.files.put(write(tmp_path, passages_of("zebra"), "a.md"))
    services.ingesting.originals.tidy()
    assert b"".join(services.storage.files.read(again))
    later = FileRepository(services.storage.database, grace_seconds=-1.0)
    assert later.keep_only(lambda: []) == 1
    assert rows(services) == (0, 0), "nobody came back for it"


def test_a_replaced_original_goes_with_its_version_and_no_other_is_looked_at(
    services: Services, start: Start
) -> None:
    start(a="zebra", b="lion")
    work_all(services)
    start(a="okapi")
    counted = HookedDatabase(services.storage.database)
    files = FileRepository(counted)  # type: ignore[arg-type]
    originals = replace(services.ingesting.originals, files=files)
    services.ingesting.worker.tidy = originals.tidy_after
    work_all(services)
    assert rows(services) == (2, 2), "that of the old version is gone"
    assert counted.rows_read["files"] == 2, "the old and the new one of this report"


def test_what_nothing_needs_is_found_once_an_hour(
    services: Services, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(a="zebra", b="lion")
    work_all(services)
    services.ingesting.ingestor.delete(UPLOAD)
    stop = threading.Event()
    monkeypatch.setattr(retention, "FIRST_PURGE_SECONDS", 0.0)

    def tidy() -> None:
        services.ingesting.originals.tidy()
        stop.set()

    services.retention.purge_regularly(stop, tidy)
    assert rows(services) == (1, 1)


def test_deleting_a_report_deletes_all_the_originals_it_had(
    services: Services, start: Start
) -> None:
    job = start(a="zebra", b="lion")
    work_all(services)
    record = registered(services, UPLOAD)
    assert record.file_id
    services.ingesting.delete_document(record)
    services.ingesting.originals.tidy()
    assert rows(services) == (2, 2), "the bin keeps it"
    services.ingesting.delete_document(record, permanent=True)
    assert rows(services) == (1, 1)
    assert states(services, job) == ["done", "done"]
