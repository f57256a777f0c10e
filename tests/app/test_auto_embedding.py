"""MongoDB's automated embedding, with nothing but MONGODB_URI, over a socket with the
real driver: add, ask and delete. What the double believes of it stands in
tests/fakes/vector_search.py and search_engine.py with the vendor's pages.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from chatbot.app.factory import close_app, create_app
from chatbot.config.settings import Settings
from chatbot.domain.errors import SearchEngineError, SettingsError
from tests.app.web.knowledge import ended, upload
from tests.fakes.mongomock_search import SearchClient
from tests.fakes.nx_server import wait_until
from tests.fakes.search_server import SearchServer

KENYA = (
    "kenya.md",
    "# Kenya\n\nTea exports were worth 1.4 billion dollars in 2023.\n\n"
    "# Roads\n\nThe coast has one railway.\n",
)
QUESTION = {"query": "What were the tea exports of Kenya worth?"}
COLLECTIONS = ("chatbot_data", "report_chatting")


@pytest.fixture
def server() -> Iterator[SearchServer]:
    with SearchServer(SearchClient()) as running:
        yield running


@pytest.fixture
def start(server: SearchServer, tmp_path: Path) -> Iterator[Callable[..., Flask]]:
    apps = []

    def starting(**settings: str) -> Flask:
        values = {"MONGODB_URI": server.uri, "DATA_DIR": str(tmp_path), **settings}
        apps.append(create_app(Settings.from_env(values)))
        return apps[-1]

    yield starting
    for app in apps:
        close_app(app)


def ready(server: SearchServer, start: Callable[..., Flask]) -> FlaskClient:
    """Return the client of a running app whose indexes are there."""
    client = start(EMBEDDING_PROVIDER="atlas").test_client()
    wait_until(lambda: has_indexes(server), "no indexes", 30)
    return client


def has_indexes(server: SearchServer) -> bool:
    indexes = server.client.engine.indexes
    return all("auto_embed_index" in indexes.get(name, ()) for name in COLLECTIONS)


def test_add_ask_and_delete_with_nothing_but_the_address(
    server: SearchServer, start: Callable[..., Flask]
) -> None:
    client = ready(server, start)
    fields = {"country_name": "Kenya", "year": "2023"}
    job = ended(client, upload(client, KENYA, **fields))
    assert job["state"] == "done", job
    answer = client.post("/query", json=QUESTION).get_json()
    assert "1.4 billion" in str(answer["citations"][0]), answer
    searches = server.sent("$vectorSearch") + server.sent("$rankFusion")
    assert "'query': " in str(searches)
    assert "queryVector" not in str(searches[-1])
    rows = list(server.client["report_chat"]["report_chatting"].find())
    assert rows
    assert not any("data_embedding" in row for row in rows)
    report = client.get("/api/reports").get_json()["reports"][0]["document_id"]
    path = f"/api/documents/{report}?permanent=true"
    assert client.delete(path).status_code == 204
    answer = client.post("/query", json=QUESTION).get_json()
    assert answer["citations"] == []
    wait_until(
        lambda: not list(server.client["report_chat"]["report_chatting"].find()),
        "rows are left",
        30,
    )


def test_a_cluster_that_embeds_no_more_questions_says_when_to_try_again(
    server: SearchServer, start: Callable[..., Flask]
) -> None:
    client = ready(server, start)
    server.client.engine.questions_left = 2
    job = ended(client, upload(client, KENYA))
    assert job["state"] == "done", job
    # One was spent on whether the upload can be found, and none on the empty one of
    # the two collections.
    assert "1.4 billion" in str(client.post("/query", json=QUESTION).get_json())
    other = {"query": "How many railways are there?"}
    refused = client.post("/query", json=other)
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "20")
    assert "payment card" in str(refused.get_json())
    server.client.engine.questions_left = None
    fused = len(server.sent("$rankFusion"))
    assert client.post("/query", json=other).status_code == 200
    assert len(server.sent("$rankFusion")) > fused  # the stage was not refused


def test_what_only_words_find_is_not_refused_as_too_far(
    server: SearchServer, start: Callable[..., Flask]
) -> None:
    """No vector is at hand to say how near a passage is."""
    client = ready(server, start)
    assert ended(client, upload(client, KENYA))["state"] == "done"
    body = {**QUESTION, "retrieval_method": "bm25"}
    answer = client.post("/query", json=body).get_json()
    assert answer["answered"], answer
    assert "1.4 billion" in str(answer["citations"])


def test_a_server_that_does_not_embed_stops_the_start_with_its_remedy(
    server: SearchServer, start: Callable[..., Flask]
) -> None:
    server.client.engine.takes_questions = False
    with pytest.raises(SearchEngineError, match="does not embed texts") as stopped:
        start(EMBEDDING_PROVIDER="atlas")
    assert "Set another provider" in stopped.value.remedy
    server.client.engine.enabled = False
    with pytest.raises(SettingsError, match="MONGODB_URI to a server"):
        start(EMBEDDING_PROVIDER="atlas")
