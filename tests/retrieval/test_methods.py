"""What each retrieval method asks of the searches, and how it ranks their answers."""

from __future__ import annotations

import pytest

from chatbot.errors import UnknownNameError
from chatbot.retrieval import RETRIEVAL_METHODS, RetrievalMethod
from chatbot.schema import Match, QuerySettings

NEAR = [Match("a", 0.9), Match("b", 0.8), Match("c", 0.4)]
WORDED = [Match("c", 12.0), Match("d", 3.0)]
SCORES = {"a": 0.9, "b": 0.8, "c": 0.4, "d": 0.1}


def method(name: str, weight: float = 0.6) -> RetrievalMethod:
    return RETRIEVAL_METHODS.builder(name)(QuerySettings(vector_weight=weight))


def test_vector_and_bm25_ask_one_search_for_exactly_what_is_wanted() -> None:
    """R-D5: the vector search is asked for top_k, as in the seed."""
    assert (method("vector").uses_vectors, method("vector").uses_keywords) == (True, False)
    assert (method("bm25").uses_vectors, method("bm25").uses_keywords) == (False, True)
    assert method("vector").candidates(5) == method("bm25").candidates(5) == 5


def test_hybrid_asks_both_for_a_hundred_or_more() -> None:
    assert (method("hybrid").uses_vectors, method("hybrid").uses_keywords) == (True, True)
    assert method("hybrid").candidates(5) == 100
    assert method("hybrid").candidates(250) == 250


def test_a_single_search_keeps_its_order_and_fuses_nothing() -> None:
    assert method("vector").rank(NEAR, [], SCORES) == [("a", None), ("b", None), ("c", None)]
    assert method("bm25").rank([], WORDED, SCORES) == [("c", None), ("d", None)]


def test_hybrid_ranks_the_union_by_weighted_z_scores() -> None:
    """R-B6. By hand: vector z of (.9 .8 .4 .1), keyword z of (0 0 12 3), weight .6."""
    ranked = method("hybrid").rank(NEAR, WORDED, SCORES)
    assert [chunk_id for chunk_id, _ in ranked] == ["c", "a", "b", "d"]
    assert dict(ranked) == pytest.approx({"c": 0.38988, "a": 0.35093, "b": 0.16352, "d": -0.90434}, abs=1e-5)


@pytest.mark.parametrize(("weight", "order"), [(1.0, ["a", "b", "c", "d"]), (0.0, ["c", "d", "a", "b"])])
def test_the_weight_goes_from_keywords_to_vectors(weight: float, order: list[str]) -> None:
    assert [chunk_id for chunk_id, _ in method("hybrid", weight).rank(NEAR, WORDED, SCORES)] == order


def test_a_chunk_found_by_both_appears_once() -> None:
    """R-B6: merged by chunk id."""
    ranked = method("hybrid").rank(NEAR, WORDED, SCORES)
    assert sorted(chunk_id for chunk_id, _ in ranked) == ["a", "b", "c", "d"]


def test_ties_are_broken_by_id() -> None:
    tied = [Match("z", 0.5), Match("m", 0.5), Match("b", 0.5)]
    ranked = method("hybrid").rank(tied, [], {"z": 0.5, "m": 0.5, "b": 0.5})
    assert ranked == [("b", 0.0), ("m", 0.0), ("z", 0.0)]


def test_nothing_found_is_nothing_ranked() -> None:
    assert method("hybrid").rank([], [], {}) == []


def test_an_unknown_method_lists_the_valid_ones() -> None:
    with pytest.raises(UnknownNameError, match=f"Valid: {', '.join(RETRIEVAL_METHODS.names())}"):
        RETRIEVAL_METHODS.check("magic")
