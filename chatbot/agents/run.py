"""One question being worked on: what every agent may do, within the budget, and what it has done (R-C7, R-C10)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..cancellation import Cancellation, time_limit
from ..errors import BudgetExhaustedError, SearchEngineError
from ..generation.asking import ask, asking
from ..model_output.shapes import Shape
from ..prompts import render
from ..retrieval.pipeline import Retrieval
from ..schema import Message, Question, Scope, SearchHit, StepEvent, Stopper
from ..text import estimate_tokens
from .parallel import Outcome, in_parallel
from .parts import Parts
from .spending import EXPLORING_SHARE, Spending

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Search:
    """One search among several. ``label`` is what the person reads of it."""

    label: str
    query: str
    scope: Scope
    top_k: int


class Run:
    """``spending`` and ``path`` grow while the agent works; ``stopped_by`` says what ended it early."""

    def __init__(self, parts: Parts, question: Question, cancel: Cancellation) -> None:
        self.parts = parts
        self.question = question
        self.cancel = cancel
        self.spending = Spending(question.budget, reserve=parts.deep_context_tokens + parts.answer_tokens)
        self.path: list[StepEvent] = []
        self.stopped_by: Stopper = ""

    def step(
        self,
        name: str,
        detail: str = "",
        *,
        items: Sequence[str] = (),
        hits: Sequence[SearchHit] = (),
        failed: bool = False,
    ) -> StepEvent:
        """Something to show, which is kept in the path, too."""
        event = StepEvent(name, detail, tuple(items), tuple(hits), failed)
        self.path.append(event)
        return event

    def stop(self, stopper: Stopper, detail: str) -> StepEvent:
        """The exploring ends here; the answer is made of what there is."""
        self.stopped_by = stopper
        return self.step("budget", detail, failed=True)

    def exhausted(self, tokens: int = 0) -> Generator[StepEvent, None, bool]:
        """Whether the budget forbids one more call that reads ``tokens``."""
        if not self.stopped_by and (stopper := self.spending.stops_exploring(tokens)):
            yield self.stop(stopper, self.spending.told(stopper))
        return bool(self.stopped_by) or self.cancel.cancelled

    def ask(self, stage: str, shape: Shape[T], otherwise: str, **values: str) -> Generator[StepEvent, None, T | None]:
        """What the model says to the prompts ``stage``; None where there is no budget, or nothing can be read.

        ``otherwise``: what the agent does then, in a few words.

        Raises:
            ChatModelError: one that only a person can mend.
            BudgetExhaustedError: the day's tokens were used up before this question began.
        """
        messages = [
            Message("system", render(f"{stage}_system", **values)),
            Message("user", render(f"{stage}_user", **values)),
        ]
        if (yield from self.exhausted(sum(estimate_tokens(message.content) for message in messages))):
            return None
        prompt = asking(messages, self.question.search_text, shape)
        try:
            with time_limit(self.cancel, self.spending.seconds_left(EXPLORING_SHARE)) as limited:
                asked = ask(self.parts.chat_model, prompt, shape, limited, stage=stage)
        except BudgetExhaustedError as error:
            if not self.spending.usage.calls:
                raise
            yield self.stop("tokens", error.message)
            return None
        self.spending.add(*asked.steps)
        if asked.value is None and not self.cancel.cancelled:
            yield self.step(stage, f"{otherwise}: {asked.why}", failed=True)
        return asked.value

    def search(self, searches: Sequence[Search]) -> Generator[StepEvent, None, list[Retrieval | None]]:
        """All of them at once; None for each that failed or was too slow, which the path names.

        Raises:
            DependencyError: not one of them worked.
        """
        left = self.spending.seconds_left(EXPLORING_SHARE)
        seconds = min(self.parts.search_seconds, left) if left is not None else self.parts.search_seconds
        found: list[Retrieval | None] = [None] * len(searches)
        failures: list[Outcome[Retrieval]] = []
        work = [lambda cancel, one=one: self._retrieve(one, cancel) for one in searches]
        for outcome in in_parallel(work, threads=self.parts.search_threads, cancel=self.cancel, seconds=seconds):
            label = searches[outcome.place].label
            if outcome.result is None:
                failures.append(outcome)
                why = outcome.error.message if outcome.error else f"No answer within {seconds:.0f} s."
                yield self.step("found", f"{label}: {why}", failed=True)
                continue
            found[outcome.place] = outcome.result
            self.spending.add(*outcome.result.steps)
            yield self.step("found", label, hits=outcome.result.hits)
        if failures and len(failures) == len(searches) and not self.spending.stops_exploring():
            raise next((failure.error for failure in failures if failure.error), _too_slow(seconds))
        return found

    def _retrieve(self, search: Search, cancel: Cancellation) -> Retrieval:
        question = self.question
        return self.parts.retriever.retrieve(
            search.query,
            top_k=search.top_k,
            scope=search.scope,
            method=question.retrieval_method,
            page=question.page,
            cancel=cancel,
        )


def _too_slow(seconds: float) -> SearchEngineError:
    return SearchEngineError(
        f"The search did not answer within {seconds:.0f} s.", remedy="Raise SEARCH_SECONDS.", retry_after=5
    )
