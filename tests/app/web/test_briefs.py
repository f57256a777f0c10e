"""Briefs: what is pinned, in which order, with which numbers, and for whom."""

import io
import json
from typing import Any

import pytest
from flask.testing import FlaskClient

from chatbot.app.web.brief_sources import number_sources
from tests.app.web.conftest import error_of, fields_of
from tests.conftest import KENYA_2023, AddReport

pytestmark = pytest.mark.usefixtures("kenya")
API = "/api/conversations"
GROWTH = "What is the population growth rate?"


@pytest.fixture
def client(client: FlaskClient) -> FlaskClient:
    """Who opened the page, and has its cookie."""
    assert client.get("/").status_code == 200
    return client


@pytest.fixture
def brief(client: FlaskClient) -> str:
    """The address of a brief."""
    begun = client.post(API, json={"title": "Growth"})
    assert (begun.status_code, begun.get_json()["kind"]) == (201, "brief")
    return f"{API}/{begun.get_json()['conversation_id']}"


def ask(client: FlaskClient, query: str, **fields: Any) -> Any:
    response = client.post("/query", json={"query": query, **fields})
    assert response.status_code == 200, response.get_json()
    return response.get_json()


def add(client: FlaskClient, brief: str, **item: Any) -> str:
    response = client.post(f"{brief}/items", json=item)
    assert response.status_code == 201, response.get_json()
    added: str = response.get_json()["message_id"]
    return added


def items(client: FlaskClient, brief: str) -> list[tuple[str, str, str]]:
    """The kind, title and text of each item."""
    messages = client.get(brief).get_json()["messages"]
    return [
        (title["item"], title["content"], item["content"])
        for title, item in zip(messages[::2], messages[1::2], strict=True)
    ]


def test_an_answer_a_passage_and_words_are_pinned(
    client: FlaskClient, brief: str
) -> None:
    said = ask(client, GROWTH)
    chunk_id = said["citations"][0]["chunk_id"]
    add(client, brief, message_id=said["message_id"])
    add(client, brief, chunk_id=chunk_id)
    add(client, brief, title="Summary", text="It grows.")
    answer, passage, words = items(client, brief)
    assert answer == ("answer", GROWTH, said["response"])
    assert (passage[0], passage[2][:2], passage[2][-4:]) == ("passage", "> ", " [1]")
    assert words == ("text", "Summary", "It grows.")
    whole = client.get(brief).get_json()
    assert whole["messages"][1]["answer"]["citations"][0]["snippet"]
    assert (whole["next"], whole["outdated"]) == (None, [])


def test_items_are_moved_changed_and_removed(client: FlaskClient, brief: str) -> None:
    ids = [add(client, brief, text=text) for text in ("one", "two", "three")]
    change = f"{brief}/items/{ids[2]}"
    assert client.patch(change, json={"place": 0}).status_code == 204
    assert client.delete(f"{brief}/items/{ids[0]}").status_code == 204
    written = {"title": "Two", "text": "2"}
    assert client.patch(f"{brief}/items/{ids[1]}", json=written).status_code == 204
    add(client, brief, text="four")
    assert [text for _, _, text in items(client, brief)] == ["three", "2", "four"]
    assert items(client, brief)[1][1] == "Two"
    for gone in (client.delete, client.patch):
        error_of(gone(f"{brief}/items/{ids[0]}", json={"place": 0}), 404, "not_found")


def test_the_text_of_an_answer_stays(client: FlaskClient, brief: str) -> None:
    said = ask(client, GROWTH)
    item = add(client, brief, message_id=said["message_id"])
    refused = client.patch(f"{brief}/items/{item}", json={"text": "It shrinks. [1]"})
    assert fields_of(refused) == ["text"]
    assert items(client, brief)[0][2] == said["response"]


def test_a_file_numbers_all_sources_together(client: FlaskClient, brief: str) -> None:
    for question in (GROWTH, "What is the birth rate?", GROWTH):
        add(client, brief, message_id=ask(client, question)["message_id"])
    add(client, brief, title="In short", text="It grows.")
    numbers = [
        citation["number"]
        for message in client.get(brief).get_json()["messages"]
        for citation in (message.get("answer") or {"citations": ()})["citations"]
    ]
    assert set(numbers) == set(range(1, max(numbers) + 1))
    text = client.get(f"{brief}/export").get_data(as_text=True)
    body, _, sources = text.partition("## Sources")
    assert [line[:3] for line in sources.split("\n") if line] == [
        f"[{number}]" for number in range(1, max(numbers) + 1)
    ]
    assert f"[{max(numbers)}]" in body
    assert body.endswith("## In short\n\nIt grows.\n\n")


def test_numbers_change_in_text_figures_and_marks() -> None:
    first = {"number": 1, "chunk_id": "a"}
    answers: list[dict[str, Any]] = [
        {"response": "A [1]", "citations": [first], "figures": [], "unsupported": []},
        {
            "response": "B [1, 2], wrong [9] and C [2]",
            "citations": [
                {"number": 1, "chunk_id": "b"},
                {"number": 2, "chunk_id": "a"},
            ],
            "figures": [{"citation": 2}],
            "card": {"figures": [{"citation": 1}]},
            "unsupported": [{"numbers": [1, 9]}],
            "marks": [{"start": 10, "end": 15}, {"start": 24, "end": 25}],
        },
    ]
    messages = [{"content": "", "answer": answer} for answer in answers]
    number_sources([*messages, {"content": "Words"}])
    second = answers[1]
    assert messages[1]["content"] == "B [2, 1], wrong [?] and C [1]"
    assert second["figures"] == [{"citation": 1}]
    assert second["card"]["figures"] == [{"citation": 2}]
    assert second["unsupported"] == [{"numbers": [2]}]
    assert second["marks"] == [{"start": 10, "end": 15}, {"start": 24, "end": 25}]


def test_marks_move_with_longer_numbers() -> None:
    many = [{"number": n, "chunk_id": str(n)} for n in range(1, 10)]
    filler = {"response": "", "citations": many, "figures": [], "unsupported": []}
    answer: dict[str, Any] = {
        "response": "B [1] wrong",
        "citations": [{"number": 1, "chunk_id": "new"}],
        "figures": [],
        "unsupported": [],
        "marks": [{"start": 6, "end": 11}],
    }
    number_sources([{"answer": filler}, {"answer": answer}])
    assert answer["response"] == "B [10] wrong"
    assert answer["marks"] == [{"start": 7, "end": 12}]


def test_what_is_pinned_is_one_thing(client: FlaskClient, brief: str) -> None:
    for wrong in (
        {},
        {"message_id": "a", "chunk_id": "b"},
        {"chunk_id": "b", "text": "c"},
        {"text": "  "},
    ):
        error_of(client.post(f"{brief}/items", json=wrong), 400, "invalid_request")
    for unknown in ({"message_id": "0" * 32}, {"chunk_id": "0"}):
        error_of(client.post(f"{brief}/items", json=unknown), 404, "not_found")


def test_a_brief_is_one_of_its_owner_and_no_conversation(
    client: FlaskClient, brief: str
) -> None:
    said = ask(client, GROWTH)
    conversation = f"{API}/{said['conversation_id']}"
    error_of(client.post(f"{conversation}/items", json={"text": "a"}), 404, "not_found")
    asked = {"query": GROWTH, "conversation_id": brief.rpartition("/")[2]}
    error_of(client.post("/query", json=asked), 404, "not_found")
    stranger = client.application.test_client()
    stranger.get("/")
    error_of(stranger.post(f"{brief}/items", json={"text": "a"}), 404, "not_found")
    theirs = stranger.post(API, json={"title": "Mine"}).get_json()["conversation_id"]
    pinned = {"message_id": said["message_id"]}
    response = stranger.post(f"{API}/{theirs}/items", json=pinned)
    error_of(response, 404, "not_found")


def test_it_is_shared_as_it_is(client: FlaskClient, brief: str) -> None:
    add(client, brief, text="one")
    token = client.post(f"{brief}/share").get_json()["share"]
    add(client, brief, text="two")
    shown = client.get(f"/api/shared/{token}").get_json()
    assert shown["kind"] == "brief"
    assert [one["content"] for one in shown["messages"]] == ["", "one"]


def test_a_link_does_not_tell_what_was_attached(
    client: FlaskClient, brief: str
) -> None:
    asked = {"query": "What does payroll.md say?"}
    form = {
        "request": json.dumps(asked),
        "files": (io.BytesIO(b"# Pay\n\nIt is 5."), "payroll.md"),
    }
    said = client.post("/query", data=form).get_json()
    add(client, brief, message_id=said["message_id"])
    token = client.post(f"{brief}/share").get_json()["share"]
    assert items(client, brief)[0][1] == asked["query"]
    assert "payroll" not in client.get(f"/api/shared/{token}").get_data(as_text=True)


def test_it_has_a_bound(
    client: FlaskClient, brief: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatbot.app.web.briefs.MAX_ITEMS", 1)
    add(client, brief, text="one")
    error_of(
        client.post(f"{brief}/items", json={"text": "two"}), 400, "invalid_request"
    )


def outdated_in_list(client: FlaskClient) -> list[int]:
    rows = client.get(API).get_json()["conversations"]
    return [row["outdated"] for row in rows]


def test_answers_say_when_their_report_was_replaced(
    client: FlaskClient, add_report: AddReport
) -> None:
    said = ask(client, GROWTH)
    path = f"{API}/{said['conversation_id']}"
    document_id = said["citations"][0]["document_id"]
    edited = client.patch(f"/api/documents/{document_id}", json={"title": "Revised"})
    assert edited.status_code == 200
    # The same passages under another title are no other report.
    assert client.get(path).get_json()["outdated"] == []
    assert outdated_in_list(client) == [0]
    add_report(f"{KENYA_2023}\n\nIt was revised.", "kenya-2023")
    assert outdated_in_list(client) == [1]
    (outdated,) = client.get(path).get_json()["outdated"]
    assert outdated["message_id"] == said["message_id"]
    assert outdated["question"] == GROWTH
    assert len(outdated["titles"]) == 1
    client.delete(f"/api/documents/{document_id}")
    (outdated,) = client.get(path).get_json()["outdated"]
    assert outdated["titles"] == []
