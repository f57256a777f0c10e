"""What PyMongo sends for each shape of search, word for word, as it arrives at the
other end of the socket.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.database.core import Database
from chatbot.database.rows import EMBEDDING_FIELD
from chatbot.domain import Range, Scope
from chatbot.domain.scope import Values
from chatbot.stores.atlas import AtlasStore
from chatbot.stores.atlas.meaning import VectorField
from chatbot.stores.atlas.pipelines import (
    rank_fusion_pipeline,
    text_stage,
    vector_stage,
)
from tests.data import cases
from tests.fakes.wire_faults import Answer, rows
from tests.fakes.wire_proxy import WireProxy

COLLECTION = "reports"
VECTOR = np.asarray([0.5, 0.25], dtype=np.float32)
SCOPE = Scope.of({"country_name": Values(("Kenya", "Chad")), "year": Range(2020, 2023)})
FILTER = {
    "country_name": {"$in": ["Kenya", "Chad"]},
    "year": {"$gte": 2020, "$lte": 2023},
}
CASES = cases(__file__)
QUERY = {"index": "vector_index", "path": "data_embedding", "queryVector": [0.5, 0.25]}
TEXT = {
    "text": {
        "query": "maize harvest",
        "path": ["data", "report_title", "document_title"],
    }
}
FOUND = {
    "_id": "c1",
    "document_id": "d1",
    "document_name": "d1.pdf",
    "data": "Maize.",
    "score": 0.75,
}
CATALOG = {False: 0, True: 0}
"""The passages that the catalogue knows in all, and in a scope with conditions."""
LIMIT = 6
"""One more than is asked for, so that ties at the cut are seen."""


def ranked(score: str) -> list[dict[str, Any]]:
    """How every search ends."""
    return [
        {"$addFields": {"score": {"$meta": score}}},
        {"$sort": {"score": -1, "_id": 1}},
        {"$project": {"data_embedding": 0, "data_embedding_b": 0}},
    ]


@pytest.fixture
def proxy() -> Iterator[WireProxy]:
    with WireProxy() as running:
        for stage in ("$vectorSearch", "$search", "$rankFusion"):
            running.always(stage, rows(FOUND))
        yield running


@pytest.fixture
def database(proxy: WireProxy) -> Iterator[Database]:
    opened = open_database(Settings.from_env({"MONGODB_URI": proxy.uri}))
    yield opened
    opened.close()


@pytest.fixture
def store(database: Database) -> AtlasStore:
    return AtlasStore(
        settings=Settings(
            report_collection=COLLECTION,
            mongodb_collection=COLLECTION,
            mongodb_timeout=4.0,
        ),
        database=database,
        changes=database.changes,
        dimensions=2,
        passages=lambda scope: CATALOG[bool(scope.conditions)],
    )


def pipeline_of(command: dict[str, Any], *, at_most_ms: int) -> list[dict[str, Any]]:
    """The pipeline, once everything around it has been checked."""
    assert list(command)[:2] == ["aggregate", "pipeline"]
    assert set(command) == {
        "aggregate",
        "pipeline",
        "cursor",
        "maxTimeMS",
        "readConcern",
        "lsid",
        "$db",
    }
    assert (command["aggregate"], command["$db"], command["cursor"]) == (
        COLLECTION,
        "report_chat",
        {},
    )
    assert command["readConcern"] == {"level": "local"}
    assert 0 < command["maxTimeMS"] <= at_most_ms
    found: list[dict[str, Any]] = command["pipeline"]
    return found


def only(proxy: WireProxy, stage: str) -> dict[str, Any]:
    (command,) = proxy.sent(stage)
    return command


SEARCHES: dict[str, tuple[int, int, Scope, dict[str, Any]]] = {
    "exact in a small collection": (500, 0, Scope(), {"exact": True}),
    "approximate in a large one": (50_000, 0, Scope(), {"numCandidates": 1000}),
    "approximate inside a scope": (
        50_000,
        12_500,
        SCOPE,
        {"filter": FILTER, "numCandidates": 2000},
    ),
    "exact where the scope keeps little": (
        50_000,
        100,
        SCOPE,
        {"filter": FILTER, "exact": True},
    ),
}


@pytest.mark.parametrize(
    ("total", "kept", "scope", "shape"), SEARCHES.values(), ids=SEARCHES
)
def test_a_vector_search_is_written_as_the_manual_says(
    store: AtlasStore,
    proxy: WireProxy,
    total: int,
    kept: int,
    scope: Scope,
    shape: dict[str, Any],
) -> None:
    """mongodb.com/docs/vector-search/query/aggregation-stages/vector-search-stage:
    `index`, `path`, `queryVector` and `limit` are required, `numCandidates` too unless
    `exact`, beside which it must be omitted; `filter` is MQL over fields that the index
    declares. The order of the fields is seed 003's (R-D3).
    """
    proxy.always("count", Answer({"ok": 1, "n": total}))
    CATALOG.update({False: total, True: kept})
    (match,) = store.vector_search(VECTOR, top_k=LIMIT - 1, scope=scope)
    assert (match.chunk_id, match.score) == ("c1", 0.75)
    pipeline = pipeline_of(only(proxy, "$vectorSearch"), at_most_ms=4000)
    expected = {**QUERY, **shape, "limit": LIMIT}
    assert pipeline == [{"$vectorSearch": expected}, *ranked("vectorSearchScore")]
    assert list(pipeline[0]["$vectorSearch"]) == list(expected)


@pytest.mark.parametrize("scope", [Scope(), SCOPE], ids=["everything", "scope"])
def test_a_keyword_search_is_written_as_the_manual_says(
    store: AtlasStore, proxy: WireProxy, scope: Scope
) -> None:
    """mongodb.com/docs/search/operators-collectors/compound: what is in `filter` does
    not count in the score; `equals` and `in` take token and number fields, `range`
    number fields.
    """
    (match,) = store.keyword_search("maize harvest", top_k=LIMIT - 1, scope=scope)
    assert match.chunk_id == "c1"
    compound = {"must": [TEXT], **({"filter": CASES["clauses"]} if scope else {})}
    assert pipeline_of(only(proxy, "$search"), at_most_ms=4000) == [
        {"$search": {"index": "text_index", "compound": compound}},
        {"$limit": LIMIT},
        *ranked("searchScore"),
    ]


def test_a_rank_fusion_is_written_as_the_manual_says(
    database: Database, proxy: WireProxy
) -> None:
    """mongodb.com/docs/manual/reference/operator/aggregation/rankFusion:
    `input.pipelines` by name, of ranking stages alone, `combination.weights` by the
    same names, `scoreDetails` for `{$meta: "scoreDetails"}`.
    """
    vector = vector_stage(
        index="vector_index",
        field=VectorField(EMBEDDING_FIELD, VECTOR.size),
        meaning=VECTOR,
        scope=SCOPE,
        limit=LIMIT,
        num_candidates=1000,
    )
    text = text_stage(index="text_index", query="maize harvest", scope=SCOPE)
    fused = rank_fusion_pipeline(vector_stage=vector, text_stage=text, limit=LIMIT)
    assert database[COLLECTION].search(fused, max_time_ms=2500) == [FOUND]
    legs = {
        "vector": [
            {
                "$vectorSearch": {
                    **QUERY,
                    "filter": FILTER,
                    "numCandidates": 1000,
                    "limit": LIMIT,
                }
            }
        ],
        "keyword": [
            {
                "$search": {
                    "index": "text_index",
                    "compound": {"must": [TEXT], "filter": CASES["clauses"]},
                }
            },
            {"$limit": LIMIT},
        ],
    }
    weights = {"vector": 0.5, "keyword": 0.5}
    add_fields, *rest = ranked("score")
    assert pipeline_of(only(proxy, "$rankFusion"), at_most_ms=2500) == [
        {
            "$rankFusion": {
                "input": {"pipelines": legs},
                "combination": {"weights": weights},
                "scoreDetails": True,
            }
        },
        {
            "$addFields": {
                **add_fields["$addFields"],
                "details": {"$meta": "scoreDetails"},
            }
        },
        *rest,
    ]


@pytest.mark.parametrize("stage", ["$vectorSearch", "$search", "$listSearchIndexes"])
def test_a_uri_with_read_concern_majority_is_kept_from_what_the_search_engine_answers(
    proxy: WireProxy, stage: str
) -> None:
    """Search stages take `local` only: mongod's search/lite_parsed_search.h and
    document_source_list_search_indexes.h (`onlyReadConcernLocalSupported`). Everything
    else is read as the URI says.
    """
    opened = open_database(
        Settings.from_env({"MONGODB_URI": f"{proxy.uri}&readConcernLevel=majority"})
    )
    collection = opened[COLLECTION]
    if stage == "$listSearchIndexes":
        collection.search_indexes()
    else:
        collection.search([{stage: {}}])
    collection.find_one({"_id": "c1"})
    opened.close()
    assert only(proxy, stage).get("readConcern", {"level": "local"}) == {
        "level": "local"
    }
    assert only(proxy, "find")["readConcern"]["level"] == "majority"


def test_creating_and_watching_a_search_index(
    database: Database, proxy: WireProxy
) -> None:
    definition = {
        "fields": [
            {
                "type": "vector",
                "path": "data_embedding",
                "numDimensions": 2,
                "similarity": "cosine",
            }
        ]
    }
    proxy.always(
        "createSearchIndexes",
        Answer({"ok": 1, "indexesCreated": [{"id": "1", "name": "vector_index"}]}),
    )
    collection = database[COLLECTION]
    collection.create_search_index(
        "vector_index", kind="vectorSearch", definition=definition
    )
    collection.update_search_index("vector_index", definition)
    assert collection.search_indexes("vector_index") == []
    collection.drop_search_index("vector_index")
    (created,), (updated,), (dropped,) = (
        proxy.sent(f"{what}")
        for what in ("createSearchIndexes", "updateSearchIndex", "dropSearchIndex")
    )
    assert created["indexes"] == [
        {"name": "vector_index", "type": "vectorSearch", "definition": definition}
    ]
    assert (updated["name"], updated["definition"]) == ("vector_index", definition)
    assert dropped["name"] == "vector_index"
    assert only(proxy, "$listSearchIndexes")["pipeline"] == [
        {"$listSearchIndexes": {"name": "vector_index"}}
    ]
