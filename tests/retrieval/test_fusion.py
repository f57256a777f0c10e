"""The ways to merge two searches, on examples computed by hand (R-B6)."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.errors import UnknownNameError
from chatbot.retrieval.ranking import FUSIONS, bounded, fusion_named, hybrid, minmax, rrf, zscore
from chatbot.schema import Match, QuerySettings

NEAR = {"a": 0.9, "b": 0.8, "c": 0.4}
WORDED = {"c": 12.0, "d": 3.0}
VECTOR = {"a": 0.9, "b": 0.8, "c": 0.4, "d": 0.1}
DESCENDING = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.01, 1), min_size=1).map(
    lambda scores: dict(sorted(scores.items(), key=lambda item: -item[1]))
)


def test_zscore_weighs_deviations_from_the_mean_of_the_union() -> None:
    fused = zscore(NEAR, WORDED, VECTOR, vector_weight=0.6)
    assert fused == pytest.approx({"a": 0.35093, "b": 0.16352, "c": 0.38988, "d": -0.90434}, abs=1e-5)


def test_minmax_puts_each_search_between_nought_and_one() -> None:
    fused = minmax(NEAR, WORDED, VECTOR, vector_weight=0.5)
    assert fused == pytest.approx({"a": 0.5, "b": 0.4375, "c": 0.1875 + 0.5, "d": 0.125})


def test_bounded_is_seed_001_with_nought_for_not_found() -> None:
    """R-B6: the vector score as it is, BM25 over the highest; `d` was not found by the vector search."""
    fused = bounded(NEAR, WORDED, VECTOR, vector_weight=0.7)
    assert fused == pytest.approx({"a": 0.63, "b": 0.56, "c": 0.28 + 0.3, "d": 0.3 / 4})


def test_reciprocal_rank_fusion_knows_ranks_only() -> None:
    """R-B6: k is 60."""
    fused = rrf(NEAR, WORDED, VECTOR, vector_weight=0.5)
    assert fused == pytest.approx({"a": 0.5 / 61, "b": 0.5 / 62, "c": 0.5 / 63 + 0.5 / 61, "d": 0.5 / 62})
    assert rrf({"a": 0.9, "b": 0.1}, {}, {}, vector_weight=0.5) == rrf({"a": 0.2, "b": 0.1}, {}, {}, vector_weight=0.5)


def test_a_passage_that_both_found_is_not_punished() -> None:
    """R-B6: averaging duplicates would put `both` below `near`."""
    for name in FUSIONS:
        near, worded = {"near": 0.8, "both": 0.8, "far": 0.1}, {"both": 9.0, "word": 8.0}
        fused = FUSIONS[name](near, worded, {**near, "word": 0.1}, vector_weight=0.7)
        assert max(fused, key=fused.__getitem__) == "both", name


def test_equal_scores_say_nothing() -> None:
    for fuse in (zscore, minmax):
        assert fuse({"a": 0.4, "b": 0.4}, {}, {"a": 0.4, "b": 0.4}, vector_weight=0.6) == {"a": 0.0, "b": 0.0}


@pytest.mark.parametrize("name", FUSIONS)
def test_nothing_found_is_nothing_fused(name: str) -> None:
    assert FUSIONS[name]({}, {}, {}, vector_weight=0.6) == {}


@pytest.mark.parametrize("name", FUSIONS)
@given(near=DESCENDING, worded=DESCENDING)
def test_all_the_weight_on_one_search_gives_its_order(
    name: str, near: dict[str, float], worded: dict[str, float]
) -> None:
    for weight, order in ((1.0, near), (0.0, worded)):
        fused = FUSIONS[name](near, worded, near, vector_weight=weight)
        assert fused.keys() == near.keys() | worded.keys()
        assert all(math.isfinite(score) for score in fused.values())
        scores = [fused[chunk_id] for chunk_id in order]
        assert all(better >= worse - 1e-9 for better, worse in pairwise(scores))


def test_an_unknown_name_lists_the_valid_ones() -> None:
    with pytest.raises(UnknownNameError, match="Valid: bounded, minmax, rrf, zscore") as raised:
        fusion_named("average")
    assert raised.value.details[0]["field"] == "FUSION"


def test_the_constant_and_the_number_of_candidates_are_settings() -> None:
    method = hybrid(QuerySettings(fusion="rrf", rrf_k=1, vector_weight=1, search_candidates=7))
    assert dict(method.rank([Match("a", 0.9)], [], {"a": 0.9})) == {"a": 0.5}
    assert (method.candidates(3), method.candidates(9)) == (7, 9)
