"""Rows of an older system are read as they are."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bson import ObjectId, json_util

from chatbot.app.factory import close_app, create_app
from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.database.changes import PASSAGES
from chatbot.database.core import Database
from chatbot.database.mongo import MongoDatabase
from chatbot.domain import Question, Scope
from chatbot.models.embed.hashing import HashingEmbedder
from tests.asking import Finished, by_mode
from tests.data import cases
from tests.fakes.mongomock_search import SearchClient
from tests.fakes.nx_server import NxThread
from tests.library.helpers import until
from tests.rows import outside

DIMENSIONS = 64
ODD_ROWS = json_util.loads(json.dumps(cases(__file__)))
TEXTS = {
    ("Kenya 2023", "Kenya", "2023"): [
        "Coffee grows in the highlands.",
        "Nairobi is the capital.",
    ],
    ("Kenya 2022", "Kenya", "2022"): ["Tea is exported."],
    ("Peru 2023", "Peru", 2023): ["Lima lies at the sea."],
}
"""(document_name, country_name, year) -> passages. Some years are text, some
numbers.
"""


@pytest.fixture(params=["embedded", "mongodb"])
def services(
    request: pytest.FixtureRequest, settings: Settings, tmp_path: Path
) -> Iterator[Services]:
    settings = settings.override(embedding_model=str(DIMENSIONS))
    if request.param == "embedded":
        yield from opened(settings)
    else:
        with NxThread(tmp_path / "nx") as server:
            yield from opened(settings.override(mongodb_uri=server.uri))


def opened(settings: Settings) -> Iterator[Services]:
    database = open_database(settings)
    write_older_rows(database)
    database.close()
    with build(settings) as services:
        services.prepare()
        yield services


def write_older_rows(database: Database) -> None:
    embedder = HashingEmbedder(DIMENSIONS)
    for (name, country, year), texts in TEXTS.items():
        for page, text in enumerate(texts, start=1):
            id: Any = ObjectId()
            row = {
                "_id": str(id) if database.embedded else id,
                "document_name": name,
                "country_name": country,
                "year": year,
                "document_title": "Economy",
                "document_page_number": page,
                "data_labels": ["a"],
                "data_description": "",
                "data": text,
                "data_embedding": [
                    float(value) for value in embedder.embed_query(text)
                ],
            }
            outside(database, "report_chatting").insert_one(row)


def ask(services: Services, query: str, **filters: Any) -> Finished:
    scope = services.storage.scopes.resolve(filters)
    question = Question(query, scope, top_k=3, retrieval_method="hybrid", mode="direct")
    *_, last = by_mode(services, question)
    assert isinstance(last, Finished)
    return last


def listed(services: Services) -> dict[str, tuple[Any, ...]]:
    records = services.storage.documents.all()
    return {
        r.id: (
            r.name,
            r.metadata["country_name"],
            r.metadata["year"],
            r.chunks,
            r.status,
        )
        for r in records
    }


def test_the_reports_are_listed_with_their_countries_and_years(
    services: Services,
) -> None:
    assert sorted(listed(services).values()) == [
        ("Kenya 2022", "Kenya", 2022, 1, "ready"),
        ("Kenya 2023", "Kenya", 2023, 2, "ready"),
        ("Peru 2023", "Peru", 2023, 1, "ready"),
    ]
    facets = services.storage.documents.facets(Scope())
    assert facets["country_name"] == [
        {"value": "Kenya", "documents": 2},
        {"value": "Peru", "documents": 1},
    ]
    assert facets["year"] == [
        {"value": 2022, "documents": 1},
        {"value": 2023, "documents": 2},
    ]
    assert (facets["documents"], facets["chunks"]) == (3, 4)


def test_a_scope_finds_them_although_the_years_are_text(services: Services) -> None:
    answer = ask(services, "Nairobi capital", country_name=["KE"], year=[2023]).answer
    assert (answer.scope.documents, answer.scope.chunks) == (1, 2)
    assert {hit.chunk.document_name for hit in answer.trace.hits} == {"Kenya 2023"}
    assert answer.trace.hits[0].chunk.text == "Nairobi is the capital."
    assert answer.trace.hits[0].chunk.metadata == {
        "country_name": "Kenya",
        "year": 2023,
    }
    assert (
        services.runtime.store.count(
            services.storage.scopes.resolve({"year": {"gte": 2023}})
        )
        == 3
    )
    record = services.storage.documents.get(answer.trace.hits[0].chunk.document_id)
    assert record is not None
    assert record.name == "Kenya 2023"


def test_a_report_can_be_deleted(services: Services) -> None:
    ask(services, "coffee")  # the index is loaded
    (kenya,) = (
        id for id, values in listed(services).items() if values[0] == "Kenya 2023"
    )
    assert services.ingesting.ingestor.delete(kenya) is True
    assert "Kenya 2023" not in {values[0] for values in listed(services).values()}
    assert "Kenya 2023" not in {
        hit.chunk.document_name for hit in ask(services, "Nairobi").answer.trace.hits
    }
    assert services.runtime.store.count(Scope()) == 2
    assert services.ingesting.ingestor.delete(kenya) is False


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", ODD_ROWS, ids=[case["name"] for case in ODD_ROWS])
def test_a_field_of_any_type_stops_neither_the_start_nor_a_question(
    case: dict[str, Any], settings: Settings
) -> None:
    database = MongoDatabase(SearchClient(), "test")
    embedder = HashingEmbedder(DIMENSIONS)
    for country, thing in (("Gabon", "manganese"), ("Kenya", "tea")):
        text = f"{country} {thing} exports were worth 1.4 billion dollars."
        about = {
            "document_name": f"{country} 2023",
            "country_name": country,
            "year": 2023,
            "data": text,
        }
        row = {
            "_id": ObjectId(),
            **about,
            "data_embedding": [float(one) for one in embedder.embed_query(text)],
        }
        outside(database, "report_chatting").insert_one(
            {**row, **(case["fields"] if country == "Kenya" else {})}
        )
    app = create_app(
        settings.override(
            embedding_model=str(DIMENSIONS), vector_search="faiss", indexes="create"
        ),
        database=database,
    )
    client = app.test_client()
    for field, values in case["facet"].items():
        assert [
            one["value"]
            for one in client.get(f"/api/facets?field={field}").get_json()[field]
        ] == values
    for filters in ({}, *case["scopes"]):
        answer = client.post(
            "/query", json={"query": "What were tea exports worth?", "filters": filters}
        ).get_json()
        assert "Kenya tea exports" in str(answer)
    assert case.get("citation", {}).items() <= answer["citations"][0].items()
    close_app(app)


def test_they_are_grouped_once_and_again_when_something_changes(
    services: Services,
) -> None:
    assert len(services.storage.documents.all()) == 3
    collection = outside(services.storage.database, "report_chatting")
    peru = collection.find_one({"document_name": "Peru 2023"})
    assert peru is not None
    collection.update_each([(peru["_id"], {"$set": {"country_name": "Chile"}})])
    assert "Peru" in services.storage.documents.values("country_name")
    services.storage.changes.announce(None, PASSAGES)
    until(lambda: "Chile" in services.storage.documents.values("country_name"))
