"""Collections that LangChain, LlamaIndex and Haystack wrote: read in place, and never
written to.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bson import json_util
from flask.testing import FlaskClient
from pymongo import MongoClient

from chatbot.app.factory import close_app, create_app
from chatbot.app.services import Services, build, storage
from chatbot.config.settings import Settings
from chatbot.database.changes import PASSAGES
from chatbot.database.mongo import MongoDatabase
from chatbot.domain import Scope
from chatbot.domain.errors import SettingsError
from chatbot.extras.operator.doctor import diagnose
from chatbot.models.embed.hashing import HashingEmbedder
from tests.data import cases
from tests.fakes.mongomock_search import SearchClient
from tests.fakes.nx_server import NxThread, wait_until
from tests.fakes.wire_proxy import WireProxy

LAYOUTS: dict[str, dict[str, Any]] = json_util.loads(json.dumps(cases(__file__)))
pytestmark = pytest.mark.parametrize("layout", LAYOUTS)
DIMENSIONS = 64
THEIRS, DATABASE = "vectors", "report_chat_foreign_test"
VECTOR = {
    "type": "vector",
    "path": "embedding",
    "numDimensions": DIMENSIONS,
    "similarity": "cosine",
}
READS = {
    "find",
    "aggregate",
    "count",
    "getMore",
    "listSearchIndexes",
    "distinct",
    "killCursors",
    "listIndexes",
}


def rows_of(layout: str) -> list[dict[str, Any]]:
    rows, embed = LAYOUTS[layout]["rows"], HashingEmbedder(DIMENSIONS).embed_query
    return [
        {**row, "embedding": list(map(float, embed(row.get("text") or row["content"])))}
        for row in rows
    ]


def settings_of(folder: Path, **changed: Any) -> Settings:
    settings = Settings(
        data_dir=folder, embedding_provider="hashing", embedding_model=str(DIMENSIONS)
    )
    return settings.override(
        chat_model="extractive", report_collection=THEIRS, sample_data="off", **changed
    )


def check_answers(client: FlaskClient) -> None:
    """Names, pages and filters, whoever wrote the rows."""
    facets = client.get("/api/facets").get_json()
    assert [one["value"] for one in facets["country_name"]] == ["Gabon", "Kenya"]
    assert [one["value"] for one in facets["year"]] == [2022, 2023]
    reports = client.get("/api/reports").get_json()["reports"]
    assert sorted((one["document_name"], one["chunks"]) for one in reports) == [
        ("gabon.pdf", 1),
        ("kenya.pdf", 2),
    ]
    kenya: dict[str, Any] = {"country_name": ["Kenya"], "year": [2023]}
    for filters in (
        {},
        kenya,
        {"year": {"gte": 2023}},
        {"document_name": ["kenya.pdf"]},
    ):
        answer = client.post(
            "/query", json={"query": "What were tea exports worth?", "filters": filters}
        ).get_json()
        assert "1.4 billion" in str(cited := answer["citations"][0])
        assert (cited["document_name"], cited["page"], cited["country_name"]) == (
            "kenya.pdf",
            3,
            "Kenya",
        )
    hits = client.post(
        "/api/search", json={"query": "exports", "filters": {"country_name": ["Gabon"]}}
    ).get_json()
    assert {hit["country_name"] for hit in hits["hits"]} == {"Gabon"}


@pytest.fixture
def proxy(layout: str, tmp_path: Path) -> Iterator[WireProxy]:
    """A plain MongoDB with their collection behind it."""
    with NxThread(tmp_path / "nx") as server, WireProxy(server.port) as running:
        with MongoClient[dict[str, Any]](server.uri) as client:
            client["report_chat"][THEIRS].insert_many(rows_of(layout))
        yield running


def written_to_theirs(proxy: WireProxy) -> list[str]:
    """The commands that could change their collection or its indexes."""
    return [
        name
        for sent in proxy.commands
        if sent.get(name := next(iter(sent))) == THEIRS and name not in READS
    ]


def test_the_start_stops_and_writes_nothing_to_it(
    layout: str, proxy: WireProxy, tmp_path: Path
) -> None:
    with build(settings_of(tmp_path, mongodb_uri=proxy.uri)) as services:
        services.check()
        with pytest.raises(
            SettingsError,
            match=rf"'{THEIRS}' belongs to another program.*SCHEMA={layout}\b.*REPORT_",
        ):
            services.prepare()
    assert written_to_theirs(proxy) == []


def test_a_foreign_collection_is_read_in_place_and_never_written(
    layout: str, proxy: WireProxy, tmp_path: Path
) -> None:
    schema = ",".join(filter(None, [layout, LAYOUTS[layout]["map"]]))
    app = create_app(settings_of(tmp_path, mongodb_uri=proxy.uri, schema=schema))
    client = app.test_client()
    check_answers(client)
    report = client.get("/api/reports").get_json()["reports"][0]["document_id"]
    added = client.post("/api/documents", json={"url": "https://example.org/a.html"})
    edited = client.patch(f"/api/documents/{report}", json={"title": "Mine"})
    for refused in (added, edited, client.delete(f"/api/documents/{report}")):
        assert (refused.status_code, refused.get_json()["error"]["code"]) == (
            409,
            "read_only",
        )
    close_app(app)
    assert written_to_theirs(proxy) == []
    assert "report_chat_meta" in {
        sent[next(iter(sent))]
        for sent in proxy.commands
        if "insert" in sent or "update" in sent
    }


def test_figures_follow_rows_that_their_program_changes(
    layout: str, proxy: WireProxy, tmp_path: Path
) -> None:
    schema = ",".join(filter(None, [layout, LAYOUTS[layout]["map"]]))
    text = "content" if layout == "haystack" else "text"

    def values(services: Services) -> set[str]:
        services.ingesting.derive_figures()
        return {
            str(int(figure.value)) for figure in services.storage.figures.find(Scope())
        }

    with (
        build(settings_of(tmp_path, mongodb_uri=proxy.uri, schema=schema)) as services,
        MongoClient[dict[str, Any]](proxy.uri) as client,
    ):
        services.prepare()
        theirs = client["report_chat"][THEIRS]
        about = {k: v for k, v in rows_of(layout)[0].items() if k not in ("_id", "id")}
        theirs.insert_one({**about, text: "Tea exports: 61 million dollars (2023)"})
        assert "61" in str(values(services))
        theirs.update_one(
            {text: {"$regex": "61 million"}},
            {"$set": {text: "Tea exports: 72 million dollars (2023)"}},
        )
        ids = [one.id for one in services.storage.documents.all()]
        services.storage.changes.announce(ids, PASSAGES, in_place=True)
        assert ("61" in str(found := values(services)), "72" in str(found)) == (
            False,
            True,
        )
        theirs.delete_many({})
        wait_until(lambda: values(services) == set(), "not noticed", 30)


LIVE = pytest.param(
    os.environ.get("MONGODB_TEST_URI", ""),
    id="live",
    marks=pytest.mark.skipif(
        "MONGODB_TEST_URI" not in os.environ,
        reason="set MONGODB_TEST_URI: a real deployment",
    ),
)


@pytest.fixture(params=[pytest.param("", id="double"), LIVE])
def theirs(
    layout: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """Their collection on a server with a search engine."""
    if not request.param:
        client: Any = SearchClient()
        monkeypatch.setattr(
            storage, "open_database", lambda settings: MongoDatabase(client, DATABASE)
        )
    else:
        client = MongoClient[dict[str, Any]](request.param)
        client.drop_database(DATABASE)
        monkeypatch.setenv("MONGODB_URI", request.param)
    client[DATABASE][THEIRS].insert_many(rows_of(layout))
    yield client[DATABASE][THEIRS]
    if request.param:
        client.drop_database(DATABASE)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("declared", [True, False])
def test_their_search_index_serves_as_it_is(
    layout: str, declared: bool, theirs: Any, tmp_path: Path
) -> None:
    """With filter fields or without them; the definition as the frameworks'
    `create_vector_search_index` makes it.
    """
    filters = LAYOUTS[layout]["filters"] if declared else []
    definition = {
        "fields": [VECTOR, *({"type": "filter", "path": path} for path in filters)]
    }
    name = LAYOUTS[layout]["index"]
    theirs.create_search_index(
        {"name": name, "type": "vectorSearch", "definition": definition}
    )
    wait_until(
        lambda: all(index.get("queryable") for index in theirs.list_search_indexes()),
        "no index",
        120,
    )
    uri = os.environ.get("MONGODB_URI", "mongodb://localhost")
    settings = settings_of(
        tmp_path, mongodb_uri=uri, mongodb_db=DATABASE, vector_search="atlas"
    )
    with build(settings) as services, pytest.raises(SettingsError):
        services.prepare()
    app = create_app(
        settings.override(
            schema=",".join(filter(None, [layout, LAYOUTS[layout]["map"]]))
        )
    )
    check_answers(app.test_client())
    close_app(app)
    assert {
        one["name"]: one["latestDefinition"]["fields"]
        for one in theirs.list_search_indexes()
    } == {name: definition["fields"]}
    assert list(theirs.find()) == rows_of(layout)


def test_a_limited_key_searches_the_words_of_its_part(
    layout: str, theirs: Any, tmp_path: Path
) -> None:
    """Their index of texts serves as it is, and nothing outside of the limit is
    found.
    """
    text = "content" if layout == "haystack" else "text"
    fields = {text: {"type": "string", "analyzer": "lucene.english"}}
    for name, kind, definition in (
        ("near", "vectorSearch", {"fields": [VECTOR]}),
        ("words", "search", {"mappings": {"dynamic": False, "fields": fields}}),
    ):
        theirs.create_search_index(
            {"name": name, "type": kind, "definition": definition}
        )
    wait_until(
        lambda: all(index.get("queryable") for index in theirs.list_search_indexes()),
        "no index",
        120,
    )
    settings = settings_of(
        tmp_path,
        mongodb_uri=os.environ.get("MONGODB_URI", "mongodb://localhost"),
        mongodb_db=DATABASE,
        vector_search="atlas",
        schema=",".join(filter(None, [layout, LAYOUTS[layout]["map"]])),
    )
    app = create_app(settings)
    keys = app.extensions["services"].storage.keys
    _, secret = keys.create("Gabon", "read", filters={"country_name": ["Gabon"]})
    found = {}
    for method in ("bm25", "hybrid"):
        response = app.test_client().post(
            "/api/search",
            json={"query": "exports", "retrieval_method": method},
            headers={"Authorization": f"Bearer {secret}"},
        )
        assert response.status_code == 200, response.get_data(as_text=True)
        hits = response.get_json()["hits"]
        found[method] = {hit["country_name"] for hit in hits}
    close_app(app)
    assert found == {"bm25": {"Gabon"}, "hybrid": {"Gabon"}}


@pytest.mark.sampled(1)
def test_texts_that_mongodb_embeds_are_found_by_meaning(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of LangChain's `AutoEmbeddings` have no vectors, and its index is over their
    texts (langchain-mongodb 0.11, index.py). No setting names the model: it is the
    index's.
    """
    client: Any = SearchClient()
    monkeypatch.setattr(
        storage, "open_database", lambda settings: MongoDatabase(client, DATABASE)
    )
    rows = LAYOUTS[layout]["rows"]
    client[DATABASE][THEIRS].insert_many(rows)
    text = "content" if layout == "haystack" else "text"
    embedded = {"type": "autoEmbed", "modality": "text", "path": text}
    filters = [{"type": "filter", "path": path} for path in LAYOUTS[layout]["filters"]]
    fields = [{**embedded, "model": "voyage-4-lite"}, *filters]
    client[DATABASE][THEIRS].create_search_index(
        {
            "name": LAYOUTS[layout]["index"],
            "type": "vectorSearch",
            "definition": {"fields": fields},
        }
    )
    schema = ",".join(filter(None, [layout, LAYOUTS[layout]["map"]]))
    settings = Settings(
        data_dir=tmp_path,
        mongodb_uri="mongodb://localhost",
        vector_search="atlas",
        report_collection=THEIRS,
        chat_model="extractive",
        schema=schema,
    )
    app = create_app(settings)
    check_answers(app.test_client())
    findings = list(diagnose(app.extensions["services"]))
    close_app(app)
    said = {one.name: one.message for one in findings}
    assert "voyage-4-lite" in said["embeds_in_store"]
    assert "not tried on a real cluster by us" in said["embeds_in_store"]
    assert "rows_without_vector" not in said
    of_index = {"wrong_path", "index_wrong_model", "flat_index_fits"}
    assert of_index.isdisjoint(said)
    other = settings.override(embedding_provider="hashing", embedding_model="64")
    with build(other) as services:
        said = {one.name: one.remedy for one in diagnose(services)}
    assert "Unset EMBEDDING_PROVIDER" in said["their_texts_embedded"]
    assert list(client[DATABASE][THEIRS].find()) == rows
