"""Collections that LangChain, LlamaIndex and Haystack wrote: read in place, imported, and never written to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bson import json_util
from flask.testing import FlaskClient
from pymongo import MongoClient

from chatbot.app.factory import close_app, create_app
from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.domain.errors import SettingsError
from chatbot.models.embed.hashing import HashingEmbedder
from tests.fakes.nx_server import NxThread
from tests.fakes.wire_proxy import WireProxy

LAYOUTS: dict[str, dict[str, Any]] = json_util.loads(
    (Path(__file__).parent / "data" / "foreign_rows.json").read_text(encoding="utf-8")
)
DIMENSIONS = 64
THEIRS = "vectors"
READS = {"find", "aggregate", "count", "getMore", "listSearchIndexes", "distinct", "killCursors", "listIndexes"}


def rows_of(layout: str) -> list[dict[str, Any]]:
    rows, embed = LAYOUTS[layout]["rows"], HashingEmbedder(DIMENSIONS).embed_query
    return [{**row, "embedding": list(map(float, embed(row.get("text") or row["content"])))} for row in rows]


def settings_of(folder: Path, **changed: Any) -> Settings:
    settings = Settings(data_dir=folder, embedding_provider="hashing", embedding_model=str(DIMENSIONS))
    return settings.override(chat_model="extractive", report_collection=THEIRS, sample_data="off", **changed)


def check_answers(client: FlaskClient) -> None:
    """Names, pages and filters, whoever wrote the rows."""
    facets = client.get("/api/facets").get_json()
    assert [one["value"] for one in facets["country_name"]] == ["Gabon", "Kenya"]
    assert [one["value"] for one in facets["year"]] == [2022, 2023]
    reports = client.get("/api/reports").get_json()["reports"]
    assert sorted((one["document_name"], one["chunks"]) for one in reports) == [("gabon.pdf", 1), ("kenya.pdf", 2)]
    kenya: dict[str, Any] = {"country_name": ["Kenya"], "year": [2023]}
    for filters in ({}, kenya, {"year": {"gte": 2023}}, {"document_name": ["kenya.pdf"]}):
        found = client.post("/query", json={"query": "What were tea exports worth?", "filters": filters}).get_json()
        assert "1.4 billion" in str(found["citations"][0])
        cited = found["citations"][0]
        assert (cited["document_name"], cited["page"], cited["country_name"]) == ("kenya.pdf", 3, "Kenya")
    hits = client.post("/api/search", json={"query": "exports", "filters": {"country_name": ["Gabon"]}}).get_json()
    assert {hit["country_name"] for hit in hits["hits"]} == {"Gabon"}


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def proxy(layout: str, tmp_path: Path) -> Iterator[WireProxy]:
    """A plain MongoDB with their collection behind it."""
    with NxThread(tmp_path / "nx") as server, WireProxy(server.port) as running:
        with MongoClient[dict[str, Any]](server.uri) as client:
            client["report_chat"][THEIRS].insert_many(rows_of(layout))
        yield running


def written_to_theirs(proxy: WireProxy) -> list[str]:
    """The commands that could change their collection or its indexes."""
    return [name for sent in proxy.commands if sent.get(name := next(iter(sent))) == THEIRS and name not in READS]


def test_the_start_stops_and_writes_nothing_to_a_foreign_collection(
    layout: str, proxy: WireProxy, tmp_path: Path
) -> None:
    with Services(settings_of(tmp_path, mongodb_uri=proxy.uri)) as services:
        services.check()
        with pytest.raises(SettingsError, match=rf"'{THEIRS}' belongs to another program.*SCHEMA={layout}\b.*REPORT_"):
            services.prepare()
    assert written_to_theirs(proxy) == []


def test_a_foreign_collection_is_read_in_place_and_never_written(layout: str, proxy: WireProxy, tmp_path: Path) -> None:
    schema = ",".join(filter(None, [layout, LAYOUTS[layout]["map"]]))
    app = create_app(settings_of(tmp_path, mongodb_uri=proxy.uri, schema=schema))
    client = app.test_client()
    check_answers(client)
    report = client.get("/api/reports").get_json()["reports"][0]["document_id"]
    refused = [
        client.post("/api/documents", json={"url": "https://example.org/a.html"}),
        client.patch(f"/api/documents/{report}", json={"title": "Mine"}),
        client.delete(f"/api/documents/{report}"),
    ]
    assert [(one.status_code, one.get_json()["error"]["code"]) for one in refused] == [(409, "read_only")] * 3
    close_app(app)
    assert written_to_theirs(proxy) == []
    assert "report_chat_meta" in {
        sent[next(iter(sent))] for sent in proxy.commands if "insert" in sent or "update" in sent
    }
