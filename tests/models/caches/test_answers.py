"""The response level (R-B10): what makes two prompts one."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import (
    Answer,
    Context,
    Event,
    Message,
    Prompt,
    Question,
    SourcesEvent,
    TokenEvent,
)
from chatbot.domain.callers import Caller
from chatbot.domain.request import RequestContext
from chatbot.models.chat import ManagedChatModel
from chatbot.models.replies import numbers, queries
from tests.asking import Finished, by_mode
from tests.conftest import KENYA_2023, AddReport
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply
from tests.models.rerank.hits import Scripted


class Memory:
    """Stands in for the `CacheRepository`."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Any] = {}

    def get(
        self, level: str, key: str, *, request: RequestContext | None = None
    ) -> Any:
        return self._kept.get((level, key))

    def put(self, level: str, key: str, value: Any, *, owner: str = "") -> None:
        self._kept[level, key] = value


def test_the_same_words_with_another_schema_are_another_prompt(
    services: Services,
) -> None:
    inner = Scripted("prose", '{"numbers": []}', '{"queries": []}')
    storage = services.storage
    model = ManagedChatModel(
        inner,
        services.settings,
        cache=Memory(),
        usage=storage.usage,
        counters=storage.counters,
    )
    plain = Prompt((Message("user", "Which?"),), "Which?", Context())
    prompts = [
        plain,
        *(
            replace(plain, json_schema=shape.schema)
            for shape in (numbers(5), queries(4))
        ),
    ]

    def said(prompt: Prompt) -> str:
        return "".join(
            delta.text for delta in model.stream(prompt, request=RequestContext())
        ).strip()

    first = [said(prompt) for prompt in prompts]
    assert first == ["prose", '{"numbers": []}', '{"queries": []}']
    assert [said(prompt) for prompt in prompts] == first
    assert len(inner.prompts) == 3


# A repeated question costs nothing, and is never answered from what has changed
# (R-B10).


QUERY = "What is the population growth rate?"


@pytest.fixture
def settings(settings: Settings, server: FakeOpenAI) -> Settings:
    return settings.override(**server.as_settings, model_timeout=60.0, cache_seconds=60)


def ask(services: Services, query: str = QUERY, **changes: Any) -> list[Event]:
    scope = services.storage.scopes.resolve(changes.pop("filters", None))
    question = replace(Question(query, scope, 5, "hybrid", "direct"), **changes)
    return by_mode(services, question, request=RequestContext())


def answer(events: list[Event]) -> Answer:
    assert isinstance(events[-1], Finished)
    return events[-1].answer


@pytest.mark.usefixtures("kenya")
class TestRepeated:
    def test_a_repeated_question_makes_no_call_and_says_so(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.always(CHAT, Reply("It is 2.09% [1]."))
        events, again = ask(services), ask(services, f"  {QUERY.replace(' ', '  ')} ")
        first, found = (
            answer(events),
            [
                event.hits
                for event in (*events, *again)
                if isinstance(event, SourcesEvent)
            ],
        )
        assert found[0] == found[1]
        assert server.calls(CHAT) == 1
        second = answer(again)
        assert (second.response, second.citations, second.scope) == (
            first.response,
            first.citations,
            first.scope,
        )
        assert (first.trace.cached, second.trace.cached) == (False, True)
        assert first.trace.caches == {
            "query miss": 1,
            "embedding miss": 1,
            "response miss": 1,
        }
        assert second.trace.caches == {"query hit": 1}
        assert (second.trace.usage.calls, second.trace.usage.embedding_tokens) == (0, 0)
        assert [type(event) for event in again] == [
            SourcesEvent,
            TokenEvent,
            Finished,
        ]

    def test_what_depends_on_a_conversation_is_given_to_its_owner_only(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.always(CHAT, Reply("It is 2.09% [1]."))
        scope = services.storage.scopes.resolve(None)
        history = (Message("user", "Hello"), Message("assistant", "Hi"))
        asked = Question(QUERY, scope, 5, "hybrid", "direct", history=history)
        for owner, calls in (("key:a", 1), ("key:a", 1), ("key:b", 2), ("", 3)):
            request = RequestContext(caller=Caller(owner=owner), private=True)
            by_mode(services, asked, request=request)
            assert server.calls(CHAT) == calls, owner
        services.storage.cache.forget_answers()
        by_mode(services, asked, request=request)
        assert server.calls(CHAT) == 4

    @pytest.mark.parametrize(
        "change",
        [
            {"filters": {"year": 2023}},
            {"top_k": 2},
            {"retrieval_method": "bm25"},
            {"history": (Message("user", "Hello"), Message("assistant", "Hi"))},
            {"query": QUERY.lower()},
            {"cache": False},
            {"today": date(2031, 2, 3)},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_whatever_changes_the_answer_asks_anew(
        self, services: Services, server: FakeOpenAI, change: dict[str, Any]
    ) -> None:
        server.always(CHAT, Reply("It is 2.09% [1]."))
        ask(services)
        assert answer(ask(services, **change)).trace.cached is False

    def test_who_wants_no_cache_gets_a_new_answer(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply("It is 2.09% [1]."), Reply("2.09% it is [1]."))
        assert answer(ask(services)).response == "It is 2.09% [1]."
        assert answer(ask(services, cache=False)).response == "2.09% it is [1]."
        assert answer(ask(services)).response == "It is 2.09% [1]."

    def test_after_an_ingest_it_is_computed_anew(
        self, services: Services, server: FakeOpenAI, add_report: AddReport
    ) -> None:
        server.always(CHAT, Reply("It is 2.09% [1]."))
        ask(services)
        add_report(
            KENYA_2023.replace("2.09", "3.01"),
            "kenya-2023",
            country_name="Kenya",
            year=2023,
        )
        assert answer(ask(services)).trace.cached is False
        assert server.calls(CHAT) == 2

    def test_another_setting_is_another_answer(
        self, services: Services, settings: Settings, server: FakeOpenAI
    ) -> None:
        server.always(CHAT, Reply("It is 2.09% [1]."))
        ask(services)
        with build(settings.override(threshold_start=0.5)) as other:
            assert answer(ask(other)).trace.cached is False
        with build(settings) as same:
            assert answer(ask(same)).trace.cached is True

    def test_an_abstention_is_not_kept(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.always(CHAT, Reply("I do not know."))
        assert answer(ask(services)).answered is False
        assert answer(ask(services)).trace.cached is False
