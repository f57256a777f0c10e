"""What MongoDB's search engine was asked stands in the trace, wherever a trace is
shown, and on the command line.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from chatbot.app.factory import close_app, create_app
from chatbot.app.services import Services
from chatbot.app.services.preparing import ordinary_indexes
from chatbot.config.settings import Settings
from chatbot.database.mongo import MongoDatabase
from chatbot.database.ordinary_indexes import create_missing
from chatbot.stores.atlas.indexes import ensure_indexes, index_plans
from tests.fakes.mongomock_search import SearchClient
from tests.library.helpers import ingest, passages_of, write

QUESTION = "Where does the zebra3 live?"


@pytest.fixture
def engine_client() -> SearchClient:
    return SearchClient()


@pytest.fixture
def app(
    settings: Settings, engine_client: SearchClient, tmp_path: Path
) -> Iterator[Flask]:
    changed = settings.override(
        vector_search="atlas",
        embedding_provider="hashing",
        embedding_model="64",
        indexes="never",
    )
    database = MongoDatabase(engine_client, "traced")
    created = create_app(changed, database=database)
    services: Services = created.extensions["services"]
    storage = services.storage
    create_missing(storage.database, ordinary_indexes(storage))
    ensure_indexes(storage.database, index_plans(changed, {"": 64}))
    kenya = passages_of(*(f"zebra{n}" for n in range(8)), title="Kenya")
    ingest(
        services, write(tmp_path / "a", kenya), {"country_name": "Kenya", "year": 2023}
    )
    yield created
    close_app(created)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


def traces(client: FlaskClient, **fields: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The trace of each endpoint that has one."""
    yield (
        "/query",
        client.post("/query", json={"query": QUESTION, **fields}).get_json()["trace"],
    )
    stream = client.post("/api/chat", json={"query": QUESTION, **fields}).get_data(
        as_text=True
    )
    yield "/api/chat", json.loads(stream.rpartition("data: ")[2])["trace"]
    yield (
        "/api/search",
        client.post("/api/search", json={"query": QUESTION, **fields}).get_json()[
            "trace"
        ],
    )


def shortened(pipeline: list[dict[str, Any]]) -> list[dict[str, Any]]:
    text = json.dumps(pipeline)
    for vector in vectors_in(pipeline):
        text = text.replace(
            json.dumps(vector), json.dumps([*vector[:3], f"{len(vector)} numbers"])
        )
    found: list[dict[str, Any]] = json.loads(text)
    return found


def vectors_in(part: Any) -> Iterator[list[float]]:
    for name, value in (
        part.items()
        if isinstance(part, dict)
        else enumerate(part)
        if isinstance(part, list)
        else ()
    ):
        if name == "queryVector":
            yield value
        else:
            yield from vectors_in(value)


@pytest.mark.parametrize("fused", [True, False])
def test_every_trace_has_what_was_sent_with_the_vector_cut_short(
    client: FlaskClient, engine_client: SearchClient, *, fused: bool
) -> None:
    engine_client.engine.rank_fusion = fused
    for path, trace in traces(client, filters={"country_name": ["Kenya"]}):
        sent = [
            {"collection": name, "pipeline": shortened(asked)}
            for name, asked, _ in engine_client.engine.asked
            if "report_chat_probe" not in json.dumps(asked)
        ]
        assert trace["pipeline"], path
        # Searches run at once, and are sent in any order.
        assert sorted(trace["pipeline"], key=str) == sorted(
            sent[-len(trace["pipeline"]) :], key=str
        ), path
        assert "64 numbers" in json.dumps(trace["pipeline"]), path
        stages = {next(iter(one["pipeline"][0])) for one in trace["pipeline"]}
        assert stages == ({"$rankFusion"} if fused else {"$vectorSearch", "$search"}), (
            path
        )


def test_the_keys_of_a_stage_stand_in_the_order_that_was_sent(
    client: FlaskClient,
) -> None:
    for path in ("/query", "/api/search", "/api/chat"):
        text = client.post(path, json={"query": QUESTION}).get_data(as_text=True)
        text = text.replace(" ", "").replace("\n", "")
        assert '{"$sort":{"score":-1,"_id":1}}' in text, path
        assert '{"_id":1,"score":-1}' not in text, path


def test_an_answer_that_is_given_again_tells_how_it_was_found(
    client: FlaskClient,
) -> None:
    first, second = (
        client.post("/query", json={"query": QUESTION}).get_json()["trace"]
        for _ in range(2)
    )
    assert second["pipeline"] == first["pipeline"] != []


def test_preset_adaptive_is_the_seeds_pipeline_to_the_letter(
    client: FlaskClient,
) -> None:
    """Seed 003 (R-D3): approximate also in a small collection, 1000 candidates, 5
    results, one query a collection.
    """
    for path, trace in traces(
        client, preset="adaptive", filters={"country_name": ["Kenya"], "year": [2023]}
    ):
        for one in trace["pipeline"]:
            search, *rest = one["pipeline"]
            assert search["$vectorSearch"].pop("queryVector")[3:] == ["64 numbers"], (
                path
            )
            assert search == {
                "$vectorSearch": {
                    "index": "vector_index",
                    "path": "data_embedding",
                    "filter": {"country_name": {"$eq": "Kenya"}, "year": {"$eq": 2023}},
                    "numCandidates": 1000,
                    "limit": 5,
                }
            }
            assert rest == [
                {"$addFields": {"score": {"$meta": "vectorSearchScore"}}},
                {"$sort": {"score": -1, "_id": 1}},
                {"$project": {"data_embedding": 0, "data_embedding_b": 0}},
            ]
        assert (
            len({one["collection"] for one in trace["pipeline"]})
            == len(trace["pipeline"])
            == 2
        )
