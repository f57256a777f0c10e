"""`keys`, `conversations` and `audit`; and that what was deleted is nowhere any
more.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from chatbot.app.factory import close_app
from chatbot.app.services import Services, build
from tests.app.cli.conftest import Run
from tests.app.web.knowledge import added
from tests.app.web.live import application
from tests.conftest import small_settings
from tests.data import cases

pytestmark = pytest.mark.extras("operator")
CASES = cases(__file__)
SECRET = "quincemarmalade"


def test_a_key_is_shown_once_and_listed_without_its_secret(
    run: Run, environment: dict[str, str]
) -> None:
    made = run(
        "keys", "create", "Nairobi office", "--role", "write", "--daily-tokens", "5000"
    )
    secret = made.out.strip()
    assert re.fullmatch(r"rck_[\w-]{43}", secret)
    assert "write; 5,000 tokens a day" in made.err
    key_id = secret[:12]
    assert key_id in (listed := run("keys", "list").out)
    assert "Nairobi office" in listed
    assert secret not in listed
    stored = b"".join(
        path.read_bytes() for path in Path(environment["DATA_DIR"]).glob("*.sqlite*")
    )
    assert secret.encode() not in stored
    assert run("keys", "revoke", key_id).status == 0
    assert "revoked" in run("keys", "list").out
    assert run("keys", "revoke", key_id).status == 1
    audit = run("audit").out.splitlines()
    assert [line.split("  ")[2] for line in audit] == ["keys revoke", "keys create"]


def test_a_key_cannot_be_limited_to_what_is_not_there(run: Run) -> None:
    for options, said in CASES["a key cannot be limited to what is not there"]:
        result = run("keys", "create", "x", *options)
        assert result.status == 2
        assert said in result.err


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    with application(
        small_settings(tmp_path / "data", chat_model="echo", threads=2)
    ) as made:
        yield made


def places_of(word: str, folder: Path) -> list[str]:
    return [
        path.name
        for path in folder.rglob("*")
        if path.is_file() and word.encode() in path.read_bytes()
    ]


def test_what_was_deleted_is_nowhere(
    run: Run, app: Flask, environment: dict[str, str], tmp_path: Path
) -> None:
    """Conversations of one owner, and a report: not in the database, the caches, the
    indexes or the originals.
    """
    client, other = app.test_client(), app.test_client()
    for one in (client, other):
        one.get("/")
    (document,) = added(
        client, ("notes.md", f"# Notes\n\nThe {SECRET} of Kenya is good.")
    )
    for _ in range(2):
        assert client.post("/query", json={"query": f"How is {SECRET}?"}).get_json()[
            "answered"
        ]
    other.post("/query", json={"query": "How is Kenya?"})
    owner = client.get("/api/session").get_json()["owner"]
    assert re.search(rf"1  {owner}|2  {owner}", run("conversations", "list").out)
    assert (
        run("conversations", "delete", "--owner", owner, "--before", "2020-01-01").out
        == "0 deleted.\n"
    )
    assert run("conversations", "delete", "--owner", owner).out == "2 deleted.\n"
    assert owner not in run("conversations", "list").out
    deletion = run("documents", "delete", "--permanent", document)
    assert (
        deletion.out == "1 deleted.\nKept: 1 conversation with quotations of Notes.\n"
    )
    services: Services = app.extensions["services"]
    database = services.storage.database
    left = [
        name
        for name in database.collection_names()
        for row in database[name].find()
        if SECRET in str(row)
    ]
    assert not left
    close_app(app)
    assert places_of(SECRET, tmp_path / "data") == []


def test_old_conversations_go_by_themselves(services: Services) -> None:
    kept, old = (
        services.storage.conversations.add(
            None, [{"role": "user", "content": "a"}], owner="visitor:a"
        ).conversation_id
        for _ in "ab"
    )
    services.storage.database["conversations"].update_one(
        {"_id": old}, {"$set": {"updated_at": "2020-01-01T00:00"}}
    )
    services.retention.purge_expired()
    assert services.storage.conversations.exists(old, "visitor:a")
    with build(services.settings.override(keep_conversations_days=30)) as strict:
        strict.retention.purge_expired()
    assert not services.storage.conversations.exists(old, "visitor:a")
    assert services.storage.conversations.messages(old, "visitor:a") == []
    assert services.storage.conversations.exists(kept, "visitor:a")
