"""The router (seed 002, R-C1): the model picks the way that suits the question."""

import re
from collections.abc import Generator, Iterator
from dataclasses import replace

from ...domain import Event, Range, StepEvent
from ...models.replies import choice
from ...questions.kinds import OF_ALL
from ...questions.reading import COUNTRY, YEAR
from ...questions.sides import COMPARES, sides
from . import DEFAULT
from .run import AgentRun, BaseAgent
from .tables import asked_for, parts_of

WAYS = {
    "direct": (
        "one search and one answer: for a question about one fact, one topic or one "
        "report"
    ),
    "deep": "several searches at once, and more for what is missing: for a question with "  # noqa: E501
    "several parts, an overview, "
    "causes and consequences",
    "chain": "one simple question after the other: for a question whose parts depend on "  # noqa: E501
    "each other, where one answer "
    "is needed to ask the next",
    "compare": (
        "the same search in each country, year or report, side by side in a table: for "
        "a comparison"
    ),
}


_LISTS = re.compile(r"[,;/&+]|\b(?:and|or|but|plus|versus|vs)\b|\?\s*\S", re.IGNORECASE)


class AutoAgent(BaseAgent):
    """Chooses another mode with one call of the model, or by rule without one."""

    def answer(self, run: AgentRun) -> Iterator[Event]:
        mode = DEFAULT  # which says so without a call where the scope has no reports
        if run.resources.catalog.holdings(run.question.scope).documents:
            mode = (
                yield from self._by_model(run) if run.has_model else self._by_rule(run)
            )
        run.question, run.is_mode_chosen = replace(run.question, mode=mode), True
        run.choice_stopped_by, run.stopped_by, run.why_stopped = run.stopped_by, "", ""

    def _by_model(self, run: AgentRun) -> Generator[StepEvent, None, str]:
        names = [name for name in WAYS if name != "compare" or self._compares(run)]
        ways = "\n".join(
            f"{number}. {name}: {WAYS[name]}."
            for number, name in enumerate(names, start=1)
        )
        picked = yield from run.ask(
            "auto", choice(names), f"Answered in mode {DEFAULT}", ways=ways
        )
        if picked is None:
            return DEFAULT
        yield run.step("mode", f"Chosen by the model: {names[picked - 1]}")
        return names[picked - 1]

    def _by_rule(self, run: AgentRun) -> Generator[StepEvent, None, str]:
        mode, why = DEFAULT, "it is one question"
        request, _ = asked_for(run)
        if request.kind in OF_ALL:
            why = "the table of figures has it"
        elif self._compares(run):
            mode, why = "compare", "it compares"
        elif _LISTS.search(run.question.search_text) and len(parts_of(run)) > 1:
            mode, why = "deep", "it has several parts"
        yield run.step("mode", f"Chosen: {mode}, because {why}")
        return mode

    def _compares(self, run: AgentRun) -> bool:
        reading, chosen = run.reading, run.question.scope.conditions
        named = len(reading.countries) > 1 or reading.figure_years or reading.editions
        says_so = COMPARES.search(run.question.search_text) is not None
        if not (
            named
            or says_so
            or any(isinstance(one, Range) or len(one.values) > 1 for _, one in chosen)
        ):
            return False
        compared = sides(reading, run.question.scope, run.resources.catalog).compared
        differs = any(
            len({side.scope.get(field) for side in compared}) > 1
            for field in (COUNTRY, YEAR)
        )
        return bool(compared) and (differs or says_so)


build = AutoAgent
