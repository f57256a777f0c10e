"""A question's budget of calls, tokens and seconds: it is kept to, and the best answer
so far is given (R-C7).
"""

import time
from dataclasses import replace

import pytest

from chatbot.answering.conversation import Saved
from chatbot.answering.writers.prose import INSTEAD
from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import Answer, Cancellation, Message
from chatbot.domain.chat import Budget
from chatbot.domain.errors import BudgetExhaustedError
from tests.answering.modes.limits import (
    AT_ONCE,
    MODES,
    STAGES,
    STALL,
    WRITING,
    answered,
    asking,
    is_marked,
    steps,
)
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply
from tests.fakes.scripted_model import ScriptedModel, stage_of

pytestmark = [pytest.mark.usefixtures("kenya", "mali"), pytest.mark.extras("rerankers")]
TOO_LONG = Reply(
    status=400, error={"message": "too long", "code": "context_length_exceeded"}
)


class TestCalls:
    @pytest.mark.parametrize("mode", MODES)
    def test_never_more_than_allowed_and_always_an_answer(
        self, services: Services, server: FakeOpenAI, mode
    ) -> None:
        server.always(CHAT, ScriptedModel())
        full, _ = answered(services, asking(mode))
        needed = server.calls(CHAT)
        assert full.trace.stopped_by == ""
        assert full.trace.usage.calls == needed
        for calls in range(1, needed + 1):
            server.requests.clear()
            answer, _ = answered(services, asking(mode, budget=Budget(calls=calls)))
            assert server.calls(CHAT) <= calls
            assert answer.trace.usage.calls == server.calls(CHAT)
            assert answer.answered
            if calls < needed:
                is_marked(answer, "calls")
            else:
                assert answer.trace.stopped_by == ""

    @pytest.mark.sampled(3)
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("calls", [1, 2, 3, 4, 5])
    def test_repairs_of_a_reply_count_to_the_budget_of_calls(
        self, services: Services, server: FakeOpenAI, mode: str, calls: int
    ) -> None:
        unreadable = {
            stage: "Well."
            for stages in STAGES.values()
            for stage in stages
            if stage not in WRITING
        }
        server.always(CHAT, ScriptedModel(**unreadable))
        answer, _ = answered(services, asking(mode, budget=Budget(calls=calls)))
        assert answer.trace.usage.calls == server.calls(CHAT) <= calls
        assert answer.answered

    def test_a_repair_leaves_the_last_call_to_the_answer(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        model = ScriptedModel(plan="Well.")
        server.always(CHAT, model)
        answer, _ = answered(services, asking("deep", budget=Budget(calls=2)))
        assert model.stages == ["plan", "answer"]
        assert [
            (step.name, step.usage.calls)
            for step in answer.trace.steps
            if step.usage.calls
        ] == [
            ("plan", 1),
            ("generate", 1),
        ]
        is_marked(answer, "calls")

    @pytest.mark.parametrize("mode", ["direct", "deep", "compare"])
    def test_a_prompt_that_is_too_long_is_not_tried_again_without_a_call(
        self, services, server, mode: str
    ) -> None:
        server.always(CHAT, ScriptedModel(answer=TOO_LONG, compare=TOO_LONG))
        answer, _ = answered(services, asking(mode, budget=Budget(calls=1)))
        assert server.calls(CHAT) == 1
        is_marked(answer, "calls")
        assert "The budget of 1 model call is used up. " in answer.response
        assert INSTEAD in answer.response
        assert answer.answered

    def test_what_auto_hands_on_is_told_in_the_figures_of_the_whole(
        self, services, server: FakeOpenAI
    ) -> None:
        server.always(CHAT, ScriptedModel())
        answer, _ = answered(services, asking("auto", budget=Budget(calls=3)))
        (end,) = [step for step in answer.trace.path if step.name == "budget"]
        assert end.detail == "The budget of 3 model calls is used up."
        only, _ = answered(services, asking("auto", budget=Budget(calls=1)))
        assert (only.trace.mode, only.trace.stopped_by, only.trace.usage.calls) == (
            "direct",
            "calls",
            1,
        )


class TestTokens:
    @pytest.mark.parametrize("mode", ["deep", "chain", "auto", "report"])
    def test_planning_that_takes_too_many_ends_it(
        self, services: Services, server: FakeOpenAI, mode: str
    ) -> None:
        stage = STAGES[mode][0]
        ideal = {
            "plan": '{"queries": ["What is the population?"]}',
            "auto": '{"choice": "deep"}',
        }
        ideal |= {
            "follow_up": '{"enough": false, "question": "What is the population?"}'
        }
        reply = f"{ideal[stage]} {'so ' * 1900}"
        model = ScriptedModel(**{stage: reply})
        server.always(CHAT, model)
        answer, _ = answered(services, asking(mode, budget=Budget(tokens=4000)))
        assert 1900 < answer.trace.usage.tokens < 4000
        assert model.calls.total() <= 2
        assert answer.answered
        is_marked(answer, "tokens")

    @pytest.mark.parametrize("mode", MODES)
    def test_the_smallest_budget_gives_an_answer(
        self, services: Services, server: FakeOpenAI, mode: str
    ) -> None:
        server.always(CHAT, ScriptedModel())
        answer, _ = answered(services, asking(mode, budget=Budget(tokens=500)))
        assert answer.trace.usage.tokens <= 500
        assert answer.answered

    def test_passages_that_do_not_fit_are_left_out_and_that_is_said(
        self, services, server, add_report
    ) -> None:
        for number in range(3):
            add_report(
                (
                    f"# Chad {number}\n\n## Population\n\n"
                    f"{'Many people, it is said. ' * 40}"
                ),
                f"chad-{number}",
            )
        server.always(CHAT, ScriptedModel())
        answer, _ = answered(
            services,
            asking("direct", "How many people, is it said?", budget=Budget(tokens=500)),
        )
        is_marked(answer, "tokens")
        assert server.calls(CHAT) == 1
        assert answer.answered


class TestTheDay:
    """DAILY_TOKEN_LIMIT (R-D9)."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.override(daily_token_limit=5)

    @pytest.mark.parametrize(
        "replies",
        [{}, dict.fromkeys(("plan", "follow_up", "auto"), "Well.")],
    )
    @pytest.mark.parametrize("mode", ["deep", "chain", "auto", "report"])
    def test_reached_in_the_middle_it_ends_the_answer(
        self, services, server: FakeOpenAI, mode: str, replies
    ) -> None:
        server.always(CHAT, ScriptedModel(**replies))
        answer, _ = answered(services, asking(mode))
        assert server.calls(CHAT) == answer.trace.usage.calls == 1
        assert answer.trace.stopped_by == "tokens"
        assert steps(answer.trace.path, "budget")[0].detail.startswith(
            "Today's budget of 5 tokens is used up"
        )
        assert answer.answered
        assert INSTEAD in answer.response

    @pytest.mark.parametrize("mode", MODES)
    def test_reached_before_the_first_call_it_is_an_error(
        self, services, server: FakeOpenAI, mode: str
    ) -> None:
        server.always(CHAT, ScriptedModel())
        answered(services, asking("direct"))
        with pytest.raises(BudgetExhaustedError):
            answered(services, asking(mode))
        assert server.calls(CHAT) == 1

    def test_reached_by_a_reranker(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.always(CHAT, ScriptedModel())
        with build(services.settings.override(reranker="llm")) as reranked:
            answer, _ = answered(reranked, asking("deep"))
        assert answer.answered
        assert answer.trace.stopped_by == "tokens"


class TestKept:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.override(cache_seconds=600)

    def test_an_answer_that_ended_early_is_not_kept(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.always(CHAT, ScriptedModel())
        limited = replace(asking("deep", budget=Budget(calls=2)), cache=True)
        answered(services, limited)
        answer, _ = answered(services, limited)
        assert not answer.trace.cached
        whole, _ = answered(services, replace(limited, budget=Budget()))
        assert (whole.trace.cached, whole.trace.stopped_by) == (False, "")
        again, _ = answered(services, replace(limited, budget=Budget(seconds=100.0)))
        assert again.trace.cached, "the budget it was made with does not matter"


# Calls that are not the agents' own count in a question's budget, too: of rerankers,
# and before any agent.

TALK = (
    Message("user", "What is the population of Kenya?"),
    Message("assistant", "52,428,290 [1]."),
)


class WithReranks(ScriptedModel):
    """Whatever no agent asks is a reranker."""

    def __call__(self, request):
        try:
            stage_of(request)
        except StopIteration:
            return Reply([self.verdict])
        return super().__call__(request)

    verdict = '{"numbers": [1]}'


class Undecided(WithReranks):
    verdict = "Well."


class TestRerankers:
    @pytest.mark.sampled(2)
    @pytest.mark.parametrize("mode", ["direct", "deep", "chain", "compare", "report"])
    @pytest.mark.parametrize("model", [WithReranks, Undecided])
    def test_their_calls_count(
        self, services: Services, server: FakeOpenAI, mode: str, model
    ) -> None:
        server.always(CHAT, model())
        with build(services.settings.override(reranker="llm")) as reranked:
            for calls in (1, 2, 3, 5, 8):
                server.requests.clear()
                answer, _ = answered(reranked, asking(mode, budget=Budget(calls=calls)))
                assert answer.trace.usage.calls == server.calls(CHAT) <= calls
                assert answer.answered
                assert (
                    "The reports say so" in answer.response
                    or "so much" in answer.response
                )  # the model wrote it

    def test_an_answer_whose_reranker_ended_the_budget_is_marked(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.always(CHAT, WithReranks())
        with build(services.settings.override(reranker="llm")) as reranked:
            answer, events = answered(
                reranked, asking("direct", budget=Budget(calls=1))
            )
        assert answer.trace.stopped_by == "calls"
        assert len(steps(events, "budget")) == 1


def condensed(services: Services, **limits: float) -> Answer:
    question = replace(asking("direct", "And of Mali?"), budget=Budget(**limits))  # type: ignore[arg-type]
    saved = services.chat.answer(
        question, previous_messages=TALK, cancel=Cancellation()
    )
    assert isinstance(saved, Saved)
    return saved.answer


class TestCondensing:
    def test_the_only_call_is_for_the_answer(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        model = ScriptedModel()
        server.always(CHAT, model)
        assert condensed(services, calls=1).answered
        assert model.stages == ["answer"]

    def test_what_it_takes_is_gone(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        model = ScriptedModel()
        server.always(CHAT, model)
        answer = condensed(services, calls=2)
        assert model.stages == ["condense", "answer"]
        assert answer.trace.usage.calls == 2

    def test_a_model_that_stalls_is_left(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.always(
            CHAT,
            ScriptedModel(
                condense=Reply(silent_before=STALL), answer=Reply(silent_before=STALL)
            ),
        )
        started = time.monotonic()
        answer = condensed(services, seconds=1.0)
        assert time.monotonic() - started < 1.0 + AT_ONCE
        assert answer.trace.stopped_by == "seconds"
        assert answer.answered
