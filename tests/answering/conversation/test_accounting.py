"""What answers took and cost: by stage, in the books of their day and conversation
(R-C7).
"""

import dataclasses
from contextlib import suppress
from types import SimpleNamespace

import pytest

from chatbot.answering.accounting import UsageAccounting, cost
from chatbot.answering.conversation import Place, Saved
from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import Message, SourcesEvent, TokenEvent, Usage
from chatbot.domain.cancellation import Cancellation
from chatbot.domain.chat import StepTiming
from chatbot.domain.costs import DayUsage, LedgerRow, ModelPrice, Sums
from chatbot.domain.errors import ChatModelError
from chatbot.domain.json import to_json
from tests.answering.modes.conftest import question
from tests.fakes.openai_server import PROMPT_TOKENS, FakeOpenAI, Reply

GENERATE_COST = (PROMPT_TOKENS * 2.5 + 2 * 10) / 1e6
ANSWER = Reply(["It is ", "2.09% [1]."])


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.override(model_prices=(ModelPrice("openai:fake", 2.5, 10.0),))


def ask(
    services: Services,
    query: str = "",
    conversation_id: str | None = None,
    *previous: Message,
) -> Saved:
    asked = question(query) if query else question()
    last = services.chat.answer(
        asked,
        place=Place(conversation_id),
        previous_messages=previous,
        cancel=Cancellation(),
    )
    assert isinstance(last, Saved)
    return last


def today(services: Services) -> DayUsage:
    (day,) = services.storage.usage.days(1)
    return day


@pytest.mark.usefixtures("kenya")
class TestAnswers:
    def test_the_ledger_has_each_stage_and_its_cost(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.chat(ANSWER)
        trace = ask(services).answer.trace
        rows = {row.stage: row for row in trace.ledger}
        assert list(rows) == list(dict.fromkeys(step.name for step in trace.steps))
        assert rows["generate"].usage == Usage(PROMPT_TOKENS, 2, calls=1)
        assert rows["generate"].cost == pytest.approx(GENERATE_COST)
        assert rows["embed"].usage.embedding_tokens > 0
        assert rows["embed"].cost == 0.0  # this process's own embedder
        assert trace.cost == pytest.approx(GENERATE_COST)

    def test_the_day_and_the_conversation_have_the_same(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.chat(ANSWER)
        saved = ask(services)
        trace = saved.answer.trace
        assert saved.conversation_usage == Sums.of(trace.ledger)
        day = today(services)
        assert day.sums == saved.conversation_usage
        assert day.sums.questions == 1
        assert day.metered_tokens == PROMPT_TOKENS + 2
        assert {stage.stage for stage in day.stages} == {
            row.stage for row in trace.ledger
        }
        generate = next(stage for stage in day.stages if stage.stage == "generate")
        assert (generate.runs, generate.calls, generate.tokens) == (
            1,
            1,
            PROMPT_TOKENS + 2,
        )

    def test_a_conversation_adds_up_condensing_too(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.chat(ANSWER, Reply(["What is the location of Kenya?"]), ANSWER)
        first = ask(services)
        second = ask(services, "and where is it?", first.conversation_id)
        assert second.answer.trace.ledger[0].stage == "condense_model"
        assert second.conversation_usage.questions == 2
        assert second.conversation_usage.usage.calls == 3
        other = ask(services)
        assert other.conversation_usage.questions == 1
        both = second.conversation_usage + other.conversation_usage
        assert to_json(today(services).sums) == to_json(both)

    def test_condensing_that_failed_is_in_the_books(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.chat(ANSWER, Reply(status=429), ANSWER)
        first = ask(services)
        second = ask(services, "and the location?", first.conversation_id)
        usage = second.answer.trace.ledger[0].usage
        assert usage == Usage(calls=1, failed_calls=1)
        assert today(services).sums.usage.failed_calls == 1

    def test_an_abstention_has_a_ledger(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        with build(services.settings.override(relevance_floor=1.0)) as strict:
            saved = ask(strict)
        assert not saved.answer.answered
        assert "embed" in {row.stage for row in saved.answer.trace.ledger}
        assert server.requests == []
        assert saved.conversation_usage.usage.calls == 0
        assert today(services).sums == saved.conversation_usage

    def test_one_that_needs_no_search_is_counted(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        saved = ask(services, "Do you have reports on Norway?")
        assert saved.answer.trace.ledger == ()
        assert saved.conversation_usage == Sums(questions=1)
        assert today(services).sums == Sums(questions=1)

    def test_without_a_price_the_cost_is_unknown(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        with build(services.settings.override(model_prices=())) as unpriced:
            saved = ask(unpriced)
        assert saved.answer.trace.cost is None
        assert saved.conversation_usage.unpriced_tokens == PROMPT_TOKENS + 2
        assert saved.conversation_usage.full_cost is None


@pytest.mark.usefixtures("kenya")
class TestCaches:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.override(cache_seconds=3600.0)

    def test_a_repeated_question_costs_nothing_and_counts(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.chat(ANSWER)
        first = ask(services)
        again = ask(services)
        assert again.answer.trace.cached
        assert [
            (row.stage, row.usage, row.cost) for row in again.answer.trace.ledger
        ] == [("cache", Usage(), 0.0)]
        assert today(services).sums == first.conversation_usage + Sums(questions=1)

    def test_an_upgrade_answers_anew(
        self, services: Services, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.chat(ANSWER)
        ask(services)
        monkeypatch.setattr("chatbot.app.services.searching.__version__", "99.0")
        assert not ask(services).answer.trace.cached

    def test_a_completion_from_the_cache_is_told_apart(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.chat(ANSWER)
        ask(services)
        same_passages = dataclasses.replace(question(), top_k=50)
        last = services.chat.answer(same_passages, cancel=Cancellation())
        assert isinstance(last, Saved)
        assert last.conversation_usage.usage.cached_calls == 1
        assert today(services).sums.usage.cached_calls == 1
        assert today(services).sums.usage.calls == 1


@pytest.mark.usefixtures("kenya")
class TestUnfinished:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.override(on_model_error="error")

    def test_a_failed_answer_is_in_the_books_of_the_day(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply(["half"], ending="drop"))
        with pytest.raises(ChatModelError):
            ask(services)
        day = today(services)
        (stage,) = day.stages
        assert (stage.stage, stage.runs, stage.calls) == ("unfinished", 1, 1)
        assert stage.tokens == day.metered_tokens > 0
        assert (day.sums.questions, day.sums.usage.failed_calls) == (0, 1)
        assert day.sums.cost > 0

    def test_and_of_its_conversation(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.chat(ANSWER, Reply(["half"], ending="drop"), ANSWER)
        first = ask(services)
        with pytest.raises(ChatModelError):
            ask(services, "What is the location of Kenya?", first.conversation_id)
        after = ask(services, "What is the location of Kenya?", first.conversation_id)
        assert after.conversation_usage.questions == 2
        assert after.conversation_usage.usage.failed_calls == 1
        assert after.conversation_usage == today(services).sums

    def test_a_refused_call_counts_without_tokens(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.chat(Reply(status=429))
        with pytest.raises(ChatModelError):
            ask(services)
        day = today(services)
        assert day.sums == Sums(0, Usage(calls=1, failed_calls=1))
        assert day.metered_tokens == 0

    @pytest.mark.parametrize("left", ["cancelled", "abandoned"])
    def test_a_question_that_somebody_stops(
        self, services: Services, server: FakeOpenAI, left: str
    ) -> None:
        server.chat(Reply(["half"], silent_after=20.0))
        cancel = Cancellation()

        def send(event: object) -> None:
            if isinstance(event, TokenEvent) and left == "cancelled":
                cancel.cancel()
            elif isinstance(event, TokenEvent):
                raise ConnectionError

        chat = services.chat
        with suppress(ConnectionError):
            assert chat.answer(question(), send=send, cancel=cancel) is None
        day = today(services)
        assert day.sums.usage.calls == 1
        assert day.sums.usage.tokens == day.metered_tokens > 0
        assert [stage.stage for stage in day.stages] == ["unfinished"]

    def test_stopped_before_any_call_there_is_nothing_to_book(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        cancel = Cancellation()

        def send(event: object) -> None:
            if isinstance(event, SourcesEvent):
                cancel.cancel()

        services.chat.answer(question(), send=send, cancel=cancel)
        assert services.storage.usage.days(1) == []

    def test_an_answer_is_booked_once(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        services.chat.answer(question(), cancel=Cancellation())
        assert "unfinished" not in {stage.stage for stage in today(services).stages}
        assert today(services).sums.questions == 1


CHAT, EMBEDDER = (
    ModelPrice("openai:gpt-4o", 2.5, 10.0),
    ModelPrice("openai:small", 0.02, 0.02),
)
LOCAL = "minilm:all-minilm-l6-v2-int8"


def ledger(
    services: Services, *steps: StepTiming, chat: str, embedder: str, small: str = ""
) -> tuple[LedgerRow, ...]:
    """With prices for `CHAT`, `EMBEDDER` and "echo"; all other models have none."""
    return UsageAccounting(
        prices=[CHAT, EMBEDDER, ModelPrice("echo", 1.0, 1.0)],
        chat_model=SimpleNamespace(model_id=chat, is_language_model=":" in chat),  # type: ignore[arg-type]
        small_chat_model=SimpleNamespace(
            model_id=small or chat, is_language_model=":" in chat
        ),  # type: ignore[arg-type]
        embedder=lambda: SimpleNamespace(model_id=embedder, local=embedder == LOCAL),  # type: ignore[arg-type,return-value]
        days=services.storage.usage,
        conversations=services.storage.conversations,
    ).ledger(steps)


def test_steps_of_one_name_are_one_row_in_order_of_first_appearance(
    services: Services,
) -> None:
    steps = [
        StepTiming("embed", 1.25, Usage(embedding_tokens=5)),
        StepTiming("generate", 100.0, Usage(1000, 100, calls=1)),
        StepTiming("fuse", 0.5),
        StepTiming("embed", 1.5, Usage(embedding_tokens=4)),
        StepTiming("generate", 50.0, Usage(calls=1, failed_calls=1)),
    ]
    assert ledger(services, *steps, chat=CHAT.model_id, embedder=EMBEDDER.model_id) == (
        LedgerRow("embed", 2, 2.75, Usage(embedding_tokens=9), 1.8e-07),
        LedgerRow(
            "generate", 2, 150.0, Usage(1000, 100, calls=2, failed_calls=1), 0.0035
        ),
        LedgerRow("fuse", 1, 0.5, Usage(), 0.0),
    )
    assert ledger(services, chat=CHAT.model_id, embedder=EMBEDDER.model_id) == ()


def test_a_stage_costs_what_its_model_costs(services: Services) -> None:
    steps = [
        StepTiming(name, 1.0, Usage(1_000_000, calls=1))
        for name in ("condense_model", "plan", "generate")
    ]
    rows = ledger(
        services, *steps, chat=CHAT.model_id, small=EMBEDDER.model_id, embedder=LOCAL
    )
    assert [row.cost for row in rows] == [0.02, 0.02, 2.5]


@pytest.mark.parametrize(
    ("chat", "embedder", "expected"),
    [
        ("extractive", LOCAL, 0.0),
        ("echo", LOCAL, 18e-6),
        ("openai:other", LOCAL, None),
        ("echo", "cohere:x", None),
    ],
)
def test_models_of_this_process_are_free_unless_the_table_says_otherwise(
    services: Services, chat: str, embedder: str, expected: float | None
) -> None:
    (row,) = ledger(
        services, StepTiming("any", 1.0, Usage(9, 9, 9)), chat=chat, embedder=embedder
    )
    assert row.cost == expected


@pytest.mark.parametrize(
    ("usage", "chat", "embedder", "expected"),
    [
        (Usage(1_000_000, 0), CHAT, EMBEDDER, 2.5),
        (Usage(0, 1_000_000), CHAT, EMBEDDER, 10.0),
        (Usage(embedding_tokens=1_000_000), CHAT, EMBEDDER, 0.02),
        (Usage(1, 1, 1), CHAT, EMBEDDER, 12.52e-6),
        (Usage(1), None, EMBEDDER, None),
        (Usage(0, 1), None, EMBEDDER, None),
        (Usage(5, 5, 5), None, EMBEDDER, None),
        (Usage(embedding_tokens=1), CHAT, None, None),
        (Usage(1, 1, 1), CHAT, None, None),
        (Usage(2, 0), CHAT, None, 5e-6),
        (Usage(), None, None, 0.0),
        (Usage(calls=1, failed_calls=1), None, None, 0.0),
        (Usage(cached_calls=1), None, None, 0.0),
    ],
)
def test_the_cost_of_usage_is_unknown_if_a_price_that_it_needs_is(
    usage: Usage,
    chat: ModelPrice | None,
    embedder: ModelPrice | None,
    expected: float | None,
) -> None:
    assert cost(usage, chat, embedder) == (
        None if expected is None else pytest.approx(expected)
    )
