"""`$rerank`: what is sent, the order that comes of it, and a clear word where the
server lacks it.
"""

import pytest

from chatbot.domain import RequestContext, SearchHit
from chatbot.domain.errors import SearchEngineError
from chatbot.extras.rerankers.rerankers import MongoReranker
from tests.fakes.search_engine import failure
from tests.rows import outside
from tests.stores.atlas_setup import Setup


@pytest.fixture
def setup() -> Setup:
    made = Setup()
    made.engine.reranks = True
    return made


def hits_of(setup: Setup) -> list[SearchHit]:
    """Two of one collection, two of the other."""
    chunks = [*setup.write(2), *setup.write(2, collection="general")]
    return [
        SearchHit(chunk, score=0.9 - place / 10) for place, chunk in enumerate(chunks)
    ]


def test_what_is_sent_is_the_documented_stage(setup: Setup) -> None:
    """mongodb.com/docs/vector-search/query/aggregation-stages/rerank (2026):
    `query.text`, `path` (a text or a list), `numDocsToRerank` (at most 1000), `model`;
    the score is `{$meta: "score"}`; a row that lacks a field fails the stage.
    """
    hits = hits_of(setup)
    setup.engine.asked.clear()
    found = (
        MongoReranker(store=lambda: setup.store)
        .rerank("coffee 1", hits, top_k=3, request=RequestContext())
        .hits
    )
    assert [hit.chunk.text for hit in found] == ["Coffee 1", "Coffee 1", "Coffee 0"]
    assert [name for name, _, _ in setup.engine.asked] == ["reports", "general"]
    assert setup.engine.asked[0][1] == [
        {
            "$match": {
                "_id": {"$in": [hit.chunk.id for hit in hits[:2]]},
                "data": {"$type": "string"},
            }
        },
        {
            "$set": {
                "report_title": {"$ifNull": ["$report_title", ""]},
                "document_title": {"$ifNull": ["$document_title", ""]},
            }
        },
        {
            "$rerank": {
                "query": {"text": "coffee 1"},
                "path": ["data", "report_title", "document_title"],
                "numDocsToRerank": 2,
            }
        },
        {"$project": {"score": {"$meta": "score"}}},
    ]


def test_a_heading_counts(setup: Setup) -> None:
    """Rows of older systems have none, which is no error."""
    hits = hits_of(setup)
    row = {"_id": hits[3].chunk.id}
    outside(setup.database, "general").update_many(
        row, {"$set": {"document_title": "Harvest of the coast"}}
    )
    found = MongoReranker(store=lambda: setup.store).rerank(
        "harvest", hits, top_k=1, request=RequestContext()
    )
    assert [hit.chunk.id for hit in found.hits] == [hits[3].chunk.id]


def test_what_went_meanwhile_comes_last(setup: Setup) -> None:
    hits = hits_of(setup)
    outside(setup.database, "reports").delete_many({})
    found = (
        MongoReranker(store=lambda: setup.store)
        .rerank("coffee", hits, top_k=4, request=RequestContext())
        .hits
    )
    assert found == (*hits[2:], *hits[:2])


@pytest.mark.parametrize(
    ("fault", "said", "helps"),
    [
        (None, "has no \\$rerank", "RERANKER=none"),
        (
            failure("Rate limit exceeded", 8000, "AtlasError"),
            "limits the rate",
            "Wait 60 s",
        ),
    ],
)
def test_a_server_that_lacks_it_or_refuses_is_told_with_what_helps(
    setup: Setup,
    monkeypatch: pytest.MonkeyPatch,
    fault: Exception | None,
    said: str,
    helps: str,
) -> None:
    """Unrecognised where it is not switched on:
    jira.mongodb.org/browse/COMPASS-10636.
    """
    hits = hits_of(setup)
    if fault is None:
        setup.engine.reranks = False
    else:
        monkeypatch.setattr(
            "tests.fakes.mongomock_search.SearchCollection._reranked",
            lambda *_: raising(fault),
        )
    with pytest.raises(SearchEngineError, match=said) as raised:
        MongoReranker(store=lambda: setup.store).rerank(
            "coffee", hits, top_k=3, request=RequestContext()
        )
    assert helps in raised.value.remedy
    with pytest.raises(SearchEngineError, match=said):
        setup.store.relevance("probe", ())


def raising(error: Exception) -> None:
    raise error
