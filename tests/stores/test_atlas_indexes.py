"""Search indexes by code: create, wait, change, fail, drop; and what a server can
do.
"""

from pathlib import Path
from typing import Any

import pytest

from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.database.ordinary_indexes import create_missing
from chatbot.domain.errors import DatabaseError, SearchEngineError, SettingsError
from chatbot.stores import choose_engine
from chatbot.stores.atlas.indexes import (
    Polling,
    drop_indexes,
    ensure_indexes,
    index_plans,
    index_status,
    text_index_definition,
    vector_index_definition,
)
from chatbot.stores.atlas.meaning import VectorField
from chatbot.stores.atlas.pipelines import PROBE_INDEX, probe_search
from chatbot.stores.chunks import ordinary_indexes
from tests.data import cases
from tests.fakes.search_engine import failure, location
from tests.stores.atlas_setup import SETTINGS, Clock, Setup

CASES = cases(__file__)
SLOTS = [VectorField("data_embedding", 1536), VectorField("data_embedding_b", 8)]


@pytest.fixture
def setup() -> Setup:
    return Setup(indexed=False)


def polling(clock: Clock, **options: Any) -> Polling:
    return Polling(clock=clock, sleep=clock.sleep, **options)


def every_index(setup: Setup) -> list[tuple[str, str]]:
    return [
        (collection, name)
        for collection, found in setup.engine.indexes.items()
        for name in found
    ]


def test_one_vector_index_carries_both_slots_and_every_filter_field_once() -> None:
    """mongot's UserVectorIndexDefinition.java refuses fields that share a path, and no
    others.
    """
    shared = {"type": "vector", "similarity": "cosine", "quantization": "scalar"}
    fields = ("country_name", "year", "document_id")
    assert vector_index_definition(SLOTS, fields, "scalar") == {
        "fields": [
            {**shared, "path": "data_embedding", "numDimensions": 1536},
            {**shared, "path": "data_embedding_b", "numDimensions": 8},
            *({"type": "filter", "path": name} for name in fields),
        ]
    }


def test_text_index_definition() -> None:
    text = {"type": "string", "analyzer": "lucene.french"}
    assert text_index_definition(("year",), "french") == {
        "mappings": {
            "dynamic": False,
            "fields": {
                **dict.fromkeys(("data", "report_title", "document_title"), text),
                "year": [{"type": "token"}, {"type": "number"}],
                "document_id": {"type": "token"},
            },
        }
    }


@pytest.mark.parametrize(
    ("changed", "vectors", "texts"),
    CASES["plans put what is needed most first"],
    ids=["two", "one", "more"],
)
def test_plans_put_what_is_needed_most_first(
    changed: Any, vectors: tuple[str, ...], texts: tuple[str, ...]
) -> None:
    plans = index_plans(Settings(mongodb_uri="mongodb://localhost", **changed), {"": 4})
    assert [(plan.collection, plan.kind, plan.optional) for plan in plans] == [
        *((name, "vectorSearch", False) for name in vectors),
        *((name, "search", True) for name in texts),
    ]


def test_indexes_are_created_once_told_and_dropped(setup: Setup) -> None:
    target = setup.plans()[0]
    missing = index_status(setup.database, target)
    assert (missing.state, missing.queryable, missing.definition) == (
        "DOES_NOT_EXIST",
        False,
        {},
    )
    statuses = ensure_indexes(setup.database, setup.plans())
    assert [(status.state, status.queryable) for status in statuses] == [
        ("READY", True)
    ] * 4
    before = {key: setup.engine.index(*key) for key in every_index(setup)}
    assert len(before) == 4
    ensure_indexes(setup.database, setup.plans())
    assert all(setup.engine.index(*key) is index for key, index in before.items())
    ready = index_status(setup.database, target)
    assert (ready.collection, ready.name, ready.kind) == (
        "general",
        "vector_index",
        "vectorSearch",
    )
    assert (ready.state, ready.queryable, ready.definition) == (
        "READY",
        True,
        target.definition,
    )
    names = [
        "general.vector_index",
        "reports.vector_index",
        "reports.text_index",
        "general.text_index",
    ]
    assert drop_indexes(setup.database, setup.plans()) == names
    assert every_index(setup) == []
    assert drop_indexes(setup.database, setup.plans()) == []


def test_creation_waits_until_queryable(setup: Setup) -> None:
    setup.engine.new_status = "PENDING"

    def build(now: float) -> None:
        for key in every_index(setup):
            setup.engine.index(*key).become("BUILDING" if now < 1003 else "READY")

    clock = Clock(build)
    statuses = ensure_indexes(
        setup.database, setup.plans(), polling(clock, interval=1.0)
    )
    assert all(status.queryable for status in statuses)
    assert clock.slept == [1.0, 1.0, 1.0]  # all are built side by side


def test_a_failed_index_ends_the_wait_at_once(setup: Setup) -> None:
    setup.engine.new_status = "PENDING"
    clock = Clock(
        lambda now: setup.engine.index("general", "vector_index").become(
            "FAILED", "out of disk"
        )
    )
    with pytest.raises(
        SearchEngineError,
        match=r"'vector_index' of 'general' has failed \(out of disk\)",
    ):
        ensure_indexes(setup.database, setup.plans(), polling(clock))
    assert clock.slept == [1.0]


@pytest.mark.parametrize(
    "state", ["BUILDING", "DOES_NOT_EXIST"], ids=["slow", "accepts and forgets"]
)
def test_the_time_is_up_with_advice(
    setup: Setup, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    setup.engine.new_status = "BUILDING"
    if state == "DOES_NOT_EXIST":
        monkeypatch.setattr(
            "chatbot.database.core.Collection.search_indexes",
            lambda self, name=None: [],
        )
    clock = Clock()
    with pytest.raises(
        SearchEngineError, match=rf"still {state} after 20 seconds.*index status"
    ) as caught:
        ensure_indexes(
            setup.database, setup.plans(), polling(clock, timeout=20.0, interval=5.0)
        )
    assert caught.value.retry_after == 30
    assert clock.slept == [5.0] * 4


def test_no_room_for_a_needed_index_is_an_error(setup: Setup) -> None:
    setup.engine.room = 1
    with pytest.raises(
        SearchEngineError,
        match="no room for the search index 'vector_index' of 'reports'",
    ):
        ensure_indexes(setup.database, setup.plans())


def test_another_process_may_be_faster(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure_indexes(setup.database, setup.plans())
    listed = type(setup.database["x"]).search_indexes
    answers = iter([True])

    def first_time_nothing(self: Any, name: str | None = None) -> list[dict[str, Any]]:
        return [] if next(answers, False) else listed(self, name)

    monkeypatch.setattr(
        "chatbot.database.core.Collection.search_indexes", first_time_nothing
    )
    changed = setup.plans(fields=("country_name", "year", "type"))[:1]
    (status,) = ensure_indexes(setup.database, changed)
    assert {"type": "filter", "path": "type"} in status.definition["fields"]


@pytest.mark.parametrize(
    "changed",
    [
        {"fields": ("country_name", "year", "type")},
        {"dimensions": 8},
        {"quantization": "scalar"},
    ],
    ids=["a field more", "other dimensions", "quantisation"],
)
def test_a_changed_definition_updates_the_index(
    setup: Setup, changed: dict[str, Any]
) -> None:
    ensure_indexes(setup.database, setup.plans())
    plans = setup.plans(**changed)
    ensure_indexes(setup.database, plans)
    assert setup.engine.index("reports", "vector_index").serving == plans[1].definition


def test_another_language_updates_the_text_index(setup: Setup) -> None:
    ensure_indexes(setup.database, setup.plans())
    index = setup.engine.index("reports", "text_index")
    index.latest = text_index_definition(("country_name", "year"), "german")
    ensure_indexes(setup.database, setup.plans())
    assert index.serving is not None
    assert index.serving["mappings"]["fields"]["data"]["analyzer"] == "lucene.english"


def test_an_update_waits_for_the_new_definition_while_the_old_one_serves(
    setup: Setup,
) -> None:
    ensure_indexes(setup.database, setup.plans())
    setup.engine.new_status = "BUILDING"

    def build(now: float) -> None:
        for name in ("general", "reports"):
            index = setup.engine.index(name, "vector_index")
            assert index.queryable
            assert index.serving is not None
            assert index.serving["fields"][0]["numDimensions"] == 4
            if now >= 1002:
                index.become("READY")

    clock = Clock(build)
    statuses = ensure_indexes(
        setup.database, setup.plans(dimensions=8)[:2], polling(clock)
    )
    assert len(clock.slept) == 2
    assert [status.definition["fields"][0]["numDimensions"] for status in statuses] == [
        8,
        8,
    ]


def test_defaults_a_server_adds_and_fields_an_operator_added_are_no_change(
    setup: Setup,
) -> None:
    ensure_indexes(setup.database, setup.plans())
    index = setup.engine.index("reports", "vector_index")
    vector, *filters = index.latest["fields"]
    del vector["quantization"]
    vector["hnswOptions"] = {"maxEdges": 16}
    index.latest = {
        "fields": [vector, *filters, {"type": "filter", "path": "mine"}],
        "numPartitions": 1,
    }
    before = index.latest
    ensure_indexes(setup.database, setup.plans())
    assert index.latest is before


def test_an_update_keeps_what_else_the_operator_has_set(setup: Setup) -> None:
    """Options of the vector index and its fields:
    mongodb.com/docs/vector-search/indexes/vector-search-type.
    """
    ensure_indexes(setup.database, setup.plans())
    vectors, texts = (
        setup.engine.index("reports", name) for name in ("vector_index", "text_index")
    )
    hnsw, own = (
        {"hnswOptions": {"maxEdges": 64, "numEdgeCandidates": 400}},
        {"type": "vector", "path": "own"},
    )
    vectors.latest["fields"][0] |= hnsw
    vectors.latest |= {"numPartitions": 2, "storedSource": {"include": ["year"]}}
    vectors.latest["fields"].append(
        {**own, "numDimensions": 3, "similarity": "dotProduct"}
    )
    multi = {
        "type": "string",
        "analyzer": "lucene.english",
        "multi": {"raw": {"type": "string"}},
    }
    texts.latest["mappings"]["fields"] |= {
        "data": multi,
        "own": {"type": "autocomplete"},
    }
    texts.latest |= {"analyzer": "lucene.french", "synonyms": []}
    ensure_indexes(
        setup.database,
        setup.plans(fields=("country_name", "year", "type"), quantization="scalar"),
    )
    first, *others = vectors.latest["fields"]
    assert (first["hnswOptions"], first["quantization"]) == (
        hnsw["hnswOptions"],
        "scalar",
    )
    assert [field["path"] for field in others] == [
        "country_name",
        "year",
        "type",
        "document_id",
        "own",
    ]
    assert (vectors.latest["numPartitions"], vectors.latest["storedSource"]) == (
        2,
        {"include": ["year"]},
    )
    fields = texts.latest["mappings"]["fields"]
    assert (fields["data"], fields["own"]["type"], "type" in fields) == (
        multi,
        "autocomplete",
        True,
    )
    assert texts.latest["analyzer"] == "lucene.french"


def test_options_of_the_settings_are_declared_and_change_an_index(setup: Setup) -> None:
    ensure_indexes(setup.database, setup.plans())
    options = '{"hnswOptions": {"maxEdges": 32}, "numPartitions": 2}'
    for _ in range(2):
        ensure_indexes(setup.database, setup.plans(index_options=options))
    latest = setup.engine.index("reports", "vector_index").latest
    assert (latest["fields"][0]["hnswOptions"], latest["numPartitions"]) == (
        {"maxEdges": 32},
        2,
    )
    with pytest.raises(
        SettingsError,
        match=r"INDEX_OPTIONS.*hnswOptions, indexingMethod, numPartitions",
    ):
        Settings.from_env({"INDEX_OPTIONS": '{"hnsw": 1}'})


@pytest.mark.parametrize("community", [True, False])
def test_state_kind_and_message_are_read_from_either_listing(
    setup: Setup, community: bool
) -> None:
    """mongot's ListSearchIndexesResponseDefinition.java against the documentation's
    example of Atlas.
    """
    ensure_indexes(setup.database, setup.plans())
    setup.engine.community = community
    for plan, kind in zip(setup.plans()[1:3], ("vectorSearch", "search"), strict=True):
        setup.engine.index("reports", plan.index).become("FAILED", "disk full")
        status = index_status(setup.database, plan)
        assert (status.kind, status.state, status.queryable, status.message) == (
            kind,
            "FAILED",
            False,
            "disk full",
        )
    index = setup.engine.index("general", "vector_index")
    index.latest = vector_index_definition([VectorField("data_embedding", 8)], ())
    index.become("BUILDING", "waiting for memory")
    status = index_status(setup.database, setup.plans()[0])
    assert (status.queryable, status.message) == (True, "waiting for memory")


def test_the_free_tier_has_room_for_the_vectors_and_then_the_reports_texts(
    setup: Setup,
) -> None:
    setup.engine.room = 3
    two = ensure_indexes(setup.database, setup.plans())
    assert [(status.collection, status.name, status.state) for status in two] == [
        ("general", "vector_index", "READY"),
        ("reports", "vector_index", "READY"),
        ("reports", "text_index", "READY"),
        ("general", "text_index", "NO_ROOM"),
    ]
    drop_indexes(setup.database, setup.plans())
    settings = SETTINGS.override(
        collections={"news": ""}, mongodb_uri="mongodb://localhost"
    )
    create_missing(setup.database, ordinary_indexes(["news"], ()))
    three = ensure_indexes(setup.database, index_plans(settings, {"": 4}))
    assert [status.state for status in three] == [*["READY"] * 3, *["NO_ROOM"] * 3]


def test_an_index_of_another_type_is_not_overwritten(setup: Setup) -> None:
    setup.database["general"].create_search_index(
        "vector_index", kind="search", definition={"mappings": {}}
    )
    with pytest.raises(
        SearchEngineError, match=r"of the type 'search', not 'vectorSearch'.*index drop"
    ):
        ensure_indexes(setup.database, setup.plans())


def test_an_index_that_is_being_deleted_is_waited_for(setup: Setup) -> None:
    ensure_indexes(setup.database, setup.plans())
    setup.engine.index("general", "vector_index").become("DELETING")

    def vanish(now: float) -> None:
        del setup.engine.indexes["general"]["vector_index"]

    clock = Clock(vanish)
    ensure_indexes(setup.database, setup.plans(), polling(clock))
    assert clock.slept == [1.0]
    assert setup.engine.index("general", "vector_index").status == "READY"


def test_ordinary_indexes_create_the_collection(setup: Setup) -> None:
    create_missing(setup.database, ordinary_indexes(["fresh"], ("year",)))
    create_missing(setup.database, ordinary_indexes(["fresh"], ("year",)))
    raw = setup.client["test"]["fresh"]
    assert {tuple(index["key"]) for index in raw.index_information().values()} == {
        (("_id", 1),),
        (("document_id", 1), ("ordinal", 1)),
        (("year", 1),),
    }
    assert "fresh" in setup.client["test"].list_collection_names()


def test_an_index_on_a_collection_that_does_not_exist(setup: Setup) -> None:
    with pytest.raises(DatabaseError, match="does not exist"):
        setup.database["nowhere"].create_search_index(
            "i", kind="search", definition={"mappings": {}}
        )


def test_without_a_search_engine_every_command_says_so(setup: Setup) -> None:
    setup.engine.enabled = False
    for command in (
        ensure_indexes,
        drop_indexes,
        lambda database, plans: index_status(database, plans[0]),
    ):
        with pytest.raises(SearchEngineError, match="has no search engine"):
            command(setup.database, setup.plans())


def test_the_embedded_database_has_no_search_indexes(tmp_path: Path) -> None:
    database = open_database(Settings.from_env({"DATA_DIR": str(tmp_path)}))
    collection = database["general"]
    for call in (
        collection.search_indexes,
        lambda: collection.create_search_index("i", kind="search", definition={}),
        lambda: collection.update_search_index("i", {}),
        lambda: collection.drop_search_index("i"),
    ):
        with pytest.raises(DatabaseError, match=r"no search indexes.*MONGODB_URI"):
            call()
    database.close()


@pytest.mark.parametrize(("enabled", "fusion", "expected", "detail"), CASES["probe"])
def test_a_probe_says_what_the_search_engine_can_do(
    setup: Setup, enabled: bool, fusion: bool, expected: list[bool], detail: str
) -> None:
    setup.engine.enabled, setup.engine.rank_fusion = enabled, fusion
    probed = probe_search(setup.database, "general")
    assert [probed.vector, probed.rank_fusion] == expected
    assert probed.detail == detail or (not enabled and probed.detail.startswith(detail))
    assert setup.engine.asked[0][1][0]["$vectorSearch"]["index"] == PROBE_INDEX
    assert len(setup.engine.asked) == (3 if enabled else 1)


@pytest.mark.parametrize(
    "error",
    [
        location(40324, "Unrecognized pipeline stage name: '$vectorSearch'"),
        failure("Aggregation stage '$vectorSearch' not supported", 1, "InternalError"),
    ],
    ids=str,
)
def test_probe_of_old_and_other_servers(setup: Setup, error: Exception) -> None:
    setup.engine.failure = error  # type: ignore[assignment]
    assert probe_search(setup.database, "general").vector is False


def test_probe_of_an_overloaded_engine_finds_it_and_with_wrong_credentials_nothing(
    setup: Setup,
) -> None:
    setup.engine.failure = failure("overloaded", 489, "Overloaded")
    assert probe_search(setup.database, "general").vector is True
    setup.engine.failure = failure("not authorized", 13, "Unauthorized")
    with pytest.raises(DatabaseError, match="lacks a permission"):
        probe_search(setup.database, "general")


def test_an_engine_that_is_away_at_the_start_is_waited_for(setup: Setup) -> None:
    settings = SETTINGS.override(mongodb_uri="mongodb://localhost")
    setup.engine.failure = failure(
        "Error connecting to localhost:28000 :: caused by :: refused",
        6,
        "HostUnreachable",
    )
    with pytest.raises(
        SearchEngineError, match="cannot reach its search engine"
    ) as caught:
        choose_engine(settings, setup.database)
    assert caught.value.retry_after == 5
    setup.engine.failure = None
    assert choose_engine(settings, setup.database).store == "atlas"
    setup.engine.enabled = False
    assert choose_engine(settings, setup.database).store == "faiss"
