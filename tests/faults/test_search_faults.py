"""Every way in which the search engine beside a MongoDB server can fail, seen through
the HTTP API.
"""

from pathlib import Path

import pytest

from tests.fakes import wire_faults
from tests.fakes.wire_faults import Action, Hang, failure, rows
from tests.fakes.wire_proxy import WireProxy
from tests.faults.conftest import (
    QUESTION,
    NewSite,
    Site,
    add_kenya,
    assert_recovers,
    assert_unavailable,
)

STAGES = ("$vectorSearch", "$search")


@pytest.fixture
def atlas(proxy: WireProxy, new_site: NewSite, tmp_path: Path) -> Site:
    """The application with $vectorSearch: the proxy answers the search stages with the
    stored passages.
    """
    site = new_site(proxy.uri, vector_search="atlas")
    add_kenya(site.services, tmp_path)
    healthy(site, proxy)
    assert site.ask(QUESTION).status == 200
    return site


def healthy(site: Site, proxy: WireProxy) -> None:
    found = site.services.storage.database["report_chatting"].find(
        {}, {"data_embedding": 0}
    )
    proxy.heal(dict.fromkeys(STAGES, rows(*({**row, "score": 0.9} for row in found))))


FAULTS: dict[str, tuple[Action, str, bool]] = {
    "overloaded": (wire_faults.OVERLOADED, "overloaded", True),
    "index building": (wire_faults.BUILDING, "its state is INITIAL_SYNC", True),
    "mongot down": (wire_faults.ENGINE_DOWN, "cannot reach its search engine", True),
    "not enabled": (wire_faults.NO_ENGINE, "no search engine", False),
    "not allowed": (wire_faults.NOT_ALLOWED, "no search engine", False),
    "unknown stage": (wire_faults.UNKNOWN_STAGE, "no search engine", False),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("fault", "said", "retry"), FAULTS.values(), ids=FAULTS)
def test_a_refused_search_is_a_503_that_names_the_search(
    atlas: Site, proxy: WireProxy, fault: Action, said: str, retry: bool
) -> None:
    for stage in STAGES:
        proxy.always(stage, fault)
    reply = atlas.ask(QUESTION)
    assert_unavailable(reply, dependency="vector_search", retry=retry)
    assert said in reply.error["message"]
    healthy(atlas, proxy)
    assert_recovers(atlas)


@pytest.mark.parametrize(
    "fault", [Hang(), wire_faults.TOO_SLOW], ids=["frozen", "over its time limit"]
)
def test_a_slow_search_is_not_called_a_silent_server(
    atlas: Site, proxy: WireProxy, fault: Action
) -> None:
    for stage in STAGES:
        proxy.always(stage, fault)
    reply = atlas.ask(QUESTION)
    assert_unavailable(reply)
    assert "too slow" in reply.error["message"]
    assert "does not answer" not in reply.error["message"]
    healthy(atlas, proxy)
    assert_recovers(atlas)


def test_an_index_that_is_missing_is_found_out_behind_the_empty_answer(
    atlas: Site, proxy: WireProxy
) -> None:
    for stage in STAGES:
        proxy.always(stage, rows())
    proxy.always("$listSearchIndexes", rows())
    reply = atlas.ask(QUESTION)
    assert_unavailable(reply, dependency="vector_search", retry=False)
    assert "index create" in reply.error["details"][0]["remedy"]


def test_an_index_that_is_still_building_is_found_out_behind_the_empty_answer(
    atlas: Site, proxy: WireProxy
) -> None:
    for stage in STAGES:
        proxy.always(stage, rows())
    building = {
        "name": "vector_index",
        "type": "vectorSearch",
        "status": "BUILDING",
        "queryable": False,
    }
    proxy.always("$listSearchIndexes", rows(building))
    reply = atlas.ask(QUESTION)
    assert_unavailable(reply, dependency="vector_search")
    assert "BUILDING" in reply.error["message"]


def test_an_overload_during_retries_of_the_driver_ends_in_time(
    atlas: Site, proxy: WireProxy
) -> None:
    """Labelled as newer servers do, PyMongo backs off and tries again by itself."""
    labels = ("SystemOverloadedError", "RetryableError")
    for stage in STAGES:
        proxy.always(
            stage,
            failure(489, "SearchOverloaded", "search engine is overloaded", *labels),
        )
    assert_unavailable(atlas.ask(QUESTION), dependency="vector_search")


def test_an_engine_that_is_away_at_the_start_is_a_503_and_serves_when_it_is_back(
    proxy: WireProxy, new_site: NewSite, tmp_path: Path
) -> None:
    """Not search in this process until the restart."""
    add_kenya(new_site(proxy.uri).services, tmp_path)
    proxy.always("$vectorSearch", wire_faults.ENGINE_DOWN)
    site = new_site(
        proxy.uri, vector_search="auto", mongodb_timeout=1.0
    )  # waited for four times
    assert_unavailable(site.ask(QUESTION), dependency="vector_search")
    found = {one["name"]: one for one in site.ask(path="/ready").body["dependencies"]}
    assert not found["vector_search"]["ok"]
    assert "cannot reach its search engine" in found["vector_search"]["detail"]
    healthy(site, proxy)
    assert_recovers(site)
    assert site.services.storage.engine.store == "atlas"


def test_a_refused_rank_fusion_fails_no_question(atlas: Site, proxy: WireProxy) -> None:
    refused = failure(
        224,
        "QueryFeatureNotAllowed",
        "featureFlagRankFusionFull must be enabled to use scoreDetails",
    )
    proxy.always("$rankFusion", rows())  # at the probe it looks as if it were there
    vars(atlas.services.runtime.store)["_rank_fusion"] = None
    assert atlas.services.runtime.store._has_rank_fusion()  # type: ignore[attr-defined]
    proxy.always("$rankFusion", refused)
    for _ in range(2):
        assert atlas.ask(QUESTION).status == 200
    assert len(proxy.sent("$rankFusion")) <= 4


def test_a_lost_cursor_does_not_end_rank_fusion_for_the_process(
    atlas: Site, proxy: WireProxy
) -> None:
    proxy.always("$rankFusion", rows())
    vars(atlas.services.runtime.store)["_rank_fusion"] = None
    assert atlas.ask(QUESTION).status == 200
    proxy.next("$rankFusion", failure(43, "CursorNotFound", "cursor id 1 not found"))
    assert atlas.ask(QUESTION).status == 200
    before = len(proxy.sent("$rankFusion"))
    assert atlas.ask(QUESTION).status == 200
    assert len(proxy.sent("$rankFusion")) > before
