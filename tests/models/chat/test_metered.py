"""The day's budget of tokens (R-D9); without cached replies."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.database.repositories.usage import seconds_to_reset
from chatbot.domain import Caller, ChatModel, RequestContext, Usage
from chatbot.domain.errors import BudgetExhaustedError, ChatModelError
from chatbot.models import chat
from chatbot.models.chat import (
    MAX_CHARACTERS_PER_TOKEN,
    THINKING_TOKENS,
    EchoChatModel,
    ManagedChatModel,
)
from chatbot.models.chat.openai import build
from chatbot.models.replies.stream import complete
from tests.fakes.openai_server import CHAT, PROMPT_TOKENS, FakeOpenAI, Reply
from tests.models.chat.conftest import prompt


def managed(
    services: Services, inner: ChatModel, limit: int | None = None
) -> ManagedChatModel:
    settings, storage = (
        services.settings.override(daily_token_limit=limit),
        services.storage,
    )
    return ManagedChatModel(
        inner,
        settings,
        cache=storage.cache,
        usage=storage.usage,
        counters=storage.counters,
    )


def model(services: Services, limit: int | None) -> ManagedChatModel:
    return managed(services, EchoChatModel(), limit)


def test_the_call_that_crosses_the_limit_is_finished_and_the_next_is_not(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat, "seconds_to_reset", lambda: 3661)
    metered = model(services, 1)
    assert "".join(
        delta.text
        for delta in metered.stream(prompt(), request=RequestContext(cache=False))
    )
    with pytest.raises(
        BudgetExhaustedError,
        match=r"budget of 1 tokens is used up .* anew in 1 h 1 min",
    ) as raised:
        list(metered.stream(prompt(), request=RequestContext(cache=False)))
    assert raised.value.retry_after == 3661


def test_each_caller_has_its_own_share_of_the_day(services: Services) -> None:
    def ask(account: str) -> str:
        request = RequestContext(
            cache=False, caller=Caller(account=account, daily_tokens=1)
        )
        return "".join(
            delta.text
            for delta in model(services, None).stream(prompt(), request=request)
        )

    assert ask("key:a")
    with pytest.raises(BudgetExhaustedError, match="Your budget of 1 tokens"):
        ask("key:a")
    assert ask("address:192.0.2.1")


def test_all_workers_share_the_budget_and_what_is_broken_off_counts(
    services: Services,
) -> None:
    stream = model(services, None).stream(prompt(), request=RequestContext(cache=False))
    next(stream)
    stream.close()
    assert services.storage.usage.today() > 0
    with pytest.raises(BudgetExhaustedError):
        list(model(services, 1).stream(prompt(), request=RequestContext(cache=False)))


def test_the_day_ends_at_midnight_utc() -> None:
    assert seconds_to_reset(datetime(2026, 11, 22, 23, 59, 30, tzinfo=UTC)) == 30
    assert seconds_to_reset(datetime(2026, 11, 22, 0, 0, 0, tzinfo=UTC)) == 86400


def remote(services: Services, server: FakeOpenAI) -> ManagedChatModel:
    """On a server that does what it is told."""
    settings = Settings(
        openai_api_key=SecretStr("sk-1"), openai_base_url=server.url, model_retries=0
    )
    inner = build(settings, model="fake")
    return managed(services, inner)


def test_calls_of_threads_at_the_same_time_are_counted_for_their_question(
    services: Services, server: FakeOpenAI
) -> None:
    request, other, metered = (
        RequestContext(cache=False),
        RequestContext(cache=False),
        remote(services, server),
    )
    with ThreadPoolExecutor(4) as pool, request.within(30.0) as part:
        list(pool.map(lambda _: list(metered.stream(prompt(), request=part)), range(4)))
    assert request.meter.usage == Usage(4 * PROMPT_TOKENS, 8, calls=4)
    assert other.meter.usage == Usage()


def test_a_server_that_does_not_keep_to_the_limit_is_not_read_to_the_end(
    services: Services, server: FakeOpenAI
) -> None:
    server.chat(Reply(["a long answer " * 100] * 1000))
    deltas = list(
        remote(services, server).stream(prompt(), request=RequestContext(cache=False))
    )
    limit = MAX_CHARACTERS_PER_TOKEN * services.settings.max_answer_tokens
    assert sum(len(delta.text) for delta in deltas) == limit
    assert [delta.truncated for delta in deltas].count(True) == 1
    server.wait_until(lambda: server.received(CHAT)[-1].disconnected_at is not None)


def test_a_limit_before_the_first_word_is_an_error_that_names_the_setting(
    services: Services, server: FakeOpenAI
) -> None:
    """A model that thinks may spend all of it on that, twice."""
    server.always(CHAT, Reply([], finish_reason="length"))
    with pytest.raises(ChatModelError, match="before its first word") as raised:
        list(
            remote(services, server).stream(
                prompt(), request=RequestContext(cache=False)
            )
        )
    assert raised.value.remedy == "Raise MAX_ANSWER_TOKENS."
    limits = [request.body["max_tokens"] for request in server.received(CHAT)]
    usual = services.settings.max_answer_tokens
    assert limits == [usual, usual + THINKING_TOKENS["most"]]


def test_a_model_that_thinks_gets_room_and_thinks_little_for_a_plan(
    services: Services, server: FakeOpenAI
) -> None:
    thought = Reply([], finish_reason="length", completion_tokens=1024)
    server.chat(thought, *[Reply(["It is so."])] * 3)
    model = remote(services, server)
    asked = RequestContext(cache=False)
    reply = complete(model, prompt(), asked)
    assert (reply.text, reply.truncated) == ("It is so.", False)
    assert reply.usage == Usage(2 * PROMPT_TOKENS, 1024 + 1, calls=2)
    complete(model, prompt(), asked)
    complete(model, replace(prompt(), is_plan=True), asked)
    bodies = [request.body for request in server.received(CHAT)]
    usual = services.settings.max_answer_tokens
    room = usual + THINKING_TOKENS["usual"]
    assert [body["max_tokens"] for body in bodies[2:]] == [room, room]
    efforts = [body.get("reasoning_effort") for body in bodies]
    assert efforts == [None, None, None, "low"]
