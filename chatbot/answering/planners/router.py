"""The router (seed 002, R-C1): the model picks the way that suits the question; without
one a rule does.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...domain import Range
from ...models.replies import choice
from ...questions.kinds import OF_ALL
from ...questions.reading import COUNTRY, YEAR
from ...questions.sides import COMPARES, asks_of_each, sides
from ..tools import Tools
from ..turn import Turn

DEFAULT = "direct"
WAYS = {
    "direct": (
        "one search and one answer: for a question about one fact, one topic or one "
        "report"
    ),
    "deep": (
        "several searches at once, and more for what is missing: for a question with "
        "several parts, an overview, causes and consequences"
    ),
    "chain": (
        "one simple question after the other: for a question whose parts depend on "
        "each other, where one answer is needed to ask the next"
    ),
    "compare": (
        "the same search in each country, year or report, side by side in a table: for "
        "a comparison"
    ),
}
SEED_WAYS = ("direct", "deep", "chain")
"""The agents of seed 002."""
_LISTS = re.compile(r"[,;/&+]|\b(?:and|or|but|plus|versus|vs)\b|\?\s*\S", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Router:
    """Chooses a mode with one call of the model, or by rule without one."""

    tools: Tools

    def choose(self, turn: Turn) -> str:
        """Return the name of the mode. Raises ChatModelError."""
        if turn.has_model and turn.settings.plain:
            return self._by_model(turn, SEED_WAYS)
        if not turn.catalog.holdings(turn.question.scope).documents:
            # It says without a call that the scope has no reports.
            return DEFAULT
        if turn.settings.plain:
            return "deep"
        if not turn.has_model:
            return self._by_rule(turn)
        ways = [way for way in WAYS if way != "compare" or self._compares(turn)]
        return self._by_model(turn, ways)

    def _by_model(self, turn: Turn, names: Sequence[str]) -> str:
        ways = "\n".join(
            f"{number}. {name}: {WAYS[name]}."
            for number, name in enumerate(names, start=1)
        )
        picked = self.tools.model.ask(
            turn, "auto", choice(names), f"Answered in mode {DEFAULT}", ways=ways
        )
        if picked is None:
            return DEFAULT
        name = names[picked - 1]
        turn.events.step("mode", f"Chosen by the model: {name}")
        return name

    def _by_rule(self, turn: Turn) -> str:
        mode = DEFAULT
        why = "it is one question"
        request, _ = self.tools.figures.asked_for(turn)
        if request.kind in OF_ALL:
            why = "the table of figures has it"
        elif request.kind != "prose" and self._compares(turn):
            mode = "compare"
            why = "it compares"
        elif self._has_parts(turn):
            mode = "deep"
            why = "it has several parts"
        turn.events.step("mode", f"Chosen: {mode}, because {why}")
        return mode

    def _has_parts(self, turn: Turn) -> bool:
        if not _LISTS.search(turn.question.search_text):
            return False
        return len(self.tools.figures.parts_of(turn)) > 1

    def _compares(self, turn: Turn) -> bool:
        question = turn.question
        reading = turn.reading
        says_so = COMPARES.search(question.search_text) is not None
        if not says_so and not _names_several(turn):
            return False
        if asks_of_each(reading):
            return False
        compared = sides(reading, question.scope, turn.catalog).compared
        if says_so:
            return bool(compared)
        if len([side for side in compared if side.ready]) < 2:
            # "What did Denmark sell to Colombia?": passages on one may name the other.
            return False
        countries = {side.scope.get(COUNTRY) for side in compared}
        years = {side.scope.get(YEAR) for side in compared}
        return len(countries) > 1 or len(years) > 1


def _names_several(turn: Turn) -> bool:
    """Tell whether a question or its scope has several countries, years or reports."""
    reading = turn.reading
    if len(reading.countries) > 1 or reading.figure_years or reading.editions:
        return True
    return any(
        isinstance(condition, Range) or len(condition.values) > 1
        for _, condition in turn.question.scope.conditions
    )
