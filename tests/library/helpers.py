"""Files to ingest, and what became of them, for the tests of the ingestion."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from chatbot.app.services import Services
from chatbot.database.core import Database
from chatbot.domain import Chunk, DocumentRecord
from chatbot.domain.documents import Matrix
from chatbot.jobs.queue import Ingestion, IngestionFile
from chatbot.library.control import JobControl
from chatbot.library.pipeline import Ingested
from chatbot.library.sources import Source, document_id
from chatbot.models.embed.hashing import HashingEmbedder

Embed = Callable[[HashingEmbedder, Sequence[str]], Matrix]
PLAIN_EMBED: Embed = HashingEmbedder.embed_documents
IDENTITY = "uploads/report.md"
REPORT_ID = document_id(IDENTITY)


def passages_of(*words: str, title: str = "Report") -> str:
    """Markdown with one passage for each word; no passage has a word of another."""
    return f"# {title}\n\n" + "".join(
        f"## Part {n}\n\nThe {word} lives here.\n\n" for n, word in enumerate(words)
    )


def write(folder: Path, text: str, name: str = "report.md") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def written(tmp_path: Path, content: bytes, name: str = "notes.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def file_of(services: Services, job: Ingestion) -> IngestionFile:
    (file,) = services.storage.ingestions.get(job.id).files
    return file


def ingest(
    services: Services,
    path: Path,
    said: Mapping[str, Any] | None = None,
    *,
    identity: str = IDENTITY,
    file_id: str = "",
    control: JobControl | None = None,
    **about: Any,
) -> Ingested:
    """Through the one path that uploads, web pages and the command line take."""
    source = Source(path, identity, **about)
    return services.ingesting.service.ingest(
        source, overrides=said, file_id=file_id, control=control
    )


def record_of(services: Services, document: str = REPORT_ID) -> DocumentRecord:
    found = services.storage.documents.get(document)
    assert found is not None
    return found


def stored(services: Services, document: str = REPORT_ID) -> list[Chunk]:
    """All that is in the store of a document, of whatever version, in reading order."""
    return sorted(
        services.runtime.store.stored(document)[0],
        key=lambda chunk: (chunk.ordinal, chunk.id),
    )


def assert_consistent(services: Services, document: str = REPORT_ID) -> None:
    """Ready, exactly the passages that are registered, each once, nothing of another
    version.
    """
    record = record_of(services, document)
    assert (record.status, record.replacing, record.error) == ("ready", "", "")
    rows = Counter(chunk.id for chunk in stored(services, document))
    assert set(rows) <= set(record.chunk_ids())
    assert (sum(rows.values()), max(rows.values())) == (record.chunks, 1)
    assert sum(part.chunks for part in record.parts) == record.chunks
    assert leases(services) == []


def leases(services: Services) -> list[str]:
    return [
        row["_id"]
        for row in services.storage.database["meta"].find()
        if str(row["_id"]).startswith("lease:document:")
    ]


def end_leases(database: Database) -> int:
    """As if the half minute had passed for which a dead process has its files and
    reports. How many it had.
    """
    held = [
        (name, row["_id"])
        for name in ("ingestion_items", "meta")
        for row in database[name].find({"until": {"$gt": 1}})
    ]
    for name, row in held:
        database[name].update_one({"_id": row}, {"$set": {"until": 1.0}})
    return len(held)


class KilledError(BaseException):
    """Stands for a process that is gone: nothing in the product catches it."""


def raising(
    error: BaseException | type[BaseException], after: int = 0
) -> Callable[..., None]:
    """Lets some calls pass, then raises in each."""
    left = [after]

    def call(*arguments: object, **options: object) -> None:
        if not left[0]:
            raise error
        left[0] -= 1

    return call


class Embedding:
    """Every text that the embedding model gets; ``before`` runs ahead of each call and
    may raise.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: list[str] = []
        self.before: Callable[[Sequence[str]], None] = lambda texts: None

        def embed(
            model: HashingEmbedder, texts: Sequence[str], **options: Any
        ) -> Matrix:
            if texts:
                self.before(texts)
                self.texts.extend(texts)
            return PLAIN_EMBED(model, texts)

        monkeypatch.setattr(HashingEmbedder, "embed_documents", embed)

    def at(self, word: str, action: Callable[[], object]) -> None:
        """``action`` runs ahead of each call with a text that has this word."""

        def before(texts: Sequence[str]) -> None:
            if word in "".join(texts):
                action()

        self.before = before

    def plain(self) -> None:
        """From now on nothing runs ahead, and no text has been taken."""
        self.before, self.texts = lambda texts: None, []

    def taken(self) -> list[str]:
        """The texts since the last time, as the passages they are of."""
        texts, self.texts = self.texts, []
        return [text.rpartition("\n")[2] for text in texts]


@contextmanager
def running(*works: Callable[[], object]) -> Iterator[list[BaseException]]:
    """Threads beside the body; joined at its end. The list gets what they raise."""
    errors: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  # shown by the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield errors
    finally:
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)


def run_together(*works: Callable[[], object]) -> None:
    """All at once, in threads; none may raise."""
    with running(*works) as errors:
        pass
    assert errors == []


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
