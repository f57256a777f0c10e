"""z-scores and their weighted sum, on examples computed by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.retrieval.fusion import weighted_sum, z_scores

SCORES = st.dictionaries(st.text(min_size=1, max_size=3), st.floats(0, 100), min_size=2, max_size=8)


def test_z_scores() -> None:
    found = z_scores({"a": 1.0, "b": 2.0, "c": 3.0})
    assert found == pytest.approx({"a": -(1.5**0.5), "b": 0.0, "c": 1.5**0.5})


def test_equal_scores_say_nothing() -> None:
    assert z_scores({"a": 0.4, "b": 0.4}) == {"a": 0.0, "b": 0.0}
    assert z_scores({"a": 0.4}) == {"a": 0.0}
    assert z_scores({}) == {}


@given(SCORES)
def test_z_scores_keep_the_order_and_have_mean_zero(scores: dict[str, float]) -> None:
    found = z_scores(scores)
    assert found.keys() == scores.keys()
    assert sum(found.values()) == pytest.approx(0, abs=1e-6 * len(scores))
    assert [found[k] for k in sorted(scores, key=scores.__getitem__)] == sorted(found.values())


def test_weighted_sum_is_a_convex_combination() -> None:
    """R-B6: the weights add up to one."""
    vector, keyword = {"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 2.0}
    assert weighted_sum(vector, keyword, vector_weight=0.7) == pytest.approx({"a": 0.7, "b": 0.6})
    assert weighted_sum(vector, keyword, vector_weight=1.0) == vector
    assert weighted_sum(vector, keyword, vector_weight=0.0) == keyword
