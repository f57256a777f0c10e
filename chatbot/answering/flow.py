"""How a question becomes an answer, on one page.

`Flow.answer` runs the stages of the question in the order of `STAGES`, as far as its
settings list them (QuerySettings.stages: a preset leaves out what its system does not
have). Any stage may end the question with a draft; the last ones search and write. What
a draft says is then checked against its passages, by `Finish`.

Every stage has a file of its own in `stages/`, `early/` (answers that need no search),
`planners/` (what to look for), `tools/` (what finds it) or `writers/` (what becomes of
it), and one method, ``run(turn)``. `Turn` is the question with what is known of it by
now, its limits, and the one emitter for its events. To add a stage: a class with
``run``, its name in `STAGES` where it belongs, and a line in `app/services/flow.py`,
where the stages are built.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ..domain import Answer, QuerySettings, Question, RequestContext, Usage
from ..domain.chat import StageTiming
from ..domain.errors import SettingsError, UnknownNameError
from ..domain.protocols import Catalog
from ..language.analysis import Analyzer
from ..search.relevance import Judge
from .emitter import Send, send_nothing
from .stages.finish import Finish
from .tools import Tools
from .tools.search import SearchTool
from .turn import Draft, Stage, Turn
from .writers.advice import Advice

CACHE = "cache"
REQUIRED = ("route", "reports", "gather", "write")
"""Stages that no question does without."""
STAGES = (
    # Read it.
    "condense",  # completes a follow-up from its conversation
    "spelling",  # reads misspelt words as those of the reports
    "read",  # finds the language, and the names of countries, years, reports
    # Answers that need no search.
    "small_talk",
    "glossary",
    "missing",  # countries and years that no report is about
    "library",  # which reports there are
    # Which reports are searched, and how.
    "scope",  # takes the scope from the question
    "cache",  # gives an answer again that was given before
    "route",  # chooses the mode: a planner and a writer
    "reports",  # counts the reports in scope
    "collections",  # lets a model choose among collections
    # Answers from what the library has as data.
    "figures",  # a table of figures
    "overview",  # what a report is about
    # Search, judge, write.
    "gather",  # plans and searches, round by round
    "enough",  # judges whether it answers the question
    "write",
)

WHY_ENDED = {
    "small_talk": "It asks nothing of the reports.",
    "glossary": "The glossary has what it asks.",
    "missing": "No report is about what it names.",
    "library": "The catalogue has what it asks.",
    "cache": "It was answered before.",
    "reports": "There are no reports in this scope.",
    "collections": "There are no reports yet.",
    "figures": "The table of figures has what it asks.",
    "overview": "It asks what a report is about.",
    "gather": "Nothing had to be searched.",
    "enough": "What was found does not answer it.",
    "write": "The answer is written.",
}
"""What is said in the trace of a stage that ended a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Answers the questions of callers with one limit. Stateless between questions;
    thread-safe.
    """

    stages: Mapping[str, Stage]
    finish: Finish
    tools: Tools
    """What the stages gather with, for other programs, too."""
    settings: QuerySettings
    """Of a question that brings none."""
    catalog: Catalog
    analyzer: Analyzer
    judge_with: Callable[[QuerySettings], Judge]
    advice: Advice
    has_model: bool

    def answer(
        self,
        question: Question,
        *,
        request: RequestContext,
        send: Send = send_nothing,
    ) -> Answer:
        """Answer a question, and send each event as it happens.

        Raises:
            CancelledError: nobody waits for the answer any more.
            ChatbotError: something that it needs failed.
        """
        return self.run(question, request=request, send=send).answer

    def run(
        self, question: Question, *, request: RequestContext, send: Send = send_nothing
    ) -> Turn:
        """Answer a question; return its turn, which has the answer. Raises as `answer`
        does.
        """
        lookups = request.meter.lookups
        turn = self.begin(question, request, send)
        draft = self._draft(turn)
        turn.answered = self.finish.run(turn, draft, lookups)
        turn.events.check()
        return turn

    def _draft(self, turn: Turn) -> Draft:
        """Return the draft of the first stage that ends the question."""
        for name in STAGES:
            if turn.settings.stages and name not in turn.settings.stages:
                continue
            with timed(turn, name):
                draft = self.stages[name].run(turn)
            turn.events.check()
            if draft is not None:
                turn.stages[-1] = replace(turn.stages[-1], ended=WHY_ENDED[name])
                return draft
        raise AssertionError("the stage `write` always ends a question")

    def begin(
        self, question: Question, request: RequestContext, send: Send = send_nothing
    ) -> Turn:
        """Return the turn of a question, before its first stage."""
        settings = question.settings or self.settings
        # Without the stage nothing that was answered before is given again, not even a
        # reply of the model.
        may_repeat = question.cache and (
            not settings.stages or CACHE in settings.stages
        )
        return Turn.begin(
            replace(question, settings=settings),
            replace(request, cache=may_repeat),
            send,
            catalog=self.catalog,
            analyzer=self.analyzer,
            judge_with=self.judge_with,
            has_model=self.has_model,
            is_foreign=self.advice.is_foreign(question.query),
        )


@dataclass(frozen=True, slots=True)
class Gather:
    """The stage that searches: the planner says what to look for, the tools look, until
    the planner has enough, a round adds nothing, or the budget is used up.
    """

    search: SearchTool

    def run(self, turn: Turn) -> Draft | None:
        assert turn.mode is not None, "the stage `route` has run"
        planner = turn.mode.planner
        while True:
            wanted = planner.plan(turn)
            if isinstance(wanted, Draft):
                return wanted
            if not wanted:
                return None
            planner.keep(turn, self.search.run(turn, wanted))


class Write:
    """The stage that writes, with the writer of the mode."""

    def run(self, turn: Turn) -> Draft:
        assert turn.mode is not None, "the stage `route` has run"
        return turn.mode.writer.write(turn)


def check_stages(names: Sequence[str]) -> None:
    """Raises UnknownNameError, SettingsError: STAGES names what is no stage, or leaves
    out what every question needs.
    """
    for name in names:
        if name not in STAGES:
            raise UnknownNameError.among("STAGES", "stage", name, STAGES)
    lacking = [name for name in REQUIRED if names and name not in names]
    if lacking:
        raise SettingsError(
            f"STAGES leaves out {', '.join(lacking)}, which every question needs: add "
            "them, or leave STAGES empty for all stages."
        )


@contextmanager
def timed(turn: Turn, name: str) -> Iterator[None]:
    """Note how long a stage took, and what it spent."""
    started = time.perf_counter()
    before = len(turn.limits.spending.steps)
    yield
    steps = turn.limits.spending.steps[before:]
    usage = Usage.total(step.usage for step in steps)
    turn.stages.append(StageTiming.since(name, started, usage))
