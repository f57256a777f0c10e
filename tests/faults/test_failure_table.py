"""Each row of the table of failures, on each backend, seen on every public route: an
answer, or a plain error with a remedy and a time. No question is lost to bookkeeping.
"""

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from chatbot.app.factory import close_app, create_app
from chatbot.app.services import Services
from chatbot.database.failures import Row, read_rows
from tests.conftest import KENYA_2023, ingest_file, write_report
from tests.fakes import postgres
from tests.fakes.nx_server import NxThread, wait_until
from tests.fakes.wire_faults import Action, Drop, Hang, failure
from tests.fakes.wire_proxy import EVERYTHING, WireProxy
from tests.faults.conftest import QUESTION, settings_for

pytestmark = pytest.mark.extras("all")
TIMEOUT = 0.5
"""MONGODB_TIMEOUT."""
NOTE = "This answer is not kept"
WRITES = ("insert", "update", "findAndModify", "createIndexes")
"""What a full server refuses."""
ROUTES = ("question", "stream", "search", "ready", "keys", "upload", "delete")
ATLAS_WORDS = {
    "full": "you are over your space quota, using 513 MB of 512 MB",
    "full:collections": "cannot create a new collection -- already using 500 of 500",
    "read_only": "the cluster is in read-only mode",
    "no_rights": "user is not allowed to do action [insert] on [report_chat.messages]",
    "auth_refused": "bad auth : authentication failed",
}
"""What Atlas says with its code 8000."""


@dataclass
class Seen:
    """What each route answered: its status, its body (of a stream the last event), and
    its Retry-After.
    """

    status: dict[str, int] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    retry_after: dict[str, str | None] = field(default_factory=dict)


class Library:
    """An application with one report to ask about and one to delete."""

    def __init__(self, folder: Path, uri: str | None, **values: Any) -> None:
        options: dict[str, Any] = {
            "vector_search": "faiss",
            "mongodb_timeout": TIMEOUT,
            "access": "open",
            "requests_per_minute": 10_000,
            "questions_per_caller": 100,
            "ingestion_workers": 1,
            "cache_seconds": 600,
            **values,
        }
        self._folder = folder
        self._number = 0
        self.app = create_app(settings_for(uri, folder, **options))
        self.services: Services = self.app.extensions["services"]
        self.client: FlaskClient = self.app.test_client()
        self.add("kenya-2023", country_name="Kenya", year=2023)
        self.client.get("/")  # its cookie
        assert self.client.post("/query", json=QUESTION).status_code == 200

    def add(self, name: str, **metadata: Any) -> str:
        path = write_report(self._folder / "reports", KENYA_2023, name)
        return ingest_file(self.services, path, f"test/{name}", **metadata).document_id

    def victim(self) -> str:
        """Add a report to delete."""
        self._number += 1
        return self.add(f"victim-{self._number}", country_name="Chad", year=2000)

    def walk(self, victim: str) -> Seen:
        """Use every route, the deletion last."""
        seen, client = Seen(), self.client
        fresh = {**QUESTION, "cache": False}
        file = (io.BytesIO(b"# Tea\n\nTea grows in the hills."), "tea.md")
        responses = {
            "question": client.post("/query", json=fresh),
            "stream": client.post("/api/chat", json={**fresh, "resume": True}),
            "search": client.post("/api/search", json=QUESTION),
            "ready": client.get("/ready"),
            "keys": client.post("/api/keys", json={"name": "a", "role": "read"}),
            "upload": client.post("/api/documents", data={"files": file}),
            "delete": client.delete(f"/api/documents/{victim}?permanent=true"),
        }
        for route, response in responses.items():
            seen.status[route] = response.status_code
            text = response.get_data(as_text=True).rpartition("data: ")[2]
            seen.body[route] = json.loads(text) if text else {}
            seen.retry_after[route] = response.headers.get("Retry-After")
        return seen

    def close(self) -> None:
        close_app(self.app)


def assert_plain_error(seen: Seen, route: str, row: Row | None = None) -> None:
    """An error with a remedy, and a time where trying again helps."""
    error = seen.body[route]["error"]
    assert error["message"], route
    assert error["details"][0]["remedy"], (route, error)
    in_stream = seen.status[route] == 200
    if in_stream:
        return
    assert seen.status[route] in {503, 507}, (route, error)
    if row is not None and row.retry_after is not None:
        assert seen.retry_after[route], (route, error)


def assert_answer_or_plain_error(seen: Seen, row: Row) -> None:
    for route in ROUTES:
        if route == "ready":
            assert seen.status[route] in {200, 503}
        elif "error" in seen.body[route]:
            assert_plain_error(seen, route, row)
        else:
            assert seen.status[route] < 400, route


def assert_questions_answered(seen: Seen) -> None:
    """Though nothing can be written; and the answer says so."""
    for route in ("question", "stream", "search", "ready"):
        assert seen.status[route] == 200, (route, seen.body[route])
        assert "error" not in seen.body[route], (route, seen.body[route])
    for route in ("question", "stream"):
        answer = seen.body[route]
        assert answer["answered"] is True
        assert answer["message_id"] is None
        assert any(NOTE in step["detail"] for step in answer["trace"]["path"])


def refusals(name: str, row: Row) -> Action:
    """The row as a server plays it: its first code, or Atlas's."""
    if row.codes:
        return failure(int(min(row.codes)), name, "played by the test")
    return failure(8000, "AtlasError", ATLAS_WORDS[name])


MONGODB: dict[str, Action] = {
    name: refusals(name, row)
    for name, row in read_rows("mongodb").items()
    if row.codes or row.words
}
MONGODB |= {
    f"{name}, by Atlas": failure(8000, "AtlasError", words)
    for name, words in ATLAS_WORDS.items()
}
MONGODB |= {"away, broken off": Drop(), "slow, frozen": Hang()}
MONGODB |= {"unknown": failure(987_654, "New", "what nobody has seen")}


def row_of(name: str) -> Row:
    """The row that a name of MONGODB plays."""
    rows = read_rows("mongodb")
    return rows.get(name.partition(",")[0]) or rows["away"]


@pytest.fixture(scope="module")
def served(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Library, WireProxy]]:
    folder = tmp_path_factory.mktemp("table")
    with (
        pytest.MonkeyPatch.context() as patch,
        NxThread(folder / "nx") as server,
        WireProxy(server.port) as proxy,
    ):
        patch.setattr("chatbot.database.repositories.files.PROBE_SECONDS", 0.0)
        library = Library(folder, proxy.uri)
        yield library, proxy
        library.close()


def healed(library: Library, proxy: WireProxy) -> None:
    proxy.heal()

    def answers() -> bool:
        return library.client.post("/query", json=QUESTION).status_code == 200

    wait_until(answers, "no answer", 20)


NOT_OF_WRITES = {"wrong_role", "away, broken off"}
"""A member that is not the primary, or breaks connections off, refuses reads, too: the
driver looks for another one.
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", sorted(MONGODB.keys() - NOT_OF_WRITES))
def test_mongodb_that_refuses_every_write_answers_all_questions(
    served: tuple[Library, WireProxy], name: str
) -> None:
    library, proxy = served
    victim = library.victim()
    for command in WRITES:
        proxy.always(command, MONGODB[name])
    seen = library.walk(victim)
    healed(library, proxy)
    assert_questions_answered(seen)
    assert_answer_or_plain_error(seen, row_of(name))
    is_full = row_of(name).kind == "full"
    assert seen.body["ready"]["full"] is is_full
    if is_full:
        assert (seen.status["upload"], seen.status["keys"]) == (507, 507)
        # The bin needs space, which deletion for good makes.
        assert seen.status["delete"] == 204
        documents = library.services.storage.documents
        wait_until(lambda: documents.get(victim) is None, "it is still there", 20)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", MONGODB)
def test_mongodb_that_refuses_everything_is_a_plain_error_on_every_route(
    served: tuple[Library, WireProxy], name: str
) -> None:
    library, proxy = served
    victim = library.victim()
    proxy.always(EVERYTHING, MONGODB[name])
    seen = library.walk(victim)
    healed(library, proxy)
    assert_answer_or_plain_error(seen, row_of(name))
    assert "error" in seen.body["question"]


@pytest.mark.parametrize("name", ["full, by Atlas", "no_rights", "read_only"])
def test_a_server_that_begins_over_a_mongodb_without_writes_answers(
    served: tuple[Library, WireProxy], tmp_path: Path, name: str
) -> None:
    library, proxy = served
    for command in WRITES:
        proxy.always(command, MONGODB[name])
    second = Library.__new__(Library)
    second.app = create_app(
        settings_for(proxy.uri, tmp_path, vector_search="faiss", access="open")
    )
    second.client = second.app.test_client()
    second.client.set_cookie("report_chat", "visitor.of-another-server")
    response = second.client.post("/query", json=QUESTION)
    second.close()
    healed(library, proxy)
    assert (response.status_code, response.get_json()["message_id"]) == (200, None)


class SqliteFault:
    """A row of the SQLite file, played by SQLite itself."""

    def __init__(self, library: Library, name: str) -> None:
        database: Any = library.services.storage.database
        self._writer = database._get_writer().connection
        self._name = name

    def begin(self) -> None:
        if self._name == "full":
            (pages,) = self._writer.execute("PRAGMA page_count").fetchone()
            self._writer.execute(f"PRAGMA max_page_count = {pages}")
        else:
            self._writer.execute("PRAGMA query_only = ON")

    def end(self) -> None:
        self._writer.execute(f"PRAGMA max_page_count = {2**30}")
        self._writer.execute("PRAGMA query_only = OFF")


@pytest.mark.parametrize("name", ["full", "read_only"])
def test_a_file_that_takes_no_writes_answers_all_questions(
    tmp_path: Path, name: str
) -> None:
    library = Library(tmp_path, None)
    victim = library.victim()
    fault = SqliteFault(library, name)
    fault.begin()
    seen = library.walk(victim)
    fault.end()
    library.close()
    row = read_rows("sqlite")[name]
    if name == "read_only":
        assert_questions_answered(seen)
    for route in ("question", "stream", "search"):
        assert (seen.status[route], "error" in seen.body[route]) == (200, False)
    assert_answer_or_plain_error(seen, row)


POSTGRESQL: Mapping[str, str] = {
    "full": "53100",
    "read_only": "25006",
    "slow": "57014",
    "away": "57P01",
    "throttled": "53300",
    "conflict": "40001",
    "no_rights": "42501",
    "refused": "22000",
}
TRIGGER = """
CREATE OR REPLACE FUNCTION fails() RETURNS trigger AS $$
BEGIN RAISE EXCEPTION 'played by the test' USING ERRCODE = '{code}'; END
$$ LANGUAGE plpgsql;
DROP TRIGGER IF EXISTS fails ON chunks;
CREATE TRIGGER fails BEFORE INSERT OR UPDATE OR DELETE ON chunks
FOR EACH STATEMENT EXECUTE FUNCTION fails()
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", POSTGRESQL)
def test_postgresql_that_takes_no_writes_answers_all_questions(
    tmp_path: Path, name: str
) -> None:
    options = {"vector_search": "pgvector", "postgres_uri": postgres.empty_database()}
    library = Library(tmp_path, None, **options)
    victim = library.victim()
    with postgres.connect() as connection:
        connection.execute(TRIGGER.format(code=POSTGRESQL[name]))
        seen = library.walk(victim)
        connection.execute("DROP TRIGGER fails ON chunks")
    library.close()
    for route in ("question", "stream", "search", "ready", "upload"):
        assert seen.status[route] in {200, 202}, (route, seen.body[route])
        assert "error" not in seen.body[route]
    row = read_rows("postgresql")[name]
    assert_answer_or_plain_error(seen, row)
    if row.kind != "refused":
        assert seen.body["question"]["message_id"]
