"""MongoDB's automated embedding, with nothing but MONGODB_URI, over a socket with the
real driver: add, ask and delete. What the double believes of it stands in
tests/fakes/vector_search.py and search_engine.py with the vendor's pages.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient
from pymongo import MongoClient

from chatbot.app.cli import cli
from chatbot.app.factory import close_app, create_app
from chatbot.app.findings import Finding
from chatbot.config.settings import Settings
from chatbot.domain.errors import MissingPackageError, SearchEngineError, SettingsError
from chatbot.extras.operator.doctor import diagnose_settings
from chatbot.models.embed import EMBEDDERS
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
pytestmark = pytest.mark.extras("evaluation", "migration", "operator")
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


def add_ask_and_delete(client: FlaskClient) -> None:
    job = ended(client, upload(client, KENYA, country_name="Kenya", year="2023"), 300)
    assert job["state"] == "done", job
    answer = client.post("/query", json=QUESTION).get_json()
    assert "1.4 billion" in str(answer["citations"][0]), answer
    report = client.get("/api/reports").get_json()["reports"][0]["document_id"]
    path = f"/api/documents/{report}?permanent=true"
    assert client.delete(path).status_code == 204
    assert client.post("/query", json=QUESTION).get_json()["citations"] == []


def test_add_ask_and_delete_with_nothing_but_the_address(
    server: SearchServer, start: Callable[..., Flask]
) -> None:
    rows = server.client["report_chat"]["report_chatting"]
    add_ask_and_delete(ready(server, start))
    searches = server.sent("$vectorSearch") + server.sent("$rankFusion")
    assert "'query': 'What were" in str(searches)
    # Only the look whether the server searches at all sends a vector, of one number.
    sent = re.findall(r"'queryVector': \[[^]]*\]", str(searches))
    assert set(sent) <= {"'queryVector': [1.0]"}
    written = [command for command in server.received if "update" in command]
    assert "Tea exports" in str(written)
    assert "data_embedding': " not in str(written).replace("data_embedding': ''", "")
    wait_until(lambda: not list(rows.find()), "rows are left", 30)


@pytest.mark.skipif(
    "MONGODB_TEST_URI" not in os.environ,
    reason="set MONGODB_TEST_URI: a real deployment",
)
def test_add_ask_and_delete_live(tmp_path: Path) -> None:
    """A database of its own, which is dropped at the end."""
    name = "report_chat_auto_embed_test"
    values = {"MONGODB_URI": os.environ["MONGODB_TEST_URI"], "MONGODB_DB": name}
    values |= {"EMBEDDING_PROVIDER": "atlas", "DATA_DIR": str(tmp_path)}
    with MongoClient[dict[str, object]](values["MONGODB_URI"]) as mongo:
        app = create_app(Settings.from_env(values))
        try:
            client = app.test_client()
            wait_until(
                lambda: client.get("/ready").status_code == 200, "not ready", 600
            )
            add_ask_and_delete(client)
        finally:
            close_app(app)
            mongo.drop_database(name)


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


def test_the_doctor_names_what_is_left_over_and_another_model(
    server: SearchServer, start: Callable[..., Flask], tmp_path: Path
) -> None:
    ready(server, start)
    collection = server.client["report_chat"]["report_chatting"]
    vector = {"type": "vector", "path": "data_embedding", "similarity": "cosine"}
    definition = {"fields": [{**vector, "numDimensions": 8}]}
    collection.create_search_index(
        {"name": "vector_index", "type": "vectorSearch", "definition": definition}
    )
    values = {"MONGODB_URI": server.uri, "DATA_DIR": str(tmp_path)}
    values["EMBEDDING_PROVIDER"] = "atlas"
    found = findings(values)
    assert "'vector_index'" in found["index_left_over"].message
    assert "index_wrong_model" not in found
    assert {"wrong_path", "flat_index_fits"}.isdisjoint(found)
    other = findings({**values, "EMBEDDING_MODEL": "voyage-4-large"})
    assert (
        "embeds by voyage-4, and voyage-4-large" in other["index_wrong_model"].message
    )


def findings(values: dict[str, str]) -> dict[str, Finding]:
    return {one.name: one for one in diagnose_settings(Settings.from_env(values))}


def test_a_database_goes_back_to_vectors(
    server: SearchServer, start: Callable[..., Flask], tmp_path: Path
) -> None:
    client = ready(server, start)
    assert ended(client, upload(client, KENYA))["state"] == "done"
    values = {"MONGODB_URI": server.uri, "DATA_DIR": str(tmp_path)}
    command = ["reembed", "--provider", "hashing", "--model", "64", "--grace", "0"]
    done = CliRunner().invoke(cli, command, env=values)
    assert done.exit_code == 0, done.output
    answer = start().test_client().post("/query", json=QUESTION).get_json()
    assert "1.4 billion" in str(answer["citations"])
    assert "queryVector" in str(server.sent("$rankFusion")[-1])
    back = CliRunner().invoke(cli, ["reembed", "--provider", "atlas"], env=values)
    assert "MONGODB_DB" in str(back.exception)


def test_thresholds_are_calibrated_by_the_scores_of_the_store(
    server: SearchServer, start: Callable[..., Flask], tmp_path: Path
) -> None:
    client = ready(server, start)
    assert ended(client, upload(client, KENYA))["state"] == "done"
    questions = tmp_path / "mine.csv"
    row = f"{QUESTION['query']},kenya.md,1.4 billion\n" * 12
    questions.write_text(f"question,expected_document,answer\n{row}")
    values = {"MONGODB_URI": server.uri, "DATA_DIR": str(tmp_path)}
    done = CliRunner().invoke(cli, ["calibrate", str(questions), "--json"], env=values)
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout[done.stdout.index("{") :])
    assert (figures["model_id"], figures["origin"]) == ("atlas:voyage-4", "measured")
    assert figures["pairs"]["relevant"] == 12


def test_without_the_built_in_model_texts_are_compared_by_their_words(
    server: SearchServer,
    start: Callable[..., Flask],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    module = EMBEDDERS.module

    def missing(name: str) -> ModuleType:
        if name == "minilm":
            raise MissingPackageError("none", remedy="Install it: pip install x")
        return module(name)

    monkeypatch.setattr(EMBEDDERS, "module", missing)
    client = ready(server, start)
    assert "by their words alone" in caplog.text
    assert "pip install x" in caplog.text
    name, text = KENYA
    body = {**QUESTION, "attachments": [{"name": name, "text": text}]}
    answer = client.post("/query", json=body).get_json()
    assert "1.4 billion" in str(answer["citations"])
