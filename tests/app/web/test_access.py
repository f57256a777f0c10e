"""Who may do what: two owners and a stranger, every route, ids of the other, under each
value of ACCESS.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from chatbot.app.factory import close_app, create_app
from chatbot.app.web.cookies import (
    OLDER_KEY_COOKIE,
    OWNER_COOKIE,
    SESSION_COOKIE,
)
from chatbot.app.web.routes import check_routes
from chatbot.config.settings import Settings
from chatbot.domain.callers import KEY_ROLES, KeyRole
from chatbot.domain.errors import SettingsError
from tests.app.web.conftest import error_of
from tests.app.web.knowledge import BROKEN_PDF, KENYA, ended, form, upload
from tests.conftest import KENYA_2023
from tests.data import cases

pytestmark = pytest.mark.extras("all")
SECRET = "quincemarmalade"
"""In A's question and in the name of a file of A's job that became no report: nobody
else ever reads it.
"""


@dataclass
class Person:
    """A browser, or a program with a key."""

    client: FlaskClient
    headers: dict[str, str] = field(default_factory=dict)

    def send(self, method: str, path: str, **request: Any) -> TestResponse:
        return self.client.open(
            path, method=method, headers=self.headers, buffered=True, **request
        )

    def ask(self, query: str, **fields: Any) -> TestResponse:
        return self.send("POST", "/query", json={"query": query, **fields})


def visitor(app: Flask) -> Person:
    """Who opened the page, and has its cookie."""
    client = app.test_client()
    assert client.get("/").status_code == 200
    return Person(client)


def key_holder(app: Flask, role: KeyRole, **limits: Any) -> Person:
    _, secret = app.extensions["services"].storage.keys.create(
        f"{role} key", role, **limits
    )
    return Person(app.test_client(), {"Authorization": f"Bearer {secret}"})


@dataclass
class World:
    """``a`` has made things, whose ids ``b`` and the stranger know."""

    access: str
    app: Flask
    a: Person
    b: Person
    ids: dict[str, str]

    def stranger(self) -> Person:
        return Person(self.app.test_client())


def shared_by(who: Person, conversation_id: str) -> str:
    token: str = who.send(
        "POST", f"/api/conversations/{conversation_id}/share"
    ).get_json()["share"]
    return token


@pytest.fixture(scope="module", params=["open", "read", "keys"])
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("data"),
        embedding_provider="hashing",
        chat_model="echo",
        sample_data="off",
        summaries="off",
        threads=2,
        access=request.param,
        embed_origins=("https://intranet.example",),
    )
    app = create_app(settings)
    a, b = (
        (visitor(app), visitor(app))
        if request.param == "open"
        else [key_holder(app, "write") for _ in "ab"]
    )
    a.client.environ_base.update(
        {f"HTTP_{n.upper()}": v for n, v in a.headers.items()}
    )  # for the helpers
    job = ended(
        a.client, upload(a.client, (KENYA, KENYA_2023), (f"{SECRET}.pdf", BROKEN_PDF))
    )
    answer = a.ask(f"Is there {SECRET} in Kenya?").get_json()
    document = job["files"][0]["document_id"]
    chunk = a.send("GET", f"/api/documents/{document}/chunks").get_json()["chunks"][0][
        "chunk_id"
    ]
    [indicator, *_] = a.send("GET", "/api/indicators").get_json()["indicators"]
    ids = {
        "slug": indicator["slug"],
        "ingestion_id": job["ingestion_id"],
        "document_id": document,
        "chunk_id": chunk,
        "conversation_id": answer["conversation_id"],
        "message_id": answer["message_id"],
        "token": shared_by(
            a, a.ask("What of Kenya is public?").get_json()["conversation_id"]
        ),
    }
    yield World(request.param, app, a, b, ids)
    close_app(app)


ROUTES: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
    (method, rule): (kind, {"json": body[0]} if body else {})
    for method, rule, kind, *body in cases(__file__)["routes"]
}
"""What each is for, and what is sent. In the order in which they are tried: what is
deleted is asked for before.
"""
OWN = {"own": 404, "own change": 404, "own admin": 404}
STRANGER: dict[str, dict[str, int]] = {
    "open": OWN,
    "read": {
        **dict.fromkeys(("own change", "upload", "change", "admin", "own admin"), 401),
        "own": 404,
    },
    "keys": dict.fromkeys(
        ("library", "own", "own change", "upload", "change", "admin", "own admin"), 401
    ),
}
KEYED = {**OWN, "change": 403, "admin": 403, "own admin": 403}
OTHER = {"open": OWN, "read": KEYED, "keys": KEYED}
"""What is not here succeeds."""


def routes_of(app: Flask) -> set[tuple[str, str]]:
    return {
        (method, rule.rule)
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }


def tried(world: World, who: Person, method: str, rule: str) -> TestResponse:
    path = rule.replace("<path:filename>", "img/favicon.svg").replace(
        "<path:name>", "report-chat"
    )
    path = path.replace("<path:", "<")
    for name, value in world.ids.items():
        path = path.replace(f"<{name}>", value)
    if rule == "/api/documents/review":
        path += f"?ids={world.ids['document_id']}"
    if rule == "/api/documents/known":
        path += f"?digests={'0' * 64}"
    request = dict(ROUTES[method, rule][1])
    if "documents" in request.get("json", {}):
        row = {"id": world.ids["document_id"], "fields": {"title": "Another title"}}
        request["json"] = {"documents": [row]}
    if "conversation_id" in request.get("json", {}):
        request["json"] = {
            **request["json"],
            "conversation_id": world.ids["conversation_id"],
        }
    if (method, rule) == ("POST", "/api/documents"):
        body, content_type = form((f"of-{id(who)}.md", "# Notes\n\nText."))
        request = {"data": body, "content_type": content_type}
    if (method, rule) == ("POST", "/api/files"):
        request = {"data": {"file": (BytesIO(b"# Notes"), "notes.md")}}
    return who.send(method, path, **request)


def test_every_route_has_a_case(world: World) -> None:
    assert routes_of(world.app) == set(ROUTES)


def test_a_view_without_a_route_stops_the_start(world: World) -> None:
    other = Flask(__name__)
    other.add_url_rule("/new", "new", lambda: "")
    with pytest.raises(SettingsError, match="new"):
        check_routes(other)


def test_nobody_gets_at_what_is_anothers(world: World) -> None:
    """Each route by the stranger, by one with a forged cookie, and by ``b``; then ``a``
    has all that it had.
    """
    forged = world.stranger()
    forged.client.set_cookie(OWNER_COOKIE, f"{'0' * 32}.{'0' * 64}")
    for who, expected in (
        (world.stranger(), STRANGER),
        (forged, STRANGER),
        (world.b, OTHER),
    ):
        for (method, rule), (kind, _) in ROUTES.items():
            if kind == "change" and who is not world.b and world.access == "open":
                continue  # anyone may, and the others need it
            response = tried(world, who, method, rule)
            text = response.get_data(as_text=True)
            wanted = expected[world.access].get(kind)
            if wanted is None:
                ok = (
                    {401}
                    if (method, rule) == ("POST", "/api/session")
                    else {200, 201, 202, 204, 503}
                )
                assert response.status_code in ok, (method, rule, text)
            else:
                assert response.status_code == wanted, (method, rule, text)
            assert SECRET not in text.replace(f"{SECRET}?", SECRET), (method, rule)
    assert (
        world.a.send("GET", f"/api/ingestions/{world.ids['ingestion_id']}").status_code
        == 200
    )
    names = [
        job["ingestion_id"]
        for job in world.a.send("GET", "/api/ingestions").get_json()["ingestions"]
    ]
    assert world.ids["ingestion_id"] in names
    assert (
        world.a.ask(
            "And now?", conversation_id=world.ids["conversation_id"]
        ).status_code
        == 200
    )


def test_who_has_no_owner_goes_on_by_the_id_alone(world: World) -> None:
    if world.access == "keys":
        return
    begun = (
        world.stranger()
        .ask("What is the population of Kenya?")
        .get_json()["conversation_id"]
    )
    for who in (world.stranger(), world.b):
        assert who.ask("And the growth?", conversation_id=begun).status_code == 200


def test_an_administrator_sees_all_jobs_and_no_conversation(world: World) -> None:
    admin = key_holder(world.app, "admin")
    assert SECRET in admin.send("GET", "/api/ingestions?limit=100").get_data(
        as_text=True
    )
    assert (
        admin.send("GET", f"/api/ingestions/{world.ids['ingestion_id']}").status_code
        == 200
    )
    assert (
        admin.ask("And?", conversation_id=world.ids["conversation_id"]).status_code
        == 404
    )


def test_a_role_may_what_those_below_it_may(world: World) -> None:
    for role in KEY_ROLES:
        who = key_holder(world.app, role)
        least: dict[str, KeyRole] = {"open": "admin", "read": "read", "keys": "feed"}
        may = KEY_ROLES[: max(map(KEY_ROLES.index, (role, least[world.access]))) + 1]
        assert who.ask("Kenya?").status_code == (200 if "read" in may else 403)
        assert tried(world, who, "POST", "/api/documents").status_code == (
            202 if "write" in may else 403
        )
        assert who.send("GET", "/api/usage").status_code == (
            200 if "admin" in may else 403
        )
        session = who.send("GET", "/api/session").get_json()
        assert (tuple(session["may"]), session["key"]["role"], session["access"]) == (
            may,
            role,
            world.access,
        )


def test_a_wrong_or_revoked_key_opens_nothing(world: World) -> None:
    keys = world.app.extensions["services"].storage.keys
    key, secret = keys.create("short-lived", "admin")
    who = Person(world.app.test_client(), {"Authorization": f"Bearer {secret}"})
    assert who.ask("Kenya?").status_code == 200
    keys.revoke(key.id)
    for headers in (
        who.headers,
        {"Authorization": "Bearer x"},
        {"Authorization": f"Bearer {key.id}"},
    ):
        response = world.stranger().client.get("/api/reports", headers=headers)
        error_of(response, 401, "unauthorized")
        assert response.headers["WWW-Authenticate"].startswith("Bearer")


def test_signing_in_keeps_the_key_where_no_script_reads_it(world: World) -> None:
    keys = world.app.extensions["services"].storage.keys
    key, secret = keys.create("mine", "write")
    page = visitor(world.app)
    response = page.send("POST", "/api/session", json={"key": secret})
    cookie = response.headers["Set-Cookie"]
    assert all(part in cookie for part in (SESSION_COOKIE, "HttpOnly", "SameSite=Lax"))
    assert secret not in response.get_data(as_text=True) + cookie
    assert page.send("GET", "/api/session").get_json()["key"]["id"] == key.id
    keys.revoke(key.id)
    error_of(page.send("GET", "/api/reports"), 401, "unauthorized")
    session = page.send("GET", "/api/session").get_json()  # which forgets it
    assert (session["key"], session["owner"].partition(":")[0]) == (None, "visitor")
    assert page.send("GET", "/api/reports").status_code == (
        401 if world.access == "keys" else 200
    )


def test_a_session_ends_for_every_copy_of_its_cookie(world: World) -> None:
    keys = world.app.extensions["services"].storage.keys
    _, secret = keys.create("mine", "admin")

    def signed_in() -> Person:
        page = visitor(world.app)
        page.send("POST", "/api/session", json={"key": secret})
        return page

    def is_signed_in(page: Person) -> bool:
        return page.send("GET", "/api/session").get_json()["key"] is not None

    page, other = signed_in(), signed_in()
    copied = visitor(world.app)
    cookie = page.client.get_cookie(SESSION_COOKIE)
    assert cookie is not None
    copied.client.set_cookie(SESSION_COOKIE, cookie.value)
    assert is_signed_in(copied)
    page.send("DELETE", "/api/session")
    assert [is_signed_in(each) for each in (page, copied, other)] == [
        False,
        False,
        True,
    ]
    sessions = other.send("GET", "/api/sessions").get_json()["sessions"]
    assert cookie.value not in str(sessions)
    (session,) = (each for each in sessions if each["name"] == "mine")
    path = f"/api/sessions/{session['id']}"
    assert other.send("DELETE", path).status_code == 204
    assert not is_signed_in(other)


def test_the_cookie_of_an_older_release_becomes_a_session(world: World) -> None:
    keys = world.app.extensions["services"].storage.keys
    _, secret = keys.create("older", "read")
    page = visitor(world.app)
    page.client.set_cookie(OLDER_KEY_COOKIE, secret)
    assert page.send("GET", "/api/session").get_json()["key"]["name"] == "older"
    assert page.client.get_cookie(OLDER_KEY_COOKIE) is None
    assert page.client.get_cookie(SESSION_COOKIE) is not None
    assert page.send("GET", "/api/session").get_json()["key"]["name"] == "older"


def test_the_cookie_of_a_visitor(world: World) -> None:
    client = world.app.test_client()
    for scheme in ("http", "https"):
        cookie = client.get("/", base_url=f"{scheme}://localhost").headers["Set-Cookie"]
        assert all(
            part in cookie for part in (OWNER_COOKIE, "HttpOnly", "SameSite=Lax")
        )
        assert ("Secure" in cookie) == (scheme == "https")
        assert cookie.startswith("__Host-") == (scheme == "https")
    assert "Set-Cookie" not in client.get("/api/formats").headers


def test_a_cookie_that_was_changed_is_nobodys(world: World) -> None:
    page = visitor(world.app)
    good = page.client.get_cookie(OWNER_COOKIE)
    assert good is not None
    owner = page.send("GET", "/api/session").get_json()["owner"]
    assert owner == f"visitor:{good.value.partition('.')[0]}"
    id, _, signature = good.value.partition(".")
    other = f"{(int(id, 16) + 1) % 16**32:032x}"
    forged = (
        "",
        id,
        f"{id}.",
        f".{signature}",
        f"{other}.{signature}",
        f"{id}.{signature[:-1]}",
        f"{id}.{id}",
        "a.é",
    )
    for value in forged:
        page.client.set_cookie(OWNER_COOKIE, value)
        assert page.send("GET", "/api/session").get_json()["owner"] == "", value


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.override(access="keys")


def test_a_limited_key_sees_nothing_else(app: Flask) -> None:
    admin = key_holder(app, "admin")
    admin.client.environ_base["HTTP_AUTHORIZATION"] = admin.headers["Authorization"]
    files = [
        (f"{name}.md", f"# {name}\n\nThe capital of {name} has a market.")
        for name in ("Kenya", "Somalia")
    ]
    kenya, other = (
        ended(
            admin.client,
            upload(admin.client, file, country_name=file[0][:-3], year=year),
        )["files"][0]["document_id"]
        for file, year in zip(files, ("2023", "2021"), strict=True)
    )
    (chunk, *_) = admin.send("GET", f"/api/documents/{other}/chunks").get_json()[
        "chunks"
    ]
    who = key_holder(app, "write", filters={"country_name": ["Kenya"]})
    for path in ("", "/chunks", "/file"):
        assert who.send("GET", f"/api/documents/{kenya}{path}").status_code == 200
        error_of(who.send("GET", f"/api/documents/{other}{path}"), 404, "not_found")
    error_of(who.send("GET", f"/api/chunks/{chunk['chunk_id']}"), 404, "not_found")
    error_of(who.send("DELETE", f"/api/documents/{other}"), 404, "not_found")
    bodies = [
        who.send("GET", f"/api/{path}")
        for path in ("reports", "facets", "documents", "figures", "formats")
    ]
    assert bodies[0].get_json()["total"] == 1
    bodies += [who.send("POST", "/api/search", json={"query": "Where is a market?"})]
    bodies += [
        who.ask(query)
        for query in (
            "Where is a market?",
            "Kenya in the 2021 report?",
            "What of Mali?",
        )
    ]
    # What is there for others is as absent as what is nowhere.
    there, nowhere = (
        who.ask(f"What is the capital of {name}?").get_json()["response"]
        for name in ("Somalia", "Mali")
    )
    assert there.replace("Somalia", "Mali") == nowhere
    bodies += [
        who.ask("Where?", filters={"country_name": country})
        for country in ("SOMALIA", "Narnia")
    ]
    bodies += [who.ask("Where?", filters={"country_name": "Kenya", "year": 2021})]
    for response in bodies:
        assert "Somalia" not in response.get_data(as_text=True)
        assert "2 reports" not in response.get_data(as_text=True)


def test_changes_of_the_library_are_in_the_audit_log(app: Flask) -> None:
    who = key_holder(app, "write")
    started = tried(World("keys", app, who, who, {}), who, "POST", "/api/documents")
    assert who.send("GET", "/api/reports").status_code == 200
    assert who.send("DELETE", "/api/documents/unknown").status_code == 404
    (entry,) = app.extensions["services"].storage.audit.latest(10)
    assert (entry.action, entry.target) == (
        "POST /api/documents",
        started.get_json()["ingestion_id"],
    )
    assert entry.actor.startswith("key:rck_")


def test_asking_for_the_options_of_a_change_changes_nothing(world: World) -> None:
    audit = world.app.extensions["services"].storage.audit
    before = list(audit.latest(1000))
    for headers in ({}, {"Authorization": "Bearer unknown"}):
        found = world.app.test_client().options(
            f"/api/documents/{world.ids['document_id']}", headers=headers
        )
        assert found.status_code == 200
    assert list(audit.latest(1000)) == before
