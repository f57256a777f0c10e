"""Conversations found again: whose they are, in which order; renamed, taken back,
exported, shared, cut.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from chatbot.app.services import Services
from chatbot.domain.callers import Caller
from tests.app.web.conftest import error_of, fields_of

pytestmark = pytest.mark.usefixtures("kenya")
API = "/api/conversations"
GROWTH, CAPITAL, RATE = (
    "What is the population growth rate?",
    "What is the capital?",
    "And the birth rate?",
)


@pytest.fixture
def client(client: FlaskClient) -> FlaskClient:
    """Who opened the page, and has its cookie."""
    assert client.get("/").status_code == 200
    return client


def ask(client: FlaskClient, query: str, **fields: Any) -> Any:
    response = client.post("/query", json={"query": query, **fields})
    assert response.status_code == 200, response.get_json()
    return response.get_json()


def titles(client: FlaskClient, **wanted: Any) -> list[str]:
    return [
        one["title"]
        for one in client.get(API, query_string=wanted).get_json()["conversations"]
    ]


def questions(response: TestResponse) -> list[str]:
    return [
        message["content"]
        for message in response.get_json()["messages"]
        if message["role"] == "user"
    ]


def test_conversations_are_listed_newest_first_page_by_page(
    client: FlaskClient,
) -> None:
    begun = [
        ask(client, f"{GROWTH} {number}")["conversation_id"] for number in range(5)
    ]
    ask(client, "And then?", conversation_id=begun[1])
    expected = [f"{GROWTH} {number}" for number in (1, 4, 3, 2, 0)]
    assert titles(client) == expected
    seen, after = [], ""
    while after is not None:
        page = client.get(API, query_string={"limit": 2, "cursor": after}).get_json()
        seen += [one["title"] for one in page["conversations"]]
        after = page["next"]
    assert seen == expected
    assert fields_of(client.get(API, query_string={"cursor": "x"})) == ["cursor"]


def test_they_are_found_by_title_and_by_what_was_asked(client: FlaskClient) -> None:
    first = ask(client, GROWTH)["conversation_id"]
    ask(client, CAPITAL)
    ask(client, RATE, conversation_id=first)
    assert titles(client, search="CAPITAL") == [CAPITAL]
    assert titles(client, search="birth") == [GROWTH]
    assert titles(client, search="%") == []


def test_nobodys_are_in_no_list(services: Services, client: FlaskClient) -> None:
    nobodys = services.storage.conversations.add(
        None, [{"role": "user", "content": "Whose?"}]
    ).conversation_id
    assert titles(client) == []
    assert services.storage.conversations.page(
        Caller().owner, search="", after="", limit=9
    ) == ([], "")
    assert client.get(f"{API}/{nobodys}").status_code == 200  # who knows its id has it


def test_what_is_not_kept_is_in_no_list(client: FlaskClient) -> None:
    before = client.get("/api/conversations").get_json()
    body = {"query": "How many live in Kenya?", "keep": False}
    answer = client.post("/query", json=body).get_json()
    assert answer["conversation_id"] is None
    assert client.get("/api/conversations").get_json() == before


def test_one_opens_with_all_that_its_answers_were(client: FlaskClient) -> None:
    filters = {"country_name": ["Kenya"]}
    said = ask(client, GROWTH, filters=filters, auto_scope=False)
    asked, answer = client.get(f"{API}/{said['conversation_id']}").get_json()[
        "messages"
    ]
    assert answer["answer"] == said
    assert (answer["message_id"], answer["state"]) == (said["message_id"], "")
    assert (asked["content"], asked["scope"], asked["auto_scope"]) == (
        GROWTH,
        filters,
        False,
    )


def test_a_long_one_opens_at_its_end(client: FlaskClient) -> None:
    said = ask(client, "0")
    path = f"{API}/{said['conversation_id']}"
    for number in range(1, 5):
        ask(client, str(number), conversation_id=said["conversation_id"])
    last = client.get(path, query_string={"limit": 2})
    assert (questions(last), last.get_json()["next"]) == (
        ["3", "4"],
        last.get_json()["messages"][1]["message_id"],
    )
    rest = client.get(path, query_string={"cursor": last.get_json()["next"]})
    assert (questions(rest), rest.get_json()["next"]) == (["0", "1", "2"], None)
    error_of(client.get(path, query_string={"cursor": "0" * 32}), 404, "not_found")
    assert fields_of(client.get(path, query_string={"before": "0" * 32})) == ["before"]


def test_a_deleted_one_is_nowhere_and_comes_back(
    client: FlaskClient, services: Services
) -> None:
    said = ask(client, GROWTH)
    path = f"{API}/{said['conversation_id']}"
    token = client.post(f"{path}/share").get_json()["share"]
    assert client.delete(path).status_code == 204
    gone = [
        client.get(path),
        client.get(f"{path}/export"),
        client.get(f"/api/shared/{token}"),
        client.delete(path),
    ]
    gone.append(
        client.post(
            "/query", json={"query": RATE, "conversation_id": said["conversation_id"]}
        )
    )
    assert {response.status_code for response in gone} == {404}
    assert titles(client) == titles(client, search="growth") == []
    assert (
        client.patch(
            path, json={"deleted": False, "title": " Growth\nof Kenya "}
        ).status_code
        == 200
    )
    assert titles(client) == ["Growth of Kenya"]
    client.delete(path)
    an_hour_ago = (datetime.now(UTC) - timedelta(hours=1, minutes=1)).isoformat(
        timespec="milliseconds"
    )
    services.retention.purge_expired()
    services.storage.conversations.restore(
        said["conversation_id"], client_owner(client)
    )
    services.storage.database["conversations"].update_one(
        {}, {"$set": {"deleted_at": an_hour_ago}}
    )
    services.retention.purge_expired()
    error_of(client.patch(path, json={"deleted": False}), 404, "not_found")
    assert services.storage.database["messages"].count({}) == 0


def client_owner(client: FlaskClient) -> str:
    owner: str = client.get("/api/session").get_json()["owner"]
    return owner


def test_a_wrong_change_is_named(client: FlaskClient) -> None:
    path = f"{API}/{ask(client, GROWTH)['conversation_id']}"
    for body in [
        {},
        {"title": " "},
        {"title": 1},
        {"title": "x" * 201},
        {"deleted": True},
        {"deleted": 0},
        {"a": 1},
    ]:
        assert fields_of(client.patch(path, json=body)) == [next(iter(body), "deleted")]
        assert titles(client) == [GROWTH]


def test_export_is_a_file_to_read_or_for_programs(client: FlaskClient) -> None:
    said = ask(client, GROWTH)
    path = f"{API}/{said['conversation_id']}/export"
    text = client.get(path)
    assert text.mimetype == "text/markdown"
    assert text.headers["Content-Disposition"].startswith(
        'attachment; filename="What is the population growth rate_.md"'
    )
    lines = text.get_data(as_text=True)
    day = datetime.now(UTC).date()
    assert lines.startswith(
        f"# {GROWTH}\n\n## {GROWTH}\n\n_{day}, all reports_\n\n"
        f"{said['response']}\n\n[1] ["
    )
    assert (
        f"](http://localhost/api/documents/{said['citations'][0]['document_id']}/file"
        in lines
    )
    assert (
        client.get(path, query_string={"format": "json"}).get_json()["messages"][1][
            "answer"
        ]
        == said
    )
    cited = said["citations"][0]["document_id"]
    client.patch(
        f"/api/documents/{cited}",
        json={"publisher": "Office of Tables", "authors": ["Lo, Ada"]},
    )
    more = ask(client, RATE, conversation_id=said["conversation_id"])
    first = more["citations"][0]
    assert (first["publisher"], first["authors"]) == ("Office of Tables", ["Lo, Ada"])
    assert "Lo, Ada, Office of Tables" in client.get(path).get_data(as_text=True)
    one = client.get(path, query_string={"message_id": more["message_id"]}).get_data(
        as_text=True
    )
    assert one.startswith(f"# {GROWTH}\n\n## {RATE}\n\n")
    assert said["response"] not in one
    error_of(client.get(path, query_string={"message_id": "x"}), 404, "not_found")
    assert fields_of(client.get(path, query_string={"format": "pdf"})) == ["format"]
    refused = error_of(
        client.get(path, query_string={"format": "docx"}), 400, "unknown_name"
    )
    assert refused["message"] == (
        "format: EXTRAS leaves out the extra 'exports', which has the format 'docx'. "
        "Add exports to EXTRAS."
    )


def test_a_shared_link_shows_questions_answers_and_citations_until_it_is_revoked(
    client: FlaskClient,
) -> None:
    said = ask(client, GROWTH)
    path = f"{API}/{said['conversation_id']}/share"
    token = client.post(path).get_json()["share"]
    assert client.post(path).get_json()["share"] == token
    assert len(token) == 32
    other = client.application.test_client()
    shown = other.get(f"/api/shared/{token}")
    assert set(shown.get_json()) == {
        "title",
        "kind",
        "updated_at",
        "messages",
        "next",
    }
    answer = shown.get_json()["messages"][1]["answer"]
    assert (answer["response"], answer["citations"]) == (
        said["response"],
        said["citations"],
    )
    assert not {"trace", "conversation_id"} & set(answer)
    page = other.get(f"/shared/{token}")
    assert (page.headers["X-Robots-Tag"], "Set-Cookie" in page.headers) == (
        "noindex",
        False,
    )
    assert other.get(f"{API}/{said['conversation_id']}").status_code == 404
    assert client.delete(path).status_code == 204
    for wrong in (token, "None", "x" * 32):
        error_of(other.get(f"/api/shared/{wrong}"), 404, "not_found")
    assert client.post(path).get_json()["share"] not in {None, token}


def test_an_answer_takes_the_place_of_another_and_of_what_came_after(
    client: FlaskClient,
) -> None:
    first = ask(client, GROWTH)
    place = {"conversation_id": first["conversation_id"]}
    second = ask(client, RATE, **place)
    ask(client, "And then?", **place)
    ask(client, CAPITAL, replaces=second["message_id"], **place)
    assert questions(client.get(f"{API}/{first['conversation_id']}")) == [
        GROWTH,
        CAPITAL,
    ]
    wrong = {"query": GROWTH, "replaces": second["message_id"]}
    assert fields_of(client.post("/query", json=wrong)) == ["replaces"]
    error_of(client.post("/query", json={**wrong, **place}), 404, "not_found")


def test_of_an_attachment_nothing_is_kept_but_its_name(client: FlaskClient) -> None:
    attached = [
        {"name": "secret.md", "text": "# Note\n\nThe capital of Utopia is Amaurot."}
    ]
    said = ask(client, CAPITAL, attachments=attached)
    opened = client.get(f"{API}/{said['conversation_id']}")
    assert "Amaurot" not in opened.get_data(as_text=True)
    asked, answer = opened.get_json()["messages"]
    assert (asked["attached"], answer["answer"]) == (["secret.md"], None)
    error_of(client.get(f"/api/messages/{said['message_id']}/stream"), 404, "not_found")


def test_a_chat_id_of_the_client_begins_and_continues_one_conversation(
    client: FlaskClient, services: Services
) -> None:
    """R-D8: seed 003's front end makes the ids itself."""
    fields: dict[str, Any] = {
        "chatId": "b7c0e2d4-9a51",
        "report_context": None,
        "version": 1,
        "chatbot_type": "gpt-4",
        "limit": 5,
    }
    first = ask(client, GROWTH, **fields, previous_messages=[])
    sent = [
        {"id": "1", "role": "user", "content": GROWTH, "timestamp": 1},
        {"id": "2", "role": "assistant", "content": first["response"]},
        {"id": "3", "role": "user", "content": CAPITAL, "timestamp": 3},
    ]
    second = ask(client, CAPITAL, **fields, previous_messages=sent)
    assert second["conversation_id"] == first["conversation_id"]
    kept = client.get(f"{API}/{first['conversation_id']}")
    assert questions(kept) == [GROWTH, CAPITAL]


def test_nobody_reaches_the_conversation_of_another_by_its_chat_id(
    client: FlaskClient, app: Flask
) -> None:
    mine = ask(client, GROWTH, chatId="chat-1")["conversation_id"]
    other = app.test_client()
    assert other.get("/").status_code == 200
    theirs = ask(other, CAPITAL, chatId="chat-1")["conversation_id"]
    assert theirs != mine
    assert questions(client.get(f"{API}/{mine}")) == [GROWTH]
    assert other.get(f"{API}/{mine}").status_code == 404


def test_the_chat_id_of_a_deleted_conversation_begins_the_next_one(
    client: FlaskClient,
) -> None:
    deleted = ask(client, GROWTH, chatId="chat-2")["conversation_id"]
    assert client.delete(f"{API}/{deleted}").status_code == 204
    begun = ask(client, CAPITAL, chatId="chat-2")["conversation_id"]
    assert begun != deleted
    assert ask(client, RATE, chatId="chat-2")["conversation_id"] == begun
