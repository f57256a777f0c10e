"""The OpenAI chat model against a real HTTP server: what it sends, what it yields, what
it raises (R-D6, R-D9).
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from chatbot.config.settings import Settings
from chatbot.domain import Cancellation, Delta, RequestContext, Usage
from chatbot.domain.errors import ChatModelError, ContextLengthError
from chatbot.models.chat.openai import OpenAIChatModel, build
from tests.data import cases
from tests.fakes.openai_server import CHAT, PROMPT_TOKENS, FakeOpenAI, Recorded, Reply
from tests.fakes.web_server import WebServer, certificate_for
from tests.models.chat.conftest import prompt

CASES = cases(__file__)
KEY = "sk-secret-4711"
AT_ONCE = 10.0
"""Seconds, at most, for what does not wait for a server that is silent."""
NO_WAIT = {"Retry-After": "0"}


@pytest.fixture
def model(server: FakeOpenAI) -> Iterator[Callable[..., OpenAIChatModel]]:
    built = []

    def build_model(name: str = "gpt-test", **settings: object) -> OpenAIChatModel:
        values = {
            "openai_api_key": KEY,
            "openai_base_url": server.url,
            "model_timeout": 30.0,
            "model_retries": 0,
        }
        built.append(build(Settings(**{**values, **settings}), model=name))
        return built[-1]

    yield build_model
    for used in built:
        used.close()


def run(model: OpenAIChatModel, cancel: Cancellation | None = None) -> list[Delta]:
    return list(
        model.stream(prompt(), request=RequestContext(cancel or Cancellation()))
    )


def failure(model: OpenAIChatModel) -> ChatModelError:
    with pytest.raises(ChatModelError) as raised:
        run(model)
    assert KEY not in raised.value.message
    assert "openai:gpt-test" in raised.value.message
    return raised.value


class TestStreaming:
    def test_the_text_comes_piece_by_piece_and_the_usage_last(
        self, model, server
    ) -> None:
        server.chat(Reply(["Kenya", " has 52,428,290", " people [1]."]))
        assert run(model()) == [
            Delta("Kenya"),
            Delta(" has 52,428,290"),
            Delta(" people [1]."),
            Delta("", Usage(prompt_tokens=PROMPT_TOKENS, completion_tokens=3, calls=1)),
        ]

    def test_the_request_carries_messages_temperature_and_limit(
        self, model, server
    ) -> None:
        run(model("gpt-4o-mini", temperature=0.7, max_answer_tokens=99))
        (request,) = server.received(CHAT)
        assert request.body == {
            "model": "gpt-4o-mini",
            "messages": [
                {"role": "system", "content": "Use only the passages."},
                {"role": "user", "content": "How many people live in Kenya?"},
            ],
            "temperature": 0.7,
            "max_tokens": 99,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        assert request.headers["authorization"] == f"Bearer {KEY}"

    def test_without_a_model_name_the_default_is_asked_for(self, model, server) -> None:
        assert model("").model_id == "openai:gpt-4o"
        run(model("", openai_api_key=None))
        (request,) = server.received(CHAT)
        assert (request.body["model"], request.headers["authorization"]) == (
            "gpt-4o",
            "Bearer not-needed",
        )


SCHEMA = CASES["schema"]


class TestSchemas:
    """R-C9: JSON schema output where the server has it."""

    REFUSED = Reply(
        status=400, error={"message": "Unknown parameter: 'response_format'"}
    )

    def ask(self, model: OpenAIChatModel) -> str:
        asked = replace(prompt(), json_schema=SCHEMA)
        return "".join(
            delta.text for delta in model.stream(asked, request=RequestContext())
        )

    def schemas(self, server: FakeOpenAI) -> list[bool]:
        return ["response_format" in request.body for request in server.received(CHAT)]

    def test_a_schema_is_sent_as_openai_wants_it(self, model, server) -> None:
        self.ask(model())
        assert server.received(CHAT)[0].body["response_format"] == {
            "type": "json_schema",
            "json_schema": {"name": "queries", "strict": True, "schema": SCHEMA},
        }

    @pytest.mark.parametrize("status", [400, 422])
    def test_a_server_that_refuses_schemas_is_asked_without_and_not_with_one_again(
        self, model, server, status
    ) -> None:
        """The refusal costs nothing, and another model finds out for itself."""
        refused = replace(self.REFUSED, status=status)
        server.chat(refused, Reply(["[1]"]), Reply(["[2]"]), refused, Reply(["{}"]))
        used = model(model_retries=2)
        deltas = list(
            used.stream(replace(prompt(), json_schema=SCHEMA), request=RequestContext())
        )
        assert [delta.usage for delta in deltas if delta.usage] == [
            Usage(PROMPT_TOKENS, 1, calls=1)
        ]
        assert [deltas[0].text, self.ask(used), self.ask(model())] == [
            "[1]",
            "[2]",
            "{}",
        ]
        assert self.schemas(server) == [True, False, False, True, False]

    def test_a_request_that_is_wrong_otherwise_says_nothing_about_schemas(
        self, model, server
    ) -> None:
        server.chat(
            *[Reply(status=400, error={"message": "Unsupported role"})] * 2,
            Reply(["{}"]),
        )
        used = model()
        with pytest.raises(ChatModelError, match="refused the request"):
            self.ask(used)
        assert self.ask(used) == "{}"
        assert self.schemas(server) == [True, False, True]

    @pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
    def test_other_failures_are_not_asked_again_without_a_schema(
        self, model, server, status
    ) -> None:
        error = (
            {"message": "too many tokens", "code": "context_length_exceeded"}
            if status == 400
            else None
        )
        server.always(CHAT, Reply(status=status, headers=NO_WAIT, error=error))
        with pytest.raises(ContextLengthError if status == 400 else ChatModelError):
            self.ask(model())
        assert self.schemas(server) == [True]

    def test_several_threads_that_are_refused_at_once_are_all_answered(
        self, model
    ) -> None:
        with WithoutSchemas() as server, ThreadPoolExecutor(4) as threads:
            used = model(openai_base_url=server.url)
            assert list(threads.map(lambda _: self.ask(used), range(4))) == ["[1]"] * 4
            before = server.calls(CHAT)
            assert self.ask(used) == "[1]"
            assert self.schemas(server)[before:] == [False]


class WithoutSchemas(FakeOpenAI):
    """Refuses every schema, slowly enough for several requests to be on their way."""

    def next_reply(self, request: Recorded) -> Reply:
        super().next_reply(request)
        return (
            replace(TestSchemas.REFUSED, silent_before=0.2)
            if "response_format" in request.body
            else Reply(["[1]"])
        )


class TestLimit:
    def test_an_answer_that_reaches_its_limit_says_so_at_its_end(
        self, model, server
    ) -> None:
        server.chat(Reply(["It is 2", ".0"], finish_reason="length"))
        deltas = run(model())
        assert "".join(delta.text for delta in deltas) == "It is 2.0"
        assert [delta.truncated for delta in deltas].count(True) == 1

    @pytest.mark.parametrize("reason", ["stop", "tool_calls"])
    def test_another_end_is_not_the_limit(self, model, server, reason) -> None:
        server.chat(Reply(["It is so."], finish_reason=reason))
        assert not any(delta.truncated for delta in run(model()))


class TestFailures:
    @pytest.mark.parametrize(
        ("status", "calls", "finding", "remedy", "retry_after"),
        CASES["a status is retried where that may help and named"],
    )
    def test_a_status_is_retried_where_that_may_help_and_named(
        self, model, server, status, calls, finding, remedy, retry_after
    ) -> None:
        """R-D9: bounded retries, by the SDK."""
        server.always(
            CHAT,
            Reply(
                status=status, headers=NO_WAIT, error={"message": f"Incorrect: {KEY}"}
            ),
        )
        error = failure(model(model_retries=2))
        assert server.calls(CHAT) == calls
        assert (error.finding.endswith(finding), error.remedy, error.retry_after) == (
            True,
            remedy,
            retry_after,
        )

    @pytest.mark.parametrize(
        "answer",
        CASES["a prompt that is too long is an error of its own"],
        ids=["openai", "vllm", "llama.cpp"],
    )
    def test_a_prompt_that_is_too_long_is_an_error_of_its_own(
        self, model, server, answer
    ) -> None:
        server.chat(Reply(status=400, error=answer))
        error = failure(model())
        assert type(error) is ContextLengthError
        assert error.remedy == "Lower CONTEXT_TOKENS."

    def test_another_400_keeps_the_reason(self, model, server) -> None:
        server.chat(Reply(status=400, error={"message": "Unsupported role"}))
        error = failure(model())
        assert type(error) is ChatModelError
        assert error.in_full == (
            "The endpoint of openai:gpt-test refused the request. The log has its "
            "reason. It said: Unsupported role"
        )

    @pytest.mark.parametrize(
        "reply", [Reply(silent_before=60.0), Reply(["half"], silent_after=60.0)]
    )
    def test_a_silent_server_is_a_time_out(self, model, server, reply) -> None:
        server.chat(reply)
        started = time.monotonic()
        error = failure(model(model_timeout=0.3))
        assert time.monotonic() - started < AT_ONCE
        assert "did not answer in time" in error.message
        assert error.retry_after == 5

    def test_a_broken_connection_is_told_after_the_pieces_that_came(
        self, model, server
    ) -> None:
        server.chat(Reply(["half an", " answer"], ending="drop"))
        stream = model().stream(prompt(), request=RequestContext())
        assert [next(stream), next(stream)] == [Delta("half an"), Delta(" answer")]
        with pytest.raises(
            ChatModelError, match="openai:gpt-test closed the connection before"
        ):
            next(stream)

    @pytest.mark.parametrize("ending", ["error", "cut"])
    def test_a_stream_that_breaks_off_is_not_a_whole_answer(
        self, model, server, ending
    ) -> None:
        """An error event; or a proxy that closes the body cleanly, so that no
        finish_reason ever came.
        """
        server.chat(
            Reply(["half"], ending=ending, error={"message": f"overloaded {KEY}"})
        )
        error = failure(model())
        assert "broke off" in error.message
        assert error.said == ("overloaded ***" if ending == "error" else ""), (
            "the log has the server's words"
        )

    def test_a_certificate_that_is_not_accepted_is_told(self, model, tmp_path) -> None:
        with WebServer(
            certificate=certificate_for(tmp_path, "localhost", "127.0.0.1")
        ) as server:
            error = failure(
                model(openai_base_url=f"https://127.0.0.1:{server.port}/v1")
            )
        assert "certificate" in error.finding
        assert "SSL_CERT_FILE" in error.remedy

    def test_a_server_that_is_not_there_names_the_setting(self, model) -> None:
        error = failure(model(openai_base_url="http://127.0.0.1:9/v1"))
        assert error.finding.endswith("cannot be reached: Connection refused.")
        assert error.remedy == "Check the network and OPENAI_BASE_URL."
        assert error.retry_after == 5


class TestCancellation:
    def cancelled_after(
        self, model: OpenAIChatModel, cancel: Cancellation, seconds: float
    ) -> tuple[list[Delta], float]:
        """What was yielded, and the seconds between the cancellation and the return."""
        at = [0.0]

        def act() -> None:
            at[0] = time.monotonic()
            cancel.cancel()

        timer = threading.Timer(seconds, act)
        timer.start()
        deltas = run(model, cancel)
        took = time.monotonic() - at[0]
        timer.join()
        return deltas, took

    @pytest.mark.parametrize(
        ("reply", "expected"),
        [
            (Reply(["half"], silent_after=60.0), [Delta("half")]),
            (Reply(silent_before=60.0), []),
        ],
        ids=["in the middle", "before its headers"],
    )
    def test_a_silent_model_is_left_at_once_and_notices(
        self, model, server, reply, expected
    ) -> None:
        """It serves the next question."""
        server.chat(reply, Reply(["whole"]))
        used = model(model_timeout=60.0)
        deltas, took = self.cancelled_after(used, Cancellation(), 0.3)
        assert deltas == expected
        assert took < AT_ONCE
        (request,) = server.received(CHAT)
        assert request.finished.wait(AT_ONCE)
        assert request.disconnected_at is not None
        assert run(used)[0] == Delta("whole")

    def test_after_a_pause_between_retries_nothing_is_sent_any_more(
        self, model, server
    ) -> None:
        """The SDK's pause itself is sat out: it is bounded, and the model has no work
        meanwhile.
        """
        server.always(CHAT, Reply(status=429, headers={"Retry-After": "1"}))
        deltas, _ = self.cancelled_after(model(model_retries=1), Cancellation(), 0.3)
        assert deltas == []
        assert server.calls(CHAT) == 1

    def test_a_reader_that_stops_reading_closes_the_connection(
        self, model, server
    ) -> None:
        server.chat(Reply(["half"], silent_after=60.0))
        stream = model().stream(prompt(), request=RequestContext())
        assert next(stream) == Delta("half")
        stream.close()
        (request,) = server.received(CHAT)
        assert request.finished.wait(AT_ONCE)
        assert request.disconnected_at is not None


class TestRetries:
    """What is tried again, by the SDK, and what is not."""

    def test_a_silent_server_is_asked_once(self, model, server) -> None:
        server.always(CHAT, Reply(silent_before=30.0))
        started = time.monotonic()
        assert failure(model(model_timeout=0.3, model_retries=2)).reason == "timeout"
        assert time.monotonic() - started < AT_ONCE
        assert server.calls(CHAT) == 1

    def test_a_time_out_of_the_server_itself_is_tried_once_more(
        self, model, server
    ) -> None:
        server.always(CHAT, Reply(status=504, headers=NO_WAIT))
        failure(model(model_retries=5))
        assert server.calls(CHAT) == 2

    @pytest.mark.parametrize("code", ["insufficient_quota", "credit_balance_exhausted"])
    def test_an_account_without_credit_is_not_asked_again(
        self, model, server, code: str
    ) -> None:
        error = {"message": "See your plan.", "type": "requests", "code": code}
        server.always(CHAT, Reply(status=429, error=error, headers=NO_WAIT))
        raised = failure(model(model_retries=2))
        assert (raised.reason, raised.retry_after) == ("quota_used_up", None)
        assert server.calls(CHAT) == 1

    def test_a_long_pause_is_not_made_while_a_person_waits(self, model, server) -> None:
        server.always(CHAT, Reply(status=429, headers={"Retry-After": "30"}))
        started = time.monotonic()
        raised = failure(model(model_retries=2))
        assert time.monotonic() - started < AT_ONCE
        assert (raised.reason, raised.retry_after) == ("rate_limited", 30)
        assert server.calls(CHAT) == 1

    def test_a_rate_limit_is(self, model, server) -> None:
        server.chat(Reply(status=429, headers=NO_WAIT), Reply(["yes"]))
        assert run(model(model_retries=2))[0] == Delta("yes")
