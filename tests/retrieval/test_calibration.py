"""RELEVANCE_FLOOR: a number, or what was measured for the model."""

from __future__ import annotations

from chatbot.retrieval.calibration import FLOORS, relevance_floor


def test_a_number_wins_and_auto_is_the_models_own() -> None:
    assert relevance_floor(0.42, next(iter(FLOORS), "any")) == 0.42
    assert relevance_floor("auto", "a model nobody measured") == 0.0
    assert [relevance_floor("auto", model) for model in FLOORS] == list(FLOORS.values())
