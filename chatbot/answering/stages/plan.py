"""Lets a language model say what to look for, before anything is searched."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...search.scope import summarise
from ..dialogue import begin
from ..tools import Tools
from ..tools.calls import AskBackCall, Plan, plan_shape
from ..turn import Draft, Stage, Turn


@dataclass(frozen=True, slots=True)
class PlanByModel:
    """Asks the model once. Where it fails, or no report is in scope, the stages of
    ``by_rule`` read the question instead, which have waited for it.
    """

    tools: Tools
    by_rule: Sequence[Stage]

    def run(self, turn: Turn) -> Draft | None:
        """Raises ChatModelError, BudgetExhaustedError: see `ModelTool.ask`."""
        if not turn.is_led:
            return None
        plan = self._plan(turn)
        if plan is None:
            return self._by_rule(turn)
        for call in plan.calls:
            if isinstance(call, AskBackCall) and len(plan.calls) == 1:
                return Draft(
                    text=call.question,
                    scope=summarise(turn.catalog, turn.question.scope),
                    why="The model asks back.",
                )
        queries = plan.queries
        if queries:
            turn.events.step("plan", "Planned", items=queries)
            turn.change(standalone="; ".join(queries), reading=None)
        if turn.question.history:
            turn.condensed = turn.question.standalone
        return None

    def _plan(self, turn: Turn) -> Plan | None:
        question = turn.question
        if not turn.catalog.holdings(question.scope).documents:
            return None
        turn.events.step("plan", "Reading the question")
        dialogue = begin(
            question,
            turn.catalog,
            self.tools.read.figures.indicators(question.scope.widest()),
            hints=turn.hints,
            takes_tools=self.tools.model.takes_tools,
        )
        plan = self.tools.model.ask_for(
            turn,
            "plan",
            plan_shape(takes_tools=dialogue.takes_tools),
            "Searched by rule",
            dialogue.planning_prompt(),
        )
        if plan is not None:
            dialogue.plan = plan
            turn.dialogue = dialogue
        return plan

    def _by_rule(self, turn: Turn) -> Draft | None:
        turn.is_led = False
        turn.change(reading=None)
        for stage in self.by_rule:
            draft = stage.run(turn)
            if draft is not None:
                return draft
        return None
