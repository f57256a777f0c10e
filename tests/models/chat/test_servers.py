"""Servers that speak OpenAI's API in their own way: what they refuse, send and leave
out.
"""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from chatbot.config.settings import Settings
from chatbot.domain import RequestContext
from chatbot.domain.errors import ChatModelError
from chatbot.models.chat.openai import OpenAIChatModel, build
from chatbot.models.replies.stream import Reply as Read
from chatbot.models.replies.stream import complete
from tests.data import data_set, needs
from tests.fakes.nx_server import free_port
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply
from tests.models.chat.conftest import prompt

Model = Callable[..., OpenAIChatModel]
DONE = b"data: [DONE]\n\n"


def event(**choice: object) -> bytes:
    return (
        b"data: " + json.dumps({"choices": [{"index": 0, **choice}]}).encode() + b"\n\n"
    )


@pytest.fixture
def model() -> Iterator[Model]:
    built: list[OpenAIChatModel] = []

    def build_model(url: str, name: str = "m") -> OpenAIChatModel:
        settings = Settings(openai_base_url=url, model_timeout=30.0, model_retries=0)
        built.append(build(settings, model=name))
        return built[-1]

    yield build_model
    for used in built:
        used.close()


def ask(model: OpenAIChatModel) -> Read:
    return complete(model, prompt(), RequestContext())


def bodies(server: FakeOpenAI) -> list[dict[str, object]]:
    return [request.body for request in server.received(CHAT)]


class TestRefusedParameters:
    @pytest.mark.parametrize("name", ["temperature", "stream_options", "max_tokens"])
    @pytest.mark.parametrize("status", [400, 422])
    def test_a_refused_parameter_is_left_out_from_then_on(
        self, server: FakeOpenAI, model: Model, name: str, status: int
    ) -> None:
        server.chat(
            Reply(status=status, error={"message": f"Unsupported parameter: '{name}'"}),
            *[Reply(["yes"])] * 2,
        )
        used = model(server.url)
        assert [ask(used).text, ask(used).text] == ["yes", "yes"]
        assert [name in body for body in bodies(server)] == [True, False, False]

    def test_one_after_the_other(self, server: FakeOpenAI, model: Model) -> None:
        refused = [
            Reply(status=400, error={"message": f"{name} is not supported"})
            for name in ("max_tokens", "temperature")
        ]
        server.chat(*refused, Reply(["yes"]))
        assert ask(model(server.url)).text == "yes"
        assert bodies(server)[2].keys().isdisjoint({"max_tokens", "temperature"})
        assert "max_completion_tokens" in bodies(server)[2]

    def test_a_parameter_that_fastapi_names_by_its_place(
        self, server: FakeOpenAI, model: Model
    ) -> None:
        detail = [
            {
                "type": "extra_forbidden",
                "loc": ["body", "stream_options"],
                "msg": "Extra inputs are not permitted",
            }
        ]
        server.chat(Reply(status=422, body={"detail": detail}), Reply(["yes"]))
        assert ask(model(server.url)).text == "yes"


class TestEnds:
    def test_a_content_filter_is_named(self, server: FakeOpenAI, model: Model) -> None:
        server.chat(Reply(["It"], finish_reason="content_filter"))
        with pytest.raises(ChatModelError, match="content filter"):
            ask(model(server.url))

    def test_an_error_in_place_of_an_answer_says_what_it_is(
        self, server: FakeOpenAI, model: Model
    ) -> None:
        server.chat(
            Reply(
                body={
                    "error": {"message": "You exceeded your current quota", "code": 429}
                }
            )
        )
        with pytest.raises(ChatModelError, match="no credit left") as raised:
            ask(model(server.url))
        assert raised.value.said == "You exceeded your current quota"


class TestContent:
    def test_a_server_that_does_not_stream_is_read(
        self, server: FakeOpenAI, model: Model
    ) -> None:
        choice = {
            "message": {"role": "assistant", "content": "whole"},
            "finish_reason": "stop",
        }
        server.chat(
            Reply(
                body={
                    "choices": [choice],
                    "usage": {"prompt_tokens": 7, "completion_tokens": 1},
                }
            )
        )
        reply = ask(model(server.url))
        assert (reply.text, reply.usage.prompt_tokens) == ("whole", 7)

    def test_a_long_stream_of_short_events_is(
        self, server: FakeOpenAI, model: Model
    ) -> None:
        server.chat(
            Reply(
                raw=b": a comment that keeps the connection\n\n" * 40_000
                + event(delta={"content": "x"})
                + DONE
            )
        )
        assert ask(model(server.url)).text == "x"


@pytest.mark.parametrize(
    ("end", "hint"),
    [
        ("", "/v1 at its end"),
        ("/v1/chat/completions", "ends before /chat/completions"),
        ("/v1?x=1", "without a query"),
    ],
)
def test_a_wrong_address_is_named(
    server: FakeOpenAI, model: Model, end: str, hint: str
) -> None:
    server.always("/v1", Reply(status=404, body={"detail": "Not Found"}))
    with pytest.raises(ChatModelError, match=hint) as raised:
        ask(model(server.url.removesuffix("/v1") + end))
    assert "OPENAI_BASE_URL" in raised.value.remedy


SCRIPT = data_set("bug_cases", "server.py")


@pytest.fixture(scope="module")
def reported() -> Iterator[str]:
    port = free_port()
    with subprocess.Popen([sys.executable, str(SCRIPT), str(port)]) as process:
        for _ in range(200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/v1"
        process.terminate()


@pytest.mark.slow
@needs(SCRIPT)
class TestReportedServers:
    """The servers of public bug reports, as a process."""

    @pytest.mark.parametrize(
        "quirk",
        [
            "good",
            "reasoning",
            "nofinish",
            "emptyfinish",
            "harmony",
            "endtoken",
            "notstream",
            "truncating",
        ],
    )
    def test_the_answer_is_whole_and_nothing_else(
        self, reported: str, model: Model, quirk: str
    ) -> None:
        assert (
            ask(model(reported, quirk)).text
            == "The population growth rate of Kenya was 2.09% (2023 est.) [1]."
        )

    @pytest.mark.parametrize(
        ("quirk", "said"),
        [("error200", "current quota"), ("errorinstream", "overloaded")],
    )
    def test_the_providers_words_are_kept(
        self, reported: str, model: Model, quirk: str, said: str
    ) -> None:
        with pytest.raises(ChatModelError) as raised:
            ask(model(reported, quirk))
        assert said in raised.value.said
