"""The day's budget of tokens (R-D9)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chatbot.cancellation import Cancellation
from chatbot.chat_models.echo import EchoChatModel
from chatbot.chat_models.metered import MeteredChatModel
from chatbot.errors import BudgetExhaustedError
from chatbot.repositories.usage import UsageRepository, seconds_to_reset
from chatbot.services import Services
from tests.chat_models.conftest import prompt


def model(services: Services, limit: int | None) -> MeteredChatModel:
    return MeteredChatModel(EchoChatModel(), UsageRepository(services.database), limit=limit, reset=lambda: 3661)


def test_the_call_that_crosses_the_limit_is_finished_and_the_next_is_not(services: Services) -> None:
    metered = model(services, 1)
    assert "".join(delta.text for delta in metered.stream(prompt(), cancel=Cancellation()))
    with pytest.raises(BudgetExhaustedError, match=r"budget of 1 tokens is used up .* anew in 1 h 1 min") as raised:
        list(metered.stream(prompt(), cancel=Cancellation()))
    assert raised.value.retry_after == 3661


def test_all_workers_share_the_budget_and_what_is_broken_off_counts(services: Services) -> None:
    stream = model(services, None).stream(prompt(), cancel=Cancellation())
    next(stream)
    stream.close()
    assert services.usage.today() > 0
    with pytest.raises(BudgetExhaustedError):
        list(model(services, 1).stream(prompt(), cancel=Cancellation()))


def test_without_a_limit_it_only_counts(services: Services) -> None:
    metered = model(services, None)
    for _ in range(2):
        list(metered.stream(prompt(), cancel=Cancellation()))
    assert services.usage.today() > 0


def test_the_day_ends_at_midnight_utc() -> None:
    assert seconds_to_reset(datetime(2026, 11, 22, 23, 59, 30, tzinfo=UTC)) == 30
    assert seconds_to_reset(datetime(2026, 11, 22, 0, 0, 0, tzinfo=UTC)) == 86400
