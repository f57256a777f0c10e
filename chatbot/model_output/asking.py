"""A model asked for something that a program reads: one try more where it cannot be read (R-C9)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ..cancellation import Cancellation
from ..errors import ChatModelError
from ..protocols import ChatModel
from ..schema import Context, Message, Prompt, StepTiming
from .completion import completed
from .heard import Heard
from .shapes import Shape

T = TypeVar("T")
REPAIR = "repair"
"""The step of the second try: it is counted apart."""
SHOWN_AGAIN = 2000
"""Characters of a reply that the model is shown where it has to repair it: the beginning says what went wrong."""


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """``value`` is None where nothing could be read, or the model failed: then ``why`` says it in a few words."""

    value: T | None
    steps: tuple[StepTiming, ...]
    why: str = ""
    error: ChatModelError | None = None


def asking(messages: Sequence[Message], question: str, shape: Shape[T]) -> Prompt:
    return Prompt(tuple(messages), question, Context(), json_schema=shape.schema)


def ask(
    model: ChatModel,
    prompt: Prompt,
    shape: Shape[T],
    cancel: Cancellation,
    *,
    stage: str,
    may_call: Callable[[], bool] = lambda: True,
) -> Asked[T]:
    """One call, two where the first reply cannot be read. The steps are called ``stage`` and `REPAIR`.

    A failure is an outcome, too: the caller has a fallback, or raises it. ``may_call`` is asked before each call.
    """
    steps: list[StepTiming] = []
    for name in (stage, REPAIR):
        if not may_call():
            return Asked(None, tuple(steps), "no call is left")
        started, heard = time.perf_counter(), Heard(prompt)
        try:
            done = completed(model, prompt, cancel, heard)
        except ChatModelError as error:
            steps.append(StepTiming.since(name, started, heard.usage_of_failed(error)))
            return Asked(None, tuple(steps), error.finding, error)
        steps.append(StepTiming.since(name, started, done.usage))
        if (value := shape.read(done.text)) is not None:
            return Asked(value, tuple(steps))
        if cancel.cancelled:
            return Asked(None, tuple(steps), "it took too long")
        # Some servers refuse an empty message.
        again = (Message("assistant", done.text[:SHOWN_AGAIN] or "(nothing)"), Message("user", shape.repair))
        prompt = replace(prompt, messages=(*prompt.messages, *again))
    return Asked(None, tuple(steps), "its reply could not be read")
