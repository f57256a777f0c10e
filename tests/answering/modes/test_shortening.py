"""What the model cannot read or write to its end (R-D9)."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from chatbot.answering.stages.route import ChooseMode
from chatbot.answering.turn import Turn
from chatbot.answering.writers.prose import MAX_SHORTENINGS, Prose, Written
from chatbot.domain import Context, Delta, Event, Prompt, StepEvent, TokenEvent, Usage
from chatbot.domain.chat import QuerySettings
from chatbot.domain.errors import ChatModelError, ContextLengthError
from chatbot.domain.request import RequestContext
from tests.answering.modes.conftest import question
from tests.asking import by_mode
from tests.checking.conftest import context
from tests.fakes.openai_server import CHAT, Reply

TOO_LONG = Reply(status=400, error={"message": "x", "code": "context_length_exceeded"})
pytestmark = pytest.mark.usefixtures("kenya", "mali")


class SmallModel:
    """Reads so many passages; fails before the first word, or after some."""

    model_id = "small"
    is_language_model = True

    def __init__(
        self, reads: int, *, says_first: str = "", fails: ChatModelError | None = None
    ) -> None:
        self.reads, self.says_first = reads, says_first
        self.fails = fails or ContextLengthError(
            "The prompt is longer than small reads."
        )
        self.prompts: list[Prompt] = []

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        self.prompts.append(prompt)
        if len(prompt.context.passages) > self.reads:
            if self.says_first:
                yield Delta(self.says_first)
            raise self.fails
        yield Delta("Fast [1].")
        yield Delta("", Usage(10, 2, calls=1))


class Counted(Prose):
    """Quotes how many passages there are."""

    may_quote = True

    def quote(self, turn: Turn, context: Context) -> str:
        return f"{len(context.passages)} passages"


def written(
    services,
    model: SmallModel,
    given: Context,
    writer: type[Prose] = Prose,
    settings: QuerySettings | None = None,
) -> tuple[Turn, list[Event], Written]:
    flow = services.everything.flow
    route = flow.stages["route"]
    assert isinstance(route, ChooseMode)
    desk = replace(route.desk, chat_model=model)
    events: list[Event] = []
    asked = replace(question(), settings=settings)
    turn = flow.begin(asked, RequestContext(), events.append)
    return turn, events, writer(desk).write_text(turn, given)


def texts(count: int) -> Context:
    return context(*(f"text {n}" for n in range(1, count + 1)))


@pytest.mark.parametrize(
    ("count", "reads", "kept"),
    [(5, 5, []), (5, 3, [3]), (5, 2, [3, 2]), (8, 1, [4, 2, 1]), (3, 1, [2, 1])],
)
def test_a_prompt_that_does_not_fit_is_halved_the_best_first(
    services, count: int, reads: int, kept: list[int]
) -> None:
    model = SmallModel(reads)
    turn, events, result = written(services, model, texts(count))
    assert [len(prompt.context.passages) for prompt in model.prompts] == [count, *kept]
    for prompt in model.prompts:
        shown = [
            n for n in range(1, count + 1) if f"text {n}" in prompt.messages[-1].content
        ]
        assert (
            shown
            == [passage.number for passage in prompt.context.passages]
            == list(range(1, len(shown) + 1))
        )
    assert (result.text, result.context.passages) == (
        "Fast [1].",
        texts(count).passages[: [count, *kept][-1]],
    )
    assert [step.name for step in turn.limits.spending.steps] == ["shorten"] * len(
        kept
    ) + ["generate"]
    assert [event.name for event in events if isinstance(event, StepEvent)] == [
        "generate"
    ] + ["shorten"] * len(kept)
    assert [event.text for event in events if isinstance(event, TokenEvent)] == [
        "Fast [1]."
    ]
    assert turn.limits.spending.usage == Usage(
        10, 2, calls=1 + len(kept), failed_calls=len(kept)
    )


@pytest.mark.parametrize(
    ("count", "calls"),
    [(0, 1), (1, 1), (2, 2), (4, 3), (8, 4), (50, 1 + MAX_SHORTENINGS)],
)
def test_what_never_fits_is_an_error_after_three_tries_more_at_most(
    services, count: int, calls: int
) -> None:
    model = SmallModel(-1)
    with pytest.raises(ContextLengthError, match="longer than small reads"):
        written(services, model, texts(count))
    assert len(model.prompts) == calls


def test_after_the_tries_all_passages_are_quoted(services) -> None:
    _, _, result = written(services, SmallModel(-1), texts(4), Counted)
    assert result.text.endswith("\n\n4 passages")
    assert result.context == texts(4)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            SmallModel(1, says_first="Well, "),
            "small had no room left in the middle",
        ),  # its words have been sent
        (SmallModel(1, fails=ChatModelError("It is down.")), "It is down"),
    ],
)
def test_other_failures_are_not_tried_again(
    services, model: SmallModel, message: str
) -> None:
    strict = QuerySettings.of(services.settings.override(on_model_error="error"))
    with pytest.raises(ChatModelError, match=message):
        written(services, model, texts(4), settings=strict)
    assert len(model.prompts) == 1


def test_the_answer_cites_only_what_the_model_saw(services, server) -> None:
    server.chat(TOO_LONG, Reply(["It is so [1], or so [3]."]))
    events = by_mode(services, question(), request=RequestContext())
    prompts = [
        request.body["messages"][-1]["content"] for request in server.received(CHAT)
    ]
    assert [
        [n for n in range(1, 9) if f' number="{n}">\n' in prompt] for prompt in prompts
    ] == [[1, 2, 3], [1, 2]]
    answer = events[-1].answer
    # Number 3 was a source when the page was told, but the model never saw it.
    assert [citation.number for citation in answer.citations] == [1]
    assert [found.unknown for found in answer.unsupported] == [(3,)]
    assert answer.citations[0].hit == next(
        event.hits[0] for event in events if hasattr(event, "scope")
    )
    assert [step.name for step in answer.trace.steps][-3:] == [
        "context",
        "shorten",
        "generate",
    ]
    assert answer.trace.usage.calls == 2


@pytest.mark.parametrize(("reason", "truncated"), [("length", True), ("stop", False)])
def test_an_answer_cut_at_its_limit_is_marked_in_the_trace(
    services, server, reason, truncated
) -> None:
    server.chat(Reply(["It is so [1], and"], finish_reason=reason))
    *_, last = by_mode(services, question(), request=RequestContext())
    assert last.answer.trace.truncated is truncated
