"""`GET /api/usage`, and what an answer says of its conversation (R-C7)."""

from __future__ import annotations

import json

import pytest
from flask.testing import FlaskClient

from chatbot.services import Services
from tests.web.conftest import QUESTION, Post, fields_of

SUMS = {
    "questions",
    "calls",
    "cached_calls",
    "failed_calls",
    "prompt_tokens",
    "completion_tokens",
    "embedding_tokens",
    "cost",
    "unpriced_tokens",
}


def test_before_the_first_question_there_is_no_day(client: FlaskClient) -> None:
    body = client.get("/api/usage").get_json()
    assert body["days"] == []
    assert set(body["total"]) == SUMS | {"metered_tokens", "stages"}
    assert body["total"]["questions"] == 0


@pytest.mark.usefixtures("kenya")
def test_a_day_has_the_sums_of_its_answers_and_stages(client: FlaskClient, query: Post) -> None:
    answers = [query(limit=2).get_json() for _ in range(2)]
    body = client.get("/api/usage?days=1").get_json()
    (day,) = body["days"]
    assert set(day) == SUMS | {"day", "metered_tokens", "stages"}
    assert day["questions"] == 2
    assert day["calls"] == sum(answer["trace"]["usage"]["calls"] for answer in answers)
    assert day["cost"] == 0.0  # models of this process
    assert {stage["stage"] for stage in day["stages"]} == {row["stage"] for row in answers[0]["trace"]["ledger"]}
    assert set(day["stages"][0]) == {"stage", "runs", "calls", "tokens", "embedding_tokens", "ms"}
    assert body["total"] == {name: value for name, value in day.items() if name != "day"}


def test_days_are_newest_first(client: FlaskClient, services: Services) -> None:
    for day in ("2020-01-01", "2020-01-02"):
        services.database["usage"].insert_one({"_id": day, "tokens": 1})
    services.usage.add(5)
    today = client.get("/api/usage?days=366").get_json()["days"]
    assert [day["metered_tokens"] for day in today] == [5]


@pytest.mark.parametrize("days", ["0", "367", "-1", "1.5", "soon", ""])
def test_a_number_of_days_that_cannot_be_is_named(client: FlaskClient, days: str) -> None:
    assert fields_of(client.get(f"/api/usage?days={days}")) == ["days"]


@pytest.mark.usefixtures("kenya")
def test_an_answer_says_what_its_conversation_took(client: FlaskClient, query: Post) -> None:
    first = query(limit=2).get_json()
    assert set(first["conversation_usage"]) == SUMS
    assert first["conversation_usage"]["questions"] == 1
    assert first["conversation_usage"]["calls"] == first["trace"]["usage"]["calls"]
    second = query(limit=2, conversation_id=first["conversation_id"]).get_json()
    assert second["conversation_usage"]["questions"] == 2
    assert query(limit=2).get_json()["conversation_usage"]["questions"] == 1


@pytest.mark.usefixtures("kenya")
def test_the_stream_says_the_same(client: FlaskClient) -> None:
    stream = client.post("/api/chat", json={"query": QUESTION}).get_data(as_text=True)
    done = stream.split("event: done\ndata: ")[1].split("\n")[0]
    assert set(json.loads(done)["conversation_usage"]) == SUMS
