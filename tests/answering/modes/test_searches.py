"""Pieces of work at the same time: their outcomes, their limits, and what is left of
their threads (R-C10).
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from chatbot.answering.budget import Allowance
from chatbot.answering.tools.parallel import Outcome, in_parallel
from chatbot.answering.tools.search import Search, SearchTool
from chatbot.answering.turn import Turn
from chatbot.app.services import Services
from chatbot.database.core import _request, begin_request, end_request
from chatbot.domain import Cancellation, RequestContext
from chatbot.domain.chat import Budget
from chatbot.domain.errors import EmbeddingError
from chatbot.search.pipeline import Retrieval
from tests.answering.modes.limits import (
    STALL,
    a_turn,
    answered,
    asking,
    eight,
    no_thread_left,
    searched,
)
from tests.fakes.openai_server import CHAT, FakeOpenAI
from tests.fakes.scripted_model import ScriptedModel

Work = Callable[[RequestContext], int]
MAY_STAY = 3 * 8
"""Files: SQLite closes one only when no other connection has locked it, and uses it
again for the next. As many stay as there were connections at once: eight searches, and
those of the questions before that were given up and have not yet ended (up to ten were
seen). A leak would be one a search: 200 here.
"""


def after(seconds: float, value: int) -> Work:
    """Looks at its cancellation, as all work should."""

    def work(request: RequestContext) -> int:
        if request.cancel.wait(seconds):
            raise EmbeddingError("It was broken off.")
        return value

    return work


def outcomes(
    *work: Work,
    threads: int = 8,
    seconds: float | None = None,
    cancel: Cancellation | None = None,
) -> list[tuple[int, Outcome[int]]]:
    return list(
        in_parallel(
            work,
            threads=threads,
            request=RequestContext(cancel or Cancellation()),
            seconds=seconds,
        )
    )


class TestOutcomes:
    def test_a_search_that_has_not_begun_in_time_never_begins(self) -> None:
        begun: list[int] = []

        def work(request: RequestContext) -> int:
            begun.append(1)
            return after(STALL, 1)(request)

        found = outcomes(*[work] * 6, threads=2, seconds=0.2)
        assert [outcome for _, outcome in found] == [None] * 6
        assert (
            1 <= len(begun) <= 2
        )  # a busy machine may not have started the second thread

    def test_whoever_stops_reading_stops_the_work(self) -> None:
        with no_thread_left():
            reading = in_parallel(
                [after(0.0, 1), after(STALL, 2)], threads=2, request=RequestContext()
            )
            assert next(reading) == (0, 1)
            reading.close()

    def test_a_question_of_many_rounds_leaves_nothing_behind_in_its_cancellation(
        self,
    ) -> None:
        cancel = Cancellation()
        for _ in range(20):
            outcomes(after(0.0, 1), cancel=cancel, seconds=STALL)
        assert cancel._callbacks == []


class TestContext:
    def test_searches_at_once_do_not_use_up_the_time_that_a_request_has_for_the_database(  # noqa: E501
        self, services, kenya
    ) -> None:
        """Each has a limit of its own: their waits would add up, though the person
        waits for the longest only.
        """
        del kenya
        seen: list[object] = []

        class Noting(SearchTool):
            def retrieve(
                self,
                turn: Turn,
                search: Search,
                allowance: Allowance,
                request: RequestContext,
            ) -> Retrieval:
                seen.append(_request.get())
                return Retrieval((), None, ())

        tool = services.everything.flow.stages["gather"].search
        noting = Noting(tool.retriever, tool.store, tool.analyzer, tool.attachments)
        begin_request()
        try:
            noting.run(a_turn(services), eight())
            of_request = _request.get()
        finally:
            end_request()
        assert None not in seen
        assert len({id(one) for one in [*seen, of_request]}) == 9


GIVEN_UP = 100
"""Questions, of eight searches each."""


class TestConnections:
    """The embedded database has one connection per thread; those of searches end with
    their threads.
    """

    @pytest.mark.nightly
    def test_fifty_deep_questions(
        self, services: Services, server: FakeOpenAI, kenya, mali
    ) -> None:
        server.always(CHAT, ScriptedModel())
        answered(services, asking("deep"))
        handles, files = len(services.storage.database._connections), open_files()
        with no_thread_left():
            for _ in range(50):
                searched(services, a_turn(services), eight(4))
        # What a thread holds is let go a moment after the thread is gone from the list.
        server.wait_until(
            lambda: len(services.storage.database._connections) <= handles + 1
        )
        server.wait_until(lambda: open_files() <= files + MAY_STAY)

    def test_searches_that_were_given_up(
        self, services: Services, server: FakeOpenAI, kenya, mali
    ) -> None:
        files = open_files()
        with no_thread_left():
            for _ in range(GIVEN_UP):
                searched(
                    services, a_turn(services, budget=Budget(seconds=0.002)), eight(8)
                )
        # Of those that were given up many are still at work at once, on a busy machine;
        # but never most of them.
        server.wait_until(
            lambda: open_files() <= files + GIVEN_UP * 8 // 4, seconds=20.0
        )


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
