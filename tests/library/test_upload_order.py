"""Of several uploads of one file the newest is served, and none brings back a report
that was deleted after it.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.database.repositories.documents import DocumentRepository
from chatbot.domain import DocumentRecord
from chatbot.domain.errors import EmbeddingError
from chatbot.jobs import queue as repository
from chatbot.jobs import worker
from chatbot.jobs.queue import WITHDRAWN, Ingestion, IngestionFile
from chatbot.library import control
from chatbot.library.pipeline import Ingestor
from chatbot.library.versions import VersionWriter
from tests.library.helpers import (
    IDENTITY,
    REPORT_ID,
    Embedding,
    KilledError,
    assert_consistent,
    file_of,
    ingest,
    passages_of,
    raising,
    record_of,
    running,
    stored,
    until,
    write,
)

Upload = Callable[..., Ingestion]
SUPERSEDED = "A newer version of this file was uploaded after it."


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in (
        (worker, "IDLE_SECONDS", 0.05),
        (worker, "BEAT_SECONDS", 0.05),
        (control, "LEASE_SECONDS", 0.6),
        (control, "POLL_SECONDS", 0.02),
        (repository, "LEASE_SECONDS", 0.5),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.fixture
def upload(services: Services, tmp_path: Path) -> Upload:
    """``upload("lion ant")``: queue this content as the next upload of the one file."""
    services.prepare()

    def queue(words: str, number: list[int] = [0]) -> Ingestion:  # noqa: B006  # counts the files
        number[0] += 1
        path = write(tmp_path / str(number[0]), passages_of(*words.split()))
        file_id = services.storage.files.put(path)
        return services.storage.ingestions.create(
            [IngestionFile(name="report.md", identity=IDENTITY, file_id=file_id)]
        )

    return queue


def states(services: Services, *jobs: Ingestion) -> list[str]:
    return [file_of(services, job).state for job in jobs]


def words(services: Services) -> str:
    return " ".join(chunk.text.split()[1] for chunk in stored(services))


def delete(services: Services, *, permanent: bool = True) -> None:
    services.ingesting.delete_document(record_of(services), permanent=permanent)


def assert_gone(services: Services) -> None:
    """No table has anything of the report, and no job waits for anything."""
    assert services.storage.documents.get(REPORT_ID) is None
    assert stored(services) == []
    assert services.storage.ingestions.file_ids() == set()
    assert len(services.storage.ingestions.unfinished()) == 0


@pytest.mark.parametrize(
    "newer", ["ant", "zebra"], ids=["another content", "the content that was there"]
)
def test_a_failed_upload_that_is_tried_again_does_not_replace_a_newer_one(
    services: Services, upload: Upload, embedding: Embedding, newer: str
) -> None:
    upload("zebra")
    services.ingesting.worker.work_once()
    embedding.at("lion", raising(EmbeddingError("The model failed.")))
    jobs = [upload("lion"), upload(newer)]
    while services.ingesting.worker.work_once():
        pass
    embedding.plain()
    services.storage.ingestions.retry(jobs[0].id)
    services.ingesting.worker.work_once()
    file = file_of(services, jobs[0])
    assert (file.state, file.detail, file.error) == ("superseded", SUPERSEDED, "")
    job = services.storage.ingestions.get(jobs[0].id)
    assert (job.state, job.progress) == ("done", 1.0)
    assert (words(services), embedding.taken()) == (newer, [])
    assert services.storage.ingestions.retry(jobs[0].id).state == "done"
    assert_consistent(services)


def test_a_failed_newer_upload_of_a_new_report_leaves_the_older_one_its_turn(
    services: Services, upload: Upload, embedding: Embedding
) -> None:
    embedding.before = raising(EmbeddingError("The model failed."))
    jobs = [upload("lion"), upload("ant")]
    while services.ingesting.worker.work_once():
        pass
    assert states(services, *jobs) == ["failed", "failed"]
    embedding.plain()
    services.storage.ingestions.retry(jobs[0].id)
    services.ingesting.worker.work_once()
    assert (states(services, *jobs), words(services)) == (["done", "failed"], "lion")


def test_a_worker_that_slept_does_not_replace_what_came_after_it(
    services: Services,
    settings: Settings,
    upload: Upload,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It sleeps right before it shows its version; meanwhile another worker does its
    file, and the next one.
    """
    upload("zebra")
    services.ingesting.worker.work_once()
    jobs = [upload("lion"), upload("ant")]
    asleep, awake = threading.Event(), threading.Event()
    show = VersionWriter._show

    def sleeping(
        writer: VersionWriter, record: DocumentRecord, *arguments: Any, **named: Any
    ) -> DocumentRecord:
        is_first = writer.documents is services.storage.documents
        if is_first and record.upload_number > first:
            asleep.set()
            assert awake.wait(60)
        return show(writer, record, *arguments, **named)

    first = record_of(services).upload_number
    monkeypatch.setattr(control, "heartbeat", lambda *arguments: running())
    monkeypatch.setattr(worker, "heartbeat", lambda *arguments: running())
    monkeypatch.setattr(VersionWriter, "_show", sleeping)
    with running(services.ingesting.worker.work_once) as errors:
        assert asleep.wait(60)
        with build(settings) as other:
            until(
                lambda: (
                    other.ingesting.worker.work_once()
                    and not len(other.storage.ingestions.unfinished())
                )
            )
        awake.set()
    assert errors == []
    assert states(services, *jobs) == ["done", "done"]
    assert words(services) == "ant"
    assert record_of(services).status == "ready"


def test_the_command_line_counts_as_the_latest_upload(
    services: Services, upload: Upload, tmp_path: Path, embedding: Embedding
) -> None:
    upload("zebra")
    services.ingesting.worker.work_once()
    job = upload("lion")
    assert (
        ingest(services, write(tmp_path / "now", passages_of("ant"))).outcome
        == "replaced"
    )
    services.ingesting.worker.work_once()
    assert (states(services, job), words(services)) == (["superseded"], "ant")


@pytest.mark.parametrize("in_hand", [True, False], ids=["one is read", "all wait"])
def test_a_deletion_cancels_every_upload_of_the_report(
    services: Services, upload: Upload, embedding: Embedding, in_hand: bool
) -> None:
    upload("zebra")
    services.ingesting.worker.work_once()
    jobs = [upload("lion ant"), upload("ibex"), upload("okapi")]
    if in_hand:
        embedding.at("ant", lambda: delete(services))
    else:
        delete(services)
    while services.ingesting.worker.work_once():
        pass
    assert states(services, *jobs) == ["cancelled"] * 3
    assert [file_of(services, job).error for job in jobs[1:]] == [WITHDRAWN] * 2
    assert_gone(services)
    for job in jobs:
        services.storage.ingestions.retry(job.id)
    assert services.ingesting.worker.work_once() is False, (
        "a retry does not bring it back"
    )
    again = upload("gnu")
    services.ingesting.worker.work_once()
    assert (states(services, again), words(services)) == (["done"], "gnu")


@pytest.mark.parametrize("permanent", [True, False], ids=["for good", "bin"])
@pytest.mark.parametrize("moment", ["claimed", "looked at", "shown"])
def test_a_deletion_wins_over_a_worker_at_any_moment(
    services: Services,
    upload: Upload,
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
    permanent: bool,
) -> None:
    upload("zebra")
    services.ingesting.worker.work_once()
    monkeypatch.setattr(worker, "BEAT_SECONDS", 60)  # no heartbeat says it in time
    job = upload("lion ant")
    owner, method = {
        "claimed": (services.ingesting.worker, "_work"),
        "looked at": (Ingestor, "ingest"),
        "shown": (DocumentRepository, "replace"),
    }[moment]
    original = getattr(owner, method)
    is_deleting: list[bool] = []

    def deleting(*arguments: object, **options: object) -> object:
        record = services.storage.documents.get(REPORT_ID)
        if (
            not is_deleting
            and record is not None
            and record.status == "ready"
            and (moment != "shown" or record.replacing)
        ):
            is_deleting.append(True)  # it may call what is replaced here
            delete(services, permanent=permanent)
            is_deleting.clear()
        return original(*arguments, **options)

    monkeypatch.setattr(owner, method, deleting)
    services.ingesting.worker.work_once()
    monkeypatch.undo()
    assert states(services, job) == ["cancelled"]
    if permanent:
        assert_gone(services)
        return
    assert services.storage.documents.get(REPORT_ID) is None
    services.ingesting.undelete(REPORT_ID)
    services.ingesting.clear_up()
    assert words(services) == "zebra"
    assert_consistent(services)


@pytest.mark.parametrize("killed", ["embedded", "upsert", "shown"])
def test_a_deletion_after_a_kill_is_final(
    services: Services,
    upload: Upload,
    embedding: Embedding,
    monkeypatch: pytest.MonkeyPatch,
    killed: str,
) -> None:
    """The worker dies before, while or after the report is deleted; the next one must
    not finish its file.
    """
    upload("zebra")
    services.ingesting.worker.work_once()
    jobs = [upload("lion ant"), upload("ibex")]
    if killed == "embedded":
        embedding.at("ant", raising(KilledError))
    elif killed == "upsert":
        store = services.runtime.store
        upsert = store.upsert

        def dying(*arguments: object) -> None:
            delete(services)
            upsert(*arguments)  # type: ignore[arg-type]
            raise KilledError

        monkeypatch.setattr(store, "upsert", dying)
    else:
        monkeypatch.setattr(repository.IngestionQueue, "release", raising(KilledError))
    with pytest.raises(KilledError):
        services.ingesting.worker.work_once()
    if killed != "upsert":
        delete(services)
    monkeypatch.undo()
    time.sleep(0.6)
    until(
        lambda: (
            not services.ingesting.worker.work_once()
            and not len(services.storage.ingestions.unfinished())
        )
    )
    assert states(services, *jobs) == ["cancelled", "cancelled"]
    assert_gone(services)


def test_the_name_of_a_deleted_report_is_free_at_once(
    services: Services, upload: Upload
) -> None:
    upload("zebra")
    services.ingesting.worker.work_once()
    upload("lion")
    claimed = services.storage.ingestions.claim("a worker that died")
    assert claimed is not None
    delete(services)
    again = upload("gnu")
    assert services.ingesting.worker.work_once() is False, (
        "the older upload is not finished yet"
    )
    until(
        lambda: (
            services.ingesting.worker.work_once()
            and not len(services.storage.ingestions.unfinished())
        )
    )
    assert (states(services, again), words(services)) == (["done"], "gnu")
    assert_consistent(services)
