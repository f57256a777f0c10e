"""What people think of answers: given, changed, taken back, kept beside the question;
what its operator sees.
"""

from typing import Any

import pytest
from flask.testing import FlaskClient

from chatbot.app.services import Services
from tests.app.web.conftest import error_of, fields_of

pytestmark = [pytest.mark.usefixtures("kenya"), pytest.mark.extras("operator")]
GROWTH, UNKNOWN = (
    "What is the population growth rate?",
    "How fast does the population of Peru grow?",
)


@pytest.fixture
def client(client: FlaskClient) -> FlaskClient:
    """Who opened the page, and has its cookie."""
    assert client.get("/").status_code == 200
    return client


def ask(client: FlaskClient, query: str, **fields: Any) -> Any:
    return client.post("/query", json={"query": query, **fields}).get_json()


def rate(client: FlaskClient, message_id: str, **feedback: Any) -> Any:
    return client.post(f"/api/messages/{message_id}/feedback", json=feedback)


def shown(client: FlaskClient, answer: dict[str, Any]) -> Any:
    messages = client.get(f"/api/conversations/{answer['conversation_id']}").get_json()[
        "messages"
    ]
    return messages[-1]["feedback"]


def test_feedback_is_given_changed_and_taken_back(client: FlaskClient) -> None:
    answer = ask(client, GROWTH)
    assert shown(client, answer) is None
    up = {"rating": "up", "reason": None, "comment": ""}
    assert rate(client, answer["message_id"], rating="up").get_json() == {
        "message_id": answer["message_id"],
        **up,
    }
    assert shown(client, answer) == up
    down = {"rating": "down", "reason": "incomplete", "comment": "Of 2023 only."}
    rate(client, answer["message_id"], **{**down, "comment": "  Of 2023 only. "})
    assert shown(client, answer) == down
    assert rate(client, answer["message_id"], rating=None).get_json()["rating"] is None
    assert shown(client, answer) is None
    assert client.get("/api/feedback").get_json() == {"feedback": []}


def test_feedback_is_kept_with_question_scope_and_passages(client: FlaskClient) -> None:
    answer = ask(client, GROWTH, filters={"country_name": ["Kenya"]})
    rate(client, answer["message_id"], rating="down", reason="wrong_source")
    (kept,) = client.get("/api/feedback?rating=down").get_json()["feedback"]
    assert (kept["question"], kept["filters"], kept["reason"]) == (
        GROWTH,
        {"country_name": ["Kenya"]},
        "wrong_source",
    )
    assert kept["chunk_ids"] == [
        citation["chunk_id"] for citation in answer["citations"]
    ]
    assert client.get("/api/feedback?rating=up").get_json() == {"feedback": []}
    again = {
        "conversation_id": answer["conversation_id"],
        "replaces": answer["message_id"],
        "cache": False,
    }
    ask(client, GROWTH, **again)
    # The answer has gone, not what was wrong with it.
    assert len(client.get("/api/feedback").get_json()["feedback"]) == 1


def test_what_is_none_is_refused(client: FlaskClient) -> None:
    for body, field in [
        ({}, "rating"),
        ({"rating": "meh"}, "rating"),
        ({"rating": "down", "reason": "ugly"}, "reason"),
        ({"rating": "up", "comment": "x" * 2001}, "comment"),
        ({"rating": "up", "stars": 5}, "stars"),
    ]:
        response = rate(client, ask(client, GROWTH)["message_id"], **body)
        assert fields_of(response) == [field]
        error_of(rate(client, "none", rating="up"), 404, "not_found")
        assert fields_of(client.get("/api/feedback?rating=sideways")) == ["rating"]


def test_feedback_goes_with_its_conversation(
    client: FlaskClient, services: Services
) -> None:
    answer = ask(client, GROWTH)
    rate(client, answer["message_id"], rating="up", comment="secret")
    assert (
        client.delete(f"/api/conversations/{answer['conversation_id']}").status_code
        == 204
    )
    assert rate(client, answer["message_id"], rating="down").status_code == 404
    assert services.retention.delete_conversations() == 1
    assert list(services.storage.feedback.latest()) == []


def test_what_was_not_answered(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind ACCESS=open nobody reads what strangers ask; where only this machine
    reaches the server, its user does.
    """
    ask(client, GROWTH)
    asked = ask(client, UNKNOWN)
    assert not asked["answered"]
    (found,) = client.get("/api/unanswered").get_json()["questions"]
    assert (found["question"], found["answered"], found["message_id"]) == (
        UNKNOWN,
        False,
        asked["message_id"],
    )
    stranger = client.application.test_client()
    assert stranger.get("/api/unanswered").get_json() == {"questions": [found]}
    for name, value in {"is_local": False, "rule": "open"}.items():
        monkeypatch.setitem(
            vars(client.application.extensions["services"].settings), name, value
        )
    assert stranger.get("/api/unanswered").get_json() == {"questions": []}
    client.delete(f"/api/conversations/{asked['conversation_id']}")
    assert client.get("/api/unanswered").get_json() == {"questions": []}
