"""For the tests of what bounds a question: threads, seconds, calls, a person who stops
it.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from chatbot.answering.flow import Gather
from chatbot.answering.tools.search import Search
from chatbot.answering.turn import Turn
from chatbot.app.services import Services
from chatbot.domain import (
    Answer,
    Cancellation,
    Event,
    Question,
    RequestContext,
    Scope,
    StepEvent,
)
from chatbot.domain.chat import Budget
from chatbot.search.pipeline import Retrieval
from tests.asking import Finished, by_mode
from tests.fakes.openai_server import FakeOpenAI, Recorded, Reply
from tests.fakes.scripted_model import ScriptedModel

MODES = ("direct", "deep", "chain", "auto", "compare", "report")
ASKED = "How does the population of Kenya differ from the population of Mali?"
STALL = 120.0
"""Seconds that a server is silent for ever, as far as these tests go."""
AT_ONCE = 10.0
"""Seconds, at most, for what waits for nothing: much less than `STALL`, and enough for
a busy machine.
"""
STAGES = {
    "direct": ("answer",),
    "deep": ("plan", "relevance", "reflect", "answer"),
    "chain": ("follow_up", "intermediate", "answer"),
    "auto": ("auto", "plan", "answer"),
    "compare": ("compare",),
    "report": ("plan", "relevance", "reflect", "answer"),
}
EVERY_STAGE = [(mode, stage) for mode, stages in STAGES.items() for stage in stages]
WRITING = {"answer", "compare"}


class InFlight:
    """A reply for `FakeOpenAI.always` that holds requests until so many are there, and
    counts the most at a time. Where they are made one after the other, each is held for
    `AT_ONCE` and the most is one.
    """

    LINGER = 0.2
    """Seconds in which one more than expected would come."""

    def __init__(self, expected: int, reply: Reply | None = None) -> None:
        self.most = 0
        self._held, self._expected, self._reply = 0, expected, reply or Reply()
        self._changed = threading.Condition()

    def __call__(self, request: Recorded) -> Reply:
        with self._changed:
            self._held += 1
            self.most = max(self.most, self._held)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.most >= self._expected, AT_ONCE)
            self._changed.wait_for(lambda: self.most > self._expected, self.LINGER)
            self._held -= 1
        return self._reply


def under_way(server: FakeOpenAI, path: str) -> list[Recorded]:
    return [
        request for request in server.received(path) if not request.finished.is_set()
    ]


def asking(
    mode: str, query: str = ASKED, *, budget: Budget | None = None, top_k: int = 3
) -> Question:
    return Question(
        query, Scope(), top_k, "hybrid", mode, cache=False, budget=budget or Budget()
    )


def answered(
    services: Services, question: Question, cancel: Cancellation | None = None
) -> tuple[Answer, list[Event]]:
    events = list(
        by_mode(services, question, request=RequestContext(cancel or Cancellation()))
    )
    assert isinstance(events[-1], Finished)
    return events[-1].answer, events


def steps(events: Sequence[object], name: str) -> list[StepEvent]:
    return [
        event for event in events if isinstance(event, StepEvent) and event.name == name
    ]


def a_turn(
    services: Services,
    *,
    budget: Budget | None = None,
    cancel: Cancellation | None = None,
) -> Turn:
    """A question before its first stage."""
    request = RequestContext(cancel or Cancellation())
    return services.everything.flow.begin(asking("deep", budget=budget), request)


def eight(queries: int = 8) -> list[Search]:
    """As many searches, each with words of its own."""
    return [
        Search(f"number {n}", f"the population, asked as number {n}", Scope(), 3)
        for n in range(queries)
    ]


def searched(
    services: Services, turn: Turn, searches: Sequence[Search]
) -> tuple[list[Retrieval | None], list[StepEvent]]:
    """What the tool returns, and says."""
    gather = services.everything.flow.stages["gather"]
    assert isinstance(gather, Gather)
    return gather.search.run(turn, searches), turn.events.path


@contextmanager
def no_thread_left(seconds: float = AT_ONCE) -> Iterator[None]:
    """Threads that begin inside have ended soon; the fake server's own and the one for
    all deadlines do not count.
    """
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + seconds
    while left := _ours(before):
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.02)


def _ours(before: set[threading.Thread]) -> list[threading.Thread]:
    new = [thread for thread in threading.enumerate() if thread not in before]
    # The embedder's threads stay for the next question.
    lasting = ("process_request_thread", "deadlines", "embed_")
    return [
        thread for thread in new if not any(name in thread.name for name in lasting)
    ]


def stalls(stage: str) -> ScriptedModel:
    return ScriptedModel(**{stage: Reply(silent_before=STALL)})


def is_marked(answer: Answer, stopper: str) -> None:
    """That it ended early, in the trace and in what the person was shown; a slow search
    may say so once more.
    """
    assert answer.trace.stopped_by == stopper
    ends = [step for step in answer.trace.path if step.name == "budget"]
    assert ends
    assert all(
        step.failed and stopper.removesuffix("s") in step.detail for step in ends
    )
