"""One question over the wire: a real completion, streamed, with its usage; and the
server's real refusals.
"""

import pytest
from flask import Flask

from chatbot.app.services import Services
from chatbot.domain import Context, Message, Prompt, RequestContext
from chatbot.domain.errors import ContextLengthError
from tests.app.web.live import ask, served
from tests.real_llm.conftest import MARKS

pytestmark = MARKS
QUESTION = "What is the population growth rate?"


@pytest.mark.usefixtures("kenya")
def test_a_question_is_answered_with_text_and_usage(app: Flask) -> None:
    """R-D6, R-D8: retrieval, prompt, one real completion, answer."""
    response = app.test_client().post(
        "/query", json={"query": QUESTION, "filters": {"country_name": "KE"}}
    )
    body = response.get_json()
    assert response.status_code == 200, body
    assert body["response"]
    usage = body["trace"]["usage"]
    assert usage["calls"] == 1
    assert 1 <= usage["completion_tokens"] <= 64
    assert usage["prompt_tokens"] > 150  # rules, passages and question


@pytest.mark.usefixtures("kenya")
def test_the_answer_is_streamed_piece_by_piece(app: Flask) -> None:
    with served(app) as port:
        events = [event for event in ask(port, query=QUESTION) if event.name != ":"]
    names = [event.name for event in events]
    tokens = [event.data["text"] for event in events if event.name == "token"]
    assert names == ["step", "sources", "step", *["token"] * len(tokens), "done"]
    assert len(tokens) > 1
    assert "".join(tokens).strip() == events[-1].data["response"]


@pytest.mark.usefixtures("kenya")
def test_the_history_reaches_the_model(app: Flask) -> None:
    client = app.test_client()
    first = client.post("/query", json={"query": QUESTION}).get_json()
    second = client.post(
        "/query", json={"query": QUESTION, "conversation_id": first["conversation_id"]}
    ).get_json()
    assert (
        second["trace"]["usage"]["prompt_tokens"]
        > first["trace"]["usage"]["prompt_tokens"]
    )


def test_a_prompt_that_is_too_long_is_an_error_of_its_own(services: Services) -> None:
    """R-D9: the server's real words for it."""
    prompt = Prompt((Message("user", "population growth " * 3000),), "q", Context())
    with pytest.raises(ContextLengthError, match="openai:smollm2"):
        list(services.models.chat.stream(prompt, request=RequestContext()))
