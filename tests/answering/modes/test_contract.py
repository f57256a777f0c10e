"""What holds for every agent of the registry (`BaseAgent`); a new one is tested by
being registered.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from chatbot.answering.modes import MODES
from chatbot.app.services import Services
from chatbot.domain import (
    Event,
    Question,
    SearchHit,
    SourcesEvent,
    StepEvent,
    TokenEvent,
    Usage,
)
from chatbot.domain.cancellation import Cancellation
from chatbot.domain.request import RequestContext
from tests.answering.modes.conftest import question
from tests.asking import Finished, by_mode
from tests.fakes.openai_server import CHAT, FakeOpenAI
from tests.fakes.scripted_model import ScriptedModel

ASKED = "Compare the population and the population growth rate of Kenya and Mali."
pytestmark = [
    pytest.mark.parametrize("mode", MODES.names()),
    pytest.mark.usefixtures("kenya", "mali"),
]


@pytest.fixture(autouse=True)
def model(server: FakeOpenAI) -> ScriptedModel:
    """It plans questions about both countries, whatever the scope is."""
    scripted = ScriptedModel(
        plan='{"queries": ["The population of Kenya?", "The population of Mali?"]}'
    )
    server.always(CHAT, scripted)
    return scripted


def events_of(
    services: Services, asked: Question, cancel: Cancellation | None = None
) -> Iterator[Event]:
    return by_mode(services, asked, request=RequestContext(cancel or Cancellation()))


def hits_of(events: list[Event]) -> list[SearchHit]:
    shown = [
        hit
        for event in events
        if isinstance(event, (SourcesEvent, StepEvent))
        for hit in event.hits
    ]
    answers = [event.answer for event in events if isinstance(event, Finished)]
    return [
        *shown,
        *(hit for a in answers for hit in a.trace.hits),
        *(c.hit for a in answers for c in a.citations),
    ]


def test_the_answer_comes_last_and_its_sources_before_its_first_word(
    services: Services, mode: str
) -> None:
    events = list(events_of(services, replace(question(ASKED), mode=mode)))
    assert isinstance(events[-1], Finished)
    assert events[-1].answer.answered
    assert events[-1].answer.trace.threshold is not None
    assert [isinstance(event, Finished) for event in events].count(True) == 1
    kinds = [type(event) for event in events]
    assert kinds.count(SourcesEvent) == 1
    assert kinds.index(SourcesEvent) < kinds.index(TokenEvent)


def test_every_citation_is_a_source_under_its_number(
    services: Services, mode: str
) -> None:
    events = list(events_of(services, replace(question(ASKED), mode=mode)))
    sources = {
        hit.rank: hit.chunk.id
        for event in events
        if isinstance(event, SourcesEvent)
        for hit in event.hits
    }
    answer = events[-1].answer  # type: ignore[union-attr]
    assert answer.citations
    assert all(
        sources[citation.number] == citation.hit.chunk.id
        for citation in answer.citations
    )


def test_nothing_outside_the_scope_is_ever_seen(services: Services, mode: str) -> None:
    asked = replace(question(ASKED, country_name="Kenya"), mode=mode)
    hits = hits_of(list(events_of(services, asked)))
    assert hits or mode == "compare"  # one country is nothing to compare
    assert {hit.chunk.metadata["country_name"] for hit in hits} <= {"Kenya"}


def test_a_scope_without_reports_costs_no_call(
    services: Services, server: FakeOpenAI, mode: str
) -> None:
    events = list(
        events_of(
            services,
            replace(question(ASKED, country_name="Kenya", year=2021), mode=mode),
        )
    )
    assert isinstance(events[-1], Finished)
    assert not events[-1].answer.answered
    assert "There is no report for Kenya, 2021" in events[-1].answer.response
    assert server.calls(CHAT) == 0


def test_the_path_is_what_was_shown_and_the_steps_hold_what_was_spent(
    services: Services, server: FakeOpenAI, mode: str
) -> None:
    events = list(events_of(services, replace(question(ASKED), mode=mode)))
    trace = events[-1].answer.trace  # type: ignore[union-attr]
    assert list(trace.path) == [
        event for event in events if isinstance(event, StepEvent)
    ]
    assert trace.usage == Usage.total(step.usage for step in trace.steps)
    assert trace.usage.calls == server.calls(CHAT)


def test_cancelled_before_it_begins_it_asks_nobody(
    services: Services, server: FakeOpenAI, mode: str
) -> None:
    cancel = Cancellation()
    cancel.cancel()
    events = list(events_of(services, replace(question(ASKED), mode=mode), cancel))
    assert not any(
        isinstance(event, Finished) and event.answer.answered for event in events
    )
    assert server.calls(CHAT) == 0
