"""OpenAI's own SDK against the application on a real socket."""

import base64
import html
import http.client
import json
import struct
import time
from collections.abc import Iterator, Sequence
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.app.web.knowledge import added
from tests.app.web.live import application, served
from tests.conftest import small_settings
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply

QUESTION = [{"role": "user", "content": "What is the growth rate of Kenya?"}]
REPORT = (
    "# {country}: Country Report {year}\n\n## Growth rate\n\nThe growth rate of "
    "{country} is {rate}%.\n"
)


@pytest.fixture(scope="module")
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as running:
        yield running


@pytest.fixture(scope="module")
def app(
    server: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Flask]:
    changed = {
        **server.as_settings,
        "embedding_provider": "hashing",
        "cache_seconds": 0,
    }
    with application(
        small_settings(tmp_path_factory.mktemp("data"), **changed)
    ) as made:
        for country, year, rate in (
            ("Kenya", 2021, 1.9),
            ("Kenya", 2023, 2.1),
            ("Mali", 2023, 2.9),
        ):
            text = REPORT.format(country=country, year=year, rate=rate)
            added(
                made.test_client(),
                (f"{country}-{year}.md", text),
                country_name=country,
                year=str(year),
            )
        yield made


@pytest.fixture(scope="module")
def port(app: Flask) -> Iterator[int]:
    with served(app) as found:
        yield found


@pytest.fixture
def client(port: int, server: FakeOpenAI) -> Iterator[openai.OpenAI]:
    server.always(
        CHAT, Reply(["It is ", "2.1% ", "[1]."], prompt_tokens=90, completion_tokens=7)
    )
    with openai.OpenAI(
        base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0
    ) as made:
        yield made


def ask(
    client: openai.OpenAI, model: str = "report-chat-direct", **fields: object
) -> openai.types.chat.ChatCompletion:
    return client.chat.completions.create(model=model, messages=QUESTION, **fields)  # type: ignore[call-overload, no-any-return]


def test_an_answer_with_its_sources(client: openai.OpenAI, app: Flask) -> None:
    before = app.extensions["services"].storage.database["conversations"].count({})
    answer = ask(client, "report-chat-direct:Kenya:2023")
    (choice,) = answer.choices
    assert (choice.message.content, choice.finish_reason) == ("It is 2.1% [1].", "stop")
    (annotation,) = choice.message.annotations or []
    cited = annotation.url_citation
    assert (choice.message.content or "")[cited.start_index : cited.end_index] == "[1]"
    assert cited.title == "Kenya: Country Report 2023"
    page = (
        app.test_client().get(urlsplit(cited.url).path).get_data(as_text=True)
    )  # what a person who clicks reads
    shown = html.unescape(page.partition("<mark>")[2].partition("</mark>")[0])
    assert (
        shown
        == app.test_client()
        .get(f"/api/chunks/{cited.url.rpartition('/')[2]}")
        .get_json()["text"]
    )
    extension = answer.model_extra["report_chat"]  # type: ignore[index]
    assert extension["scope"]["filters"] == {"country_name": ["Kenya"], "year": [2023]}
    assert [one["supported"] for one in extension["citations"]] == [True]
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (90, 7)
    assert (
        app.extensions["services"].storage.database["conversations"].count({}) == before
    )


def test_a_stream_and_its_usage(client: openai.OpenAI) -> None:
    pieces: list[Any] = list(
        ask(client, stream=True, stream_options={"include_usage": True})
    )
    text = "".join(
        piece.choices[0].delta.content or "" for piece in pieces if piece.choices
    )
    assert text == "It is 2.1% [1]."
    assert [piece.choices[0].finish_reason for piece in pieces if piece.choices][
        -1
    ] == "stop"
    (last,) = [
        piece for piece in pieces if piece.choices and piece.choices[0].finish_reason
    ]
    cited = last.model_extra["report_chat"]["citations"]
    assert [one["number"] for one in cited] == [1]
    assert (
        last.choices[0].delta.model_extra["annotations"][0]["url_citation"]["title"]
        == cited[0]["title"]
    )
    assert pieces[-1].usage is not None
    assert (pieces[-1].choices, pieces[-1].usage.total_tokens) == ([], 97)


def test_the_conversation_is_the_clients(
    client: openai.OpenAI, server: FakeOpenAI
) -> None:
    said = [
        *QUESTION,
        {"role": "assistant", "content": "2.1% [1]."},
        {"role": "user", "content": "And of Mali?"},
    ]
    ask_all = [{"role": "system", "content": "Be a pirate."}, *said]
    client.chat.completions.create(model="report-chat-direct", messages=ask_all)  # type: ignore[call-overload]
    told = str(server.requests[-1].body["messages"])
    assert "And of Mali?" in told
    assert "growth rate of Kenya?" in told
    assert "pirate" not in told


def test_metadata_is_the_scope_and_what_has_no_effect_is_named(
    client: openai.OpenAI,
) -> None:
    tool = {"type": "function", "function": {"name": "search", "parameters": {}}}
    answer = ask(
        client,
        metadata={"country_name": '["Kenya", "Mali"]', "year": "2023"},
        tools=[tool],
    )
    extension = answer.model_extra["report_chat"]  # type: ignore[index]
    assert extension["scope"]["filters"] == {
        "country_name": ["Kenya", "Mali"],
        "year": [2023],
    }
    assert extension["warning"].startswith("tools: not called here")
    for kind, warning in (
        ("json_object", "response_format: the model wrote no JSON."),
        ("text", ""),
    ):
        extension = ask(client, response_format={"type": kind}).model_extra[
            "report_chat"
        ]  # type: ignore[index]
        assert extension.get("warning", "") == warning


def test_each_mode_is_a_model_of_the_protocol(client: openai.OpenAI) -> None:
    names = [model.id for model in client.models.list()]
    assert (
        names[:2] == ["report-chat", "report-chat-auto"]
        or "report-chat-direct" in names
    )
    assert client.models.retrieve("report-chat-deep").id == "report-chat-deep"
    with pytest.raises(openai.NotFoundError, match="There is no model 'gpt-5'"):
        ask(client, "gpt-5")


def test_embeddings_of_the_protocol_are_those_of_the_embedder(
    client: openai.OpenAI, app: Flask
) -> None:
    for encoding in ["float", "base64"]:
        embedder = app.extensions["services"].runtime.embedder
        found = client.embeddings.create(
            model=embedder.model_id, input=["growth", "trade"], encoding_format=encoding
        )  # type: ignore[arg-type]
        first = found.data[0].embedding
        if isinstance(first, str):
            first = list(
                struct.unpack(f"<{embedder.dimensions}f", base64.b64decode(first))
            )
        assert first == pytest.approx(list(embedder.embed_query("growth")), abs=1e-6)
        assert (len(found.data), found.data[1].index) == (2, 1)
        with pytest.raises(openai.NotFoundError):
            client.embeddings.create(model="text-embedding-3-small", input="growth")


def test_embedding_ends_with_its_client(
    port: int, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It held a thread of the other requests until its last text, also where nobody
    waited any more.
    """
    embedder, begun, gone, made = (
        app.extensions["services"].runtime.embedder,
        Event(),
        Event(),
        list[int](),
    )
    embed = embedder.embed_documents

    def slowly(texts: Sequence[str], **about: Any) -> Any:
        made.append(len(texts))
        begun.set()
        assert gone.wait(30.0)
        time.sleep(0.3)  # until the server has noticed
        return embed(texts, **about)

    monkeypatch.setattr(embedder, "embed_documents", slowly)
    wanted = {
        "model": embedder.model_id,
        "input": [f"text {number}" for number in range(256)],
    }
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request(
        "POST",
        "/v1/embeddings",
        json.dumps(wanted),
        {"Content-Type": "application/json"},
    )
    assert begun.wait(30.0)
    connection.close()
    gone.set()
    time.sleep(1.5)
    assert sum(made) < 256


def test_what_no_model_can_read_is_refused(app: Flask) -> None:
    """It was a bug of ours (500) when it came to a model."""
    for path, sent, message in [
        ("embeddings", {"input": "\ud800"}, "half a character"),
        (
            "chat/completions",
            {"messages": [{"role": "user", "content": "\ud800"}, *QUESTION]},
            "half a character",
        ),
        (
            "chat/completions",
            {"messages": QUESTION, "metadata": {"country_name": "[" * 100_000}},
            "metadata",
        ),
    ]:
        model = (
            app.extensions["services"].runtime.embedder.model_id
            if path == "embeddings"
            else "report-chat"
        )
        response = app.test_client().post(f"/v1/{path}", json={**sent, "model": model})
        assert response.status_code == 400
        assert message in response.get_json()["error"]["message"]


def test_errors_have_openais_form(client: openai.OpenAI, server: FakeOpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as wrong:
        client.chat.completions.create(model="report-chat:Atlantis", messages=QUESTION)  # type: ignore[call-overload]
    assert (wrong.value.type, wrong.value.param) == (
        "invalid_request_error",
        "filters.country_name",
    )
    assert "Valid: Kenya, Mali" in wrong.value.message
    with pytest.raises(openai.BadRequestError, match=r"n: unknown\. Valid: 1\."):
        ask(client, n=2)
    with pytest.raises(openai.BadRequestError, match="the last one must be a question"):
        client.chat.completions.create(
            model="report-chat", messages=[{"role": "assistant", "content": "Hi."}]
        )
    server.always(CHAT, Reply(status=500))
    with pytest.raises(openai.InternalServerError):
        ask(client)
    server.always(CHAT, Reply(["half"], ending="drop", silent_before=0.2))
    with pytest.raises(openai.APIError):
        list(ask(client, stream=True))


def test_breaking_off_ends_the_answer(
    client: openai.OpenAI, server: FakeOpenAI
) -> None:
    server.always(CHAT, Reply(["It "], silent_after=30.0))
    stream: Any = ask(client, stream=True)
    next(piece for piece in stream if piece.choices and piece.choices[0].delta.content)
    stream.close()
    server.wait_until(
        lambda: server.requests[-1].disconnected_at is not None, seconds=10.0
    )


def test_a_key_of_this_server_counts_and_a_wrong_one_is_refused(
    app: Flask, port: int
) -> None:
    _, key = app.extensions["services"].storage.keys.create("front end", "read")
    assert (
        openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=key)
        .models.list()
        .data
    )
    http: FlaskClient = app.test_client()
    wrong = http.get("/v1/models", headers={"Authorization": "Bearer rck_wrong"})
    assert (wrong.status_code, wrong.get_json()["error"]["type"]) == (
        401,
        "invalid_request_error",
    )
