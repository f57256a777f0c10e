"""A language model that fails never leaves a question without an answer."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from chatbot.answering.turn import Turn
from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.domain.callers import KeyRole
from tests.answering.modes.conftest import MALI_2021
from tests.app.web.conftest import QUESTION
from tests.app.web.live import application, ask, served
from tests.conftest import KENYA_2023, ingest_file, small_settings, write_report
from tests.fakes.openai_faults import KINDS, Kind
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply

AskAs = Callable[..., TestResponse]
KENYA = {"country_name": ["Kenya"]}
QUOTED = "2.09% (2023 est.)"
SETTING_NAMES = ("OPENAI_", "MAX_ANSWER", "CONTEXT_TOKENS")
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))


@pytest.fixture(scope="module")
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as running:
        yield running


@pytest.fixture(scope="module")
def app(
    tmp_path_factory: pytest.TempPathFactory, server: FakeOpenAI
) -> Iterator[Flask]:
    folder = tmp_path_factory.mktemp("faults")
    settings = small_settings(
        folder / "data", **server.as_settings, model_timeout=0.5, cache_seconds=60.0
    )
    with application(settings) as created:
        services: Services = created.extensions["services"]
        for markdown, name, country, year in (
            (KENYA_2023, "kenya-2023", "Kenya", 2023),
            (MALI_2021, "mali-2021", "Mali", 2021),
        ):
            path = write_report(folder / "reports", markdown, name)
            metadata = {"country_name": country, "year": year, "type": "country_report"}
            ingest_file(services, path, f"test/{name}", **metadata)
        yield created


@pytest.fixture(scope="module")
def port(app: Flask) -> Iterator[int]:
    with served(app) as found:
        yield found


def degraded(kind: Kind) -> dict[str, Any]:
    return {"reason": kind.reason, "retry_after": kind.retry_after}


def test_there_are_26_kinds() -> None:
    assert len(KINDS) == 26
    assert all(kind.source for kind in KINDS.values())


@pytest.mark.sampled(3)
@every_kind
def test_quotations_answer_in_place_of_a_model_that_fails(
    app: Flask, server: FakeOpenAI, kind: Kind
) -> None:
    server.always(CHAT, kind.reply)
    asked = {"query": QUESTION, "filters": KENYA}
    response = app.test_client().post("/query", json=asked)
    answer = response.get_json()
    assert response.status_code == 200, answer
    assert answer["degraded"] == degraded(kind)
    assert QUOTED in answer["response"]
    assert "language model" in answer["response"]
    assert answer["answered"]
    assert answer["unsupported"] == []
    assert all(citation["supported"] for citation in answer["citations"])
    assert answer["trace"]["usage"]["calls"] >= 1


@pytest.mark.sampled(3)
@every_kind
def test_a_stream_ends_with_its_answer_and_keeps_the_words_that_were_sent(
    port: int, server: FakeOpenAI, kind: Kind
) -> None:
    server.always(CHAT, kind.reply)
    events = ask(port, query=QUESTION, filters=KENYA)
    done = events[-1]
    assert done.name == "done", done
    sent = "".join(event.data["text"] for event in events if event.name == "token")
    assert sent == done.data["response"]
    assert done.data["degraded"] == degraded(kind)
    assert not done.data["trace"]["truncated"], "that is said of the limit only"
    assert QUOTED in sent
    if kind.begins:
        assert sent.startswith("".join(kind.reply.pieces))
    last_sources = [event.data for event in events if event.name == "sources"][-1]
    ranks = {hit["chunk_id"]: hit["rank"] for hit in last_sources["hits"]}
    cited = {one["chunk_id"]: one["number"] for one in done.data["citations"]}
    assert cited.items() <= ranks.items()


@pytest.mark.parametrize("name", ["500", "cut after words"])
def test_a_computed_table_answers_too(
    app: Flask, server: FakeOpenAI, name: str
) -> None:
    server.always(CHAT, KINDS[name].reply)
    asked = {"query": "Which country has the highest population?"}
    answer = app.test_client().post("/query", json=asked).get_json()
    assert "1. Kenya: 52,428,290" in answer["response"]
    assert "2. Mali: 20,137,527" in answer["response"]
    assert "I could not use" not in answer["response"]
    assert answer["degraded"]["reason"] == KINDS[name].reason
    assert [one["country_name"] for one in answer["citations"]] == ["Kenya", "Mali"]


def test_nothing_of_it_is_cached(app: Flask, server: FakeOpenAI) -> None:
    client = app.test_client()
    asked = {"query": "How fast does the population grow?", "filters": KENYA}
    server.always(CHAT, Reply(status=500))
    assert "degraded" in client.post("/query", json=asked).get_json()
    server.always(CHAT, Reply(["It is 2.09% [1]."]))
    answer = client.post("/query", json=asked).get_json()
    assert "degraded" not in answer
    assert answer["response"] == "It is 2.09% [1]."


def test_what_the_reports_do_not_answer_is_not_answered(
    app: Flask, server: FakeOpenAI
) -> None:
    server.always(CHAT, Reply(status=500))
    asked = {"query": "What is the population of Norway?"}
    answer = app.test_client().post("/query", json=asked).get_json()
    assert answer["degraded"]["reason"] == "failed"
    assert not answer["answered"]


@pytest.mark.parametrize("mode", ["deep", "chain", "compare", "report", "auto"])
@pytest.mark.parametrize(
    "name", ["401 wrong key", "silent", "empty", "429 with Retry-After"]
)
def test_every_mode_answers(
    app: Flask, server: FakeOpenAI, mode: str, name: str
) -> None:
    server.always(CHAT, KINDS[name].reply)
    before = server.calls(CHAT)
    asked: dict[str, Any] = {"query": QUESTION, "filters": KENYA, "mode": mode}
    if mode == "compare":
        asked["query"] = "Compare the population growth rate of Kenya and Mali."
        asked.pop("filters")
    response = app.test_client().post("/query", json=asked)
    answer = response.get_json()
    assert (response.status_code, "error" in answer) == (200, False), answer
    assert "2023 est." in answer["response"]
    assert answer["degraded"]["reason"] == KINDS[name].reason
    if name != "empty":
        assert server.calls(CHAT) == before + 1, "a fault that lasts is met once"


@pytest.mark.parametrize("language", ["es", "fr", "pt", "ar"])
def test_the_line_is_in_the_language_of_the_page(
    app: Flask, server: FakeOpenAI, language: str
) -> None:
    server.always(CHAT, KINDS["429 with Retry-After"].reply)
    asked = {"query": "Kenya?", "filters": KENYA, "language": language}
    answer = app.test_client().post("/query", json=asked).get_json()
    assert "language model" not in answer["response"].partition("(")[0]


class TestSettings:
    @pytest.fixture
    def settings(self, settings: Settings, server: FakeOpenAI) -> Settings:
        return settings.override(
            **server.as_settings, on_model_error="error", access="keys"
        )

    @pytest.fixture
    def ask_as(self, settings: Settings, server: FakeOpenAI) -> Iterator[AskAs]:
        """Ask with a key of this role."""
        with application(settings) as created:
            services: Services = created.extensions["services"]
            path = write_report(settings.data_dir / "reports", KENYA_2023, "kenya")
            ingest_file(services, path, "test/kenya")
            server.always(CHAT, KINDS["401 wrong key"].reply)

            def ask_it(role: KeyRole, **fields: str) -> TestResponse:
                _, secret = services.storage.keys.create(role, role)
                return created.test_client().post(
                    "/query",
                    json={"query": QUESTION, **fields},
                    headers={"Authorization": f"Bearer {secret}"},
                )

            yield ask_it

    def test_a_failure_is_one_where_the_setting_says_so(self, ask_as: AskAs) -> None:
        assert ask_as("read").status_code == 503

    def test_readers_are_told_no_settings_and_operators_are(
        self, ask_as: AskAs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Turn, "quotes_on_error", True)
        for role in ("read", "write"):
            told = ask_as(role).get_data(as_text=True)
            assert "not available at the moment" in told
            assert not any(name in told for name in SETTING_NAMES)
        assert "Check OPENAI_API_KEY." in ask_as("admin").get_data(as_text=True)


def test_a_preset_fails_with_its_model(app: Flask, server: FakeOpenAI) -> None:
    server.always(CHAT, Reply(status=500))
    asked = {"query": QUESTION, "preset": "hybrid"}
    assert app.test_client().post("/query", json=asked).status_code == 503
