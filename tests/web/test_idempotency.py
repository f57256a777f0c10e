"""A change that is sent again with the same Idempotency-Key."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from chatbot.services import Services
from tests.conftest import KENYA_2023
from tests.web.conftest import error_of
from tests.web.knowledge import ended, form

AGAIN = "Idempotency-Replayed"


def add(client: FlaskClient, key: str, text: str = KENYA_2023, **fields: str) -> TestResponse:
    """A form, whose boundary is another one each time."""
    body, kind = form(("kenya.md", text), **fields)
    return client.post("/api/documents", data=body, content_type=kind, headers={"Idempotency-Key": key})


def test_the_same_upload_is_one_job(client: FlaskClient) -> None:
    client.get("/")
    first, second = add(client, "k1"), add(client, "k1")
    assert second.status_code == 202
    assert second.get_json() == first.get_json()
    assert second.location == first.location
    assert (AGAIN in first.headers, second.headers[AGAIN]) == (False, "true")
    ended(client, first)
    assert len(client.get("/api/ingestions").get_json()["ingestions"]) == 1
    error_of(add(client, "k1", KENYA_2023 + "More."), 422, "idempotency_key_reused")
    error_of(add(client, "k1", title="Another"), 422, "idempotency_key_reused")


def test_what_was_deleted_is_deleted_once_and_noted_once(client: FlaskClient, services: Services) -> None:
    document = ended(client, add(client, "k1"))["files"][0]["document_id"]
    path, headers = f"/api/documents/{document}", {"Idempotency-Key": "k2"}
    assert [client.delete(path, headers=headers).status_code for _ in range(2)] == [204, 204]
    error_of(client.delete(path), 404, "not_found")
    noted = [entry for entry in services.storage.audit.latest(10) if entry.action.startswith("DELETE")]
    assert len(noted) == 1


def test_after_an_error_the_key_is_free(client: FlaskClient) -> None:
    error_of(add(client, "k1", year="soon"), 400)
    assert add(client, "k1", year="2023").status_code == 202


def test_keys_are_of_their_owner(client: FlaskClient) -> None:
    client.get("/")
    assert AGAIN not in add(client, "k1").headers
    other = client.application.test_client()
    other.get("/")
    assert AGAIN not in add(other, "k1").headers


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "é"])
def test_a_key_that_is_none(client: FlaskClient, key: str) -> None:
    assert error_of(add(client, key), 400)["details"][0]["field"] == "Idempotency-Key"
