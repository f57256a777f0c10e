"""A prompt that is too long for the model is tried again with its better half (R-D9)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chatbot.cancellation import Cancellation
from chatbot.errors import ChatModelError, ContextLengthError
from chatbot.generation.writing import SHORTENED_AT_MOST, Written, write
from chatbot.schema import Context, Delta, Event, Prompt, Question, Scope, StepEvent, TokenEvent, Usage
from tests.generation.conftest import context

QUESTION = Question("How fast?", Scope(), 5, "hybrid", "direct")


class SmallModel:
    """Reads so many passages; says so before the first word, or after some."""

    model_id = "small"

    def __init__(self, reads: int, *, says_first: str = "", truncated: bool = False) -> None:
        self.reads, self.says_first, self.truncated = reads, says_first, truncated
        self.prompts: list[Prompt] = []

    def stream(self, prompt: Prompt, *, cancel: Cancellation) -> Iterator[Delta]:
        self.prompts.append(prompt)
        if len(prompt.context.passages) > self.reads:
            if self.says_first:
                yield Delta(self.says_first)
            raise ContextLengthError("The prompt is longer than small reads.", remedy="Lower CONTEXT_TOKENS.")
        yield Delta("Fast [1].")
        yield Delta("", Usage(10, 2, calls=1), self.truncated)


def run(model: SmallModel, given: Context) -> tuple[list[Event], Written]:
    events: list[Event] = []
    writing = write(model, QUESTION, given, Cancellation())
    while True:
        try:
            events.append(next(writing))
        except StopIteration as end:
            return events, end.value


def texts(count: int) -> Context:
    return context(*(f"text {n}" for n in range(1, count + 1)))


def test_what_fits_is_written_in_one_call() -> None:
    model = SmallModel(5)
    events, written = run(model, texts(5))
    assert events == [TokenEvent("Fast [1].")]
    spent = Usage.total(step.usage for step in written.steps)
    assert (written.text, spent, written.truncated) == ("Fast [1].", Usage(10, 2, calls=1), False)
    assert [step.name for step in written.steps] == ["generate"]
    assert written.context == texts(5)


@pytest.mark.parametrize(
    ("count", "reads", "kept"), [(5, 3, [3]), (5, 2, [3, 2]), (8, 1, [4, 2, 1]), (2, 1, [1]), (3, 1, [2, 1])]
)
def test_what_does_not_fit_is_halved_the_best_first(count: int, reads: int, kept: list[int]) -> None:
    model = SmallModel(reads)
    events, written = run(model, texts(count))
    assert [len(prompt.context.passages) for prompt in model.prompts] == [count, *kept]
    for prompt in model.prompts:
        shown = [n for n in range(1, count + 1) if f"text {n}" in prompt.messages[-1].content]
        assert shown == [passage.number for passage in prompt.context.passages] == list(range(1, len(shown) + 1))
    assert written.context.passages == texts(count).passages[: kept[-1]]
    assert [step.name for step in written.steps] == ["shorten"] * len(kept) + ["generate"]
    assert [event.name for event in events if isinstance(event, StepEvent)] == ["shorten"] * len(kept)
    spent = Usage.total(step.usage for step in written.steps)
    assert spent == Usage(10, 2, calls=1 + len(kept), failed_calls=len(kept))


@pytest.mark.parametrize(("count", "calls"), [(0, 1), (1, 1), (2, 2), (4, 3), (8, 4), (50, 1 + SHORTENED_AT_MOST)])
def test_what_never_fits_is_an_error_after_three_tries_more_at_most(count: int, calls: int) -> None:
    model = SmallModel(-1)
    with pytest.raises(ContextLengthError, match="longer than small reads"):
        run(model, texts(count))
    assert len(model.prompts) == calls


def test_an_answer_that_began_is_not_begun_again() -> None:
    """Its words have been sent."""
    model = SmallModel(1, says_first="Well, ")
    with pytest.raises(ChatModelError, match="small had no room left in the middle"):
        run(model, texts(4))
    assert len(model.prompts) == 1


def test_another_failure_is_not_tried_again() -> None:
    class Broken(SmallModel):
        def stream(self, prompt: Prompt, *, cancel: Cancellation) -> Iterator[Delta]:
            self.prompts.append(prompt)
            raise ChatModelError("It is down.")
            yield

    model = Broken(1)
    with pytest.raises(ChatModelError, match="It is down"):
        run(model, texts(4))
    assert len(model.prompts) == 1


def test_an_answer_cut_at_its_limit_says_so() -> None:
    assert run(SmallModel(5, truncated=True), texts(1))[1].truncated
