"""Many questions as one job: answered as `/query` would, in order, by whoever is there; ended, gone on with, told."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from chatbot.errors import BudgetExhaustedError, ChatModelError
from chatbot.factory import close_app, create_app
from chatbot.ingestion.watch import Retries
from chatbot.settings import Settings
from chatbot.web import batches, callbacks
from chatbot.web.batch_worker import BatchWorker
from chatbot.web.batches import MOST_UNFINISHED
from tests.conftest import KENYA_2023
from tests.fakes.web_server import Page, WebServer
from tests.ingestion.helpers import until
from tests.web.conftest import error_of, fields_of
from tests.web.knowledge import ended, upload

QUESTIONS = ["What is the population growth rate?", {"query": "=What is the capital?", "filters": {"year": [2023]}}]
API = "/api/batches"
STATES = ("queued", "running", "done", "failed", "cancelled")


def made(folder: Path, **settings: Any) -> Flask:
    own = {"embedding_provider": "hashing", "chat_model": "echo", "sample_data": "off", "summaries": "off"}
    return create_app(Settings(data_dir=folder, **{**own, **settings}))


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Flask]:
    monkeypatch.setattr(callbacks, "IDLE_SECONDS", 0.02)
    app = made(tmp_path, fetch_private_urls=True)
    yield app
    close_app(app)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """Who opened the page, and has its cookie; Kenya's report is there."""
    client = app.test_client()
    client.get("/")
    ended(client, upload(client, ("kenya-2023.md", KENYA_2023), country_name="Kenya", year="2023"))
    return client


def begun(client: FlaskClient, *questions: Any, **options: Any) -> str:
    response = client.post(API, json={"questions": list(questions), **options})
    assert response.status_code == 202, response.get_json()
    batch_id: str = response.get_json()["batch_id"]
    assert response.location == f"{API}/{batch_id}"
    return batch_id


def finished(client: FlaskClient, batch_id: str) -> Any:
    until(lambda: client.get(f"{API}/{batch_id}").get_json()["state"] in {"done", "cancelled"})
    return client.get(f"{API}/{batch_id}").get_json()


def lines(client: FlaskClient, batch_id: str) -> list[Any]:
    return [json.loads(line) for line in client.get(f"{API}/{batch_id}/result.jsonl").text.splitlines()]


def test_every_question_is_answered_as_a_query_is(client: FlaskClient) -> None:
    batch_id = begun(client, *QUESTIONS, filters={"country_name": ["Kenya"]})
    assert finished(client, batch_id)["questions"] == {**dict.fromkeys(STATES, 0), "done": 2}
    first, second = lines(client, batch_id)
    asked = client.post("/query", json={"query": QUESTIONS[0], "filters": {"country_name": ["Kenya"]}}).get_json()
    assert first["answer"]["response"] == asked["response"]
    assert first["answer"]["citations"] == asked["citations"]
    assert second["answer"]["scope"]["filters"] == {"year": [2023]}  # its own instead of those for all
    assert first["answer"]["conversation_id"] is None
    assert client.get("/api/conversations").get_json()["conversations"][1:] == []
    table = client.get(f"{API}/{batch_id}/result.csv")
    assert table.mimetype == "text/csv"
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [row["question"] for row in rows] == ["What is the population growth rate?", "'=What is the capital?"]
    assert rows[0]["country_name"] == "Kenya"
    assert rows[0]["citations"].startswith("[1] Kenya")
    assert [one["batch_id"] for one in client.get(API).get_json()["batches"]] == [batch_id]
    assert client.delete(f"{API}/{batch_id}").get_json()["state"] == "done"  # what has ended is not cancelled


def test_a_result_is_made_of_a_few_answers_at_a_time(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight readers of one of 17 MB took 600 MB."""
    batch_id, with_snippets, taken = begun(client, *QUESTIONS, QUESTIONS[0]), batches.with_snippets, list[int]()
    finished(client, batch_id)
    monkeypatch.setattr(batches, "PORTION", 2)
    monkeypatch.setattr(batches, "with_snippets", lambda kept, get: taken.append(len(kept)) or with_snippets(kept, get))
    assert [line["number"] for line in lines(client, batch_id)] == [1, 2, 3]
    assert taken == [2, 1]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["questions"]),
        ({"questions": []}, ["questions"]),
        ({"questions": ["What?"] * 1001}, ["questions"]),
        ({"questions": ["What?", {"query": "And?", "filters": {"country_name": ["Atlantis"]}}]},
         ["questions.1.filters.country_name"]),
        ({"questions": ["What?"], "mode": "guess"}, ["questions.0.mode"]),
        ({"questions": ["What?"], "colour": "red"}, ["colour"]),
        ({"questions": ["What?"], "callback_url": "nowhere"}, ["callback_url"]),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_said_at_once(client: FlaskClient, body: dict[str, Any], fields: list[str]) -> None:
    response = client.post(API, json=body)
    assert response.status_code == 400
    assert fields_of(response) == fields
    assert client.get(API).get_json() == {"batches": []}


def test_a_stranger_has_none_of_it(client: FlaskClient, app: Flask) -> None:
    batch_id = begun(client, *QUESTIONS)
    stranger = app.test_client()
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/result.csv"), ("GET", "/result.jsonl")):
        error_of(stranger.open(f"{API}/{batch_id}{path}", method=method), 404, "not_found")
    error_of(client.get(f"{API}/{batch_id}/result.pdf"), 404, "not_found")


def test_another_process_goes_on_where_one_was_stopped(client: FlaskClient, app: Flask, tmp_path: Path) -> None:
    """One question is answered, one is in the hand of a process that is there no more, one waits."""
    worker, batches = app.extensions["batch_worker"], app.extensions["services"].storage.batches
    worker.close()
    batch_id = begun(client, "What is the growth rate?", "And the birth rate?", "And the death rate?")
    worker.work_once()
    lost, _ = batches.claim("a process that is killed")
    cookie = client.get_cookie("report_chat")
    assert cookie is not None
    other = made(tmp_path)
    reader = other.test_client()
    reader.set_cookie("report_chat", cookie.value)
    until(lambda: len(lines(reader, batch_id)) == 2)  # what is in hand stays there until its lease ends
    assert not batches.renew(replace(lost, worker="another"))
    batches.put_back(lost)
    assert finished(reader, batch_id)["questions"]["done"] == 3
    assert [line["number"] for line in lines(reader, batch_id)] == [1, 2, 3]
    close_app(other)


def test_it_is_ended_and_what_was_answered_stays(client: FlaskClient, app: Flask) -> None:
    worker = app.extensions["batch_worker"]
    worker.close()  # by hand from here on
    batch_id = begun(client, *QUESTIONS, "And the death rate?")
    assert worker.work_once()
    assert client.get(f"{API}/{batch_id}").get_json()["progress"] == pytest.approx(1 / 3, abs=1e-4)
    assert client.delete(f"{API}/{batch_id}").status_code == 202
    assert not worker.work_once()
    about = client.get(f"{API}/{batch_id}").get_json()
    assert (about["state"], about["questions"]["cancelled"]) == ("cancelled", 2)
    assert len(lines(client, batch_id)) == 1


def test_what_has_come_to_its_end_is_not_cancelled(client: FlaskClient, app: Flask) -> None:
    worker = app.extensions["batch_worker"]
    worker.close()  # by hand from here on: nobody has looked for a next question yet
    batch_id = begun(client, *QUESTIONS)
    assert all(worker.work_once() for _ in QUESTIONS)
    done = client.get(f"{API}/{batch_id}").get_json()
    assert client.delete(f"{API}/{batch_id}").get_json() == done
    assert client.get(f"{API}/{batch_id}").get_json()["state"] == "done"


def test_nobody_queues_without_end(client: FlaskClient, app: Flask) -> None:
    worker = app.extensions["batch_worker"]
    worker.close()
    first, *_ = [begun(client, "What is the growth rate?") for _ in range(MOST_UNFINISHED)]
    response = client.post(API, json={"questions": ["And the birth rate?"]})
    assert (response.status_code, response.headers["Retry-After"]) == (429, "60")
    client.delete(f"{API}/{first}")
    begun(client, "And the birth rate?")


def test_batches_take_turns(client: FlaskClient, app: Flask) -> None:
    worker = app.extensions["batch_worker"]
    worker.close()
    long, short = begun(client, *["What is the growth rate?"] * 3), begun(client, "And the birth rate?")
    worker.work_once()
    worker.work_once()
    assert [client.get(f"{API}/{one}").get_json()["questions"]["done"] for one in (long, short)] == [1, 1]


def test_what_fails_is_said_beside_the_others(client: FlaskClient, app: Flask) -> None:
    """A report that a question is about goes before its turn."""
    worker = app.extensions["batch_worker"]
    worker.close()
    batch_id = begun(client, "What is the growth rate?", filters={"country_name": ["Kenya"]})
    (document,) = client.get("/api/documents").get_json()["documents"]
    client.delete(f"/api/documents/{document['document_id']}")
    worker.work_once()
    (line,) = lines(client, batch_id)
    assert line["answer"] is None
    assert line["error"]["code"] == "invalid_request"
    assert client.get(f"{API}/{batch_id}").get_json()["questions"]["failed"] == 1


def test_a_model_that_is_away_is_waited_for(client: FlaskClient, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    app.extensions["batch_worker"].close()
    worker = BatchWorker(app.extensions["services"], Retries(first_seconds=0.01, longest_seconds=0.01))
    batch_id = begun(client, "What is the growth rate?")
    ask, seen = worker._ask, list[Any]()

    def refuse_twice(*arguments: Any) -> Any:
        seen.append(client.get(f"{API}/{batch_id}").get_json()["detail"])
        if len(seen) < 3:
            raise ChatModelError("It limits the rate.", retry_after=0)
        return ask(*arguments)

    monkeypatch.setattr(worker, "_ask", refuse_twice)
    assert worker.work_once()
    assert seen == ["", "It limits the rate. Trying again in 0 s.", "It limits the rate. Trying again in 0 s."]
    about = client.get(f"{API}/{batch_id}").get_json()
    assert (about["state"], about["questions"]["done"], about["detail"]) == ("done", 1, "")


def test_a_used_up_budget_is_waited_for(client: FlaskClient, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = app.extensions["batch_worker"]
    worker.close()
    batch_id = begun(client, "What is the growth rate?")

    def refuse(*_: Any) -> Any:
        raise BudgetExhaustedError(used=10, limit=10, retry_after=3600)

    with monkeypatch.context() as patched:
        patched.setattr(worker, "_ask", refuse)
        assert worker.work_once()
    about = client.get(f"{API}/{batch_id}").get_json()
    assert (about["state"], about["questions"]["queued"]) == ("queued", 1)
    assert "used up" in about["detail"]
    assert not worker.work_once()


def test_a_report_that_is_being_indexed_is_waited_for(client: FlaskClient, app: Flask) -> None:
    worker, documents = app.extensions["batch_worker"], app.extensions["services"].storage.documents
    worker.close()
    batch_id = begun(client, "What is the growth rate?")
    (ready,) = documents.all()
    documents.put(replace(ready, status="pending"))
    assert worker.work_once()
    about = client.get(f"{API}/{batch_id}").get_json()
    assert (about["state"], about["questions"]["queued"]) == ("queued", 1)
    assert "still being indexed" in about["detail"]
    assert not worker.work_once()  # not before the time that the error names


def test_a_revoked_key_asks_nothing_more(client: FlaskClient, app: Flask) -> None:
    worker, keys = app.extensions["batch_worker"], app.extensions["services"].storage.keys
    worker.close()
    key, secret = keys.create("office", "read")
    headers = {"Authorization": f"Bearer {secret}"}
    batch_id = client.post(API, json={"questions": QUESTIONS}, headers=headers).get_json()["batch_id"]
    worker.work_once()
    keys.revoke(key.id)
    worker.work_once()
    storage = app.extensions["services"].storage
    states = [one.state for one in storage.batches.questions(batch_id)]
    assert states == ["done", "failed"]


def test_its_end_is_told(client: FlaskClient) -> None:
    with WebServer() as receiver:
        receiver.pages["/hook"] = Page(b"", status=204)
        batch_id = begun(client, "What is the growth rate?", callback_url=receiver.url("/hook"))
        until(lambda: bool(receiver.requests))
        told = json.loads(receiver.requests[0].body)
        assert (told["batch_id"], told["state"]) == (batch_id, "done")


def test_it_goes_with_its_owners_data(client: FlaskClient, app: Flask) -> None:
    batch_id = begun(client, *QUESTIONS)
    finished(client, batch_id)
    services = app.extensions["services"]
    services.retention.conversations()
    error_of(client.get(f"{API}/{batch_id}"), 404, "not_found")
    assert list(services.storage.batches.questions(batch_id)) == []
