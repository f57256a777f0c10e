"""The adaptive threshold, R-D5: start .7, strict, one step down at a time, never below the floor."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.embedders.minilm import MiniLMEmbedder
from chatbot.retrieval.ranking import SHIPPED, adaptive_threshold, calibration_of, relevance_bounds
from chatbot.retrieval.relevance import Bounds
from chatbot.schema import Threshold
from chatbot.schema.documents import Calibration


def adaptive(*scores: float, start: float = 0.7, step: float = 0.1, floor: float = 0.0) -> Threshold:
    return adaptive_threshold(scores, start=start, step=step, floor=floor)


CASES = {
    "above the start": ((0.9, 0.2), Threshold(0.7, 0.7, relaxed=False)),
    "one step down": ((0.65,), Threshold(0.7, 0.6, relaxed=True)),
    "strict: the start itself does not pass": ((0.7,), Threshold(0.7, 0.6, relaxed=True)),
    "strict: a tenth does not pass itself": ((0.3,), Threshold(0.7, 0.2, relaxed=True)),
    "just above a tenth": ((0.3000001,), Threshold(0.7, 0.3, relaxed=True)),
    "nearly nothing": ((0.0001,), Threshold(0.7, 0.0, relaxed=True)),
    "zero passes nowhere, and the floor is the end": ((0.0,), Threshold(0.7, 0.0, relaxed=True)),
    "the best score decides": ((0.1, 0.45, 0.2), Threshold(0.7, 0.4, relaxed=True)),
    "an empty list ends at once": ((), Threshold(0.7, 0.7, relaxed=False)),
}


@pytest.mark.parametrize(("scores", "expected"), CASES.values(), ids=CASES)
def test_d5(scores: tuple[float, ...], expected: Threshold) -> None:
    assert adaptive(*scores) == expected


@pytest.mark.parametrize("tenth", range(8))
def test_thresholds_are_exact_tenths(tenth: int) -> None:
    """.7 - .1 - .1 is .5999999999999999 in floats: a score of .6 would pass where it must not."""
    assert adaptive(tenth / 10 + 0.05).used == tenth / 10


def test_the_floor_is_used_as_it_is_even_where_no_step_meets_it() -> None:
    assert adaptive(0.34, floor=0.35) == Threshold(0.7, 0.35, relaxed=True)
    assert adaptive(0.36, floor=0.35) == Threshold(0.7, 0.35, relaxed=True)
    assert adaptive(0.95, start=0.35, floor=0.35) == Threshold(0.35, 0.35, relaxed=False)


def test_a_floor_at_the_start_never_relaxes() -> None:
    assert adaptive(0.5, floor=0.7) == Threshold(0.7, 0.7, relaxed=False)


def naive(scores: list[float], start: Decimal, step: Decimal, floor: Decimal) -> Threshold:
    """The seed's loop, in exact decimals and with its resolution."""
    threshold = start
    while scores and not any(score > float(threshold) for score in scores) and threshold > floor:
        threshold = max(threshold - step, floor)
    return Threshold(float(start), float(threshold), relaxed=threshold != start)


hundredths = st.integers(0, 100).map(lambda n: Decimal(n) / 100)
scores = st.lists(st.one_of(st.floats(0, 1), st.integers(0, 10).map(lambda n: n / 10)), max_size=6)


@given(scores, hundredths, st.integers(1, 100).map(lambda n: Decimal(n) / 100), hundredths)
def test_it_agrees_with_the_naive_loop(found: list[float], one: Decimal, step: Decimal, other: Decimal) -> None:
    start, floor = max(one, other), min(one, other)
    assert adaptive(*found, start=float(start), step=float(step), floor=float(floor)) == naive(
        found, start, step, floor
    )


@given(scores)
def test_what_passes_is_not_empty_unless_the_floor_is_reached(found: list[float]) -> None:
    threshold = adaptive(*found)
    assert 0.0 <= threshold.used <= 0.7
    assert threshold.relaxed == (threshold.used != 0.7)
    if found and not any(score > threshold.used for score in found):
        assert threshold.used == 0.0


# RELEVANCE_FLOOR: a number, what was measured on this database, or what is shipped for the model.


MEASURED = Calibration("test:model", 0.66, 0.71, "measured", "mine", "2026-01-02")


def test_a_number_wins_and_auto_is_the_models_own() -> None:
    assert relevance_bounds(0.42, next(iter(SHIPPED)), MEASURED) == Bounds(0.42, 0.42)
    assert relevance_bounds(0.0, next(iter(SHIPPED))).floor == 0.0
    assert relevance_bounds("auto", "a model nobody measured").floor == 0.0
    for model, shipped in SHIPPED.items():
        assert relevance_bounds("auto", model) == Bounds(shipped.floor, shipped.threshold)


def test_what_was_measured_here_wins_over_what_is_shipped() -> None:
    for model in (*SHIPPED, "test:model"):
        assert relevance_bounds("auto", model, MEASURED) == Bounds(0.66, 0.71)
        assert calibration_of(model, MEASURED) == MEASURED


def test_the_shipped_ones_say_where_they_come_from() -> None:
    """ada-002 cannot be measured without a key: published figures, and marked so."""
    ours, openai = SHIPPED[MiniLMEmbedder().model_id], SHIPPED["openai:text-embedding-ada-002"]
    assert (ours.origin, ours.floor) == ("measured", 0.6)
    assert (openai.origin, openai.dataset) == ("published", "published figures")


@pytest.mark.parametrize("cosine", [0.71, 0.72])
def test_the_floor_of_ada_002_refuses_the_published_unrelated_and_keeps_the_answered(cosine: float) -> None:
    floor = SHIPPED["openai:text-embedding-ada-002"].floor
    assert (1 + cosine) / 2 < floor < (1 + 0.80) / 2


@pytest.mark.parametrize(
    ("keep", "used"),
    [(1, 0.7), (2, 0.6), (3, 0.4), (4, 0.4), (9, 0.4)],
)
def test_it_descends_until_so_many_pass(keep: int, used: float) -> None:
    """THRESHOLD_KEEP: where there are fewer, until all of them do."""
    found = adaptive_threshold([0.95, 0.65, 0.45, 0.41], start=0.7, step=0.1, floor=0.0, keep=keep)
    assert (found.used, found.relaxed) == (used, used < 0.7)
