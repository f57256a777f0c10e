"""A preset is its seed's figures; single settings win over it (R-P)."""

import pytest

from chatbot.config.settings import Settings
from chatbot.config.settings_types import PRESETS, query_time
from chatbot.domain.errors import SettingsError
from tests.data import cases

CASES = cases(__file__)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_sets_its_seeds_figures(name: str) -> None:
    settings = Settings(preset=name)
    assert {
        field: getattr(settings, field) for field in CASES["figures"][name]
    } == CASES["figures"][name]


def test_a_single_setting_wins() -> None:
    settings = Settings.from_env({"PRESET": "hybrid", "TOP_K": "7"})
    assert (settings.top_k, settings.vector_weight) == (7, 0.7)


def test_another_preset_takes_the_place_of_the_first() -> None:
    settings = Settings(preset="hybrid", chunk_size=700).override(
        preset="deterministic"
    )
    found = (
        settings.top_k,
        settings.threshold_start,
        settings.chunk_size,
        settings.vector_weight,
    )
    assert found == (3, 0.75, 700, 0.6)
    assert Settings(preset="hybrid").override(top_k=9).vector_weight == 0.7


def test_an_unknown_preset_stops_the_start() -> None:
    with pytest.raises(
        SettingsError,
        match=r"PRESET='hybird' is not a preset\. Valid: adaptive, compression, hybrid",
    ):
        Settings.from_env({"PRESET": "hybird"})


def test_a_request_changes_no_chunks() -> None:
    assert "chunk_size" not in query_time("hybrid")
    assert query_time("deterministic") == {
        "mode": "direct",
        "auto_scope": False,
        "refine": False,
        "general_collection": "scoped",
        "threshold_keep": 1,
        "retrieval_method": "vector",
        "top_k": 3,
        "threshold_start": 0.75,
        "threshold_floor": 0.75,
        "context_role": "system",
        "on_empty": "general",
    }
