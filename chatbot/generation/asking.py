"""A model asked for something that a program reads: one try more where it cannot be read (R-C9)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ..cancellation import Cancellation
from ..errors import ChatModelError, ContextLengthError
from ..model_output.shapes import Shape
from ..protocols import ChatModel
from ..schema import Context, Message, Prompt, StepTiming, Usage
from .completion import completed

T = TypeVar("T")
REPAIR = "repair"
"""The step of the second try: it is counted apart."""


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """``value`` is None where nothing could be read, or the model failed: then ``why`` says it in a few words."""

    value: T | None
    steps: tuple[StepTiming, ...]
    why: str = ""


def asking(messages: Sequence[Message], question: str, shape: Shape[T]) -> Prompt:
    return Prompt(tuple(messages), question, Context(), json_schema=shape.schema)


def ask(model: ChatModel, prompt: Prompt, shape: Shape[T], cancel: Cancellation, *, stage: str) -> Asked[T]:
    """One call, two where the first reply cannot be read. The steps are called ``stage`` and `REPAIR`.

    A failure that may pass (rate limit, time-out, a prompt that is too long) is an outcome: the caller has a
    fallback.

    Raises:
        ChatModelError: one that only a person can mend, e.g. a key that is refused.
    """
    steps: list[StepTiming] = []
    for name in (stage, REPAIR):
        started = time.perf_counter()
        try:
            done = completed(model, prompt, cancel)
        except ChatModelError as error:
            steps.append(StepTiming.since(name, started, Usage(calls=1, failed_calls=1)))
            if error.retry_after is None and not isinstance(error, ContextLengthError):
                raise
            return Asked(None, tuple(steps), error.finding)
        steps.append(StepTiming.since(name, started, done.usage))
        if (value := shape.read(done.text)) is not None:
            return Asked(value, tuple(steps))
        if cancel.cancelled:
            return Asked(None, tuple(steps), "it took too long")
        again = (Message("assistant", done.text), Message("user", shape.repair))
        prompt = replace(prompt, messages=(*prompt.messages, *again))
    return Asked(None, tuple(steps), "its reply could not be read")
