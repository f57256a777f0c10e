"""A question that is stopped: at once nothing of it goes on, and nothing of it is
kept.
"""

import json
import threading
import time

import pytest

from chatbot.answering.turn import Turn
from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import Cancellation, Event, RequestContext
from chatbot.domain.errors import CancelledError
from tests.answering.modes.limits import (
    AT_ONCE,
    EVERY_STAGE,
    STALL,
    a_turn,
    asking,
    eight,
    no_thread_left,
    searched,
    stalls,
    under_way,
)
from tests.asking import Finished, by_mode
from tests.fakes.openai_server import CHAT, EMBEDDINGS, FakeOpenAI, Reply
from tests.fakes.scripted_model import ScriptedModel

pytestmark = [pytest.mark.usefixtures("kenya", "mali"), pytest.mark.extras("rerankers")]
PLAN = json.dumps(
    {"queries": ["What is the population?", "What is the growth rate?", "Where is it?"]}
)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """The usual retries: none of them is made for a question that nobody waits for."""
    return settings.override(model_retries=2, model_timeout=60.0)


class Stopped:
    """A question in a thread of its own, and what came of it."""

    def __init__(self, services: Services, mode: str) -> None:
        self.cancel = Cancellation()
        self.events: list[Event] = []
        self._services = services
        self._mode = mode
        self._thread = threading.Thread(target=self._run, name="question")
        self._thread.start()

    def _run(self) -> None:
        self.events = by_mode(
            self._services, asking(self._mode), request=RequestContext(self.cancel)
        )

    def stop(self) -> float:
        """The seconds until it was over."""
        at = time.monotonic()
        self.cancel.cancel()
        self._thread.join(2 * AT_ONCE)
        assert not self._thread.is_alive()
        return time.monotonic() - at


def nothing_goes_on(server: FakeOpenAI) -> None:
    """No request is being answered, and none comes any more."""
    server.wait_until(
        lambda: not under_way(server, CHAT) and not under_way(server, EMBEDDINGS),
        AT_ONCE,
    )
    made = len(server.requests)
    time.sleep(
        0.8
        # longer than the pause before a retry: half a second
        # (openai._constants.INITIAL_RETRY_DELAY)
    )
    assert len(server.requests) == made


class TestAtEveryStage:
    @pytest.mark.sampled(3)
    @pytest.mark.parametrize(("mode", "stage"), EVERY_STAGE)
    def test_a_model_that_is_silent(
        self, services: Services, server: FakeOpenAI, mode: str, stage: str
    ) -> None:
        model = stalls(stage)
        server.always(CHAT, model)
        with no_thread_left():
            question = Stopped(services, mode)
            server.wait_until(lambda: model.stages[-1:] == [stage])
            assert question.stop() < AT_ONCE
        server.wait_until(lambda: not under_way(server, CHAT), AT_ONCE)
        assert server.received(CHAT)[-1].disconnected_at is not None
        made = len(server.requests)
        time.sleep(0.2)
        assert len(server.requests) == made
        if stage not in {"answer", "compare"}:
            assert not any(isinstance(event, Finished) for event in question.events)

    @pytest.mark.parametrize("mode", ["direct", "deep", "report"])
    def test_a_model_in_the_middle_of_the_answer(
        self, services: Services, server: FakeOpenAI, mode: str
    ) -> None:
        half = Reply(["half"], silent_after=STALL)
        model = ScriptedModel(answer=half)
        server.always(CHAT, model)
        question = Stopped(services, mode)
        server.wait_until(lambda: model.stages[-1:] == ["answer"])
        assert question.stop() < AT_ONCE
        nothing_goes_on(server)

    def test_a_pause_that_the_server_asked_for(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        """The SDK would sleep through it, up to two minutes."""
        server.always(CHAT, Reply(status=429, headers={"Retry-After": "30"}))
        question = Stopped(services, "deep")
        server.wait_for(CHAT).finished.wait(AT_ONCE)
        time.sleep(0.1)
        assert question.stop() < AT_ONCE
        nothing_goes_on(server)
        assert server.calls(CHAT) == 1


def broken_off(services: Services, turn: Turn, server: FakeOpenAI, path: str) -> None:
    """Eight searches at once, cancelled while all of them wait."""
    cancelled = list[float]()

    def cancel() -> None:
        server.wait_for(path, 8)
        cancelled.append(time.monotonic())
        turn.request.cancel.cancel()

    with no_thread_left():
        threading.Thread(target=cancel).start()
        with pytest.raises(CancelledError):
            searched(services, turn, eight())
        assert time.monotonic() - cancelled[0] < AT_ONCE
    nothing_goes_on(server)


class TestSearches:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.override(embedding_provider="openai", embedding_model="fake")

    def test_eight_embedding_calls(
        self, services: Services, server: FakeOpenAI
    ) -> None:
        turn = a_turn(services)
        server.requests.clear()
        server.always(EMBEDDINGS, Reply(silent_before=STALL))
        broken_off(services, turn, server, EMBEDDINGS)
        stopped = server.received(EMBEDDINGS)
        assert len(stopped) == 8
        assert all(request.disconnected_at is not None for request in stopped)

    @pytest.mark.parametrize("mode", ["direct", "deep", "chain", "compare", "report"])
    def test_searches_of_every_agent_end_when_it_is_cancelled(
        self, services: Services, server: FakeOpenAI, mode: str
    ) -> None:
        server.always(CHAT, ScriptedModel(plan=PLAN))
        _ = services.everything.flow
        made = server.calls(EMBEDDINGS)
        server.always(EMBEDDINGS, Reply(silent_before=STALL))
        with no_thread_left():
            question = Stopped(services, mode)
            server.wait_until(lambda: server.calls(EMBEDDINGS) > made)
            assert question.stop() < AT_ONCE
        nothing_goes_on(server)
        assert not any(isinstance(event, Finished) for event in question.events)

    def test_ingestion_keeps_its_connection(
        self, server: FakeOpenAI, services: Services
    ) -> None:
        embedder = services.runtime.embedder
        for number in range(3):
            embedder.embed_documents([f"text number {number}"])
        assert "close" not in server.received(EMBEDDINGS)[-1].headers["connection"]
        searched(services, a_turn(services), eight(1))
        assert server.received(EMBEDDINGS)[-1].headers["connection"] == "close"


class TestRerankers:
    def test_eight_model_calls(self, services: Services, server: FakeOpenAI) -> None:
        server.always(CHAT, Reply(silent_before=STALL))
        with build(services.settings.override(reranker="llm")) as reranked:
            broken_off(reranked, a_turn(reranked), server, CHAT)
        assert server.calls(CHAT) == 8
