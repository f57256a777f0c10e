"""A job that is done is told to the address that came with it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from chatbot.factory import close_app, create_app
from chatbot.repositories import callbacks as callback_queue
from chatbot.settings import Settings
from chatbot.web import callbacks
from tests.conftest import KENYA_2023
from tests.fakes.web_server import Page, WebServer
from tests.ingestion.helpers import until
from tests.web.conftest import error_of
from tests.web.knowledge import BROKEN_PDF, ended, upload

SECRET = "a secret"


@pytest.fixture
def receiver() -> Iterator[WebServer]:
    with WebServer() as opened:
        opened.pages["/hook"] = Page(b"", status=204)
        yield opened


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Flask]:
    monkeypatch.setattr(callbacks, "IDLE_SECONDS", 0.02)
    monkeypatch.setattr(callback_queue, "CALL_AGAIN", (0.0, 0.0))
    made = create_app(
        Settings(
            data_dir=tmp_path, embedding_provider="hashing", chat_model="echo", sample_data="off", summaries="off",
            fetch_private_urls=True, callback_secret=SECRET,
        )
    )  # fmt: skip
    yield made
    close_app(made)


def test_the_end_of_a_job_is_told_once_and_signed(client: FlaskClient, receiver: WebServer) -> None:
    files = (("kenya.md", KENYA_2023), ("broken.pdf", BROKEN_PDF))
    job = ended(client, upload(client, *files, callback_url=receiver.url("/hook")))
    until(lambda: bool(receiver.requests))
    storage = client.application.extensions["services"].storage
    until(lambda: not storage.ingestions.callbacks.pending())
    (request,) = receiver.requests
    assert json.loads(request.body) == job
    signed = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    digest = base64.b64encode(hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()).decode()
    assert request.headers["webhook-signature"] == f"v1,{digest}"


def test_what_is_not_taken_is_sent_again_and_given_up(client: FlaskClient, receiver: WebServer) -> None:
    receiver.pages["/hook"] = Page(b"", status=500)
    ended(client, upload(client, ("kenya.md", KENYA_2023), callback_url=receiver.url("/hook")))
    storage = client.application.extensions["services"].storage
    until(lambda: len(receiver.requests) >= 3 and not storage.ingestions.callbacks.pending())
    assert len(receiver.requests) == 3
    assert len({request.headers["webhook-id"] for request in receiver.requests}) == 1


def test_who_is_slow_to_answer_holds_up_nobody_else(client: FlaskClient, receiver: WebServer) -> None:
    """Six of them kept another's call waiting for 53 s."""
    with WebServer(silent=True) as slow:
        for name in ("a.md", "b.md", "c.md"):
            ended(client, upload(client, (name, KENYA_2023), callback_url=slow.url("/")))
        until(lambda: slow.connections >= 3)
        ended(client, upload(client, ("d.md", KENYA_2023), callback_url=receiver.url("/hook")))
        began = time.monotonic()
        until(lambda: bool(receiver.requests))
        assert time.monotonic() - began < 4.0


@pytest.mark.parametrize("address", ["ftp://b.example", "http://user:word@b.example/", 7])
def test_an_address_that_is_none(client: FlaskClient, address: object) -> None:
    response = client.post("/api/documents", json={"url": "http://a.example/", "callback_url": address})
    assert error_of(response, 400)["details"][0]["field"] == "callback_url"
