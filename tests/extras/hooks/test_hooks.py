"""Events reach web hooks signed and at least once, with one id, also over deaths and
outages.
"""

import base64
import hashlib
import hmac
import json
import runpy
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.domain import Cancellation
from chatbot.domain.errors import LoadError
from chatbot.extras.hooks.outbox import BOUNDS, KINDS, Outbox
from chatbot.extras.hooks.relay import Relay, signature
from chatbot.extras.sources.sync import SourceState, Synchroniser
from chatbot.library.fetching import check_url, send
from chatbot.library.fetching.transport import PUBLIC
from tests.app.web.knowledge import BROKEN_PDF, ended, upload
from tests.app.web.live import application
from tests.conftest import KENYA_2023
from tests.fakes.web_server import Page, WebServer

pytestmark = pytest.mark.extras("hooks")
TAKEN = Page(b"", status=204)
SECRET = "whsec_" + base64.b64encode(b"a secret of the hook").decode()


@pytest.fixture
def receiver() -> Iterator[WebServer]:
    with WebServer() as server:
        server.pages["/hook"] = TAKEN
        yield server


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.override(fetch_private_urls=True, daily_token_limit=10)


@pytest.fixture
def app(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Flask]:
    monkeypatch.setitem(BOUNDS, "look_seconds", 3600.0)  # `look` looks
    with application(settings) as created:
        yield created


@pytest.fixture
def services(app: Flask) -> Services:
    found: Services = app.extensions["services"]
    return found


@pytest.fixture
def outbox(services: Services) -> Outbox:
    return Outbox(services.storage.database)


def look(services: Services) -> None:
    with ThreadPoolExecutor(1) as threads:
        Relay(services).run_once(threads)


def received(server: WebServer) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in server.requests]


def test_an_event_of_each_kind_is_signed_and_delivered_once(
    app: Flask, services: Services, outbox: Outbox, receiver: WebServer
) -> None:
    hook = outbox.add(receiver.url("/hook"), KINDS)
    look(services)
    client = app.test_client()
    client.get("/")
    asked = client.post("/query", json={"query": "How many people live in Kenya?"})
    assert asked.get_json()["answered"] is False
    files = (("kenya.md", KENYA_2023), ("broken.pdf", BROKEN_PDF))
    job = ended(client, upload(client, *files))
    failed = SourceState("folder", "folder", problem="Gone.", finished_at="2026-11-29")
    Synchroniser.save(_with_rows(services), failed)
    outbox.note_budget(outbox.hooks(), used=20, limit=10)
    look(services)
    look(services)
    told = received(receiver)
    assert sorted({event["type"] for event in told}) == sorted(KINDS)
    ids = [request.headers["webhook-id"] for request in receiver.requests]
    assert len(ids) == len(set(ids))
    by_kind = {event["type"]: event["data"] for event in told}
    assert by_kind["file.done"]["ingestion_id"] == job["ingestion_id"]
    assert by_kind["file.failed"]["error"]
    assert by_kind["source.failed"]["error"] == "Gone."
    document = next(f["document_id"] for f in job["files"] if f["state"] == "done")
    assert document in by_kind["reports.changed"]["document_ids"]
    request = receiver.requests[0]
    id, sent_at = request.headers["webhook-id"], request.headers["webhook-timestamp"]
    key = base64.b64decode(hook.secret.removeprefix("whsec_"))
    signed = f"{id}.{sent_at}.".encode() + request.body
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert request.headers["webhook-signature"] == f"v1,{digest}"


def _with_rows(services: Services) -> Any:
    class Rows:
        _sources = services.storage.database["sources"]

    return Rows()


def test_a_receiver_that_is_away_is_told_later_with_the_same_id(
    app: Flask, services: Services, outbox: Outbox, receiver: WebServer
) -> None:
    hook = outbox.add(receiver.url("/hook"), ("file.done",))
    receiver.pages["/hook"] = Page(b"", status=503)
    client = app.test_client()
    ended(client, upload(client, ("kenya.md", KENYA_2023)))
    look(services)
    look(services)  # not before its time
    assert len(receiver.requests) == 1
    assert outbox.counts(hook) == {"waiting": 1, "done": 0, "failed": 0}
    assert "503" in outbox.last_problem(hook)
    receiver.pages["/hook"] = TAKEN
    _make_due(services)
    look(services)
    first, second = (request.headers["webhook-id"] for request in receiver.requests)
    assert first == second
    assert receiver.requests[0].body == receiver.requests[1].body
    assert outbox.counts(hook)["done"] == 1


def test_after_a_day_of_failures_a_delivery_has_failed(
    app: Flask, services: Services, outbox: Outbox, receiver: WebServer
) -> None:
    hook = outbox.add(receiver.url("/nowhere"), ("file.done",))
    client = app.test_client()
    ended(client, upload(client, ("kenya.md", KENYA_2023)))
    tries = len(BOUNDS["retry_seconds"]) + 1
    for _ in range(tries + 1):
        look(services)
        _make_due(services)
    assert len(receiver.requests) == tries
    assert outbox.counts(hook)["failed"] == 1
    assert 0.8 < sum(BOUNDS["retry_seconds"]) / 86400 <= 1


def _make_due(services: Services) -> None:
    services.storage.database["deliveries"].update_many({}, {"$set": {"until": 0.0}})


KILLED = """
import os, signal, sys
from concurrent.futures import ThreadPoolExecutor
from chatbot.app.services import build
from chatbot.config.settings import Settings
from chatbot.extras.hooks import outbox, relay

def die(*arguments, **options):
    os.kill(os.getpid(), signal.SIGKILL)

setattr(outbox.Outbox, sys.argv[1], die)
services = build(Settings.from_env())
with ThreadPoolExecutor(1) as threads:
    relay.Relay(services).run_once(threads)
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("step", ["finish", "_collect_changes", "due"])
def test_a_relay_that_is_killed_loses_nothing(
    app: Flask,
    services: Services,
    outbox: Outbox,
    receiver: WebServer,
    settings: Settings,
    step: str,
) -> None:
    outbox.add(receiver.url("/hook"), ("file.done", "reports.changed"))
    look(services)
    client = app.test_client()
    ended(client, upload(client, ("kenya.md", KENYA_2023)))
    environment = {
        "DATA_DIR": str(settings.data_dir),
        "EMBEDDING_PROVIDER": "hashing",
        "FETCH_PRIVATE_URLS": "true",
        "EXTRAS": "hooks",
        "PATH": "",
    }
    root = Path(__file__).parent.parent.parent.parent
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, step],
        env=environment,
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -9, killed.stderr
    _make_due(services)
    look(services)
    kinds = {event["type"] for event in received(receiver)}
    assert kinds == {"file.done", "reports.changed"}
    ids = {request.headers["webhook-id"] for request in receiver.requests}
    rows = services.storage.database["deliveries"].find()
    assert ids == {row["webhook_id"] for row in rows}


def test_a_hook_is_told_of_nothing_before_it(
    app: Flask, services: Services, outbox: Outbox, receiver: WebServer
) -> None:
    client = app.test_client()
    ended(client, upload(client, ("kenya.md", KENYA_2023)))
    hook = outbox.add(receiver.url("/hook"), KINDS)
    look(services)
    assert receiver.requests == []
    outbox.remove(hook.id)
    assert outbox.hooks() == []


def test_addresses_are_checked_as_fetched_ones(receiver: WebServer) -> None:
    with pytest.raises(LoadError):
        check_url("ftp://example.org/hook")
    with pytest.raises(LoadError):
        send(
            receiver.url("/hook").replace(str(receiver.port), "80"),
            b"{}",
            {},
            rules=PUBLIC,
            cancel=Cancellation(),
            seconds=5.0,
            max_bytes=100,
        )
    assert receiver.requests == []


def test_the_example_of_a_chat_takes_signed_events_only() -> None:
    root = Path(__file__).parents[3]
    example = runpy.run_path(str(root / "docs/examples/hook_to_chat.py"))
    data = {"id": "f1", "name": "kenya.pdf", "error": "It is damaged."}
    event = {"type": "file.failed", "data": data}
    body = json.dumps(event).encode()
    headers = signature("evt_1", body, SECRET, int(time.time()))
    assert example["is_signed"](body, headers, SECRET)
    assert not example["is_signed"](body + b" ", headers, SECRET)
    old = signature("evt_1", body, SECRET, int(time.time()) - 3600)
    assert not example["is_signed"](body, old, SECRET)
    assert example["line_of"](event) == "file.failed: kenya.pdf: It is damaged."
