"""The searches of a round run at the same time, and one that fails costs nobody else
anything (R-C10).
"""

import json
import time

import pytest

from chatbot.answering.tools.search import Search
from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import Scope
from chatbot.domain.errors import EmbeddingError, SearchEngineError
from tests.answering.modes.limits import (
    AT_ONCE,
    STALL,
    InFlight,
    a_turn,
    answered,
    asking,
    eight,
    no_thread_left,
    searched,
    steps,
)
from tests.fakes.openai_server import CHAT, EMBEDDINGS, FakeOpenAI, Recorded, Reply
from tests.fakes.scripted_model import ScriptedModel

pytestmark = [pytest.mark.usefixtures("kenya", "mali"), pytest.mark.extras("rerankers")]
SUB_QUESTIONS = [
    "What is the population?",
    "What is the growth rate?",
    "Where is it?",
    "What is exported?",
]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.override(embedding_provider="openai", embedding_model="fake")


class Stalls:
    """Embeds at once, except what has these words in it."""

    def __init__(self, *words: str, reply: Reply) -> None:
        self._words, self._reply = words, reply

    def __call__(self, request: Recorded) -> Reply:
        text = " ".join(request.body["input"])
        return self._reply if any(word in text for word in self._words) else Reply()


class TestAtOnce:
    def test_eight_embedding_calls(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        calls = InFlight(8)
        server.always(EMBEDDINGS, calls)
        found, events = searched(services, a_turn(services), eight())
        assert calls.most == 8
        assert all(one is not None and one.hits for one in found)
        assert sorted(step.detail for step in events) == [
            f"number {n}" for n in range(8)
        ]

    def test_no_more_than_the_limit(
        self, services: Services, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("chatbot.answering.tools.search.SEARCH_THREADS", 2)
        calls = InFlight(2)
        server.always(EMBEDDINGS, calls)
        found, _ = searched(services, a_turn(services), eight())
        assert calls.most == 2
        assert all(found)

    def test_a_deep_question(self, services: Services, server: FakeOpenAI) -> None:
        """Four sub-questions, and the question itself."""
        server.always(CHAT, ScriptedModel(plan=json.dumps({"queries": SUB_QUESTIONS})))
        calls = InFlight(5)
        server.always(EMBEDDINGS, calls)
        answer, events = answered(services, asking("deep"))
        assert calls.most == 5
        assert len(steps(events, "found")) == 5
        assert answer.answered


class TestRerankedAtOnce:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.override(
            embedding_provider="hashing", embedding_model="", reranker="llm"
        )

    def test_eight_model_calls(self, services: Services, server: FakeOpenAI) -> None:
        calls = InFlight(8, Reply(['{"numbers": [1]}']))
        server.always(CHAT, calls)
        turn = a_turn(services)
        found, _ = searched(services, turn, eight())
        assert calls.most == 8
        assert all(found)
        assert turn.limits.spending.usage.calls == server.calls(CHAT) == 8


class TestOneOfSeveral:
    def test_a_slow_one_is_given_up_and_named(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.always(EMBEDDINGS, Stalls("number 3", reply=Reply(silent_before=STALL)))
        with (
            build(services.settings.override(search_seconds=2.0)) as hasty,
            no_thread_left(),
        ):
            started = time.monotonic()
            turn = a_turn(hasty)
            found, events = searched(services, turn, eight())
            assert time.monotonic() - started < 2.0 + AT_ONCE
        assert [place for place, one in enumerate(found) if one is None] == [3]
        (failed,) = [step for step in events if step.failed]
        assert (failed.name, failed.detail) == (
            "found",
            "number 3: No answer within 2 s.",
        )
        assert failed in turn.events.path
        assert turn.limits.stopped_by == ""
        (slow,) = [
            r for r in server.received(EMBEDDINGS) if "number 3" in r.body["input"][0]
        ]
        assert slow.finished.wait(AT_ONCE)
        assert slow.disconnected_at is not None

    def test_one_that_fails_is_named_with_the_reason(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.always(EMBEDDINGS, Stalls("number 3", reply=Reply(status=500)))
        found, events = searched(services, a_turn(services), eight())
        assert [place for place, one in enumerate(found) if one is None] == [3]
        (failed,) = [step for step in events if step.failed]
        assert failed.detail.startswith(
            "number 3: The endpoint of openai:fake failed with status 500."
        )

    def test_a_deep_question_is_answered_without_it_and_not_kept(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.always(CHAT, ScriptedModel(plan=json.dumps({"queries": SUB_QUESTIONS})))
        server.always(EMBEDDINGS, Stalls("exported", reply=Reply(status=500)))
        answer, _ = answered(services, asking("deep"))
        assert answer.answered
        (failed,) = [step for step in answer.trace.path if step.failed]
        assert failed.detail.startswith("What is exported?: ")
        assert answer.trace.stopped_by == ""

    def test_all_that_fail_are_the_error_itself(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.always(EMBEDDINGS, Reply(status=500))
        with pytest.raises(EmbeddingError, match="failed with status 500"):
            searched(services, a_turn(services), eight())

    def test_all_that_are_too_slow_are_an_error_of_the_search(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        with (
            build(services.settings.override(search_seconds=0.4)) as hasty,
            no_thread_left(),
        ):
            turn = a_turn(hasty)
            server.always(EMBEDDINGS, Reply(silent_before=STALL))
            with pytest.raises(
                SearchEngineError,
                match=r"did not answer within 0\.4 s\. Raise SEARCH_SECONDS",
            ):
                searched(services, turn, eight())

    @pytest.mark.parametrize("mode", ["deep", "chain", "compare", "report"])
    def test_every_agent_says_the_error(
        self, services: Services, server: FakeOpenAI, mode: str
    ) -> None:
        server.always(CHAT, ScriptedModel())
        server.always(EMBEDDINGS, Reply(status=500))
        with pytest.raises(EmbeddingError, match="failed with status 500"):
            answered(services, asking(mode))

    def test_a_later_round_that_fails_leaves_what_the_first_found(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        server.always(CHAT, ScriptedModel(reflect='{"queries": ["What is missing?"]}'))
        server.always(EMBEDDINGS, Stalls("missing", reply=Reply(status=500)))
        answer, events = answered(services, asking("deep"))
        assert answer.answered
        assert [
            step.detail.partition(":")[0]
            for step in steps(events, "found")
            if step.failed
        ] == ["What is missing?"]

    def test_a_later_question_of_a_chain_that_fails_leaves_the_first(
        self, services, server
    ) -> None:
        second = '{"enough": false, "question": "What is missing?"}'
        first, enough = (
            second.replace("missing", "the population"),
            '{"enough": true, "question": ""}',
        )
        server.always(CHAT, ScriptedModel(follow_up=[first, second, enough]))
        server.always(EMBEDDINGS, Stalls("missing", reply=Reply(status=500)))
        answer, events = answered(services, asking("chain"))
        assert answer.answered
        assert len([step for step in steps(events, "found") if step.failed]) == 1
        assert "What is missing?\n  Unknown." in str(
            server.received(CHAT)[-1].body["messages"][-1]["content"]
        )

    @pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
    def test_a_defect_ends_the_question(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        """A query that is no text: nothing expects what that raises. The thread reports
        it, as Python does.
        """
        searches = [*eight(3), Search("odd", None, Scope(), 3)]  # type: ignore[arg-type]
        with no_thread_left():
            started = time.monotonic()
            with pytest.raises(RuntimeError, match="defect"):
                searched(services, a_turn(services), searches)
            assert time.monotonic() - started < AT_ONCE
