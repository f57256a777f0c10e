"""RELEVANCE_FLOOR: a number, what was measured on this database, or what is shipped for the model."""

from __future__ import annotations

import pytest

from chatbot.embedders.minilm import MiniLMEmbedder
from chatbot.retrieval.calibration import SHIPPED, calibration_of, relevance_floor
from chatbot.schema.calibrations import Calibration

MEASURED = Calibration("test:model", 0.66, 0.71, "measured", "mine", "2026-01-02")


def test_a_number_wins_and_auto_is_the_models_own() -> None:
    assert relevance_floor(0.42, next(iter(SHIPPED)), MEASURED) == 0.42
    assert relevance_floor(0.0, next(iter(SHIPPED))) == 0.0
    assert relevance_floor("auto", "a model nobody measured") == 0.0
    assert [relevance_floor("auto", model) for model in SHIPPED] == [shipped.floor for shipped in SHIPPED.values()]


def test_what_was_measured_here_wins_over_what_is_shipped() -> None:
    for model in (*SHIPPED, "test:model"):
        assert relevance_floor("auto", model, MEASURED) == 0.66
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
