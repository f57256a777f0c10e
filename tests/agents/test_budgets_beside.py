"""Calls that are not the agents' own count in a question's budget, too: of rerankers, and before any agent (R-C7)."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from chatbot.cancellation import Cancellation
from chatbot.conversation.service import Saved
from chatbot.schema import Answer, Budget, Message
from chatbot.services import Services
from tests.agents.limits import AT_ONCE, STALL, answered, asking, steps
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply
from tests.fakes.scripted_model import ScriptedModel, stage_of

pytestmark = pytest.mark.usefixtures("kenya", "mali")
TALK = (Message("user", "What is the population of Kenya?"), Message("assistant", "52,428,290 [1]."))


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
    @pytest.mark.parametrize("mode", ["direct", "deep", "chain", "compare", "report"])
    @pytest.mark.parametrize("model", [WithReranks, Undecided])
    def test_their_calls_count(self, services: Services, server: FakeOpenAI, mode: str, model) -> None:
        server.always(CHAT, model())
        with Services(services.settings.override(reranker="llm")) as reranked:
            for calls in (1, 2, 3, 5, 8):
                server.requests.clear()
                answer, _ = answered(reranked, asking(mode, budget=Budget(calls=calls)))
                assert answer.trace.usage.calls == server.calls(CHAT) <= calls
                assert answer.answered
                assert "The reports say so" in answer.response or "so much" in answer.response  # the model wrote it

    def test_it_is_marked(self, services: Services, server: FakeOpenAI) -> None:
        server.always(CHAT, WithReranks())
        with Services(services.settings.override(reranker="llm")) as reranked:
            answer, events = answered(reranked, asking("direct", budget=Budget(calls=1)))
        assert answer.trace.stopped_by == "calls"
        assert len(steps(events, "budget")) == 1


def condensed(services: Services, **limits: float) -> Answer:
    question = replace(asking("direct", "And of Mali?"), budget=Budget(**limits))  # type: ignore[arg-type]
    *_, saved = services.answering.chat.stream(question, previous_messages=TALK, cancel=Cancellation())
    assert isinstance(saved, Saved)
    return saved.answer


class TestCondensing:
    def test_the_only_call_is_for_the_answer(self, services: Services, server: FakeOpenAI) -> None:
        model = ScriptedModel()
        server.always(CHAT, model)
        assert condensed(services, calls=1).answered
        assert model.stages == ["answer"]

    def test_what_it_takes_is_gone(self, services: Services, server: FakeOpenAI) -> None:
        model = ScriptedModel()
        server.always(CHAT, model)
        answer = condensed(services, calls=2)
        assert model.stages == ["condense", "answer"]
        assert answer.trace.usage.calls == 2

    def test_a_model_that_stalls_is_left(self, services: Services, server: FakeOpenAI) -> None:
        server.always(CHAT, ScriptedModel(condense=Reply(silent_before=STALL), answer=Reply(silent_before=STALL)))
        started = time.monotonic()
        answer = condensed(services, seconds=1.0)
        assert time.monotonic() - started < 1.0 + AT_ONCE
        assert answer.trace.stopped_by == "seconds"
        assert answer.answered
