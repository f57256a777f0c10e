"""The seconds of a question: it ends in time, wherever a model or a search stalls
(R-C7).
"""

import re
import time
from collections.abc import Callable

import pytest

from chatbot.answering.writers.prose import INSTEAD
from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import Answer
from chatbot.domain.chat import Budget
from tests.answering.modes.limits import (
    AT_ONCE,
    EVERY_STAGE,
    MODES,
    STALL,
    WRITING,
    answered,
    asking,
    is_marked,
    no_thread_left,
    stalls,
    under_way,
)
from tests.fakes.openai_server import CHAT, EMBEDDINGS, FakeOpenAI, Reply
from tests.fakes.scripted_model import ScriptedModel

pytestmark = [pytest.mark.usefixtures("kenya", "mali"), pytest.mark.extras("rerankers")]


SECONDS, LONGER = 1.0, (4.0, 20.0)
"""What is enough, and what a busy machine needs to come to the stage that stalls."""


def in_time(services: Services, mode: str, seconds: float = SECONDS) -> Answer:
    """The answer, which takes no longer than its budget and says that it ended
    early.
    """
    started = time.monotonic()
    answer, _ = answered(services, asking(mode, budget=Budget(seconds=seconds)))
    assert time.monotonic() - started < seconds + AT_ONCE
    is_marked(answer, "seconds")
    return answer


def in_time_at(
    services: Services, mode: str, reached: Callable[[Answer], object]
) -> Answer:
    """The answer of the shortest budget in which the stage that stalls is reached."""
    answer = in_time(services, mode)
    for seconds in LONGER:
        if not reached(answer):
            answer = in_time(services, mode, seconds)
    return answer


class TestSeconds:
    @pytest.mark.sampled(3)
    @pytest.mark.parametrize(("mode", "stage"), EVERY_STAGE)
    def test_a_model_that_stalls_is_left(
        self, services: Services, server: FakeOpenAI, mode: str, stage: str
    ) -> None:
        server.always(CHAT, model := stalls(stage))
        with no_thread_left():
            answer = in_time_at(
                services, mode, lambda answer: stage in model.stages and answer.answered
            )
        assert stage in model.stages
        assert answer.answered
        if stage in WRITING:
            assert re.search(
                rf"The budget of \d+ seconds? is used up. {re.escape(INSTEAD)}",
                answer.response,
            )
        server.wait_until(lambda: not under_way(server, CHAT), AT_ONCE)

    @pytest.mark.parametrize("mode", MODES)
    def test_what_was_written_until_then_stays(
        self, services: Services, server: FakeOpenAI, mode: str
    ) -> None:
        half = Reply(["There ", "are 52,428,290 [1]."], silent_after=STALL)
        server.always(CHAT, model := ScriptedModel(answer=half, compare=half))
        answer = in_time_at(services, mode, lambda _: WRITING & set(model.stages))
        assert "There are 52,428,290 [1]." in answer.response
        assert not answer.trace.truncated
        assert answer.answered

    def test_a_rerank_that_stalls_costs_only_the_order(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.always(CHAT, ScriptedModel())
        with build(services.settings.override(reranker="llm")) as reranked:
            server.chat(Reply(silent_before=STALL))
            assert in_time(reranked, "direct").answered


class TestSecondsOfSearches:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.override(embedding_provider="openai", embedding_model="fake")

    @pytest.mark.sampled(2)
    # A comparison of figures needs no search: it is answered from their table.
    @pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "compare"])
    def test_searches_that_stall_are_left(
        self, services: Services, server: FakeOpenAI, mode: str
    ) -> None:
        server.always(CHAT, ScriptedModel())
        server.always(EMBEDDINGS, Reply(silent_before=STALL))
        with no_thread_left():
            answer = in_time(services, mode)
        assert not answer.answered
        assert (
            answer.response
            == "The budget of 1 second is used up. Nothing had been found by then."
        )
        server.wait_until(lambda: not under_way(server, EMBEDDINGS), AT_ONCE)
