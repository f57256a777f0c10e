"""What chat front ends and libraries send besides a question."""

import importlib
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from chatbot.domain import RequestContext
from chatbot.extras.protocols.openai_tasks import answer_task
from chatbot.models.chat import EchoChatModel
from tests.app.web.knowledge import added
from tests.app.web.live import application
from tests.conftest import small_settings
from tests.fakes.openai_server import CHAT, FakeOpenAI, Recorded, Reply

QUESTION = {"role": "user", "content": "What is the growth rate of Kenya?"}
REPORT = "# Kenya: Country Report 2023\n\n## Growth rate\n\nIt is 2.1%.\n"
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
SCHEMA = {
    "type": "object",
    "properties": {"rate": {"type": "number"}},
    "required": ["rate"],
    "additionalProperties": False,
}
FORM = {"type": "json_schema", "json_schema": {"name": "growth", "schema": SCHEMA}}
# The shape of Open WebUI's requests (backend/open_webui/config.py).
TASK = (
    "### Task:\nGenerate a title.\n### Output:\n"
    'JSON format: {{ "{field}": {example} }}\n### Chat History:\n<chat_history>\n'
    "USER: How fast does the population of Kenya grow today?\n</chat_history>"
)


@pytest.fixture(scope="module")
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as running:
        yield running


@pytest.fixture(scope="module")
def app(
    server: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Flask]:
    folder = tmp_path_factory.mktemp("data")
    settings = small_settings(folder, **server.as_settings, cache_seconds=0)
    with application(settings) as made:
        added(made.test_client(), ("kenya.md", REPORT), country_name="Kenya")
        yield made


@pytest.fixture
def client(app: Flask, server: FakeOpenAI) -> FlaskClient:
    def reply(request: Recorded) -> Reply:
        if "Schema:" in str(request.body["messages"]):
            return Reply(['Here: {"rate": 2.1}'])
        return Reply(["It is 2.1% [1]."])

    server.always(CHAT, reply)
    return app.test_client()


def complete(client: FlaskClient, **fields: Any) -> TestResponse:
    body = {"model": "report-chat", "messages": [QUESTION], **fields}
    return client.post("/v1/chat/completions", json=body)


def test_foreign_metadata_and_unknown_fields_come_back(client: FlaskClient) -> None:
    metadata = {"chat_id": "[not JSON", "nested": {"a": 1}, "country_name": "Kenya"}
    answer = complete(client, metadata=metadata, background={"tags": True}).get_json()
    assert answer["metadata"] == metadata
    assert answer["report_chat"]["request"] == {"background": {"tags": True}}
    assert answer["report_chat"]["scope"]["filters"] == {"country_name": ["Kenya"]}


def test_pictures_are_taken_and_named(client: FlaskClient) -> None:
    content = [{"type": "text", "text": QUESTION["content"]}, PICTURE]
    messages = [{"role": "user", "content": content}]
    answer = complete(client, messages=messages).get_json()
    assert answer["choices"][0]["message"]["content"] == "It is 2.1% [1]."
    assert answer["report_chat"]["warning"] == "image_url: not read here."


@pytest.mark.parametrize("form", [FORM, {"type": "json_object"}])
def test_an_answer_comes_in_the_form_that_is_asked_for(
    client: FlaskClient, server: FakeOpenAI, form: dict[str, Any]
) -> None:
    answer = complete(client, response_format=form).get_json()
    message = answer["choices"][0]["message"]
    assert json.loads(message["content"]) == {"rate": 2.1}
    assert answer["report_chat"]["citations"][0]["number"] == 1
    assert "warning" not in answer["report_chat"]
    assert "response_format" not in server.requests[-1].body
    streamed = complete(client, response_format=form, stream=True)
    pieces = [
        json.loads(line.removeprefix("data: "))
        for line in streamed.get_data(as_text=True).splitlines()
        if line.startswith("data: {")
    ]
    texts = [one["choices"][0]["delta"].get("content") or "" for one in pieces]
    assert json.loads("".join(texts)) == {"rate": 2.1}


def test_a_task_is_done_without_a_search(
    client: FlaskClient, server: FakeOpenAI
) -> None:
    server.always(CHAT, Reply(['{"title": "Growth"}'], prompt_tokens=9))
    before = server.calls(CHAT)
    asked = TASK.format(field="title", example='"a title"')
    messages = [{"role": "user", "content": asked}]
    answer = complete(client, messages=messages).get_json()
    assert answer["choices"][0]["message"]["content"] == '{"title": "Growth"}'
    assert answer["usage"]["prompt_tokens"] == 9
    assert "Growth rate" not in str(server.requests[-1].body["messages"])
    streamed = complete(client, messages=messages, stream=True).get_data(as_text=True)
    assert streamed.endswith("data: [DONE]\n\n")
    assert server.calls(CHAT) == before + 2


@pytest.mark.parametrize(
    ("field", "example", "value"),
    [
        ("title", '"a title"', "How fast does the population of"),
        ("tags", '["one"]', []),
    ],
)
def test_without_a_model_a_task_is_done_by_rule(
    field: str, example: str, value: object
) -> None:
    task = TASK.format(field=field, example=example)
    output, usage = answer_task(task, EchoChatModel(), RequestContext())
    assert (json.loads(output), usage.calls) == ({field: value}, 0)


def embed(app: Flask, given: object) -> TestResponse:
    model = app.extensions["services"].runtime.embedder.model_id
    body = {"model": model, "input": given}
    return app.test_client().post("/v1/embeddings", json=body)


def test_arrays_of_tokens_are_texts(
    app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def get_encoding(name: str) -> object:
        assert name == "cl100k_base"
        words = {1: "growth", 2: " rate"}
        return SimpleNamespace(
            decode=lambda tokens: "".join(words[token] for token in tokens)
        )

    fake = SimpleNamespace(get_encoding=get_encoding)
    real = importlib.import_module
    monkeypatch.setattr(
        "chatbot.extras.protocols.openai_protocol.import_module",
        lambda name: fake if name == "tiktoken" else real(name),
    )
    wanted = embed(app, "growth rate").get_json()["data"][0]["embedding"]
    for given in ([1, 2], [[1, 2]]):
        answer = embed(app, given).get_json()
        assert [one["embedding"] for one in answer["data"]] == [wanted]
    assert embed(app, [99]).status_code == 400


def test_without_a_tokenizer_the_error_says_what_to_do(app: Flask) -> None:
    response = embed(app, [1, 2])
    assert response.status_code == 400
    message = response.get_json()["error"]["message"]
    assert "check_embedding_ctx_length=False" in message
