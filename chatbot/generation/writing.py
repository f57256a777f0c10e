"""The answer from passages, which are fewer where the model cannot read them all (R-D9). For every agent."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from ..cancellation import Cancellation
from ..errors import ChatModelError, ContextLengthError
from ..model_output.completion import completion
from ..model_output.heard import Heard
from ..model_output.thoughts import without_thoughts
from ..protocols import ChatModel
from ..schema import Context, Prompt, Question, StepEvent, StepTiming, TokenEvent
from .answer import grounded_prompt
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


@dataclass(slots=True)
class Draft:
    """What there is of an answer while it is written, and of one that failed: the latest try."""

    heard: Heard | None = None
    steps: list[StepTiming] = field(default_factory=list)

    @property
    def text(self) -> str:
        return without_thoughts(self.heard.text) if self.heard else ""


def write(
    model: ChatModel,
    question: Question,
    context: Context,
    cancel: Cancellation,
    *,
    prompt: Callable[[Question, Context], Prompt] = grounded_prompt,
    draft: Draft | None = None,
) -> Generator[StepEvent | TokenEvent, None, Written]:
    """One generation call. A prompt that is too long is tried again with the better half of its passages.

    ``draft`` holds what there is of it where it fails.

    Raises:
        ContextLengthError: still too long with one passage, or after three tries more.
        ChatModelError: the model failed.
    """
    draft = draft or Draft()
    steps = draft.steps
    while True:
        started, asked = time.perf_counter(), prompt(question, context)
        draft.heard = heard = Heard(asked)
        try:
            done = yield from completion(model, asked, cancel, heard)
        except ChatModelError as error:
            failed = heard.usage_of_failed(error)
            keep = (len(context.passages) + 1) // 2
            hopeless = keep == len(context.passages) or len(steps) == SHORTENED_AT_MOST
            if hopeless or not isinstance(error, ContextLengthError):
                steps.append(StepTiming.since("generate", started, failed))
                raise
            steps.append(StepTiming.since("shorten", started, failed))
            context = shortened(context, keep)
            yield StepEvent("shorten", f"Too much for the model: once more with the best {keep} of the passages")
            continue
        steps.append(StepTiming.since("generate", started, done.usage))
        return Written(done.text, context, tuple(steps), done.truncated)
