"""Which configurations are compared, and that a wrong name is a message before anything is measured."""

from __future__ import annotations

import pytest

from chatbot.errors import InvalidRequestError
from chatbot.evaluation.configurations import Compared, configurations
from chatbot.settings import Settings


def names(compared: Compared, **settings: object) -> list[str]:
    return [configuration.name for configuration in configurations(Settings(**settings), compared)]


def test_the_own_one_is_first_then_the_other_methods() -> None:
    assert names(Compared()) == ["hybrid (as configured)", "bm25", "vector"]
    assert names(Compared(), retrieval_method="bm25") == ["bm25 (as configured)", "hybrid", "vector"]


def test_only_what_was_asked_for_is_compared() -> None:
    assert names(Compared(methods=("vector", "hybrid", "vector"))) == ["hybrid (as configured)", "vector"]
    every = Compared(("bm25",), (0.4, 0.65), ("recursive",), ("adaptive",))
    assert names(every) == [
        "hybrid (as configured)", "bm25", "hybrid, weight 0.4", "hybrid, weight 0.65", "chunker recursive",
        "preset adaptive",
    ]  # fmt: skip


def test_each_configuration_is_settings() -> None:
    own = Settings(retrieval_method="bm25", preset="hybrid")
    every = configurations(own, Compared(("vector",), (0.4,), ("recursive",), ("deterministic",)))
    first, vector, weight, chunker, preset = (own.override(**c.overrides) for c in every)
    assert first == own
    assert vector.retrieval_method == "vector"
    assert (weight.retrieval_method, weight.vector_weight) == ("hybrid", 0.4)
    assert chunker.chunk_strategy == "recursive"
    assert (preset.retrieval_method, preset.threshold_start, preset.threshold_floor) == ("vector", 0.75, 0.75)
    assert [c.cuts_anew for c in every] == [False, False, False, True, False]


def test_a_preset_is_measured_without_cutting_anew() -> None:
    (_, preset) = configurations(Settings(), Compared(presets=("deep",)))
    assert preset.name == "preset deep"
    assert not preset.cuts_anew
    assert preset.overrides["preset"] is None


@pytest.mark.parametrize(
    ("compared", "message"),
    [
        (Compared(methods=("colbert",)), "--methods: 'colbert' is not a valid"),
        (Compared(weights=(1.5,)), "--weights: 1.5 is not between 0 and 1"),
        (Compared(chunkers=("scissors",)), "--chunkers: 'scissors' is not a valid chunk strategy"),
        (Compared(presets=("best",)), "--presets: 'best' is not a valid preset. Valid: adaptive"),
    ],
)
def test_a_wrong_name_lists_the_valid_ones(compared: Compared, message: str) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        configurations(Settings(), compared)
    assert message in raised.value.message
