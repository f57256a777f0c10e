"""The disk is full: answers and lists go on, uploads are refused with the reason, until
there is room again.
"""

import io
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from chatbot.app.factory import close_app, create_app
from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.database.repositories.documents import DocumentRepository
from chatbot.database.repositories.files import FileRepository
from chatbot.domain.documents import MEGABYTE
from chatbot.domain.errors import DatabaseError, DiskFullError
from tests.conftest import KENYA_2023, ingest_file, write_report
from tests.fakes.nx_server import wait_until

SIZE = 6 * MEGABYTE
ASKED = {"query": "Where is tea grown?"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """One of 6 MB, all for this test."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    if (
        sys.platform != "linux"
        or subprocess.run(command, check=False, capture_output=True).returncode
    ):
        pytest.skip("a file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def settings_of(folder: Path, **said: Any) -> Settings:
    return Settings(
        data_dir=folder / "data",
        embedding_provider="hashing",
        chat_model="extractive",
        sample_data="off",
        **said,
    )


def upload(client: FlaskClient, name: str, text: str) -> Any:
    response = client.post(
        "/api/documents", data={"files": (io.BytesIO(text.encode()), name)}
    )
    if response.status_code != 202:
        return response

    def file() -> Any:
        job = client.get(
            f"/api/ingestions/{response.get_json()['ingestion_id']}"
        ).get_json()
        return job["files"][0]

    wait_until(
        lambda: file()["state"] in {"done", "failed"}, "the job has not ended", 30
    )
    assert (file()["state"], file()["error"]) == ("done", "")
    return response


def answers(client: FlaskClient) -> dict[str, Any]:
    response = client.post("/query", json=ASKED)
    assert response.status_code == 200, response.get_data(as_text=True)
    assert client.get("/api/documents").status_code == 200
    found: dict[str, Any] = response.get_json()
    assert "hills" in found["response"]
    return found


def disk_of(client: FlaskClient) -> dict[str, Any]:
    response = client.get("/ready")
    assert response.status_code == 200
    return next(
        one for one in response.get_json()["dependencies"] if one["name"] == "disk"
    )


def prose(number: int) -> str:
    return (
        f"# Report {number}\n\n"
        + f"Coffee number {number} is grown in the valley. " * 3_000
    )


@pytest.mark.nightly
def test_a_disk_that_uploads_fill(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatbot.database.repositories.files.MIN_FREE_MB", 2)
    settings = settings_of(disk)
    app = create_app(settings)
    client = app.test_client()
    keys = app.extensions["services"].storage.keys
    _, secret = keys.create("reader", "read")
    upload(client, "tea.md", "# Tea\n\nTea is grown in the hills.")
    assert disk_of(client)["ok"] is True
    for number in range(100):
        if (
            response := upload(client, f"{number}.md", prose(number))
        ).status_code != 202:
            break
        answers(client)
    assert (response.status_code, response.get_json()["error"]["code"]) == (
        507,
        "no_space",
    )
    assert "of which 2 MB are reserved" in response.get_json()["error"]["message"]

    filler = disk / "filler"
    with suppress(OSError), filler.open("wb") as file:
        while True:
            file.write(b"x" * 4096)
            file.flush()
    assert answers(client)["message_id"] is None
    assert disk_of(client)["ok"] is False
    assert keys.find(secret).name == "reader"  # that it was used cannot be noted
    close_app(app)
    app = create_app(settings)
    client = app.test_client()
    answers(client)

    filler.unlink()
    assert answers(client)["message_id"]
    documents = client.get("/api/documents").get_json()["documents"]
    for one in documents:
        if one["title"].startswith("Report"):
            address = f"/api/documents/{one['document_id']}?permanent=true"
            assert client.delete(address).status_code == 204
    assert disk_of(client)["ok"] is True
    assert (
        upload(
            client, "small.md", "# Small\n\nCocoa is grown by the river."
        ).status_code
        == 202
    )
    close_app(app)


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with build(settings_of(tmp_path)) as running:
        running.prepare()
        yield running


def fill(services: Services, *, full: bool) -> None:
    """As SQLite sees it: its file may not grow."""
    writer = services.storage.database._get_writer().connection  # type: ignore[attr-defined]
    (pages,) = writer.execute("PRAGMA page_count").fetchone()
    writer.execute(f"PRAGMA max_page_count = {pages if full else 2**30}")


def test_tokens_that_could_not_be_written_are_counted_later(services: Services) -> None:
    usage = services.storage.usage
    fill(services, full=True)
    with pytest.raises(DiskFullError):
        services.storage.database["meta"].replace_many(
            [{"_id": "large", "text": "x" * 1_000_000}]
        )
    for _ in range(3):
        services.storage.cache.put("query", "key", "x" * 100_000)
        usage.add(10)
    assert usage.today() == 30
    fill(services, full=False)
    usage.add(5)
    assert usage.today() == 35


def test_all_uploads_have_a_quota(services: Services, tmp_path: Path) -> None:
    storage = services.storage
    files = FileRepository(storage.database, quota=1)
    files.require_space(MEGABYTE)
    (file := tmp_path / "a.bin").write_bytes(b"x" * 700_000)
    files.put(file)
    files.require_space(300_000)
    with pytest.raises(
        DiskFullError,
        match=r"uploaded files take 0\.7 of 1 MB\. Delete reports",
    ):
        files.require_space(400_000)


def test_an_empty_database_beside_a_filled_index_is_refused(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    (index := settings.data_dir / "index").mkdir(parents=True)
    (settings.data_dir / "report-chat.sqlite").write_bytes(b"")
    with build(settings) as empty:
        empty.prepare()
    for found in settings.data_dir.glob("*.sqlite*"):
        found.unlink()
    (index / "rows.npy").write_bytes(b"x")
    (settings.data_dir / "report-chat.sqlite").write_bytes(b"")
    with (
        build(settings) as lost,
        pytest.raises(
            DatabaseError, match=r"is empty, but the index of its passages \(index\)"
        ),
    ):
        lost.prepare()


def test_a_full_database_offers_deletion_for_good_only(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_file(services, write_report(tmp_path, KENYA_2023, "kenya"), "a/kenya.md")
    (record,) = services.storage.documents.all()

    def full(*arguments: object, **options: object) -> bool:
        raise DiskFullError("The database is full.")

    monkeypatch.setattr(DocumentRepository, "replace", full)
    with pytest.raises(DiskFullError, match="Delete it for good: that makes space"):
        services.ingesting.delete_document(record)
    assert services.storage.documents.get(record.id) == record
    services.ingesting.delete_document(record, permanent=True)
    assert services.storage.documents.get(record.id) is None
