"""The answer from passages, which are fewer where the model cannot read them all (R-D9). For every agent."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass

from ..cancellation import Cancellation
from ..errors import ContextLengthError
from ..protocols import ChatModel
from ..schema import Context, Question, StepEvent, StepTiming, TokenEvent, Usage
from .answer import grounded_prompt
from .completion import completion
from .context import shortened

SHORTENED_AT_MOST = 3


@dataclass(frozen=True, slots=True)
class Written:
    """An answer's text, and the passages that the model had for it: its citations are checked against these.

    ``steps`` has a "shorten" for each time the model refused the prompt, and "generate".
    """

    text: str
    context: Context
    usage: Usage
    steps: tuple[StepTiming, ...]
    truncated: bool = False


def write(
    model: ChatModel, question: Question, context: Context, cancel: Cancellation
) -> Generator[StepEvent | TokenEvent, None, Written]:
    """One generation call. A prompt that is too long is tried again with the better half of its passages.

    Raises:
        ContextLengthError: still too long with one passage, or after three tries more.
        ChatModelError: the model failed.
    """
    steps: list[StepTiming] = []
    usage = Usage()
    while True:
        started = time.perf_counter()
        try:
            done = yield from completion(model, grounded_prompt(question, context), cancel)
        except ContextLengthError:
            keep = (len(context.passages) + 1) // 2
            if keep == len(context.passages) or len(steps) == SHORTENED_AT_MOST:
                raise
            steps.append(_step("shorten", started))
            usage = usage + Usage(calls=1)
            context = shortened(context, keep)
            yield StepEvent("shorten", f"Too much for the model: once more with the best {keep} of the passages")
            continue
        steps.append(_step("generate", started))
        return Written(done.text, context, usage + done.usage, tuple(steps), done.truncated)


def _step(name: str, started: float) -> StepTiming:
    return StepTiming(name, round((time.perf_counter() - started) * 1000, 2))
