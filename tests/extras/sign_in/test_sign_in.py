"""People who sign in: by headers of a trusted proxy, and what their groups let them see
and do.
"""

from pathlib import Path

import pytest
from flask import Flask

from chatbot.app.factory import close_app, create_app
from chatbot.app.services import build
from chatbot.config.settings import Settings
from chatbot.database.embedded import EmbeddedDatabase
from chatbot.domain.errors import SettingsError
from chatbot.extras.sign_in.people import check_access
from tests.app.web.conftest import error_of
from tests.app.web.knowledge import ended, upload
from tests.app.web.test_access import Person, key_holder
from tests.data import cases

pytestmark = pytest.mark.extras("all")
CASES = cases(__file__)
GROUPS = """
[readers]
role = "read"
countries = ["KE"]

[somalia]
role = "read"
countries = ["Somalia"]

[writers]
role = "write"
collections = ["report_chatting"]
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "groups.toml").write_text(GROUPS, encoding="utf-8")
    return tmp_path / "groups.toml"


@pytest.fixture
def settings(settings: Settings, table: Path) -> Settings:
    headers = ("Remote-User", "Remote-Groups", "Remote-Name")
    return settings.override(
        trusted_proxies=["10.0.0.0/8"], sign_in_groups=table, sign_in_headers=headers
    )


def person(
    app: Flask, user: str, groups: str, peer: str = "10.1.2.3", **headers: str
) -> Person:
    client = app.test_client()
    client.environ_base["REMOTE_ADDR"] = peer
    return Person(client, {"Remote-User": user, "Remote-Groups": groups, **headers})


@pytest.mark.parametrize(
    ("text", "problem"),
    CASES["wrong"].items(),
    ids=[repr(text) for text in CASES["wrong"]],
)
def test_a_wrong_table_stops_the_start(
    settings: Settings, table: Path, text: str, problem: str
) -> None:
    table.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match="SIGN_IN_GROUPS") as raised:
        create_app(settings)
    assert problem in str(raised.value)


def test_a_proxy_that_names_no_groups(settings: Settings, table: Path) -> None:
    table.write_text(
        '["*"]\nrole = "read"\n["Office"]\nrole = "admin"\n', encoding="utf-8"
    )
    app = create_app(
        settings.override(sign_in_headers=["Cf-Access-Authenticated-User-Email"])
    )
    ann = person(
        app, "", "Office", **{"Cf-Access-Authenticated-User-Email": "ann@example.org"}
    )
    assert ann.send("GET", "/api/session").get_json()["may"] == ["feed", "read"]


def test_a_provider_needs_a_secure_address_and_groups(
    settings: Settings, table: Path
) -> None:
    provider = {
        "oidc_issuer": "https://login.example.org",
        "oidc_client_id": "reports",
        "sign_in_groups": table,
    }
    assert Settings(**provider).rule == "keys"
    for wrong in (
        {"oidc_issuer": "http://login.example.org"},
        {"sign_in_groups": None},
        {"oidc_client_id": ""},
    ):
        with pytest.raises(ValueError, match="OIDC_ISSUER"):
            Settings(**(provider | wrong))
    with pytest.raises(SettingsError, match="at one place"):
        settings.override(**provider)


def test_nobody_is_believed_who_is_no_trusted_proxy(app: Flask) -> None:
    """Nor two names, of which the client may have sent one; and without a group there
    is no access.
    """
    for who in (
        person(app, "ann", "writers", "192.0.2.7"),
        person(app, "eve,ann", "writers"),
        person(app, "", "writers"),
    ):
        assert who.send("GET", "/api/session").get_json()["person"] is None
        error_of(who.send("GET", "/api/reports"), 401, "unauthorized")
    for groups in ("", "Readers,other"):
        who = person(app, "ann", groups)
        assert (
            "none of your groups"
            in error_of(who.send("GET", "/api/reports"), 403, "forbidden")["message"]
        )
        assert who.send("GET", "/api/session").get_json()["person"] == {
            "name": "ann",
            "role": "nothing",
            "groups": [],
        }
        assert who.client.get("/", headers=who.headers).status_code == 200


def test_a_group_is_a_role_and_a_scope(app: Flask) -> None:
    names = {"Kenya": "2023", "Somalia": "2021", "Mali": "2022"}
    writer = person(app, "wes", "x|writers")
    session = writer.send("GET", "/api/session").get_json()
    assert (session["may"], session["owner"], session["key"]) == (
        ["feed", "read", "write"],
        "person:wes",
        None,
    )
    error_of(writer.send("GET", "/api/usage"), 403, "forbidden")
    writer.client.environ_base.update(
        {f"HTTP_{n.upper().replace('-', '_')}": v for n, v in writer.headers.items()}
    )
    for name, year in names.items():
        file = (f"{name}.md", f"# {name}\n\nThe capital of {name} has a market.")
        ended(writer.client, upload(writer.client, file, country_name=name, year=year))
    reader = person(
        app, "ann", "readers", **{"Remote-Name": "Ann É".encode().decode("latin-1")}
    )
    assert reader.send("GET", "/api/session").get_json()["person"]["name"] == "Ann É"
    both, conversation = (
        person(app, "ann", "somalia, readers"),
        reader.ask("Where is a market?").get_json(),
    )
    feed = (
        reader.send("POST", "/api/feeds")
        .get_json()["address"]
        .removeprefix("http://localhost")
    )
    for who, outside in ((reader, ("Somalia", "Mali")), (both, ("Mali",))):
        found = [
            who.send("GET", f"/api/{path}")
            for path in ("reports", "documents", "facets", "changes", "figures")
        ]
        found += [
            who.send("POST", "/api/search", json={"query": "market"}),
            who.ask("Where is a market?"),
        ]
        found += [Person(app.test_client()).send("GET", feed)] if who is reader else []
        text = "".join(one.get_data(as_text=True) for one in found)
        assert {one.status_code for one in found} == {200}
        assert [name for name in names if name in text] == [
            name for name in names if name not in outside
        ]
        error_of(who.ask("Where?", filters={"country_name": "Mali"}), 400)
        error_of(who.send("POST", "/api/documents"), 403, "forbidden")
    for other, status in (
        (both, 200),
        (person(app, "bob", "readers"), 404),
    ):  # hers, whatever the groups
        export = f"/api/conversations/{conversation['conversation_id']}/export?format=markdown"  # noqa: E501
        assert other.send("GET", export).status_code == status


def test_a_key_goes_before_the_person_and_a_proxys_own_token_does_not(
    app: Flask,
) -> None:
    admin = key_holder(app, "admin").headers["Authorization"]
    for token, may in ((admin, "admin"), ("Bearer eyJhbGciOi", "read")):
        session = (
            person(app, "ann", "readers", Authorization=token)
            .send("GET", "/api/session")
            .get_json()
        )
        assert session["may"][-1] == may


def test_a_feed_ends_with_the_groups_of_its_person(
    app: Flask, settings: Settings, table: Path
) -> None:
    address = (
        person(app, "ann", "readers").send("POST", "/api/feeds").get_json()["address"]
    )
    path = address.removeprefix("http://localhost")
    assert app.test_client().get(path).status_code == 200
    table.write_text(GROUPS.replace("[readers]", "[others]"), encoding="utf-8")
    later = create_app(settings)
    error_of(later.test_client().get(path), 401, "unauthorized")
    assert [
        one.name
        for one in check_access(later.extensions["services"])
        if one.severity == "warning"
    ] == ["group_without_reports"] * 2
    close_app(later)


def test_a_table_of_groups_that_cannot_be_read_leaves_no_database_open(
    settings: Settings, tmp_path: Path
) -> None:
    closed: list[str] = []

    class NotedDatabase(EmbeddedDatabase):
        def close(self) -> None:
            super().close()
            closed.append("database")

    database = NotedDatabase(tmp_path / "reports.sqlite")
    wrong = settings.override(sign_in_groups=tmp_path / "missing.toml")
    with pytest.raises(SettingsError, match="SIGN_IN_GROUPS"):
        build(wrong, database=database)
    assert closed == ["database"]
