"""What an answer took and cost, by stage (R-C7)."""

from __future__ import annotations

import pytest

from chatbot.conversation.ledger import Prices, ledger
from chatbot.schema import LedgerRow, StepTiming, Usage
from chatbot.schema.prices import ModelPrice

CHAT, EMBEDDER = "openai:gpt-4o", "openai:small"
PRICES = Prices([ModelPrice(CHAT, 2.5, 10.0), ModelPrice(EMBEDDER, 0.02, 0.02)])


def cost(usage: Usage, prices: Prices = PRICES, chat: str = CHAT, embedder: str = EMBEDDER) -> float | None:
    return prices.cost(usage, chat_model_id=chat, embedder_id=embedder)


def test_steps_of_one_name_are_one_row_in_order_of_first_appearance() -> None:
    steps = [
        StepTiming("embed", 1.25, Usage(embedding_tokens=5)),
        StepTiming("generate", 100.0, Usage(1000, 100, calls=1)),
        StepTiming("fuse", 0.5),
        StepTiming("embed", 1.5, Usage(embedding_tokens=4)),
        StepTiming("generate", 50.0, Usage(calls=1, failed_calls=1)),
    ]
    assert ledger(steps, PRICES, CHAT, EMBEDDER) == (
        LedgerRow("embed", 2, 2.75, Usage(embedding_tokens=9), 1.8e-07),
        LedgerRow("generate", 2, 150.0, Usage(1000, 100, calls=2, failed_calls=1), 0.0035),
        LedgerRow("fuse", 1, 0.5, Usage(), 0.0),
    )


def test_no_step_is_no_row() -> None:
    assert ledger([], PRICES, CHAT, EMBEDDER) == ()


def test_prompt_and_completion_have_their_own_prices() -> None:
    assert cost(Usage(1_000_000, 0)) == 2.5
    assert cost(Usage(0, 1_000_000)) == 10.0
    assert cost(Usage(embedding_tokens=1_000_000)) == 0.02
    assert cost(Usage(1, 1, 1)) == pytest.approx(12.52e-6)


@pytest.mark.parametrize("usage", [Usage(1), Usage(0, 1), Usage(5, 5, 5)])
def test_it_is_unknown_where_the_chat_model_has_no_price(usage: Usage) -> None:
    assert cost(usage, chat="openai:other") is None


def test_it_is_unknown_where_the_embedder_has_no_price() -> None:
    assert cost(Usage(embedding_tokens=1), embedder="cohere:other") is None
    assert cost(Usage(1, 1, 1), embedder="cohere:other") is None
    assert cost(Usage(2, 0), embedder="cohere:other") == 5e-06


@pytest.mark.parametrize("usage", [Usage(), Usage(calls=1, failed_calls=1), Usage(cached_calls=1)])
def test_what_used_nothing_costs_nothing_whatever_the_table(usage: Usage) -> None:
    assert cost(usage, Prices([])) == 0.0


def test_models_of_this_process_are_free_unless_the_table_says_otherwise() -> None:
    local = Prices([ModelPrice("echo", 1.0, 1.0)], free={"minilm", "extractive", "echo"})
    assert cost(Usage(9, 9, 9), local, "extractive", "minilm:all-minilm-l6-v2-int8") == 0.0
    assert cost(Usage(9, 9), local, "echo") == 18e-06
    assert cost(Usage(9, 9), local, "openai:minilm") is None
