"""The day's budget of tokens (R-D9)."""

from __future__ import annotations

import contextvars
import threading
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from chatbot.cancellation import Cancellation
from chatbot.chat_models.echo import EchoChatModel
from chatbot.chat_models.metered import MeteredChatModel, begin_recording
from chatbot.chat_models.openai import build
from chatbot.errors import BudgetExhaustedError, ChatModelError
from chatbot.repositories.usage import UsageRepository, seconds_to_reset
from chatbot.schema import Usage
from chatbot.services import Services
from chatbot.settings import Settings
from chatbot.text import estimate_tokens
from tests.chat_models.conftest import prompt
from tests.fakes.openai_server import PROMPT_TOKENS, FakeOpenAI, Reply


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


ASKED = sum(estimate_tokens(message.content) for message in prompt().messages)


def remote(services: Services, server: FakeOpenAI) -> MeteredChatModel:
    """On a server that does what it is told."""
    settings = Settings(openai_api_key=SecretStr("sk-1"), openai_base_url=server.url, model_retries=0)
    inner = build(settings, model="fake")
    return MeteredChatModel(inner, services.usage, limit=None, reset=lambda: 1)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
def test_a_refused_call_costs_nothing(services: Services, server: FakeOpenAI, status: int) -> None:
    """R-C7: a server that refuses all day must not use up the day's budget."""
    server.chat(Reply(status=status))
    spent = begin_recording()
    with pytest.raises(ChatModelError):
        list(remote(services, server).stream(prompt(), cancel=Cancellation()))
    assert services.usage.today() == 0
    assert spent.usage == Usage(calls=1, failed_calls=1)


@pytest.mark.parametrize("ending", ["drop", "error"])
def test_what_broke_off_after_its_first_piece_is_estimated(services: Services, server: FakeOpenAI, ending: str) -> None:
    server.chat(Reply(["half of ", "an answer"], ending=ending))
    spent = begin_recording()
    with pytest.raises(ChatModelError):
        list(remote(services, server).stream(prompt(), cancel=Cancellation()))
    expected = Usage(ASKED, estimate_tokens("half of an answer"), calls=1, failed_calls=1)
    assert spent.usage == expected
    assert services.usage.today() == expected.tokens


def test_what_the_server_counted_is_taken_as_it_is(services: Services, server: FakeOpenAI) -> None:
    server.chat(Reply(["a", "b", "c"]))
    spent = begin_recording()
    list(remote(services, server).stream(prompt(), cancel=Cancellation()))
    assert spent.usage == Usage(PROMPT_TOKENS, 3, calls=1)
    assert services.usage.today() == PROMPT_TOKENS + 3


def test_a_call_that_a_person_stops_in_its_silence_is_estimated(services: Services, server: FakeOpenAI) -> None:
    """The model may have read and thought by then."""
    server.chat(Reply(silent_before=20.0))
    cancel, spent = Cancellation(), begin_recording()
    stopping = threading.Timer(0.2, cancel.cancel)
    stopping.start()
    assert list(remote(services, server).stream(prompt(), cancel=cancel)) == []
    stopping.join()
    assert spent.usage == Usage(ASKED, estimate_tokens(""), calls=1)


def test_calls_of_threads_in_copies_of_the_context_are_recorded(services: Services, server: FakeOpenAI) -> None:
    spent, metered = begin_recording(), remote(services, server)
    workers = [
        threading.Thread(
            target=contextvars.copy_context().run,
            args=(lambda: list(metered.stream(prompt(), cancel=Cancellation())),),
        )
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert spent.usage == Usage(4 * PROMPT_TOKENS, 8, calls=4)


def test_a_recording_ends_with_the_next(services: Services) -> None:
    first, metered = begin_recording(), model(services, None)
    second = begin_recording()
    list(metered.stream(prompt(), cancel=Cancellation()))
    assert (first.usage.calls, second.usage.calls) == (0, 1)
