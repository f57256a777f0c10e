"""MODEL_PRICES: what can be written there, and what a wrong entry says."""

from __future__ import annotations

import pytest

from chatbot.errors import SettingsError
from chatbot.schema.prices import ModelPrice
from chatbot.settings import Settings

TABLE = "openai:gpt-4o=2.50/10; openai:text-embedding-3-small=0.02"


def prices(text: str) -> tuple[ModelPrice, ...]:
    return Settings.from_env({"MODEL_PRICES": text}).model_prices


def test_a_table_by_model() -> None:
    assert prices(TABLE) == (
        ModelPrice("openai:gpt-4o", 2.5, 10.0),
        ModelPrice("openai:text-embedding-3-small", 0.02, 0.02),
    )


@pytest.mark.parametrize(
    ("text", "model_id"),
    [
        (" a:b = 1 / 2 ;; ", "a:b"),
        ("together:meta/llama-3=1/2", "together:meta/llama-3"),
        ("ollama:a=b=1/2", "ollama:a=b"),
    ],
)
def test_what_names_of_models_may_hold(text: str, model_id: str) -> None:
    assert prices(text) == (ModelPrice(model_id, 1.0, 2.0),)


def test_none_is_known_by_default() -> None:
    assert Settings().model_prices == ()


@pytest.mark.parametrize(
    "entry", ["gpt-4o", "=1/2", "a:b=", "a:b=1/", "a:b=/2", "a:b=1/2/3", "a:b=$1", "a:b=-1/2", "a:b=nan", "a:b=1/inf"]
)
def test_a_wrong_entry_is_named_with_the_right_form(entry: str) -> None:
    with pytest.raises(SettingsError, match="MODEL_PRICES") as raised:
        prices(f"openai:gpt-4o=1/2; {entry}")
    assert f"{entry!r} must be provider:model=PROMPT/COMPLETION" in raised.value.message


def test_a_model_that_is_there_twice_is_named() -> None:
    with pytest.raises(SettingsError, match="'a:b' is there twice"):
        prices("a:b=1; a:b=2")


def test_other_settings_can_be_changed_beside_it() -> None:
    settings = Settings.from_env({"MODEL_PRICES": TABLE})
    assert settings.override(top_k=3).model_prices == settings.model_prices


def test_a_new_price_makes_no_answer_out_of_date() -> None:
    assert Settings.from_env({"MODEL_PRICES": TABLE}).fingerprint == Settings().fingerprint
