"""AtlasStore: what it sends, what it makes of the answers, and collections written by
older systems.
"""

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from bson import ObjectId

from chatbot.database.core import Collection, Json
from chatbot.domain import Chunk, Scope, Vector
from chatbot.domain.errors import EmbedderMismatchError, SearchEngineError
from chatbot.domain.scope import Range, Values
from chatbot.stores.atlas.indexes import drop_indexes, ensure_indexes, index_plans
from chatbot.stores.atlas.pipelines import text_stage
from tests.data import cases
from tests.fakes.search_engine import failure
from tests.rows import outside
from tests.stores.atlas_setup import COLLECTIONS, DIMENSIONS, SETTINGS, Setup

CASES = cases(__file__)
QUERY = np.asarray([1, 0, 0, 0], dtype=np.float32)
KENYA = Scope.of({"country_name": Values(("Kenya",))})


@pytest.fixture
def setup() -> Setup:
    return Setup()


def pretend(setup: Setup, total: int, matching: int) -> None:
    """Let each collection pretend to hold ``total`` passages, and the catalogue so many
    of them in KENYA.
    """
    setup.engine.rows = total
    setup.catalog |= {Scope(): total, KENYA: matching}


def sent(setup: Setup, place: int = -1) -> dict[str, Any]:
    stage: dict[str, Any] = setup.engine.asked[place][1][0]["$vectorSearch"]
    return stage


@pytest.mark.parametrize(
    ("total", "matching", "exact"),
    [
        (9_999, 9_999, True),
        (10_000, 9_999, True),
        (10_000, 10_000, False),
        (1_000_000, 0, True),
        (1_000_000, 9_999, True),
        (1_000_000, 10_000, False),
        (100_000_000, 4_000_000, False),
    ],
)
def test_an_exact_search_compares_fewer_than_ten_thousand_passages(
    setup: Setup, total: int, matching: int, exact: bool
) -> None:
    pretend(setup, total, matching)
    setup.store.vector_search(QUERY, top_k=5, scope=KENYA)
    assert ("exact" in sent(setup, 0)) is exact
    assert ("numCandidates" in sent(setup, 0)) is not exact


def test_rows_that_the_catalogue_does_not_know_may_all_be_inside_a_scope(
    setup: Setup,
) -> None:
    pretend(setup, 1_000_000, 100)
    setup.catalog[Scope()] = 995_000
    setup.store.vector_search(QUERY, top_k=5, scope=KENYA)
    assert "exact" in sent(setup, 0)
    setup.engine.asked.clear()
    setup.catalog[Scope()] = 900_000
    setup.store.vector_search(QUERY, top_k=5, scope=KENYA)
    assert sent(setup, 0)["numCandidates"] == 10_000


def test_candidates_rise_with_selectivity_and_with_top_k(setup: Setup) -> None:
    pretend(setup, 100_000, 25_000)
    for top_k, scope, expected in (
        (5, KENYA, 2_000),
        (99, Scope(), 2_000),
        (20_000, Scope(), 10_000),
    ):
        setup.engine.asked.clear()
        setup.store.vector_search(QUERY, top_k=top_k, scope=scope)
        assert sent(setup, 0)["numCandidates"] == expected
        assert sent(setup, 0)["limit"] <= 10_000


def test_no_search_counts_rows_one_by_one(setup: Setup) -> None:
    setup.write(12, country_name="Kenya")
    pretend(setup, 1_000_000, 25_000)
    for scope in (Scope(), KENYA):
        setup.store.vector_search(QUERY, top_k=50, scope=scope)
        setup.store.hybrid_search("coffee", QUERY, top_k=50, scope=scope)
        setup.engine.rows = 900_000  # some were deleted, so the engine lags behind
        setup.clock.now += 31
    assert setup.engine.counted == []


def test_retiring_a_large_report_takes_few_operations_and_again_none(
    setup: Setup,
) -> None:
    chunks = setup.write(450)
    keep = {chunk.id for chunk in chunks[:10]}
    setup.engine.operations.clear()
    waiting = setup.store.retire("reports", keep=keep)
    assert len(waiting) == 440
    assert setup.engine.operations == [1, 1, 1]
    assert setup.store.retire("reports", keep=keep) == waiting
    assert setup.engine.operations == [1, 1, 1]
    shown = setup.store.vector_search(QUERY, top_k=50, scope=Scope())
    assert {match.chunk_id for match in shown} == keep


def test_only_a_tie_at_the_cut_asks_again(setup: Setup) -> None:
    setup.write(12)  # three chunks along each axis
    setup.engine.asked.clear()
    assert len(setup.store.vector_search(QUERY, top_k=3, scope=Scope())) == 3
    assert [sent(setup, place)["limit"] for place in range(2)] == [4, 4]
    setup.engine.asked.clear()
    found = setup.store.vector_search(QUERY, top_k=2, scope=Scope())
    assert [match.chunk_id for match in found] == ["reports-v-00000", "reports-v-00004"]
    assert [sent(setup, place)["limit"] for place in range(3)] == [3, 3, 6]


def test_nothing_is_sent_for_an_empty_query_or_no_results_wanted(setup: Setup) -> None:
    assert setup.store.keyword_search("  ", top_k=5, scope=Scope()) == []
    assert setup.store.keyword_search("coffee", top_k=0, scope=Scope()) == []
    assert setup.store.vector_search(QUERY, top_k=0, scope=Scope()) == []
    assert setup.engine.asked == []


def test_the_slot_names_the_path_and_the_settings_the_time_limit(setup: Setup) -> None:
    store = setup.open_store(slot="_b", mongodb_timeout=0.7)
    ensure_indexes(
        setup.database, index_plans(SETTINGS, {"": DIMENSIONS, "_b": DIMENSIONS})
    )
    store.vector_search(QUERY, top_k=1, scope=Scope())
    store.keyword_search("coffee", top_k=1, scope=Scope())
    stage = setup.engine.asked[0][1][0]["$vectorSearch"]
    assert (stage["index"], stage["path"]) == ("vector_index", "data_embedding_b")
    assert setup.engine.asked[-1][1][0]["$search"]["index"] == "text_index"
    assert {options["maxTimeMS"] for _, _, options in setup.engine.asked} == {700}


@pytest.mark.parametrize(
    "bad", [[0, 0, 0, 0], [float("nan"), 0, 0, 1], [float("inf"), 0, 0, 0], [1, 0, 0]]
)
def test_a_vector_without_direction_or_of_other_dimensions_is_not_sent(
    setup: Setup, bad: list[float]
) -> None:
    expected: tuple[type[Exception], str] = (
        SearchEngineError,
        "all zeros or not a number",
    )
    if len(bad) != DIMENSIONS:
        expected = (
            EmbedderMismatchError,
            r"has 3 dimensions.*for 4.*embed the reports again",
        )
    for call in (
        lambda vector: setup.store.vector_search(vector, top_k=5, scope=Scope()),
        lambda vector: setup.store.vector_scores(vector, ["a"]),
    ):
        with pytest.raises(expected[0], match=expected[1]):
            call(np.asarray(bad, dtype=np.float32))
    assert setup.engine.asked == []


def test_object_ids_arrays_and_string_years(setup: Setup) -> None:
    old = ObjectId("65f000000000000000000001")
    row = {
        "_id": old,
        "data": "Coffee",
        "data_embedding": [1.0, 0.0, 0.0, 0.0],
        "year": "2023",
        "document_name": "o",
    }
    outside(setup.database, "general").insert_one(row)
    (match,) = setup.store.vector_search(QUERY, top_k=5, scope=Scope())
    assert match.chunk_id == str(old)
    assert match.score == pytest.approx(1.0)
    assert match.chunk is not None
    assert match.chunk.id == str(old)
    assert [chunk.text for chunk in setup.store.get([str(old)])] == ["Coffee"]
    assert setup.store.vector_scores(QUERY, [str(old)]) == {
        str(old): pytest.approx(1.0)
    }
    assert setup.store.surroundings([match.chunk], margin=100) == [[match.chunk]]
    for condition in (Values((2023,)), Range(2022, None), Values((2023,), True)):
        of_year = setup.store.vector_search(
            QUERY, top_k=5, scope=Scope.of({"year": condition})
        )
        assert [one.chunk_id for one in of_year] == [str(old)]
    other = Scope.of({"year": Values((2022,))})
    assert setup.store.vector_search(QUERY, top_k=5, scope=other) == []
    outside(setup.database, "general").insert_one(
        {"_id": "65f000000000000000000002", "data": "Tea", "data_embedding": [0.0] * 4}
    )
    assert [chunk.text for chunk in setup.store.get(["65f000000000000000000002"])] == [
        "Tea"
    ]
    assert setup.store.vector_scores(QUERY, ["65f000000000000000000002"]) == {}


def test_an_empty_collection_needs_no_index() -> None:
    setup = Setup(indexed=False)
    assert setup.store.vector_search(QUERY, top_k=5, scope=Scope()) == []
    assert setup.store.keyword_search("coffee", top_k=5, scope=Scope()) == []
    assert "MongoDB" in setup.store.ping()


def test_a_missing_index_is_an_error_that_names_it_and_the_others() -> None:
    setup = Setup()
    setup.write()
    drop_indexes(
        setup.database, [plan for plan in setup.plans() if plan.kind == "vectorSearch"]
    )
    missing = r"'reports' has no search index 'vector_index'.*text_index"
    with pytest.raises(SearchEngineError, match=missing):
        setup.store.vector_search(QUERY, top_k=5, scope=Scope())
    with pytest.raises(SearchEngineError, match=missing):
        setup.store.hybrid_search("coffee", QUERY, top_k=5, scope=Scope())
    with pytest.raises(SearchEngineError, match="'vector_index'"):
        setup.store.ping()
    drop_indexes(setup.database, setup.plans())
    with pytest.raises(
        SearchEngineError, match=r"no search index 'text_index'.*index create"
    ):
        setup.store.keyword_search("coffee", top_k=5, scope=Scope())


def test_a_failed_index_is_reported_with_the_servers_words(setup: Setup) -> None:
    setup.write()
    setup.engine.silent = True
    setup.engine.index("reports", "vector_index").become("FAILED", "disk full")
    with pytest.raises(
        SearchEngineError, match=r"has failed \(disk full\).*index drop"
    ) as caught:
        setup.store.vector_search(QUERY, top_k=5, scope=Scope())
    assert caught.value.retry_after is None


def test_an_index_found_queryable_is_trusted_for_a_minute(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.write(country_name="Chad")
    looks: list[str] = []

    def look(self: Collection, name: str | None = None) -> list[Json]:
        looks.append(self.name)
        return [{"queryable": True, "status": "READY"}]

    monkeypatch.setattr("chatbot.database.core.Collection.search_indexes", look)
    for _ in range(3):
        assert setup.store.vector_search(QUERY, top_k=5, scope=KENYA) == []
    assert looks == ["reports"]
    setup.clock.now += 61
    setup.store.vector_search(QUERY, top_k=5, scope=KENYA)
    assert looks == ["reports", "reports"]


def test_a_collection_without_room_for_a_text_index_is_skipped_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    setup = Setup(indexed=False)
    setup.engine.room = 3
    ensure_indexes(setup.database, setup.plans())
    setup.write(collection="reports")
    setup.write(collection="general")
    with caplog.at_level(logging.WARNING):
        found = setup.store.keyword_search("coffee", top_k=10, scope=Scope())
        setup.store.keyword_search("coffee", top_k=10, scope=Scope())
    assert {match.chunk.collection for match in found if match.chunk} == {"reports"}
    assert [record.message for record in caplog.records] == [
        "The collection 'general' has no search index 'text_index', so nothing can "
        "be found in it (its search indexes: "
        "vector_index). Create it: python -m chatbot index create."
    ]
    assert len(setup.store.vector_search(QUERY, top_k=10, scope=Scope())) == 6
    assert (
        setup.store.keyword_search(
            "coffee", top_k=10, scope=Scope().within(["general"])
        )
        == []
    )


def test_only_the_collections_of_the_scope_are_asked_and_no_filter_is_sent(
    setup: Setup,
) -> None:
    """R-D3: a filter that is empty is left out."""
    setup.write(collection="reports")
    setup.write(collection="general")
    setup.engine.asked.clear()
    scope = Scope().within(["general"])
    setup.store.vector_search(QUERY, top_k=2, scope=scope)
    setup.store.keyword_search("coffee", top_k=2, scope=scope)
    assert {name for name, _, _ in setup.engine.asked} == {"general"}
    assert "filter" not in setup.engine.asked[0][1][0]["$vectorSearch"]
    assert "filter" not in setup.engine.asked[-1][1][0]["$search"]["compound"]


class TestHybridSearch:
    """`$rankFusion` as transport: both lists in one round trip, the same as from two
    searches.
    """

    QUERY, SCOPE = "maize harvest", Scope.of({"country_name": Values(("Kenya",))})

    def filled(self, setup: Setup) -> Vector:
        chunks = [
            Chunk(
                f"c{number}",
                "d",
                "n",
                "t",
                "maize " + "harvest " * number,
                metadata={
                    "country_name": "Kenya" if number % 3 else "Mali",
                    "year": 2023,
                },
                collection=COLLECTIONS[number % 2],
            )
            for number in range(12)
        ]
        vectors = (
            np.random.default_rng(0).normal(size=(12, DIMENSIONS)).astype(np.float32)
        )
        setup.store.upsert(chunks, vectors)
        return np.asarray([0.5, 0.5, 0.5, 0.5], dtype=np.float32)

    @pytest.mark.parametrize("fused", [True, False])
    @pytest.mark.parametrize("scope", [Scope(), SCOPE, Scope().within(["reports"])])
    def test_both_lists_are_those_of_two_searches(
        self, setup: Setup, scope: Scope, fused: bool
    ) -> None:
        vector = self.filled(setup)
        setup.engine.rank_fusion = fused
        for _ in range(2):  # at first the server is asked what it has
            setup.engine.asked.clear()
            near, worded = setup.store.hybrid_search(
                self.QUERY, vector, top_k=4, scope=scope
            )
        assert len(setup.engine.asked) == (1 if scope.collections else 2) or not fused
        assert near == setup.store.vector_search(vector, top_k=4, scope=scope)
        assert worded == setup.store.keyword_search(self.QUERY, top_k=4, scope=scope)
        assert len(near) == len(worded) == 4

    @pytest.mark.parametrize("fused", [True, False])
    def test_the_pipelines_that_are_shown_are_those_that_are_sent(
        self, setup: Setup, fused: bool
    ) -> None:
        """Without the probe, and of this thread alone."""
        vector = self.filled(setup)
        setup.engine.rank_fusion = fused
        store = setup.store
        with store.traced() as outer:
            with store.traced() as shown:
                store.hybrid_search(self.QUERY, vector, top_k=4, scope=Scope())
                with ThreadPoolExecutor() as pool:
                    pool.submit(
                        store.vector_search, vector, top_k=4, scope=Scope()
                    ).result()
            assert outer == shown
        asked = [
            (collection, pipeline) for collection, pipeline, _ in setup.engine.asked
        ]
        sent = asked[-len(shown) - len(COLLECTIONS) : -len(COLLECTIONS)]
        assert sorted(shown, key=repr) == sorted(
            sent, key=repr
        )  # of both collections at once
        assert len(shown) == len(COLLECTIONS) * (1 if fused else 2)

    @pytest.mark.parametrize(
        ("code", "message"), CASES["a refusal of the whole pipeline means two searches"]
    )
    @pytest.mark.parametrize("later", [False, True], ids=["at the probe", "later"])
    def test_a_refusal_of_the_whole_pipeline_means_two_searches(
        self,
        setup: Setup,
        caplog: pytest.LogCaptureFixture,
        code: int,
        message: str,
        later: bool,
    ) -> None:
        """mongod gates `scoreDetails` by a feature flag of its own: jstests of
        $rankFusion tagged with it.
        """
        vector = self.filled(setup)
        expected = setup.store.hybrid_search(
            self.QUERY, vector, top_k=4, scope=self.SCOPE
        )
        store = setup.store if later else setup.open_store()
        setup.engine.fusion_failure = failure(message, code, "QueryFeatureNotAllowed")
        with caplog.at_level(logging.WARNING):
            for _ in range(3):
                assert (
                    store.hybrid_search(self.QUERY, vector, top_k=4, scope=self.SCOPE)
                    == expected
                )
        assert [message in record.message for record in caplog.records] == [
            True
        ] * later

    @pytest.mark.parametrize("state", ["DOES_NOT_EXIST", "BUILDING", "FAILED"])
    @pytest.mark.parametrize("silent", [False, True])
    def test_a_text_index_that_cannot_answer_fails_no_question_and_is_told(
        self, setup: Setup, caplog: pytest.LogCaptureFixture, state: str, silent: bool
    ) -> None:
        vector = self.filled(setup)
        before = setup.store.hybrid_search(self.QUERY, vector, top_k=4, scope=Scope())
        setup.engine.silent = silent
        if state == "DOES_NOT_EXIST":
            drop_indexes(
                setup.database,
                [plan for plan in setup.plans() if plan.kind == "search"],
            )
        else:
            for name in COLLECTIONS:
                index = setup.engine.index(name, "text_index")
                index.serving = None
                index.become(state, "disk full")
        with caplog.at_level(logging.WARNING):
            near, worded = setup.store.hybrid_search(
                self.QUERY, vector, top_k=4, scope=Scope()
            )
        assert (near, worded) == (before[0], [])
        assert setup.store.without_keywords(Scope()) == list(COLLECTIONS)
        assert sum(
            "'text_index'" in record.message for record in caplog.records
        ) == len(COLLECTIONS)
        assert "keywords are not searched in general, reports" in setup.store.ping()
        ensure_indexes(
            setup.database, setup.plans()
        ) if state == "DOES_NOT_EXIST" else [
            setup.engine.index(name, "text_index").become("READY")
            for name in COLLECTIONS
        ]
        setup.clock.now += 6
        assert (
            setup.store.hybrid_search(self.QUERY, vector, top_k=4, scope=Scope())
            == before
        )


def test_rows_that_went_behind_the_engines_back_do_not_shorten_the_answer(
    setup: Setup,
) -> None:
    """mongod drops the ids of mongot that have no row any more:
    document_source_internal_search_id_lookup.cpp.
    """
    setup.write(20)
    assert len(setup.store.vector_search(QUERY, top_k=5, scope=Scope())) == 5
    setup.engine.lag = 20.0
    nearest = {
        "_id": {
            "$in": [Chunk.make_id("reports", "v", place) for place in range(0, 16, 4)]
        }
    }
    assert outside(setup.database, "reports").delete_many(nearest) == 4
    found = setup.store.vector_search(QUERY, top_k=5, scope=Scope())
    assert len(found) == 5
    assert (
        len(setup.store.hybrid_search("coffee", QUERY, top_k=5, scope=Scope())[0]) == 5
    )
    asked = len(setup.engine.asked)
    assert len(setup.store.vector_search(QUERY, top_k=50, scope=Scope())) == 16
    assert len(setup.engine.asked) - asked < 6


def test_a_fixed_number_of_candidates_is_the_seed_to_the_letter(setup: Setup) -> None:
    """R-D3: approximate also in a small collection, `limit` as asked, one query;
    `numCandidates` bounds `limit`.
    """
    setup.write(12)
    setup.engine.asked.clear()
    scope = Scope().within(["reports"])
    for count, expected in ((1000, 1000), (3, 5)):
        assert (
            len(
                setup.store.vector_search(
                    QUERY, top_k=5, scope=scope, num_candidates=count
                )
            )
            == 5
        )
        assert (
            sent(setup)["numCandidates"],
            sent(setup)["limit"],
            "exact" in sent(setup),
        ) == (expected, 5, False)
    assert len(setup.engine.asked) == 2


# Aggregations; the others are in tests/database/test_mongo_commands.py


def test_a_long_question_stays_below_lucenes_clauses() -> None:
    """IndexSearcher.getMaxClauseCount: 1,024, one clause for each different word and
    path.
    """
    words = [f"word{number}" for number in range(500)]
    stage = text_stage(index="t", query=" ".join([*words, *words]), scope=Scope())
    sent = stage["$search"]["compound"]["must"][0]["text"]
    assert sent["query"].split() == words[:300]
    assert len(sent["query"].split()) * len(sent["path"]) < 1024
    short = "Growth, growth and GROWTH " * 200
    assert (
        text_stage(index="t", query=short, scope=Scope())["$search"]["compound"][
            "must"
        ][0]["text"]["query"]
        == short
    )
