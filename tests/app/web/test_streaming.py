"""POST /api/chat over real sockets: `serve` in front, an OpenAI-compatible server
behind.
"""

import dataclasses
import threading
from dataclasses import replace

import pytest

from chatbot.app.services import Services
from chatbot.app.web import streaming
from chatbot.config.settings import Settings
from tests.app.web.conftest import QUESTION
from tests.app.web.contract import ERROR, STEP
from tests.app.web.live import Connection, Event, ask
from tests.fakes.openai_server import CHAT, EMBEDDINGS, FakeOpenAI, Reply
from tests.fakes.scripted_model import ScriptedModel

pytestmark = pytest.mark.usefixtures("kenya", "mali")
KENYA = {"country_name": "Kenya"}


@pytest.fixture
def settings(settings: Settings, server: FakeOpenAI) -> Settings:
    return settings.override(**server.as_settings, model_timeout=120.0)


def names(events: list[Event]) -> list[str]:
    return [event.name for event in events]


def stored(services: Services) -> tuple[int, int]:
    return services.storage.database["conversations"].count(
        {}
    ), services.storage.database["messages"].count({})


class TestEvents:
    def test_they_come_in_order_in_a_stream_that_nothing_may_keep(
        self, port, server
    ) -> None:
        server.chat(Reply(["It is ", "2.09% [1]."]))
        events = ask(port, query=QUESTION, filters=KENYA)
        assert names(events) == ["step", "sources", "step", "token", "token", "done"]
        assert server.calls(CHAT) == len(server.requests) == 1  # R-E2
        steps = [event.data for event in events if event.name == "step"]
        assert [step["name"] for step in steps] == ["search", "generate"]
        assert all(set(step) == STEP and step["detail"] for step in steps)
        assert [event.data for event in events if event.name == "token"] == [
            {"text": "It is "},
            {"text": "2.09% [1]."},
        ]
        (sources,) = [event.data for event in events if event.name == "sources"]
        scope = {"filters": {"country_name": ["Kenya"]}, "documents": 1, "chunks": 3}
        assert sources == {"hits": sources["hits"], "scope": scope}
        assert (sources["hits"][0]["text"], sources["hits"][0]["rank"]) == (
            "2.09% (2023 est.)",
            1,
        )
        with Connection(port, "/api/chat", {"query": QUESTION}) as connection:
            headers = connection.response.headers
            assert headers["Content-Type"] == "text/event-stream; charset=utf-8"
            assert headers["Cache-Control"] == "no-store"
            assert headers["X-Accel-Buffering"] == "no"
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert names(list(connection.events()))[-1] == "done"

    def test_done_is_the_response_of_query(self, port, server) -> None:
        server.always(CHAT, Reply(["It is [3", "] 2.09% [1]."]))
        *_, first, sources, last, done = ask(port, query=QUESTION, filters=KENYA)
        streamed, cited = (
            done.data,
            [(one["number"], one["chunk_id"]) for one in done.data["citations"]],
        )
        assert (
            first.data["text"] + last.data["text"]
            == streamed["response"]
            == "It is [1] 2.09% [2]."
        )
        assert [(hit["rank"], hit["chunk_id"]) for hit in sources.data["hits"]][
            :2
        ] == cited
        with Connection(
            port, "/query", {"query": QUESTION, "filters": KENYA}
        ) as connection:
            whole = connection.json()
        for body in (streamed, whole):
            body["trace"].pop("steps")
            body["trace"].pop("stages")
            for row in body["trace"]["ledger"]:
                row.pop("ms")
            assert len(body.pop("conversation_id")) == len(body.pop("message_id")) == 32
        assert streamed == whole

    def test_steps_come_while_others_are_at_work(
        self, port, server, monkeypatch
    ) -> None:
        """Also where each follows the last one soon: the first ones are held back only
        so long, all together.
        """
        monkeypatch.setattr(streaming, "HOLD_SECONDS", 0.5)
        model = ScriptedModel()
        server.always(
            CHAT, lambda request: dataclasses.replace(model(request), silent_before=0.4)
        )
        events = ask(
            port, query="Compare the population of Kenya and Mali", mode="deep"
        )
        first, sources = (
            next(event for event in events if event.name == name)
            for name in ("step", "sources")
        )
        assert first.data["name"] == "plan"
        assert sources.at - first.at > 0.4

    def test_tokens_come_while_the_model_writes(self, port, server) -> None:
        server.chat(Reply(["first"], silent_after=1.5))
        events = ask(port, query=QUESTION)
        at = {event.name: event.at for event in events}
        assert at["done"] - at["token"] > 1.0

    def test_any_text_passes_unchanged(self, port, server) -> None:
        for text in [
            "a\nb\n\nevent: done\ndata: {}\n\n",
            "\r\n\u2028\u2029\u0085",
            "\U0001f600 \u00e9",
        ]:
            server.chat(Reply([text, " [1]"]))
            events = ask(port, query=QUESTION)
            before = names(events)[:3]
            assert before == ["step", "sources", "step"]
            assert set(names(events)[3:-1]) == {"token"}
            assert names(events)[-1] == "done"
            # Line ends wait for what follows: the last line is not shown.
            pieces = [event.data["text"] for event in events if event.name == "token"]
            assert "".join(pieces) == f"{text} [1]"

    def test_many_questions_at_once_keep_apart(self, port, server) -> None:
        server.always(CHAT, Reply(["x"] * 30))
        results: dict[str, list[Event]] = {}

        def one(country: str) -> None:
            results[country] = ask(
                port, query=QUESTION, filters={"country_name": country}
            )

        threads = [
            threading.Thread(target=one, args=(country,))
            for country in ("Kenya", "Mali")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for country, events in results.items():
            assert {
                hit["country_name"] for hit in events[-1].data["trace"]["hits"]
            } == {country}
            assert names(events).count("token") == 30


class TestEarlyFailures:
    def test_an_early_failure_has_its_status_and_an_answer_without_a_model_is_a_stream(
        self, port, server
    ) -> None:
        with Connection(
            port, "/api/chat", {"query": QUESTION, "conversation_id": "nope"}
        ) as connection:
            assert connection.response.status == 404
            assert connection.json()["error"]["code"] == "not_found"
        assert server.requests == []
        events = ask(
            port, query=QUESTION, filters={"country_name": "Kenya", "year": 2021}
        )
        assert names(events) == ["sources", "token", "done"]
        assert events[-1].data["answered"] is False
        assert server.requests == []


class TestEmbedderDown:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.override(embedding_provider="openai", embedding_model="mine")

    def test_a_failing_embedder_is_503_with_a_time_to_come_back(
        self, port, server
    ) -> None:
        for path in ["/api/chat", "/query", "/api/search"]:
            server.always(EMBEDDINGS, Reply(status=500))
            with Connection(port, path, {"query": QUESTION}) as connection:
                assert connection.response.status == 503
                assert int(connection.response.headers["Retry-After"]) > 0
                error = connection.json()["error"]
            assert error["code"] == "embedder_unavailable"
            assert error["details"][0]["dependency"] == "embedder"
            assert server.calls(CHAT) == 0

    def test_a_refused_key_is_not_shown_and_a_slow_failure_is_an_event(
        self, port, server
    ) -> None:
        """The status line cannot wait for ever: after two seconds of search the stream
        begins.
        """
        server.always(
            EMBEDDINGS, Reply(status=401, error={"message": "bad key sk-secret-4711"})
        )
        with Connection(port, "/api/chat", {"query": QUESTION}) as connection:
            assert connection.response.status == 503
            assert connection.response.headers["Retry-After"] is None
            assert "sk-secret" not in str(connection.json())
        server.always(EMBEDDINGS, Reply(status=500, silent_before=3.0))
        events = ask(port, query=QUESTION)
        assert names([event for event in events if event.name != ":"]) == [
            "step",
            "error",
        ]
        assert events[-1].data["error"]["code"] == "embedder_unavailable"


class TestLateFailures:
    """With ON_MODEL_ERROR=error."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.override(on_model_error="error")

    @pytest.mark.parametrize(
        ("reply", "code"),
        [
            (Reply(status=401), "chat_model_unavailable"),
            (
                Reply(
                    status=400,
                    error={"message": "x", "code": "context_length_exceeded"},
                ),
                "context_too_long",
            ),
            (Reply(["half"], ending="drop"), "chat_model_unavailable"),
            (Reply(["half"], ending="error"), "chat_model_unavailable"),
            (Reply(raw=b"data: {broken sk-secret-4711\n\n"), "chat_model_unavailable"),
            (Reply(raw=b"<html>login</html>"), "chat_model_unavailable"),
            (Reply(raw=b": nothing\n\n"), "chat_model_unavailable"),
        ],
        ids=["401", "too long", "drop", "error event", "no JSON", "a page", "silence"],
    )
    def test_a_late_one_is_the_last_event_and_in_the_log(
        self, port, server, services, caplog, reply, code
    ) -> None:
        server.always(
            CHAT, replace(reply, silent_before=0.5)
        )  # the stream has begun by then
        events = ask(port, query=QUESTION)
        assert names(events)[:3] == ["step", "sources", "step"]
        assert names(events)[-1] == "error"
        assert "done" not in names(events)
        error = events[-1].data["error"]
        assert set(error) == ERROR
        assert error["code"] == code
        assert "broken" not in str(error)
        (told,) = [
            each.getMessage()
            for each in caplog.records
            if each.name == "chatbot.app.web.monitoring"
        ]
        said = (
            " It said: scripted failure"
            if {reply.status, reply.ending} & {401, "error"}
            else ""
        )
        assert told == f"Request {error['request_id']}: {error['message']}{said}"
        assert error["details"][0].get("said", "") == said.removeprefix(" It said: ")
        assert stored(services) == (0, 0)


def test_a_comment_comes_about_every_second_of_silence(port, server) -> None:
    """Also while the model has not begun."""
    server.chat(Reply(["first"], silent_before=2.5, silent_after=2.5))
    events = ask(port, query=QUESTION)
    assert names(events)[:3] == ["step", "sources", "step"]
    assert names(events)[-1] == "done"
    first = names(events).index("token")
    comments = [
        [event.at for event in part if event.name == ":"]
        for part in (events[:first], events[first:])
    ]
    # A busy machine is late, never early; the first word itself may be late, so the
    # second silence is only counted.
    assert all(1 <= len(times) <= 10 for times in comments)
    assert all(at > seconds for seconds, at in enumerate(comments[0], start=1))


class TestClosedConnections:
    @pytest.mark.parametrize(
        ("reply", "until"),
        [
            (Reply(["half"], silent_after=60.0), "token"),
            (Reply(silent_before=60.0), "sources"),
            # It writes for longer than this waits, and less than the limit of an
            # answer: it does not end by itself.
            (Reply(["word "] * 1000, pause=0.1), "token"),
        ],
        ids=["silent", "not begun", "writing"],
    )
    def test_a_closed_connection_stops_the_model(
        self, port, server, services, reply, until
    ) -> None:
        server.chat(reply)
        with Connection(port, "/api/chat", {"query": QUESTION}) as connection:
            assert next(event for event in connection.events() if event.name == until)
            request = server.wait_for(CHAT)
        assert request.finished.wait(15.0)
        assert request.disconnected_at is not None
        assert stored(services) == (0, 0)

    def test_the_server_answers_on(self, port, server) -> None:
        """As many closed connections as there are threads: none of them is stuck."""
        server.chat(*[Reply(["half"], silent_after=60.0)] * 4)
        for _ in range(4):
            with Connection(port, "/api/chat", {"query": QUESTION}) as connection:
                assert next(
                    event for event in connection.events() if event.name == "token"
                )
        for count in range(1, 5):
            assert server.wait_for(CHAT, count).finished.wait(15.0)
        assert names(ask(port, query=QUESTION))[-1] == "done"
