"""Prices of tokens, and sums of many answers."""

import pytest

from chatbot.config.settings import Settings
from chatbot.domain import Usage
from chatbot.domain.costs import (
    DayUsage,
    LedgerRow,
    ModelPrice,
    StageSums,
    Sums,
    UsageReport,
    add_up_stages,
)
from chatbot.domain.errors import SettingsError
from chatbot.domain.json import to_json

TABLE = "openai:gpt-4o=2.50/10; openai:text-embedding-3-small=0.02"


def prices(text: str) -> tuple[ModelPrice, ...]:
    return Settings.from_env({"MODEL_PRICES": text}).model_prices


def test_a_table_by_model() -> None:
    small = "openai:text-embedding-3-small"
    assert prices(TABLE) == (
        ModelPrice("openai:gpt-4o", 2.5, 10.0),
        ModelPrice(small, 0.02, 0.02),
    )
    assert prices(" a:b = 1 / 2 ;; ") == (ModelPrice("a:b", 1.0, 2.0),)
    for model_id in ("together:meta/llama-3", "ollama:a=b"):
        assert prices(f"{model_id}=1/2") == (ModelPrice(model_id, 1.0, 2.0),)
    assert Settings().model_prices == ()


@pytest.mark.parametrize(
    "entry",
    [
        "gpt-4o",
        "=1/2",
        "a:b=",
        "a:b=1/",
        "a:b=/2",
        "a:b=1/2/3",
        "a:b=$1",
        "a:b=-1/2",
        "a:b=nan",
        "a:b=1/inf",
    ],
)
def test_a_wrong_entry_is_named_with_the_right_form(entry: str) -> None:
    with pytest.raises(SettingsError, match="MODEL_PRICES") as raised:
        prices(f"openai:gpt-4o=1/2; {entry}")
    assert f"{entry!r} must be provider:model=PROMPT/COMPLETION" in raised.value.message

    with pytest.raises(SettingsError, match="'a:b' is there twice"):
        prices("a:b=1; a:b=2")


def test_a_new_price_makes_no_answer_out_of_date() -> None:
    settings = Settings.from_env({"MODEL_PRICES": TABLE})
    assert settings.fingerprint == Settings().fingerprint
    assert settings.override(top_k=3).model_prices == settings.model_prices


PLAN = LedgerRow("plan", 1, 10.0, Usage(100, 20, calls=2, failed_calls=1), 0.5)
EMBED = LedgerRow("embed", 3, 5.0, Usage(embedding_tokens=7), None)


def test_ledgers_and_stages_added_up_with_and_without_prices() -> None:
    sums = Sums.of([PLAN, EMBED])
    assert sums == Sums(1, Usage(100, 20, 7, 2, 0, 1), 0.5, 7)
    assert Sums.total([sums, sums]) == Sums(2, Usage(200, 40, 14, 4, 0, 2), 1.0, 14)
    assert Sums.total([]) == Sums()
    assert Sums.total([Sums(cost=0.1), Sums(cost=0.2)]).full_cost == 0.3, (
        "without binary remainders"
    )
    assert to_json(Sums.of([PLAN]))["cost"] == 0.5
    assert to_json(Sums.of([PLAN, EMBED]))["cost"] is None
    assert to_json(Sums.of([PLAN, EMBED]))["unpriced_tokens"] == 7
    assert to_json(Sums())["cost"] == 0.0
    stages = [
        StageSums("plan", 1, 1, 9, ms=3.0),
        StageSums("embed", 1, ms=5.0),
        StageSums("plan", 1, 2, 1, ms=4.0),
    ]
    assert add_up_stages(stages) == (
        StageSums("plan", 2, 3, 10, 0, 7.0),
        StageSums("embed", 1, ms=5.0),
    )


def test_several_days_and_all_of_them() -> None:
    days = [
        DayUsage("2026-11-22", 130, Sums.of([PLAN]), (StageSums("plan", 1, ms=10.0),)),
        DayUsage(
            "2026-11-21",
            20,
            Sums.of([EMBED]),
            (StageSums("embed", 3, ms=5.0), StageSums("plan", ms=1.0)),
        ),
    ]
    body = to_json(UsageReport.of(days))
    assert [day["day"] for day in body["days"]] == ["2026-11-22", "2026-11-21"]
    assert body["days"][0]["stages"][0]["stage"] == "plan"
    total = body["total"]
    assert (
        total["metered_tokens"],
        total["questions"],
        total["calls"],
        total["cost"],
    ) == (150, 2, 2, None)
    assert [(stage["stage"], stage["ms"]) for stage in total["stages"]] == [
        ("plan", 11.0),
        ("embed", 5.0),
    ]
    assert "day" not in total
