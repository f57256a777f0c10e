"""Seed 003 as its author has it (R-D1, R-D8): his variables, rows, index, functions
and the requests of his front end, over a socket with the real driver. The search
engine, a MongoDB without one, the embedded file and PostgreSQL give the same passages
in the same order.
"""

import math
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient

from chatbot import similarity_search
from chatbot.app import similarity
from chatbot.app.cli import cli
from chatbot.app.factory import close_app, create_app
from chatbot.app.services import build
from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.domain import Chunk, DocumentRecord
from chatbot.domain.errors import SettingsError
from chatbot.stores.chunks import chunk_from_json
from tests.data import cases
from tests.fakes import postgres
from tests.fakes.mongomock_search import SearchClient
from tests.fakes.openai_replies import word_hashes
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.search_server import SearchServer
from tests.rows import outside

Json = dict[str, Any]
CASES = cases(__file__)
DIMENSIONS = 1536
VECTOR: Json = {
    "type": "vector",
    "path": "data_embedding",
    "numDimensions": DIMENSIONS,
    "similarity": "cosine",
}
FILTERS: list[Json] = [
    {"type": "filter", "path": "country_name"},
    {"type": "filter", "path": "year"},
]
INDEXES = {"chatbot_data": [VECTOR], "report_chatting": [VECTOR, *FILTERS]}
"""`vector_index` of each collection, as he clicked them together."""
STORES = [
    "atlas",
    "plain MongoDB",
    "embedded",
    pytest.param("pgvector", marks=pytest.mark.slow),
]


def rows_of(collection: str) -> list[Json]:
    """Return his rows: embeddings as arrays, no id of a model, years as text."""
    return [
        {**row, "data_embedding": [float(n) for n in word_hashes(row["data"], 1536)]}
        for row in CASES["rows"][collection]
    ]


@pytest.fixture(scope="module")
def model() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(dimensions=DIMENSIONS) as server:
        yield server


@pytest.fixture(scope="module", params=STORES)
def app(
    request: pytest.FixtureRequest,
    model: FakeOpenAI,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Flask]:
    """His five variables, and where the servers of this test are."""
    folder: Path = tmp_path_factory.mktemp("seed")
    values = {
        "MONGODB_DB": "db_main",
        "MONGODB_COLLECTION": "chatbot_data",
        "OPENAI_API_KEY": "sk-secret-4711",
        "DAILY_TOKEN_LIMIT": "26000000",
        "OPENAI_BASE_URL": model.url,
        "DATA_DIR": str(folder / "data"),
    }
    client = SearchClient()
    client.engine.enabled = request.param == "atlas"
    with SearchServer(client) as server:
        if request.param in {"atlas", "plain MongoDB"}:
            values["MONGODB_URI"] = server.uri
        else:
            values["SAMPLE_DATA"] = "off"
        if request.param == "pgvector":
            values["VECTOR_SEARCH"] = "pgvector"
            values["POSTGRES_URI"] = postgres.empty_database()
        settings = Settings.from_env(values)
        if request.param == "pgvector":
            store_in_postgres(settings)
        else:
            store_as_they_are(settings)
        if request.param == "atlas":
            for name, fields in INDEXES.items():
                client.get_database("db_main").get_collection(name).create_search_index(
                    {
                        "name": "vector_index",
                        "type": "vectorSearch",
                        "definition": {"fields": fields},
                    }
                )
        if request.param in {"atlas", "plain MongoDB"}:
            assert_asked(values, server)
        made = create_app(settings)
        yield made
        close_app(made)


def assert_asked(values: dict[str, str], server: SearchServer) -> None:
    """Assert that the start changes no index of his before he said so, and let him
    run the command.
    """
    with pytest.raises(SettingsError, match="python -m chatbot index create") as asked:
        create_app(Settings.from_env(values))
    assert "report_chatting (document_id, ordinal)" in str(asked.value)
    if server.client.engine.enabled:
        assert "'vector_index' of 'report_chatting': document_name" in str(asked.value)
        assert "create the search index 'text_index'" in str(asked.value)
    changed = {"createIndexes", "createSearchIndexes", "updateSearchIndex"}
    assert changed.isdisjoint(next(iter(command)) for command in server.received)
    done = CliRunner().invoke(cli, ["index", "create"], env=values)
    assert done.exit_code == 0, done.output


def store_as_they_are(settings: Settings) -> None:
    """Write his rows past the product, as his uploaders do."""
    database = open_database(settings)
    for name in INDEXES:
        for row in rows_of(name):
            id = {"_id": uuid.uuid4().hex} if database.embedded else {}
            outside(database, name).insert_one({**id, **row})
    database.close()


def store_in_postgres(settings: Settings) -> None:
    """Bring his rows into the table of passages, each as a report of its own."""
    with build(settings) as services:
        for name in INDEXES:
            for number, row in enumerate(rows_of(name)):
                identity = f"{name}-{number}"
                read = chunk_from_json(
                    {"_id": identity, **row},
                    collection=name,
                    fields=settings.filter_fields,
                )
                chunk = replace(
                    read, id=Chunk.make_id(identity, "1", 0), document_id=identity
                )
                record = DocumentRecord(
                    identity,
                    row["document_name"],
                    row["document_name"],
                    "",
                    status="pending",
                    version="1",
                    collection=name,
                    metadata=dict(chunk.metadata),
                )
                vector = np.array(row["data_embedding"], np.float32)
                services.ingesting.ingestor.store_ready(
                    record, [chunk], {chunk.search_text: vector}
                )


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


def found(app: Flask, **arguments: Any) -> list[Json]:
    """Call his second function."""
    services = app.extensions["services"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarity, "_services", lambda: services)
        return similarity_search(**arguments)


def asked(client: FlaskClient, **fields: Any) -> Json:
    """Send what his front end sends with each question."""
    body: Json = {
        "chatId": "0b9f61c2-77e5-4c1d-9d0e-6f3b5f0c2a11",
        "version": 1,
        "chatbot_type": "gpt-4",
        "limit": 5,
        "preset": "adaptive",
        **fields,
    }
    message = {"id": "1", "content": body["query"], "role": "user", "timestamp": 1}
    body.setdefault("previous_messages", [message])
    response = client.post("/query", json=body)
    assert response.status_code == 200, response.get_json()
    answer: Json = response.get_json()
    return answer


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES["searches"], ids=range(len(CASES["searches"])))
def test_his_function_finds_the_same_passages(app: Flask, case: Json) -> None:
    rows = found(app, **case["arguments"])
    assert rows[0]["data"].startswith(case["first"])
    assert not any("data_embedding" in row for row in rows)
    query, limit = case["arguments"]["query"], case["arguments"].get("limit", 5)
    names = {case["arguments"].get("collection_name")} - {None}
    context = case["arguments"].get("report_context")
    scores = scores_of(query, names or set(INDEXES), context)
    assert_best(scores, [row["data"] for row in rows], limit)
    for row in rows:
        assert row["score"] == pytest.approx(scores[row["data"]], abs=1e-5)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES["requests"], ids=range(len(CASES["requests"])))
def test_the_requests_of_his_front_end_are_answered_from_his_passages(
    client: FlaskClient, case: Json
) -> None:
    query, context = case["query"], case["report_context"]
    answer = asked(client, query=query, report_context=context)
    hits = answer["trace"]["hits"]
    assert hits[0]["document_name"] == case["first"]
    scores = scores_of(query, set(INDEXES), context)
    passing = above_threshold(scores, 5)
    assert_best(scores, [hit["text"] for hit in hits], len(passing))


def scores_of(
    query: str, collections: set[str], context: Json | None
) -> dict[str, float]:
    """Return the score of each text that his pipeline compares: the filter is for
    `report_chatting` alone.
    """
    vector = word_hashes(query, DIMENSIONS)
    scores = {}
    for name in collections:
        for row in rows_of(name):
            if name != "report_chatting" or is_inside(row, context):
                scores[row["data"]] = score(vector, row["data_embedding"])
    return scores


def above_threshold(scores: Mapping[str, float], limit: int) -> list[float]:
    """Return the best scores that pass his threshold, which falls in tenths."""
    best = sorted(scores.values(), reverse=True)[:limit]
    for tenths in range(7, -1, -1):
        if passing := [one for one in best if one > tenths / 10]:
            return passing
    return []


def assert_best(scores: Mapping[str, float], texts: list[str], limit: int) -> None:
    """Assert that these are the best texts in their order, but for equal scores."""
    best = sorted(scores.values(), reverse=True)[:limit]
    assert [scores[text] for text in texts] == pytest.approx(best, abs=1e-5)
    assert len(set(texts)) == len(texts)


def is_inside(row: Json, context: Json | None) -> bool:
    if context is None:
        return True
    field = {"country": "country_name", "year_in_review": "year"}[context["type"]]
    return bool(row.get(field) == context["value"])


def score(one: list[float], other: list[float]) -> float:
    """Return the score of Atlas for cosine similarity."""
    lengths = math.hypot(*one) * math.hypot(*other)
    return (1 + sum(a * b for a, b in zip(one, other, strict=True)) / lengths) / 2
