"""The router (seed 002, R-C1): the model picks the way that suits the question."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace

from ..model_output.asking import choice
from ..questions.comparison_sides import Side, sides
from ..questions.comparisons import COMPARES, MAY_COMPARE
from ..questions.decomposition import sub_questions
from ..questions.mentions import COUNTRY, YEAR
from ..request import RequestContext
from ..schema import AnswerEvent, Event, Question, StepEvent
from . import DEFAULT
from .run import AgentRun, BaseAgent

WAYS = {
    "direct": "one search and one answer: for a question about one fact, one topic or one report",
    "deep": "several searches at once, and more for what is missing: for a question with several parts, an overview, "
    "causes and consequences",
    "chain": "one simple question after the other: for a question whose parts depend on each other, where one answer "
    "is needed to ask the next",
    "compare": "the same search in each country, year or report, side by side in a table: for a comparison",
}


class AutoAgent(BaseAgent):
    """Implements `protocols.Agent`: one call more than the agent it picks; by rule without a language model."""

    def run(self, question: Question, *, request: RequestContext) -> Iterator[Event]:
        """Choose, then the chosen agent's events; its trace begins with the choice."""
        run = AgentRun(self._resources, question, request)
        mode = yield from self._picked(run)
        if request.cancelled:
            return
        picked = replace(question, mode=mode, budget=run.spending.left(begun=True))
        for event in self._resources.agent(mode).run(picked, request=request):
            if isinstance(event, AnswerEvent):
                trace = event.answer.trace
                trace = replace(
                    trace,
                    steps=(*run.spending.steps, *trace.steps),
                    path=(*run.path, *trace.path),
                    stopped_by=trace.stopped_by or run.stopped_by,
                )
                yield AnswerEvent(replace(event.answer, trace=trace))
            else:
                yield event

    def _picked(self, run: AgentRun) -> Generator[StepEvent, None, str]:
        if not self._resources.catalog.holdings(run.question.scope).documents:
            return DEFAULT  # which says so, without a call
        if not self._resources.chat_models.is_language_model:
            mode, why = self._by_rule(run.question)
            yield run.step("mode", f"Chosen: {mode}, because {why}")
            return mode
        names = [name for name in WAYS if name != "compare" or self._compared(run.question)]
        ways = "\n".join(f"{number}. {name}: {WAYS[name]}." for number, name in enumerate(names, start=1))
        picked = yield from run.ask("auto", choice(names), f"Answered in mode {DEFAULT}", ways=ways)
        if picked is None:
            return DEFAULT
        yield run.step("mode", f"Chosen by the model: {names[picked - 1]}")
        return names[picked - 1]

    def _compared(self, question: Question) -> tuple[Side, ...]:
        """The countries, years or reports that the question could compare; empty where it names fewer than two."""
        return sides(question.search_text, question.scope, self._resources.catalog).compared

    def _by_rule(self, question: Question) -> tuple[str, str]:
        """The mode that fits the question's wording, and the reason, in words for the trace."""
        text, scope, catalog = question.search_text, question.scope, self._resources.catalog
        compares = COMPARES.search(text)
        if compares or MAY_COMPARE.search(text):
            compared = self._compared(question)
            between = any(len({side.scope.get(field) for side in compared}) > 1 for field in (COUNTRY, YEAR))
            if (compared and compares) or between:
                return "compare", "it compares"
        if len(sub_questions(text, scope, catalog)) > 1:
            return "deep", "it has several parts"
        return DEFAULT, "it is one question"


build = AutoAgent
