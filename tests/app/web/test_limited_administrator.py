"""An administrator whose key is limited to Kenya is no administrator of the rest."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient

from chatbot.domain import Scope
from chatbot.domain.scope import Values
from chatbot.jobs.queue import IngestionFile
from chatbot.library.sources import document_id
from tests.app.web.knowledge import ended, post_form
from tests.app.web.limited import CANARIES, SOMALIA, World, build, distinct_times
from tests.app.web.live import application
from tests.conftest import small_settings

pytestmark = pytest.mark.extras("all")
KENYA = {"country_name": ["Kenya"]}
SOMALI = {"country_name": ["Somalia"]}
BOTH = {"country_name": ["Kenya", "Somalia"]}
YEARS = {"year": {"gte": 2000}}
PAGE = "https://example.org/somalia.html"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("administrator")
    settings = small_settings(
        folder / "data",
        access="keys",
        ingestion_workers=1,
        threads=2,
        requests_per_minute=0,
    )
    with distinct_times(), application(settings) as app:
        made = build(app, folder / "files", others=True)
        owner = made.client("owner")
        wider = {"both": BOTH, "years": YEARS, "everything": {}}
        for name, filters in wider.items():
            body = {"name": name, "role": "admin", "filters": filters}
            answer = owner.post("/api/keys", json=body).get_json()
            made.ids[f"{name} key"] = answer["key"]["id"]
        owner.post("/api/feeds")
        listed = owner.get("/api/keys").get_json()["keys"]
        feed = next(key for key in listed if key["parent"])
        made.ids["feed key"] = feed["id"]
        file = IngestionFile(name="nobody.md", identity="uploads/nobody.md")
        job = made.services.storage.ingestions.create([file])
        made.ids["nobody's job"] = job.id
        yield made


@pytest.fixture
def limited(world: World) -> FlaskClient:
    return world.client("admin")


REFUSED: tuple[tuple[str, str, Any, int], ...] = (
    ("DELETE", "/api/keys/{owner key}", None, 404),
    ("DELETE", "/api/keys/{other key}", None, 404),
    ("DELETE", "/api/keys/{both key}", None, 404),
    ("DELETE", "/api/keys/{years key}", None, 404),
    ("DELETE", "/api/keys/{everything key}", None, 404),
    ("DELETE", "/api/keys/{feed key}", None, 404),
    ("POST", "/api/keys", {"name": "a", "role": "admin", "filters": SOMALI}, 400),
    ("POST", "/api/keys", {"name": "b", "role": "admin", "filters": BOTH}, 400),
    ("POST", "/api/keys", {"name": "c", "collections": ["none"]}, 400),
    ("GET", "/api/ingestions/{other job}", None, 404),
    ("DELETE", "/api/ingestions/{other job}", None, 404),
    ("POST", "/api/ingestions/{other job}/retry", None, 404),
    ("GET", "/api/ingestions/{nobody's job}", None, 404),
    ("DELETE", "/api/ingestions/{nobody's job}", None, 404),
    ("GET", "/metrics", None, 403),
    ("GET", "/api/doctor", None, 403),
    ("GET", "/api/settings", None, 403),
    ("GET", "/api/sources", None, 403),
    ("GET", "/api/documents/{aaa-somalia}", None, 404),
    ("PATCH", "/api/documents/{aaa-somalia}", {"title": "mine"}, 404),
    ("DELETE", "/api/documents/{aaa-somalia}", None, 404),
    ("POST", "/api/documents/{aaa-somalia}/reingest", {}, 404),
    ("PATCH", "/api/documents/{table}", {"title": "mine"}, 403),
    ("PATCH", "/api/documents/{table}", {"country_name": "Kenya"}, 403),
    ("DELETE", "/api/documents/{table}", None, 403),
    ("POST", "/api/documents/{table}/reingest", {}, 403),
    ("GET", "/api/documents/{table}/file", None, 404),
    ("GET", "/api/chunks/{table#0}", None, 404),
    ("PATCH", "/api/documents/{kenya-2023}", {"country_name": "Somalia"}, 403),
    ("GET", "/api/conversations/{other conversation}", None, 404),
    ("GET", "/api/conversations/{other conversation}/export", None, 404),
    ("POST", "/api/conversations/{other conversation}/share", {}, 404),
    ("DELETE", "/api/conversations/{other conversation}", None, 404),
    ("GET", "/api/messages/{other message}/stream", None, 404),
    ("POST", "/api/messages/{other message}/stop", None, 404),
    ("POST", "/api/messages/{other message}/feedback", {"rating": "up"}, 404),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("method", "path", "body", "status"), REFUSED)
def test_what_is_outside_of_the_limit_is_refused(
    world: World, limited: FlaskClient, method: str, path: str, body: Any, status: int
) -> None:
    address = path
    for name, value in world.ids.items():
        address = address.replace(f"{{{name}}}", value)
    assert "{" not in address
    before = _state(world)
    response = limited.open(address, method=method, json=body)
    assert response.status_code == status, response.text
    assert [word for word in CANARIES if word in response.text.lower()] == []
    assert _state(world) == before


def _state(world: World) -> list[Any]:
    """Return what the administrator of everything sees of keys and reports."""
    owner = world.client("owner")
    keys = owner.get("/api/keys").get_json()["keys"]
    reports = owner.get("/api/reports").get_json()["reports"]
    return [
        sorted((key["id"], key["revoked_at"]) for key in keys),
        sorted((one["document_id"], one["title"]) for one in reports),
    ]


@pytest.mark.parametrize(
    "path", ["/api/unanswered", "/api/feedback", "/api/ingestions", "/api/keys"]
)
def test_lists_have_nothing_of_others(limited: FlaskClient, path: str) -> None:
    text = limited.get(path).text.lower()
    found = [word for word in (*CANARIES, "sultan", "somalia") if word in text]
    assert found == []


def test_lists_have_what_others_with_the_same_limit_do(
    world: World, limited: FlaskClient
) -> None:
    keys = limited.get("/api/keys").get_json()["keys"]
    assert {"read", "write", "admin"} <= {key["name"] for key in keys}
    jobs = limited.get("/api/ingestions").get_json()["ingestions"]
    ids = {job["ingestion_id"] for job in jobs}
    assert {world.ids["write job"], world.ids["admin job"]} <= ids
    asked = limited.get("/api/unanswered").get_json()["questions"]
    assert any("Tuvalu" in one["question"] for one in asked)


def test_usage_is_that_of_callers_inside(world: World, limited: FlaskClient) -> None:
    of_all = world.client("owner").get("/api/usage").get_json()["total"]
    inside = limited.get("/api/usage").get_json()["total"]
    assert 0 < inside["questions"] < of_all["questions"]


def test_readiness_says_nothing_of_the_library(limited: FlaskClient) -> None:
    assert "dependencies" not in limited.get("/ready").get_json()


@pytest.mark.parametrize("filters", [{}, YEARS, KENYA])
def test_a_new_key_is_not_wider(
    world: World, limited: FlaskClient, filters: dict[str, Any]
) -> None:
    body = {"name": "new", "role": "admin", "filters": filters}
    made = limited.post("/api/keys", json=body).get_json()
    assert made["key"]["filters"]["country_name"] == ["Kenya"]
    world.keys["new"] = made["secret"]
    client = world.client("new")
    assert "Somalia" not in client.get("/api/reports").text
    assert client.delete(f"/api/keys/{world.ids['owner key']}").status_code == 404
    assert limited.delete(f"/api/keys/{made['key']['id']}").status_code == 204


def test_a_key_of_others_is_as_unknown_as_none(
    world: World, limited: FlaskClient
) -> None:
    other = world.ids["owner key"]
    answers = [limited.delete(f"/api/keys/{id}") for id in (other, "none")]
    first, second = (answer.get_json()["error"]["message"] for answer in answers)
    assert first.replace(other, "none") == second


def test_a_file_of_the_name_of_others_is_added_beside_theirs(
    world: World, limited: FlaskClient
) -> None:
    before = _state(world)[1]
    fields = {"on_conflict": "replace"}
    job = ended(
        limited,
        post_form(limited, "/api/documents", ("mogadishu.md", "# K\n\nTea."), **fields),
    )
    assert job["state"] == "done"
    assert [one for one in before if one not in _state(world)[1]] == []


def test_a_page_that_others_have_is_not_told(
    world: World, limited: FlaskClient
) -> None:
    """Neither refused, which would tell that it is there, nor replaced."""
    storage = world.services.storage
    [somalia] = [
        one
        for one in storage.documents.all(_scope("Somalia"))
        if one.id == world.ids["aaa-somalia"]
    ]
    storage.documents.put(replace(somalia, id=document_id(PAGE), source=PAGE))
    response = limited.post("/api/documents", json={"url": PAGE})
    assert response.status_code == 202, response.text
    limited.delete(f"/api/ingestions/{response.get_json()['ingestion_id']}")
    storage.documents.delete(document_id(PAGE))


def _scope(country: str) -> Scope:
    return Scope.of({"country_name": Values((country,))})


def test_a_report_that_changes_its_country_goes_at_once(world: World) -> None:
    """With its passages, its figures, its words, and the links that show it."""
    owner, reader = world.client("owner"), world.client("read")
    moved = SOMALIA.replace("Zyntharex", "Movedword").replace("Somalia", "Kenya")
    job = ended(
        owner,
        post_form(owner, "/api/documents", ("moved.md", moved), country_name="Kenya"),
    )
    id = job["files"][0]["document_id"]
    asked = {"query": "What is the movedword output?"}
    answer = reader.post("/query", json=asked).get_json()
    assert any(one["document_id"] == id for one in answer["citations"])
    chunk = next(c for c in answer["citations"] if c["document_id"] == id)["chunk_id"]
    path = f"/api/conversations/{answer['conversation_id']}/share"
    token = reader.post(path).get_json()["share"]
    change = owner.patch(f"/api/documents/{id}", json={"country_name": "Somalia"})
    assert change.status_code == 200
    assert reader.get(f"/api/documents/{id}").status_code == 404
    assert reader.get(f"/api/chunks/{chunk}").status_code == 404
    assert "ovedword" not in reader.post("/api/search", json=asked).text.replace(
        asked["query"], ""
    )
    assert "ovedword" not in reader.get("/api/figures").text
    misspelt = reader.post("/query", json={"query": "What is the movedworb output?"})
    assert "movedword" not in misspelt.text.lower()
    shown = reader.get(f"/api/shared/{token}").get_json()
    snippets = [
        one["snippet"]
        for message in shown["messages"]
        for one in (message.get("answer") or {}).get("citations", [])
    ]
    assert snippets
    assert not any(snippets)
    own = reader.get(f"/api/conversations/{answer['conversation_id']}").get_json()
    hits = own["messages"][1]["answer"]["trace"]["hits"]
    assert not any(one["text"] for one in hits if one["document_id"] == id)
