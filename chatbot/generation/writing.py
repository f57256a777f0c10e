"""The answer from passages, which are fewer where the model cannot read them all (R-D9). For every agent."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass

from ..cancellation import Cancellation
from ..errors import ContextLengthError
from ..protocols import ChatModel
from ..schema import Context, Prompt, Question, StepEvent, StepTiming, TokenEvent, Usage
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
    steps: tuple[StepTiming, ...]
    truncated: bool = False


def write(
    model: ChatModel,
    question: Question,
    context: Context,
    cancel: Cancellation,
    *,
    prompt: Callable[[Question, Context], Prompt] = grounded_prompt,
) -> Generator[StepEvent | TokenEvent, None, Written]:
    """One generation call. A prompt that is too long is tried again with the better half of its passages.

    Raises:
        ContextLengthError: still too long with one passage, or after three tries more.
        ChatModelError: the model failed.
    """
    steps: list[StepTiming] = []
    while True:
        started = time.perf_counter()
        try:
            done = yield from completion(model, prompt(question, context), cancel)
        except ContextLengthError:
            keep = (len(context.passages) + 1) // 2
            if keep == len(context.passages) or len(steps) == SHORTENED_AT_MOST:
                raise
            steps.append(StepTiming.since("shorten", started, Usage(calls=1, failed_calls=1)))
            context = shortened(context, keep)
            yield StepEvent("shorten", f"Too much for the model: once more with the best {keep} of the passages")
            continue
        steps.append(StepTiming.since("generate", started, done.usage))
        return Written(done.text, context, tuple(steps), done.truncated)
