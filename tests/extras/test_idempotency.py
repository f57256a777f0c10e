"""A POST that is sent again with the same Idempotency-Key."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from chatbot.app.services import Services
from chatbot.app.web.routes import REPEATED
from chatbot.config.settings import Settings
from chatbot.database.failures import FULL
from chatbot.domain.errors import DatabaseError, DiskFullError
from chatbot.extras.idempotency.keys import (
    IdempotencyKeys,
    InProgressError,
    KeyReusedError,
    Repeatable,
)
from tests.app.web.knowledge import ended, form
from tests.app.web.live import application
from tests.conftest import KENYA_2023

pytestmark = pytest.mark.extras(
    "idempotency", "operator", "openapi", "changes", "protocols"
)
KEYED = {"Idempotency-Key": "k1"}
V1_BODY = {
    "model": "report-chat",
    "messages": [{"role": "user", "content": "How fast does Kenya grow?"}],
}


@pytest.fixture
def app(settings: Settings) -> Iterator[Flask]:
    with application(settings) as created:
        yield created


@pytest.fixture
def services(app: Flask) -> Services:
    found: Services = app.extensions["services"]
    return found


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    made = app.test_client()
    made.get("/")
    return made


def upload(client: FlaskClient, text: str = KENYA_2023, **fields: str) -> TestResponse:
    """Send a form, whose boundary is another one each time."""
    body, kind = form(("kenya.md", text), **fields)
    return client.post("/api/documents", data=body, content_type=kind, headers=KEYED)


def code(response: TestResponse) -> Any:
    return response.get_json()["error"]["code"]


def test_the_same_upload_is_one_job(client: FlaskClient, services: Services) -> None:
    first = upload(client)
    second = upload(client)
    assert second.status_code == 202
    assert second.get_json() == first.get_json()
    assert second.location == first.location
    assert REPEATED not in first.headers
    assert second.headers[REPEATED] == "true"
    ended(client, first)
    assert len(client.get("/api/ingestions").get_json()["ingestions"]) == 1
    recorded = [e for e in services.storage.audit.latest(9) if "POST" in e.action]
    assert len(recorded) == 1
    other_file = upload(client, KENYA_2023 + "More.")
    assert (other_file.status_code, code(other_file)) == (422, "idempotency_key_reused")
    assert code(upload(client, title="Another")) == "idempotency_key_reused"


@pytest.mark.parametrize("path", ["/query", "/api/chat", "/v1/chat/completions"])
def test_a_repeated_question_is_one_conversation(
    client: FlaskClient, path: str
) -> None:
    messages = [{"role": "user", "content": "How fast does Kenya grow?"}]
    body: dict[str, Any] = {"query": "How fast does Kenya grow?"}
    if path.startswith("/v1"):
        body = {"model": "report-chat", "messages": messages, "stream": True}
    answers = []
    for _ in range(2):
        response = client.post(path, json=body, headers=KEYED)
        assert response.status_code == 200, response.get_data(as_text=True)
        answers.append((response.get_data(as_text=True), response.content_type))
    assert answers[0] == answers[1]
    stored = client.get("/api/conversations").get_json()["conversations"]
    assert len(stored) == (0 if path.startswith("/v1") else 1)
    assert "Idempotency-Key" in str(
        client.get("/openapi.json").get_json()["paths"][path]
    )


ROUTES: tuple[tuple[str, Any], ...] = (
    ("/query", {"query": "How fast does Kenya grow?"}),
    ("/api/chat", {"query": "How fast does Kenya grow?"}),
    ("/api/search", {"query": "growth"}),
    ("/api/figures/query", {"indicators": ["Population"]}),
    ("/api/files", None),
    ("/api/documents/{document}/reingest", {}),
    ("/api/conversations/{conversation}/share", {"later": True}),
    ("/api/messages/{message}/feedback", {"rating": "up"}),
    ("/v1/embeddings", {"model": "hashing:256", "input": "growth"}),
    ("/v1/chat/completions", V1_BODY),
)
"""POST routes, with a body that is sent twice; None = a file."""
NOT_OF_THE_WORK = {"idempotency", "cache", "counters", "usage", "usage_of_limited"}


@pytest.mark.parametrize(("path", "body"), ROUTES, ids=[path for path, _ in ROUTES])
def test_a_repeated_post_has_the_first_result_and_adds_no_row(
    client: FlaskClient, services: Services, path: str, body: Any
) -> None:
    job = ended(client, upload(client))
    asked = client.post("/query", json={"query": "How fast does Kenya grow?"})
    filled = path.format(
        document=job["files"][0]["document_id"],
        conversation=asked.get_json()["conversation_id"],
        message=asked.get_json()["message_id"],
    )

    def send() -> TestResponse:
        headers = {"Idempotency-Key": "again"}
        if body is not None:
            return client.post(filled, json=body, headers=headers)
        content, kind = form(("more.md", "# More"), field="file")
        return client.post(filled, data=content, content_type=kind, headers=headers)

    first = send()
    answer = first.text  # read to its end, as a stream is
    assert first.status_code < 300, answer
    if first.status_code == 202:
        ended(client, first)
    before = rows(services)
    second = send()
    assert second.headers.get(REPEATED) == "true"
    assert (second.status_code, second.text) == (first.status_code, answer)
    assert rows(services) == before


def rows(services: Services) -> dict[str, int]:
    """Return the number of rows of each collection that keeps what was asked for."""
    database = services.storage.database
    return {
        name: database[name].count({})
        for name in database.collection_names()
        if name not in NOT_OF_THE_WORK
    }


def test_a_secret_is_shown_once(client: FlaskClient, services: Services) -> None:
    first = client.post("/api/keys", json={"name": "Nairobi"}, headers=KEYED)
    second = client.post("/api/keys", json={"name": "Nairobi"}, headers=KEYED)
    assert (second.status_code, code(second)) == (409, "secret_already_shown")
    assert second.get_json()["error"]["details"] == [{"key": first.get_json()["key"]}]
    assert len(services.storage.keys.all()) == 1
    rows = list(services.storage.database["idempotency"].find())
    assert first.get_json()["secret"] not in str(rows)


def test_after_an_error_the_key_is_free(client: FlaskClient) -> None:
    assert upload(client, year="soon").status_code == 400
    assert upload(client, year="2023").status_code == 202


def test_keys_are_of_their_caller(client: FlaskClient) -> None:
    other = client.application.test_client()
    other.get("/")
    assert upload(client).status_code == 202
    assert REPEATED not in upload(other).headers


@pytest.mark.parametrize("key", ["", "a b", "x" * 256])
def test_a_malformed_key_is_refused(client: FlaskClient, key: str) -> None:
    answer = client.post(
        "/api/search", json={"query": "growth"}, headers={"Idempotency-Key": key}
    )
    assert answer.status_code == 400
    assert answer.get_json()["error"]["details"][0]["field"] == "Idempotency-Key"


def test_a_full_database_ignores_the_key_and_says_so(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise DiskFullError("The disk is full.")

    monkeypatch.setattr(IdempotencyKeys, "begin", refuse)
    answer = client.post("/api/search", json={"query": "growth"}, headers=KEYED)
    assert answer.status_code == 200
    assert "ignored" in answer.headers["Warning"]
    assert DiskFullError("full").reason == FULL


def test_a_request_in_progress_is_waited_for(services: Services) -> None:
    keys = IdempotencyKeys(services.storage.database)
    assert isinstance(keys.begin("me", "k", "print"), Repeatable)
    with pytest.raises(InProgressError) as refused:
        keys.begin("me", "k", "print")
    assert refused.value.retry_after
    with pytest.raises(KeyReusedError):
        keys.begin("me", "k", "other")


def test_the_request_of_a_dead_process_is_taken_over_by_one(services: Services) -> None:
    database = services.storage.database
    first = IdempotencyKeys(database).begin("me", "k", "print")
    database["idempotency"].update_many({}, {"$set": {"until": database.now() - 1}})
    outcomes: list[object] = []

    def begin() -> None:
        try:
            outcomes.append(IdempotencyKeys(database).begin("me", "k", "print"))
        except (DatabaseError, InProgressError) as error:
            outcomes.append(error)

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = [outcome for outcome in outcomes if isinstance(outcome, Repeatable)]
    assert len(taken) == 1
    late = IdempotencyKeys(database)
    assert isinstance(first, Repeatable)
    late.finish(first, {"status": 200})
    row = database["idempotency"].find_one({"_id": first.id})
    assert row is not None
    assert row["answer"] is None


def test_an_answer_is_kept_for_a_day(services: Services) -> None:
    database = services.storage.database
    keys = IdempotencyKeys(database)
    begun = keys.begin("me", "k", "print")
    assert isinstance(begun, Repeatable)
    keys.finish(begun, {"status": 200})
    assert keys.begin("me", "k", "print") == {"status": 200}
    database["idempotency"].update_many(
        {}, {"$set": {"expires_at": database.now() - 1}}
    )
    assert isinstance(keys.begin("me", "k", "print"), Repeatable)
