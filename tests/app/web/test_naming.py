"""A name that is there already: asked where it may be replaced, kept apart where it is
somebody else's.
"""

from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from chatbot.app.web import jobs
from chatbot.config.settings import Settings
from chatbot.domain.callers import KeyRole
from tests.app.web.conftest import error_of, fields_of
from tests.app.web.knowledge import ended, upload
from tests.app.web.live import application
from tests.fakes.web_server import Page, WebServer

NAME = "notes.md"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.override(access="read", fetch_private_urls=True)


def holder(app: Flask, role: KeyRole = "write", **limits: object) -> FlaskClient:
    client = app.test_client()
    _, secret = app.extensions["services"].storage.keys.create(role, role, **limits)
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {secret}"
    return client


def send(client: FlaskClient, text: str, **fields: str) -> TestResponse:
    return upload(client, (NAME, f"# Notes\n\n{text}"), **fields)


def of(client: FlaskClient, response: TestResponse) -> tuple[str, str]:
    (file,) = ended(client, response)["files"]
    return file["outcome"], file["document_id"]


def titles(client: FlaskClient) -> int:
    count: int = client.get("/api/documents").get_json()["total"]
    return count


def test_ones_own_name_asks_and_both_choices_work(app: Flask) -> None:
    client = holder(app)
    _, first = of(client, send(client, "One."))
    assert of(client, send(client, "One.")) == ("unchanged", first)
    error = error_of(send(client, "Two."), 409, "document_exists")
    (detail,) = error["details"]
    assert (detail["name"], detail["document_id"], detail["choices"]) == (
        NAME,
        first,
        ["replace", "keep_both"],
    )
    assert titles(client) == 1
    assert of(client, send(client, "Two.", on_conflict="replace")) == (
        "replaced",
        first,
    )
    outcome, second = of(client, send(client, "Three.", on_conflict="keep_both"))
    assert (outcome, second != first, titles(client)) == ("added", True, 2)
    assert of(client, send(client, "Three.")) == ("unchanged", second)
    sources = {
        one["source"] for one in client.get("/api/documents").get_json()["documents"]
    }
    assert sources == {NAME}
    assert fields_of(send(client, "Four.", on_conflict="overwrite")) == ["on_conflict"]


def test_anothers_name_is_kept_apart(app: Flask) -> None:
    one, other = holder(app), holder(app)
    _, first = of(one, send(one, "One."))
    error_of(send(other, "Two.", on_conflict="replace"), 403, "forbidden")
    outcome, second = of(other, send(other, "Two."))
    assert (outcome, second != first) == ("added", True)
    assert "One." in one.get(f"/api/documents/{first}/chunks").get_data(as_text=True)
    error_of(other.delete(f"/api/documents/{first}"), 403, "forbidden")
    error_of(
        other.patch(f"/api/documents/{first}", json={"title": "Mine"}), 403, "forbidden"
    )
    assert (
        one.patch(f"/api/documents/{first}", json={"title": "Mine"}).status_code == 200
    )
    admin = holder(app, "admin")
    error_of(send(admin, "Three."), 409, "document_exists")
    assert admin.delete(f"/api/documents/{second}").status_code == 204
    _, again = of(admin, send(admin, "Four.", on_conflict="replace"))
    assert again == first
    assert (
        one.delete(f"/api/documents/{first}").status_code == 204
    )  # it is still its own


def test_a_page_of_the_web_is_read_again_by_who_added_it(app: Flask) -> None:
    one, other = holder(app), holder(app)
    with WebServer() as web:
        web.pages["/a"] = Page(b"<h1>A</h1><p>Words of a page.</p>")
        url = {"url": web.url("/a")}
        _, first = of(one, one.post("/api/documents", json=url))
        error_of(other.post("/api/documents", json=url), 403, "forbidden")
        assert of(one, one.post("/api/documents", json=url)) == ("unchanged", first)


def test_a_limited_key_adds_only_within_its_limit(app: Flask) -> None:
    client = holder(
        app,
        filters={"country_name": ["Kenya"], "year": [2022, 2023]},
        collections=["report_chatting"],
    )
    assert "year" in error_of(send(client, "One."), 403, "forbidden")["message"]
    error_of(send(client, "One.", year="2021"), 403, "forbidden")
    error_of(send(client, "One.", year="2022", country_name="Mali"), 403, "forbidden")
    error_of(
        send(client, "One.", year="2022", collection="chatbot_data"), 403, "forbidden"
    )
    _, document = of(client, send(client, "One.", year="2022"))
    found = client.get(f"/api/documents/{document}").get_json()
    assert (found["country_name"], found["collection"]) == ("Kenya", "report_chatting")
    error_of(
        client.patch(f"/api/documents/{document}", json={"country_name": "Mali"}),
        403,
        "forbidden",
    )
    assert (
        client.patch(f"/api/documents/{document}", json={"year": 2023}).status_code
        == 200
    )
    anywhere, of_collection = (
        holder(app, "admin"),
        holder(app, "admin", collections=["report_chatting"]),
    )
    _, document = of(
        anywhere, upload(anywhere, ("other.md", "# Other\n\nTwo."), year="2022")
    )
    general = of_collection.patch(
        f"/api/documents/{document}", json={"year": None, "country_name": None}
    )
    assert "chatbot_data" in error_of(general, 403, "forbidden")["message"]


@pytest.fixture
def opened(settings: Settings) -> Iterator[Flask]:
    with application(settings.override(access="open")) as made:
        yield made


def test_where_access_is_open_everybody_is_asked(opened: Flask) -> None:
    one, other, nobody = (opened.test_client() for _ in range(3))
    for client in (one, other):
        client.get("/")
    _, first = of(one, send(one, "One."))
    for client in (other, nobody):
        error_of(send(client, "Two."), 409, "document_exists")
    assert of(nobody, send(nobody, "Two.", on_conflict="replace")) == (
        "replaced",
        first,
    )


@pytest.mark.parametrize("role", ["write", "admin"])
def test_a_limited_key_is_not_told_of_a_name_that_it_may_not_see(
    app: Flask, role: KeyRole
) -> None:
    other = holder(app)
    _, first = of(other, send(other, "One.", country_name="Mali"))
    client = holder(app, role, filters={"country_name": ["Kenya"]})
    outcome, second = of(client, send(client, "Two.", on_conflict="replace"))
    assert (outcome, second != first, titles(client)) == ("added", True, 1)


def test_what_is_still_to_be_read_has_its_name_already(
    app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of two files of a name was neither asked about nor kept beside the
    first: it took its place.
    """
    client = holder(app)
    with monkeypatch.context() as idle:
        idle.setattr(jobs, "wake_worker", lambda: None)
        first = send(client, "One.")
        assert send(client, "One.").status_code == 202
        (detail,) = error_of(send(client, "Two."), 409, "document_exists")["details"]
        second = send(client, "Two.", on_conflict="keep_both")
        third = send(client, "Three.", on_conflict="keep_both")
    client.application.extensions["run_worker"]()
    outcomes = [of(client, response) for response in (first, second, third)]
    assert detail["document_id"] == outcomes[0][1]
    assert [outcome for outcome, _ in outcomes] == ["added"] * 3
    assert len(set(outcomes)) == titles(client) == 3
