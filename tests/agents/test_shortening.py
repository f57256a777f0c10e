"""What the model cannot read or write to its end, through agent and server (R-D9)."""

from __future__ import annotations

import pytest

from chatbot.errors import ContextLengthError
from chatbot.request import RequestContext
from chatbot.schema import AnswerEvent, SourcesEvent, StepEvent
from tests.agents.conftest import question
from tests.fakes.openai_server import CHAT, Reply

TOO_LONG = Reply(status=400, error={"message": "x", "code": "context_length_exceeded"})
pytestmark = pytest.mark.usefixtures("kenya", "mali")


def shown(server) -> list[list[int]]:
    """The numbers of the passages in each prompt the server got."""
    prompts = [request.body["messages"][-1]["content"] for request in server.received(CHAT)]
    return [[n for n in range(1, 9) if f' number="{n}">\n' in prompt] for prompt in prompts]


def test_the_weakest_passages_go_until_the_prompt_fits(services, server) -> None:
    server.chat(TOO_LONG, Reply(["It is so [1], or so [3]."]))
    events = list(services.runtime.agent("direct").run(question(), request=RequestContext()))
    assert shown(server) == [[1, 2, 3], [1, 2]]
    assert [event.name for event in events if isinstance(event, StepEvent)] == ["search", "generate", "shorten"]
    (sources,) = [event for event in events if isinstance(event, SourcesEvent)]
    assert isinstance(events[-1], AnswerEvent)
    answer = events[-1].answer
    # Number 3 was a source when the page was told, but the model never saw it.
    assert [citation.number for citation in answer.citations] == [1]
    assert [found.unknown for found in answer.unsupported] == [(3,)]
    assert answer.citations[0].hit == sources.hits[0]
    assert [step.name for step in answer.trace.steps][-3:] == ["context", "shorten", "generate"]
    assert answer.trace.usage.calls == 2


def test_with_no_passage_left_to_drop_it_is_the_error(services, server) -> None:
    server.always(CHAT, TOO_LONG)
    with pytest.raises(ContextLengthError, match=r"Lower CONTEXT_TOKENS\."):
        list(services.runtime.agent("direct").run(question(), request=RequestContext()))
    assert shown(server) == [[1, 2, 3], [1, 2], [1]]


@pytest.mark.parametrize(("reason", "truncated"), [("length", True), ("stop", False)])
def test_an_answer_cut_at_its_limit_is_marked_in_the_trace(services, server, reason, truncated) -> None:
    server.chat(Reply(["It is so [1], and"], finish_reason=reason))
    *_, last = services.runtime.agent("direct").run(question(), request=RequestContext())
    assert last.answer.trace.truncated is truncated
