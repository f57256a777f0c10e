"""Ranking metrics, on examples computed by hand."""

from __future__ import annotations

from math import log2

import pytest

from chatbot.evaluation.metrics import interval, ndcg, precision_recall, recall, reciprocal_rank

RANKING = ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("relevant", "k", "expected"),
    [({"b"}, 5, 1.0), ({"b"}, 1, 0.0), ({"a", "z"}, 5, 0.5), ({"a", "e"}, 4, 0.5), ({"z"}, 5, 0.0)],
)
def test_recall(relevant: set[str], k: int, expected: float) -> None:
    assert recall(RANKING, relevant, k) == expected


@pytest.mark.parametrize(
    ("relevant", "k", "expected"),
    [({"a"}, 5, 1.0), ({"c", "e"}, 5, 1 / 3), ({"e"}, 4, 0.0), ({"z"}, 5, 0.0)],
)
def test_reciprocal_rank(relevant: set[str], k: int, expected: float) -> None:
    assert reciprocal_rank(RANKING, relevant, k) == expected


@pytest.mark.parametrize(
    ("relevant", "k", "expected"),
    [
        ({"a"}, 5, 1.0),
        ({"b"}, 5, 1 / log2(3)),
        ({"a", "c"}, 5, (1 + 1 / 2) / (1 + 1 / log2(3))),
        ({"a", "z"}, 5, 1 / (1 + 1 / log2(3))),
        ({"e"}, 4, 0.0),
        ({"a", "b", "c"}, 2, 1.0),
    ],
)
def test_ndcg(relevant: set[str], k: int, expected: float) -> None:
    assert ndcg(RANKING, relevant, k) == pytest.approx(expected)


def test_an_empty_ranking_is_worth_nothing() -> None:
    assert recall([], {"a"}, 5) == reciprocal_rank([], {"a"}, 5) == ndcg([], {"a"}, 5) == 0.0


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([(True, True), (True, False), (False, True), (False, True)], (1 / 2, 1 / 3)),
        ([(False, True)], (None, 0.0)),
        ([(True, False)], (0.0, None)),
        ([], (None, None)),
    ],
)
def test_precision_and_recall(verdicts: list[tuple[bool, bool]], expected: tuple[float | None, float | None]) -> None:
    assert precision_recall(verdicts) == expected


def test_an_interval_holds_the_mean_is_repeatable_and_narrows_with_more_questions() -> None:
    few, many = [0.0, 1.0, 1.0, 1.0] * 5, [0.0, 1.0, 1.0, 1.0] * 100
    low, high = interval(few)
    assert low < 0.75 < high
    assert interval(few) == (low, high)
    narrow = interval(many)
    assert narrow[1] - narrow[0] < (high - low) / 3
    # The textbook's standard error of a share: sqrt(.75 * .25 / 400) = .0217
    assert narrow == pytest.approx((0.75 - 1.96 * 0.0217, 0.75 + 1.96 * 0.0217), abs=0.006)
    assert interval([1.0] * 9) == (1.0, 1.0)
