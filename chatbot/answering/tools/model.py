"""Asks the model that plans and judges, within the budget of the question."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from ...domain import Prompt
from ...domain.chat import StepTiming
from ...domain.errors import BudgetExhaustedError
from ...domain.protocols import Catalog, ChatModel
from ...language.counts import estimate_tokens_of
from ...models.prompts import render
from ...models.replies import Shape, ask, stage_prompt
from ...search.scope import describe, inventory
from ..budget import Allowance
from ..turn import Turn

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelTool:
    """Puts a question of a planner to the small model."""

    chat_model: ChatModel
    catalog: Catalog

    @property
    def takes_tools(self) -> bool:
        """True if the model may be sent tools; one that was never asked counts as
        such.
        """
        return bool(getattr(self.chat_model, "takes_tools", False))

    def ask(
        self, turn: Turn, stage: str, shape: Shape[T], otherwise: str, **values: str
    ) -> T | None:
        """Return the model's reply to the prompts ``stage``; None without budget, or if
        it cannot be read.

        ``otherwise``: what the planner does then, in a few words. ``values`` are those
        of the templates besides the question and its scope.

        Raises:
            ChatModelError: only a person can solve it, e.g. a key that is refused, no
                call has worked yet, and ON_MODEL_ERROR is error.
            BudgetExhaustedError: the day's tokens were used up before this question
                began.
        """
        prompt = self._prompt(turn, stage, shape, values)
        return self.ask_for(turn, stage, shape, otherwise, prompt)

    def ask_for(
        self, turn: Turn, stage: str, shape: Shape[T], otherwise: str, prompt: Prompt
    ) -> T | None:
        """Return the model's reply to a prompt that is ready; see `ask`."""
        limits = turn.limits
        if limits.fault_of(self.chat_model.model_id) is not None:
            return None
        if not self._has_budget(turn, prompt):
            return None
        started = time.perf_counter()
        allowance = Allowance(limits.spending)
        seconds = limits.spending.seconds_left(limits.share)
        with turn.request.within(seconds) as limited:
            counted = replace(limited, may_call=allowance.take)
            try:
                reply = ask(self.chat_model, prompt, shape, counted, stage=stage)
            except BudgetExhaustedError as error:
                allowance.settle(StepTiming.since(stage, started))
                if not limits.spending.usage.calls:
                    raise
                limits.stop("tokens", error.message)
                return None
        allowance.settle(*reply.steps)
        if allowance.refused:
            limits.stop("calls")
            return None
        if isinstance(reply.error, BudgetExhaustedError):
            limits.stop("tokens", reply.error.message)
            return None
        if reply.error is not None:
            if turn.quotes_on_error:
                limits.note_fault(self.chat_model.model_id, reply.error)
            elif not limits.may_go_on(reply.error):
                raise reply.error
        if reply.value is None:
            turn.events.step(stage, f"{otherwise}: {reply.why}", failed=True)
            limits.note_time(limited)
        return reply.value

    def ask_of_answer(
        self, turn: Turn, stage: str, shape: Shape[T], prompt: Prompt
    ) -> T | None:
        """Return the model's reply to one call about an answer that is written; None
        without budget, or if it fails or cannot be read. No fault of it is one of the
        answer.
        """
        spending = turn.limits.spending
        tokens = estimate_tokens_of(prompt.texts)
        is_down = turn.limits.fault_of(self.chat_model.model_id) is not None
        if is_down or spending.stops_answer(tokens=tokens):
            return None
        started = time.perf_counter()
        allowance = Allowance(spending, keep=0)

        def take_first() -> bool:
            return not allowance.taken and allowance.take()

        with turn.request.within(spending.seconds_left()) as limited:
            counted = replace(limited, may_call=take_first)
            try:
                reply = ask(self.chat_model, prompt, shape, counted, stage=stage)
            except BudgetExhaustedError:
                allowance.settle(StepTiming.since(stage, started))
                return None
        allowance.settle(*reply.steps)
        if reply.value is None:
            turn.events.step(stage, f"Left out: {reply.why}", failed=True)
        return reply.value

    def _prompt(
        self, turn: Turn, stage: str, shape: Shape[T], values: Mapping[str, str]
    ) -> Prompt:
        question = turn.question
        where = render(
            "where",
            scope=describe(question.scope),
            there=inventory(self.catalog, question.scope),
            today=question.today.isoformat(),
        )
        text = question.search_text
        filled = {"question": text, "where": where, **values}
        return stage_prompt(stage, shape, text, **filled)

    def _has_budget(self, turn: Turn, prompt: Prompt) -> bool:
        """Return whether this prompt may be sent; say why not."""
        limits = turn.limits
        if limits.stopped_by:
            return False
        tokens = estimate_tokens_of(prompt.texts)
        stopper = limits.spending.stops_exploring(tokens, limits.share)
        if stopper:
            limits.stop(stopper)
            return False
        turn.events.stop_if_cancelled()
        return True
