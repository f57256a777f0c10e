"""GET /, /health and /ready."""

from __future__ import annotations

import threading
import time

import pytest
from flask.testing import FlaskClient

from chatbot.errors import SettingsError, UnknownNameError
from chatbot.factory import create_app
from chatbot.settings import Settings
from tests.fakes.openai_server import EMBEDDINGS, FakeOpenAI, Reply
from tests.web.conftest import QUESTION, error_of


def ready(client: FlaskClient) -> tuple[int, dict[str, object], dict[str, dict[str, object]]]:
    """Status, body, and the dependencies by name."""
    response = client.get("/ready")
    body = response.get_json()
    assert set(body) == {"ready", "dependencies", "sample_data", "ingesting"}
    assert all(set(dependency) == {"name", "ok", "detail"} for dependency in body["dependencies"])
    return response.status_code, body, {dependency["name"]: dependency for dependency in body["dependencies"]}


def test_the_page_is_html_with_the_example_questions(client: FlaskClient) -> None:
    response = client.get("/")
    assert (response.status_code, response.mimetype) == (200, "text/html")
    assert QUESTION in response.get_data(as_text=True)


def test_health_asks_nothing_of_anybody(client: FlaskClient, services) -> None:
    services.close()
    response = client.get("/health")
    assert (response.status_code, response.get_json()) == (200, {"status": "ok"})


class TestReady:
    def test_when_all_works_it_says_what_is_used(self, client: FlaskClient, kenya) -> None:
        status, body, dependencies = ready(client)
        assert (status, body["ready"], body["ingesting"]) == (200, True, False)
        assert body["sample_data"] == {"ready": 0, "total": 0}
        assert list(dependencies) == ["database", "embedder", "vector_search", "chat_model"]
        assert all(dependency["ok"] for dependency in dependencies.values())
        assert dependencies["embedder"]["detail"] == "hashing:256, 256 dimensions"
        assert dependencies["chat_model"]["detail"] == "echo"

    def test_a_database_that_broke_is_503_and_named(self, client: FlaskClient, settings: Settings, kenya) -> None:
        assert ready(client)[0] == 200
        for path in settings.data_dir.glob("report-chat.sqlite*"):
            path.write_bytes(b"this is no database" * 1000)
        results = []
        # Another thread, as in a server: a connection that is open already may not notice.
        thread = threading.Thread(target=lambda: results.append(ready(client)))
        thread.start()
        thread.join()
        status, body, dependencies = results[0]
        assert (status, body["ready"]) == (503, False)
        assert dependencies["database"]["ok"] is False
        assert "embedded database" in str(dependencies["database"]["detail"])


def test_an_embedder_that_is_down_at_the_start_is_found_when_asked(settings: Settings, server: FakeOpenAI) -> None:
    """Of an unknown model even the dimensions have to be asked for."""
    server.always(EMBEDDINGS, Reply(status=500))
    app = create_app(
        settings.override(
            embedding_provider="openai", embedding_model="mine", openai_base_url=server.url, model_retries=0
        )
    )
    client = app.test_client()
    try:
        status, _, dependencies = ready(client)
        assert status == 503
        assert dependencies["embedder"]["ok"] is False
        assert "failed with status 500" in str(dependencies["embedder"]["detail"])
        error = error_of(client.post("/query", json={"query": QUESTION}), 503, "embedder_unavailable")
        assert error["details"][0]["dependency"] == "embedder"
        server.always(EMBEDDINGS, Reply())
        assert ready(client)[0] == 200
    finally:
        app.extensions["startup"].close()
        app.extensions["services"].close()


@pytest.mark.parametrize(
    ("wrong", "kind", "setting"),
    [
        ({"chat_model": "clairvoyant"}, UnknownNameError, "CHAT_MODEL"),
        ({"chat_model": "openai:gpt-4o"}, SettingsError, "OPENAI_API_KEY"),
        ({"embedding_provider": "clairvoyant"}, UnknownNameError, "EMBEDDING_PROVIDER"),
        ({"vector_search": "clairvoyant"}, UnknownNameError, "VECTOR_SEARCH"),
        ({"retrieval_method": "clairvoyant"}, UnknownNameError, "RETRIEVAL_METHOD"),
        ({"language": "klingon"}, SettingsError, "LANGUAGE"),
    ],
)
def test_a_wrong_setting_stops_the_start_and_is_named(settings: Settings, wrong, kind, setting) -> None:
    started = time.monotonic()
    with pytest.raises(kind, match=f"(?i){setting}"):
        create_app(settings.override(**wrong))
    assert time.monotonic() - started < 5
