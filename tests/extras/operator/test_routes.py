"""What an administrator does by the API: keys, the check, and the settings without
their secrets.
"""

import pytest
from flask import Flask

from chatbot.config.settings import Settings
from chatbot.domain import Usage
from chatbot.domain.costs import Sums
from tests.app.web.conftest import error_of, fields_of
from tests.app.web.knowledge import ended, upload
from tests.app.web.test_access import Person, key_holder

SECRETS = {
    "secret_key": "s3cret-" * 4,
    "openai_api_key": "sk-s3cret",
    "openai_base_url": "https://u:s3cret@localhost/v1",
}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.override(access="keys", **SECRETS)


def test_a_key_is_created_seen_and_revoked(app: Flask) -> None:
    admin = key_holder(app, "admin")
    made = admin.send(
        "POST",
        "/api/keys",
        json={"name": " Nairobi ", "role": "write", "daily_tokens": 5},
    ).get_json()
    other = Person(app.test_client(), {"Authorization": f"Bearer {made['secret']}"})
    assert (made["key"]["name"], made["key"]["daily_tokens"]) == ("Nairobi", 5)
    assert other.send("GET", "/api/session").get_json()["may"] == [
        "feed",
        "read",
        "write",
    ]
    listed = admin.send("GET", "/api/keys")
    assert listed.get_json()["keys"][0]["id"] == made["key"]["id"]
    assert made["secret"] not in listed.get_data(as_text=True)
    path = f"/api/keys/{made['key']['id']}"
    assert admin.send("DELETE", path).status_code == 204
    error_of(other.send("GET", "/api/reports"), 401, "unauthorized")
    error_of(admin.send("DELETE", path), 404, "not_found")
    actions = [
        entry.action for entry in app.extensions["services"].storage.audit.latest(2)
    ]
    assert actions == ["keys revoke", "keys create"]
    for wrong in (
        {"role": "boss"},
        {"daily_tokens": 0},
        {"collections": ["x"]},
        {"filters": {"x": "y"}},
        {"limit": 1},
    ):
        assert (
            fields_of(admin.send("POST", "/api/keys", json={"name": "A", **wrong}))
            != []
        )


def test_a_key_is_listed_with_the_use_of_its_conversations(app: Flask) -> None:
    admin = key_holder(app, "admin")
    made = admin.send("POST", "/api/keys", json={"name": "Nairobi"}).get_json()
    other = Person(app.test_client(), {"Authorization": f"Bearer {made['secret']}"})
    for query in ("How much does Kenya grow?", "And Mali?"):
        assert other.send("POST", "/query", json={"query": query}).status_code == 200
    sums = Sums(0, Usage(prompt_tokens=30, completion_tokens=4))
    conversations = app.extensions["services"].storage.conversations
    owner = f"key:{made['key']['id']}"
    (conversation, *_), _ = conversations.page(owner, search="", after="", limit=9)
    conversations.book(conversation.id, sums)
    keys = admin.send("GET", "/api/keys").get_json()["keys"]
    used = {key["id"]: (key["questions"], key["tokens"]) for key in keys}
    assert used.pop(made["key"]["id"]) == (2, 34)
    assert list(used.values()) == [(0, 0)], "the administrator has asked nothing"


def test_no_key_is_wider_than_the_one_that_creates_it(app: Flask) -> None:
    writer = key_holder(app, "write")
    writer.client.environ_base["HTTP_AUTHORIZATION"] = writer.headers["Authorization"]
    for name in ("Kenya", "Somalia"):
        ended(
            writer.client,
            upload(
                writer.client,
                (f"{name}.md", f"# {name}\n\nText."),
                country_name=name,
                year="2023",
            ),
        )
    limits = {
        "filters": {"country_name": ["Kenya"]},
        "daily_tokens": 100,
        "requests_per_minute": 50,
    }
    admin = key_holder(app, "admin", **limits)
    for wanted in ({}, {"daily_tokens": 900, "requests_per_minute": 900}):
        key = admin.send("POST", "/api/keys", json={"name": "A", **wanted}).get_json()[
            "key"
        ]
        assert {name: key[name] for name in limits} == limits
    refused = admin.send(
        "POST", "/api/keys", json={"name": "A", "filters": {"country_name": "Somalia"}}
    )
    assert "Kenya" in error_of(refused, 400)["message"]


def test_the_settings_are_without_secrets_and_the_check_is_the_doctors(
    app: Flask,
) -> None:
    admin = key_holder(app, "admin")
    shown = admin.send("GET", "/api/settings")
    assert "s3cret" not in shown.get_data(as_text=True)
    values = {one["name"]: one for one in shown.get_json()["settings"]}
    assert list(values) == [name.upper() for name in Settings.model_fields]
    assert {values[name.upper()]["value"] for name in SECRETS} == {"**********"}
    assert (
        values["ACCESS"]["value"],
        values["ACCESS"]["is_default"],
        values["PORT"]["is_default"],
    ) == (
        "keys",
        False,
        True,
    )
    findings = admin.send("GET", "/api/doctor").get_json()["findings"]
    assert {"access", "database", "chat_model"} <= {
        finding["area"] for finding in findings
    }
