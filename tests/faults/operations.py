"""What a process does to the library when it is killed, or a call of it fails; what is
done afterwards; and what a process shows of the library.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chatbot.answering.conversation import Place, Saved
from chatbot.app.schema import set_version
from chatbot.app.services import Services
from chatbot.app.web.asking import ChatRequest
from chatbot.database.core import Database
from chatbot.database.repositories.caches import request_cache
from chatbot.domain import Scope
from chatbot.domain.callers import Caller
from chatbot.domain.cancellation import Cancellation
from chatbot.domain.chat import Message
from chatbot.domain.errors import ChatbotError, DependencyError, NotFoundError
from chatbot.domain.figures import GlossaryEntry
from chatbot.domain.json import to_json
from chatbot.domain.validation import parse
from chatbot.extras.sources.connectors.folder import FolderConnector
from chatbot.extras.sources.running import synchroniser_of
from chatbot.jobs.queue import IngestionFile
from chatbot.library.control import JobControl
from chatbot.library.pipeline import passages
from chatbot.library.sources import document_id
from tests.library.helpers import end_leases
from tests.rows import outside

IDENTITY = "uploads/tea.md"
REPORT_ID = document_id(IDENTITY)
OWNER = Caller("alice")
QUESTION = "How much tea does Kenya export?"
KEPT_QUESTION = "How fast does the population of Kenya grow?"
WORDS = ("tea exports", "population growth", "ships")
TRIES = 4
"""Rounds of work after which everything that was accepted has to be done."""
TEA = """# Kenya: Country Report 2023

## Economy

### Exports

Tea exports of Kenya were worth 1.4 billion dollars (2023 est.)

## People and Society

### Population growth rate

2.09% (2023 est.)
"""
MORE_TEA = TEA.replace("1.4 billion", "1.9 billion")
SHIPS = """# Kenya: Country Report 2023

## Economy

### Ports

Ships call at the port of Mombasa 1,700 times a year (2023 est.)

## Transport

### Merchant marine

26 ships (2023 est.)
"""
OTHER = """# Mali: Country Report 2023

## Economy

### Exports

Gold exports of Mali were worth 9.3 billion dollars (2023 est.)
"""


@dataclass(frozen=True)
class Site:
    """One process over the library; ``folder`` is shared by all, and no database."""

    services: Services
    folder: Path

    @property
    def database(self) -> Database:
        return self.services.storage.database


@dataclass(frozen=True)
class Operation:
    """``prepare`` makes the state before it. ``run`` is what a client or the program
    asks for, and asks for again after a failure: a second time it changes nothing.
    """

    name: str
    prepare: Callable[[Site], object]
    run: Callable[[Site], object]
    by_a_new_process: bool = False
    """The process does it first of all, before it serves anything."""


def upload(text: str, **about: Any) -> Callable[[Site], None]:
    """Return what a person does who sends a file, and the worker after that."""

    def run(site: Site) -> None:
        storage = site.services.storage
        path = site.folder / "tea.md"
        path.write_text(text, encoding="utf-8")
        with path.open("rb") as sent:
            digest = hashlib.file_digest(sent, "sha256").hexdigest()
        if digest not in _accepted(site):
            file_id = storage.files.put(path)
            file = IngestionFile(
                name="tea.md", identity=IDENTITY, file_id=file_id, overrides=about
            )
            storage.ingestions.create([file], OWNER.owner)
            note_accepted(site, digest)
        work(site)

    return run


def _accepted(site: Site) -> set[str]:
    """Return the digests of the files that the service has accepted: a client that has
    the answer sends no second time.
    """
    path = site.folder / "accepted"
    return set(path.read_text("utf-8").split()) if path.exists() else set()


def note_accepted(site: Site, digest: str) -> None:
    with (site.folder / "accepted").open("a", encoding="utf-8") as accepted:
        accepted.write(f"{digest}\n")


def work(site: Site) -> None:
    """Do what the workers of a process do until there is nothing to do."""
    worker = site.services.ingesting.worker
    with suppress(DependencyError):  # a worker's thread goes on after a pause
        while worker.work_once():
            pass


def recover(site: Site) -> None:
    """Let the time pass in which others wait for a dead process, and have this one do
    what is left, as its threads would; a person retries a failed file.
    """
    services = site.services
    queue = services.storage.ingestions
    for _ in range(TRIES):
        pass_time(site.database)
        work(site)
        for job in queue.latest(10):
            if any(file.state == "failed" for file in job.files):
                queue.retry(job.id, None)
        if not queue.unfinished():
            break
    services.ingesting.clear_up()
    services.retention.purge_expired()


def pass_time(database: Database) -> None:
    """Make the database as it is when a dead process's leases have ended, and another
    process has closed the entries of its changes.
    """
    end_leases(database)
    changes = database.changes
    lease_seconds, changes.lease_seconds = changes.lease_seconds, 0.0
    changes.close_abandoned()
    changes.lease_seconds = lease_seconds


def edit(site: Site) -> None:
    site.services.ingesting.service.edit(
        REPORT_ID, {"title": "Tea of Kenya", "year": 2024}
    )


def delete(site: Site) -> None:
    record = site.services.storage.documents.get(REPORT_ID)
    if record is not None:
        site.services.ingesting.delete_document(
            record, JobControl(patience=2.0), permanent=True
        )
    site.services.ingesting.finish_deletions()


def put_into_bin(site: Site) -> None:
    record = site.services.storage.documents.get(REPORT_ID)
    if record is not None:
        site.services.ingesting.delete_document(record)
    site.services.ingesting.clear_up()


def bin_a_report(site: Site) -> None:
    _prepared(site)
    put_into_bin(site)


def undelete(site: Site) -> None:
    if site.services.storage.documents.get(REPORT_ID) is None:
        site.services.ingesting.undelete(REPORT_ID)


def add_conversation(site: Site) -> None:
    _prepared(site)
    conversations = site.services.storage.conversations
    messages = [
        {"role": "user", "content": "Is there tea?"},
        {"role": "assistant", "content": "There is.", "citations": []},
    ]
    added = conversations.add(None, messages, owner=OWNER.owner)
    conversations.delete(added.conversation_id, OWNER.owner)
    (site.folder / "conversation").write_text(added.conversation_id, "utf-8")


def restore(site: Site) -> None:
    conversation = (site.folder / "conversation").read_text("utf-8")
    site.services.storage.conversations.restore(conversation, OWNER.owner)


def put_sources(site: Site) -> None:
    """A source of which one file is known; then it changes, and others come and go."""
    _prepared(site)
    sources = site.folder / "source"
    sources.mkdir(exist_ok=True)
    for name in ("changed", "gone"):
        text = OTHER.replace("Mali", name.title())
        (sources / f"{name}.md").write_text(text, "utf-8")
    synchronise(site)
    (sources / "gone.md").unlink()
    for name in ("changed", "new"):
        text = SHIPS.replace("Kenya", name.title())
        (sources / f"{name}.md").write_text(text, "utf-8")


def synchronise(site: Site) -> None:
    folder = FolderConnector(kind="folder", path=site.folder / "source")
    synchroniser = synchroniser_of(site.services)
    synchroniser.run(
        {"reports": folder}, control=JobControl(), report=lambda name, change: None
    )
    synchroniser.prune_now("reports", synchroniser.absent("reports"), JobControl())


def ask(site: Site) -> None:
    """Ask in a conversation of the person's own."""
    answer(site, KEPT_QUESTION, Place(), OWNER)


def answer(site: Site, text: str, place: Place, caller: Caller) -> Saved | None:
    question = parse(ChatRequest, {"query": text}).to_question(
        site.services, caller.limit
    )
    with request_cache():
        return site.services.chat.answer(
            question, place=place, cancel=Cancellation(), caller=caller
        )


def age(site: Site) -> None:
    """Make the database one of an older release, which had no figures."""
    _prepared(site)
    for name in ("figures", "figure_versions"):
        outside(site.database, name).delete_many({})
    set_version(site.database, 1)


def start(site: Site) -> None:
    """Do what a start does before the first question, and its work beside them."""
    services = site.services
    services.check()
    services.prepare()
    services.ingesting.clear_up()
    services.ingesting.finish_deletions()
    services.ingesting.derive_figures()
    services.retention.purge_expired()


def put_glossary(site: Site) -> None:
    entry = GlossaryEntry(
        "chai",
        "Tea with milk and spices.",
        heading="Exports",
        source="administrator",
    )
    site.services.storage.glossary.put("administrator", [entry], replace_all=True)


def _prepared(site: Site) -> None:
    """One report that is asked about, and another one."""
    _add_other(site)
    upload(TEA)(site)


def _add_other(site: Site) -> None:
    site.services.prepare()
    path = site.folder / "mali.md"
    path.write_text(OTHER, "utf-8")
    file_id = site.services.storage.files.put(path)
    file = IngestionFile(name="mali.md", identity="uploads/mali.md", file_id=file_id)
    site.services.storage.ingestions.create([file], OWNER.owner)
    work(site)


OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("upload", _add_other, upload(TEA)),
        Operation("new version", _prepared, upload(MORE_TEA)),
        Operation("edit", _prepared, edit),
        Operation("replace", _prepared, upload(SHIPS, country_name="Uganda")),
        Operation("delete", _prepared, delete),
        Operation("bin", _prepared, put_into_bin),
        Operation("undelete", bin_a_report, undelete),
        Operation("restore", add_conversation, restore),
        Operation("sync", put_sources, synchronise),
        Operation("question", _prepared, ask),
        Operation("start", age, start, by_a_new_process=True),
        Operation("glossary", _prepared, put_glossary),
    )
}


def shown(site: Site) -> dict[str, Any]:
    """Return what a process shows of the library, each part as a request would get it.
    Writes nothing.
    """
    with request_cache():
        return dict(_shown(site))


def _shown(site: Site) -> Iterator[tuple[str, Any]]:
    services = site.services
    storage = services.storage
    records = storage.documents.all()
    for words in WORDS:
        for method in ("vector", "bm25"):
            found = services.everything.retriever.retrieve(
                words, top_k=10, scope=Scope(), method=method
            )
            hits = [
                (hit.chunk.document_id, hit.chunk.title, hit.chunk.text)
                for hit in found.hits
            ]
            yield f"{method} {words}", hits
    yield "list", [_listed(asdict(record)) for record in records]
    yield "facets", storage.documents.facets(Scope())
    yield "holdings", to_json(storage.documents.holdings(Scope()))
    yield "count", services.runtime.store.count(Scope())
    figures = storage.figures.page(Scope(), limit=50)
    yield (
        "figures",
        sorted(
            (figure.document_id, figure.heading, figure.text)
            for figure in figures.figures
        ),
    )
    yield "number of figures", figures.total
    yield "indicators", sorted(storage.figures.indicators(Scope()))
    entries = storage.glossary.entries()
    yield "glossary", [(entry.term, entry.heading) for entry in entries]
    yield (
        "passages",
        {
            record.id: [
                chunk.text
                for chunk in passages(
                    services.runtime.store, record, offset=0, limit=50
                )
            ]
            for record in records
        },
    )


def _listed(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report without what differs between two runs."""
    return {
        name: value
        for name, value in record.items()
        if name not in {"updated_at", "upload_number", "writer"}
    }


def kept(site: Site) -> dict[str, Any]:
    """Return what has been accepted and must not be lost."""
    storage = site.services.storage
    originals = {}
    for record in storage.documents.all():
        try:
            _, pieces = site.services.ingesting.originals.open(record)
            originals[record.id] = b"".join(pieces).decode()
        except NotFoundError as error:
            originals[record.id] = error.message
    conversations, _ = storage.conversations.page(
        OWNER.owner, search="", after="", limit=50
    )
    return {
        "originals": originals,
        "conversations": [
            [
                _message(message)
                for message in storage.conversations.messages(one.id, OWNER.owner)
            ]
            for one in conversations
        ],
        "jobs": sorted(
            (file.name, file.state)
            for job in storage.ingestions.latest(20)
            for file in job.files
        ),
    }


def _message(message: Message) -> str:
    return f"{message.role}: {message.content}"


def answered(site: Site) -> str:
    """Return the answer to the question, which may come from the cache."""
    try:
        saved = answer(site, QUESTION, Place(kept=False), Caller("bob"))
    except ChatbotError as error:
        return error.message
    assert saved is not None
    return saved.answer.response
