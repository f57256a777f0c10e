"""The chat model within a question's budget of calls, and what of it was spent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chatbot.agents.claimed_model import ClaimedChatModel
from chatbot.agents.spending import Spending
from chatbot.cancellation import Cancellation
from chatbot.model_output.shapes import queries
from chatbot.schema import Budget, Context, Delta, Prompt, Usage
from chatbot.services import Services
from tests.agents.limits import a_run
from tests.fakes.openai_server import CHAT, FakeOpenAI


class Counting:
    """Implements `protocols.ChatModel`: counts all it wrote so far with every piece."""

    model_id = "counting"

    def stream(self, prompt: Prompt, *, cancel: Cancellation) -> Iterator[Delta]:
        yield Delta("one ", Usage(100, 1, calls=1))
        yield Delta("two", Usage(100, 2, calls=1))


def test_a_server_that_counts_anew_with_every_piece_is_not_added_up() -> None:
    model = ClaimedChatModel(Counting(), Spending(Budget(), reserve=0).claim())
    list(model.stream(Prompt((), "", Context()), cancel=Cancellation()))
    assert model.usage == Usage(100, 2, calls=1)


def test_a_call_that_a_search_takes_meanwhile_ends_the_exploring(
    services: Services, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reranker of a search that was given up may be quicker than the next step of the agent."""
    run = a_run(services, budget=Budget(calls=2))
    run.spending.claim().take()
    monkeypatch.setattr(run.spending, "stops_exploring", lambda *_: "")
    list(run.ask("plan", queries(4), "By rule", most="4", scope="all", question="Who rules Kenya?"))
    assert run.stopped_by == "calls"
    assert server.calls(CHAT) == 0
