"""What the server says of itself: `/health`, `/ready` and the log (R-C7)."""

import json
import threading

import pytest
from flask.testing import FlaskClient

from chatbot.app.factory import create_app
from chatbot.config.log import JsonLines
from chatbot.config.settings import Settings
from tests.app.web.conftest import QUESTION, Post, error_of
from tests.app.web.contract import SUMS
from tests.fakes.openai_server import EMBEDDINGS, FakeOpenAI, Reply


def ready(
    client: FlaskClient,
) -> tuple[int, dict[str, object], dict[str, dict[str, object]]]:
    """Status, body, and the dependencies by name."""
    response = client.get("/ready")
    body = response.get_json()
    assert set(body) == {"ready", "full", "dependencies", "sample_data", "ingesting"}
    assert all(
        set(dependency) == {"name", "ok", "detail"}
        for dependency in body["dependencies"]
    )
    return (
        response.status_code,
        body,
        {dependency["name"]: dependency for dependency in body["dependencies"]},
    )


def test_health_asks_nothing_of_anybody(client: FlaskClient, services) -> None:
    services.close()
    response = client.get("/health")
    assert (response.status_code, response.get_json()) == (200, {"status": "ok"})


class TestReady:
    def test_when_all_works_it_says_what_is_used(
        self, client: FlaskClient, kenya
    ) -> None:
        status, body, dependencies = ready(client)
        assert (status, body["ready"], body["ingesting"]) == (200, True, False)
        assert body["sample_data"] == {"ready": 0, "total": 0}
        assert list(dependencies) == [
            "database",
            "embedder",
            "vector_search",
            "chat_model",
            "disk",
        ]
        assert all(dependency["ok"] for dependency in dependencies.values())
        assert dependencies["embedder"]["detail"] == "hashing:256, 256 dimensions"
        assert dependencies["chat_model"]["detail"] == "echo"

    def test_a_database_that_broke_is_503_and_named(
        self, client: FlaskClient, settings: Settings, kenya
    ) -> None:
        assert ready(client)[0] == 200
        for path in settings.data_dir.glob("report-chat.sqlite*"):
            path.write_bytes(b"this is no database" * 1000)
        results = []
        # Another thread, as in a server: a connection that is open already may not
        # notice.
        thread = threading.Thread(target=lambda: results.append(ready(client)))
        thread.start()
        thread.join()
        status, body, dependencies = results[0]
        assert (status, body["ready"]) == (503, False)
        assert dependencies["database"]["ok"] is False
        assert "embedded database" in str(dependencies["database"]["detail"])


def test_an_embedder_that_is_down_at_the_start_is_found_when_asked(
    settings: Settings, server: FakeOpenAI
) -> None:
    """Of an unknown model even the dimensions have to be asked for."""
    server.always(EMBEDDINGS, Reply(status=500))
    remote = {
        "embedding_provider": "openai",
        "embedding_model": "mine",
        "openai_base_url": server.url,
    }
    app = create_app(settings.override(**remote, model_retries=0))
    client = app.test_client()
    try:
        status, _, dependencies = ready(client)
        assert status == 503
        assert dependencies["embedder"]["ok"] is False
        assert "failed with status 500" in str(dependencies["embedder"]["detail"])
        error = error_of(
            client.post("/query", json={"query": QUESTION}), 503, "embedder_unavailable"
        )
        assert error["details"][0]["dependency"] == "embedder"
        server.always(EMBEDDINGS, Reply())
        assert ready(client)[0] == 200
    finally:
        app.extensions["startup"].close()
        app.extensions["services"].close()


def test_each_request_is_one_line(
    client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "chatbot.requests")
    with client.get("/health?secret=1") as response:
        pass
    (record,) = [each for each in caplog.records if each.name == "chatbot.requests"]
    assert record.message.startswith("GET '/health' 200 in ")
    line = json.loads(JsonLines().format(record))
    assert (line["method"], line["path"], line["status"]) == ("GET", "/health", 200)
    assert line["request_id"] == response.headers["X-Request-ID"]
    assert line["ms"] >= 0
    assert set(line) == {
        "time",
        "level",
        "logger",
        "request_id",
        "method",
        "path",
        "status",
        "ms",
        "owner",
    }


@pytest.mark.usefixtures("kenya")
def test_an_answer_says_what_its_conversation_took(
    client: FlaskClient, query: Post
) -> None:
    first = query(limit=2).get_json()
    assert set(first["conversation_usage"]) == SUMS
    assert first["conversation_usage"]["questions"] == 1
    assert first["conversation_usage"]["calls"] == first["trace"]["usage"]["calls"]
    second = query(limit=2, conversation_id=first["conversation_id"]).get_json()
    assert second["conversation_usage"]["questions"] == 2
    assert query(limit=2).get_json()["conversation_usage"]["questions"] == 1
