"""What a question may still cost (R-C7)."""

from __future__ import annotations

import threading
import time

import pytest

from chatbot.answering.agents.budget import EXPLORING_SHARE, PLANNING_SHARE, Allowance, Spending
from chatbot.app.services import Services
from chatbot.domain import Budget, StepTiming, Usage
from chatbot.models.replies.asking import queries
from tests.answering.agents.limits import a_run
from tests.fakes.openai_server import CHAT, FakeOpenAI


def spending(*, reserve: int = 0, **limits: float) -> Spending:
    return Spending(Budget(**limits), reserve=reserve)  # type: ignore[arg-type]


def step(calls: int = 0, prompt: int = 0, completion: int = 0) -> StepTiming:
    return StepTiming("plan", 1.0, Usage(prompt, completion, calls=calls))


def test_without_a_budget_nothing_stops() -> None:
    free = spending(reserve=10_000)
    free.add(step(1000, 10**9, 10**9))
    assert free.stops_exploring(10**9) == free.stops_answer() == ""
    assert free.seconds_left() is free.tokens_left is None
    assert Allowance(free).take()


class TestCalls:
    def test_the_last_one_is_for_the_answer(self) -> None:
        mine = spending(calls=2)
        assert mine.stops_exploring() == ""
        mine.add(step(calls=1))
        assert (mine.stops_exploring(), mine.stops_answer()) == ("calls", "")
        mine.add(step(calls=1))
        assert mine.stops_answer() == "calls"

    def test_an_allowance_counts_before_it_is_known_what_it_took(self) -> None:
        mine = spending(calls=3)
        one, other = Allowance(mine), Allowance(mine)
        assert one.take()
        assert other.take()
        assert not other.take()
        assert (one.refused, other.refused) == (False, True)
        assert Allowance(mine, keep=0).take()
        assert mine.stops_answer() == "calls"

    def test_what_an_allowance_did_not_take_is_given_back(self) -> None:
        """An answer from the cache is no call."""
        mine = spending(calls=2)
        allowance = Allowance(mine)
        assert allowance.take()
        allowance.settle(step(calls=0))
        assert mine.stops_exploring() == ""
        assert mine.usage.calls == 0

    def test_settled_calls_count_once(self) -> None:
        mine = spending(calls=3)
        allowance = Allowance(mine)
        assert allowance.take()
        allowance.settle(step(calls=1))
        assert Allowance(mine).take()
        assert not Allowance(mine).take()

    def test_many_threads_take_no_more_than_there_are(self) -> None:
        mine, taken = spending(calls=11), list[bool]()

        def work() -> None:
            allowance = Allowance(mine)
            taken.extend(allowance.take() for _ in range(10))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(taken) == 10


class TestTokens:
    def test_the_answers_are_reserved(self) -> None:
        mine = spending(tokens=1000, reserve=400)
        assert mine.stops_exploring(500) == ""
        assert mine.stops_exploring(600) == "tokens"
        mine.add(step(prompt=200, completion=100))
        assert mine.tokens_left == 700
        assert mine.stops_exploring(300) == "tokens"
        assert mine.stops_answer() == ""
        mine.add(step(prompt=700))
        assert mine.stops_answer() == "tokens"
        assert mine.tokens_left == 0

    def test_at_most_half_is_reserved(self) -> None:
        assert spending(tokens=1000, reserve=7000).stops_exploring(499) == ""


class TestSeconds:
    def test_planning_exploring_and_answering_have_their_shares(self) -> None:
        mine = spending(seconds=10.0)
        for share in (PLANNING_SHARE, EXPLORING_SHARE, 1.0):
            assert mine.seconds_left(share) == pytest.approx(10.0 * share, abs=0.5)

    def test_they_pass(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = 100.0
        monkeypatch.setattr(time, "monotonic", lambda: now)
        mine = spending(seconds=10)
        assert mine.stops_exploring() == ""
        now += 8
        assert (mine.stops_exploring(), mine.stops_answer()) == ("seconds", "")
        now += 3
        assert mine.stops_answer() == "seconds"


class TestBeforeTheAgent:
    def test_what_was_spent_before_counts(self) -> None:
        budget = Budget(5, 1000, 10.0, spent=Usage(300, calls=2), began=time.monotonic() - 4)
        mine = Spending(budget, reserve=10_000)
        assert (mine.steps, mine.usage.calls, mine.tokens_left) == ((), 2, 700)
        assert mine.seconds_left() == pytest.approx(6.0, abs=0.5)
        assert mine.seconds_left(EXPLORING_SHARE) == pytest.approx(3.0, abs=0.5)
        mine.add(step(calls=2))
        assert (mine.stops_exploring(), mine.stops_answer()) == ("calls", "")
        assert mine.describe("calls") == "The budget of 5 model calls is used up."
        assert mine.describe("tokens") == "The budget of 1,000 tokens is used up."
        assert mine.describe("seconds") == "The budget of 10 seconds is used up."

    def test_no_calls_left_is_not_without_a_limit(self) -> None:
        assert Spending(Budget(calls=1, spent=Usage(calls=3))).stops_answer() == "calls"


def test_a_call_that_a_search_takes_meanwhile_ends_the_exploring(
    services: Services, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reranker of a search that was given up may be quicker than the next step of the agent."""
    run = a_run(services, budget=Budget(calls=2))
    Allowance(run.spending).take()
    monkeypatch.setattr(run.spending, "stops_exploring", lambda *_: "")
    list(run.ask("plan", queries(4), "By rule", most="4", scope="all", question="Who rules Kenya?"))
    assert run.stopped_by == "calls"
    assert server.calls(CHAT) == 0
