"""A preset is its seed's figures; single settings win over it (R-P)."""

import pytest

from chatbot.answering.flow import STAGES, check_stages, stages_of
from chatbot.app.services import checks_of_names
from chatbot.config.settings import Settings
from chatbot.config.settings_types import PRESETS, query_time
from chatbot.domain.errors import ChatbotError, SettingsError
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


@pytest.mark.parametrize("name", PRESETS)
def test_a_presets_stages_are_stages_that_a_question_can_do_with(name: str) -> None:
    check_stages(Settings(preset=name).stages)


def check_names(settings: Settings) -> None:
    for check in checks_of_names(settings):
        check()


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ("route,serach", "'serach'.*Valid: .*gather"),
        ("route,gather,write", "STAGES leaves out reports"),
        ("route,-glossary", "not both"),
    ],
)
def test_stages_that_cannot_answer_stop_the_start(stages: str, message: str) -> None:
    settings = Settings.from_env({"STAGES": stages})
    with pytest.raises(ChatbotError, match=message):
        check_names(settings)


def test_stages_with_a_minus_are_left_out_and_the_others_stay() -> None:
    settings = Settings.from_env({"STAGES": "-small_talk,-glossary"})
    check_names(settings)
    left = stages_of(settings.stages)
    assert set(STAGES) - set(left) == {"small_talk", "glossary"}


def test_a_request_changes_no_chunks() -> None:
    assert "chunk_size" not in query_time("hybrid")
    assert "summaries" not in query_time("hybrid")
    assert query_time("deterministic") == {
        "mode": "direct",
        "stages": ["route", "reports", "gather", "write"],
        "plain": True,
        "verify": "off",
        "repair": 0,
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
        "on_model_error": "error",
    }
