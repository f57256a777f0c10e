"""The text of an answer, written by the model within the budget; quotations where it cannot."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from ..cancellation import time_limit
from ..chat_models.extractive import HEADER
from ..errors import BudgetExhaustedError, ChatModelError
from ..generation.answer import grounded_prompt
from ..generation.writing import Draft, Written, write
from ..schema import Context, Event, Prompt, Question, StepEvent, TokenEvent
from ..text import quoted_line
from .claimed_model import CallsUsedUpError, ClaimedChatModel
from .run import Run

FAILED = "The language model could not finish."
INSTEAD = "Quoted from the reports instead:"
PromptMaker = Callable[[Question, Context], Prompt]
Quoting = Callable[[Context], str]


@dataclass(frozen=True, slots=True)
class Way:
    """How an agent writes: its prompt, and its quotations where no model can.

    ``quoting`` None: a model that fails is an error, unless another agent has begun the question (auto); one that
    writes nothing is quoted for all the same.
    """

    prompt: PromptMaker = grounded_prompt
    quoting: Quoting | None = None
    finish: Callable[[str, Context], str] = lambda text, context: text
    """What is done to the text once it is complete."""


def quotations(run: Run, question: str, context: Context, numbers: Sequence[int] | None = None) -> str:
    """A list of quotations that answer ``question``, from the passages with these numbers, None = all of them."""
    passages = [p for p in context.passages if numbers is None or p.number in numbers]
    return "\n\n".join(map(quoted_line, run.parts.quoter.quotes(question, passages)))


def written(run: Run, context: Context, way: Way) -> Generator[Event, None, Written]:
    """What the model writes; else quotations, where ``way`` has some. What was written before a failure stays."""
    quoting = way.quoting
    if quoting is not None and not run.parts.language_model:
        return (yield from _quoted(HEADER, quoting, context))
    instead = quoting or (lambda context: quotations(run, run.question.search_text, context))
    if stopper := run.spending.stops_answer():
        yield from run.stop(stopper)
        return (yield from _quoted(f"{run.why_stopped} {INSTEAD}", instead, context))
    yield run.step("generate", "Writing the answer")
    draft, claim = Draft(), run.spending.claim(keep=0)
    model = ClaimedChatModel(run.chat_model, claim)
    try:
        with time_limit(run.cancel, run.spending.seconds_left()) as limited:
            writing = write(model, run.question, context, limited, prompt=way.prompt, draft=draft)
            done = yield from _in_path(run, writing)
    except ChatModelError as error:
        is_all = quoting is None and not run.spending.goes_on
        if is_all or not (draft.text or run.may_go_on(error)):
            raise
        run.stopped_by = "model"
        yield run.step("generate", error.message, failed=True)
        done = Written(draft.text, context, tuple(draft.steps))
    except (BudgetExhaustedError, CallsUsedUpError) as error:
        if not (run.spending.usage_so_far.calls or draft.steps):
            raise
        yield from run.stop("calls") if claim.refused else run.stop("tokens", error.message)
        done = Written("", context, tuple(draft.steps))
    claim.settle(*done.steps)
    if limited.cancelled and not run.cancel.cancelled:
        yield from run.stop("seconds")
    if not done.text and not run.cancel.cancelled:
        why = FAILED if run.stopped_by in {"", "model"} else run.why_stopped
        return (yield from _quoted(f"{why} {INSTEAD}", instead, context))
    return done


def _in_path(run: Run, writing: Generator[StepEvent | TokenEvent, None, Written]) -> Generator[Event, None, Written]:
    while True:
        try:
            event = next(writing)
        except StopIteration as ended:
            done: Written = ended.value
            return done
        if isinstance(event, StepEvent):
            run.path.append(event)
        yield event


def _quoted(heading: str, quoting: Quoting, context: Context) -> Generator[Event, None, Written]:
    text = f"{heading}\n\n{quoting(context)}"
    yield TokenEvent(text)
    return Written(text, context, ())
