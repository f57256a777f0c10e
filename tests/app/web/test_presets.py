"""A preset named in a request: its query-time figures, for this question only (R-P)."""

from typing import Any

import pytest

from tests.app.web.conftest import Post, error_of

pytestmark = pytest.mark.usefixtures("kenya", "mali")


def trace(query: Post, **fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = query(**fields).get_json()["trace"]
    return found


def test_adaptive_and_deterministic_are_vector_search_by_a_threshold(
    query: Post,
) -> None:
    found = trace(query, preset="adaptive")
    assert found["retrieval_method"] == "vector"
    assert found["threshold"]["start"] == 0.7
    assert all(hit["found_by"] == ["vector"] for hit in found["hits"])
    found = trace(query, preset="deterministic")
    assert found["threshold"] == {"start": 0.75, "used": 0.75, "relaxed": False}
    assert all(hit["score"] > 0.75 for hit in found["hits"])


def test_hybrid_fetches_ten_and_keeps_three_of_different_sources(query: Post) -> None:
    found = trace(query, preset="hybrid")
    assert "rerank" in [step["name"] for step in found["steps"]]
    assert len(found["hits"]) == 3
    assert len({hit["document_id"] for hit in found["hits"][:2]}) == 2


def test_the_next_question_has_the_settings_again_and_single_fields_win(
    query: Post,
) -> None:
    assert (
        trace(query, preset="adaptive", limit=1, retrieval_method="bm25")[
            "retrieval_method"
        ]
        == "bm25"
    )
    assert trace(query)["retrieval_method"] == "hybrid"


def test_an_unknown_preset_is_refused(query: Post) -> None:
    error = error_of(query(preset="hybird"), 400, "unknown_name")
    assert [detail["field"] for detail in error["details"]] == ["preset"]
    assert (
        "Valid: adaptive, compression, deep, deterministic, hybrid" in error["message"]
    )
