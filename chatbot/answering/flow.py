"""How a question becomes an answer, on one page.

`Flow.answer` takes a question through the stages of `STAGES`, in that order. A stage is
one class with one method, ``run(turn)``: it adds to what is known of the question
(`Turn`), or ends it by returning a `Draft`, a text with its passages. The last stage,
`Write`, always does. `Finish` makes the answer of any draft: it checks each claim
against the passages and marks what they do not support (the words themselves were sent
while they were written, and stay), numbers the citations, and puts the answer into the
cache. ``chatbot/answering/conversation.py`` then keeps it.

A language model that fails before its first word ends no question: it is answered once
more, from the first stage on, as an installation without a model answers it
(ON_MODEL_ERROR). Behind its first word, and where several searches were planned, the
writer itself quotes what was found.

    stages/    what every question passes: read, scope, cache, mode, verdict, finish
    early/     answers without a search: greetings, terms, the library, figures
    planners/  what to look for: `Gather` asks the planner of the question's mode
               (`by_model`: the language model, in the `dialogue` that `plan` begins)
    tools/     what finds it: search, figures, reading, attachments, the planning model
    writers/   what becomes of it: prose, quotations, a table, a report, "not found"
    modes/     which planner goes with which writer (direct, deep, chain, ...)

What stages share is on the turn: ``events`` is the one way out for steps, sources and
words, and raises CancelledError as soon as nobody waits any more; ``limits`` keeps the
question inside its budget; ``say`` translates fixed words. The caller's ``send`` gets
each event at once (``chatbot/app/web/streaming.py`` passes them on to the browser).

To add a stage: a class with ``run`` in a file of its own, its name in `STAGES` where it
belongs, and a line in ``chatbot/app/services/flow.py``, where all stages are built. It
runs for everybody but the presets (``chatbot/config/presets.toml``), which list what
their systems have. The setting STAGES wins over a preset, and may also name what is
left out (``STAGES=-small_talk,-glossary``). What is said of an answer after it was
written belongs into ``stages/finish.py``.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ..domain import Answer, QuerySettings, Question, RequestContext
from ..domain.errors import ChatModelError, SettingsError, UnknownNameError
from ..domain.protocols import Catalog
from ..language.analysis import Analyzer
from ..search.relevance import Judge
from .emitter import Emitter, Send, send_nothing
from .faults import error_text, explain
from .modes import CHOOSES, LED_MODES, needs_language_model
from .stages.finish import Finish
from .tools import Tools
from .tools.search import SearchTool
from .turn import Draft, Stage, Turn
from .writers.advice import Advice

log = logging.getLogger(__name__)
STAGES = (
    # Read the question.
    "condense",  # completes a follow-up from its conversation
    "alone",  # leaves out what is from earlier, where that finds more
    "translate",  # reads another language as English, by the glossary
    "spelling",  # reads misspelt words as those of the reports
    "read",  # finds the language, and the names of countries, years, reports
    # Answer without a search.
    "small_talk",  # greetings and thanks
    "glossary",  # what a term means
    "missing",  # countries and years that no report is about
    "library",  # which reports there are
    # Decide where and how to search.
    "scope",  # takes the scope from the question
    "cache",  # gives an answer again that was given before
    "plan",  # lets a language model say what to look for
    "route",  # chooses the mode: a planner and a writer
    "reports",  # counts the reports in scope
    "collections",  # lets a model choose among collections of reports
    # Answer from what the library has as data.
    "figures",  # a table of figures
    "overview",  # what a report or a country is about
    # Search, judge, write.
    "gather",  # plans and searches, round by round
    "enough",  # judges whether what was found answers the question
    "write",  # writes, with the writer of the mode
)
REQUIRED_STAGES = ("route", "reports", "gather", "write")
"""Those that no setting may leave out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Answers the questions of all callers who may see the same reports. It keeps
    nothing between questions, and is thread-safe.
    """

    stages: Mapping[str, Stage]
    """The stages, built, by their names."""
    finish: Finish
    tools: Tools
    """What the stages gather with; MCP and the API call the same tools."""
    settings: QuerySettings
    """Those of a question that brings none of its own, as a preset does."""
    catalog: Catalog
    """The reports that the callers may see."""
    analyzer: Analyzer
    judge_with: Callable[[QuerySettings], Judge]
    advice: Advice
    has_model: bool
    """True if a language model writes; else quotations do."""

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
        turn = self.run(question, request=request, send=send)
        for write in turn.writes:
            write()
        return turn.answer

    def run(
        self, question: Question, *, request: RequestContext, send: Send = send_nothing
    ) -> Turn:
        """Answer a question; return its turn, which has the answer and the writes that
        the caller has to do (`Turn.writes`). Raises as `answer` does.
        """
        lookups_before = request.meter.lookups
        turn = self.begin(question, request, send)
        try:
            draft = self._draft(turn)
        except ChatModelError as error:
            if not turn.quotes_on_error:
                raise
            turn = self._without_model(question, turn, error)
            draft = self._draft(turn)
        turn.answered = self.finish.run(turn, draft, lookups_before)
        turn.events.stop_if_cancelled()
        return turn

    def _draft(self, turn: Turn) -> Draft:
        """Return the draft of the first stage that ends the question."""
        for name in stages_of(turn.settings.stages):
            with turn.timed(name):
                draft = self.stages[name].run(turn)
            turn.events.stop_if_cancelled()
            if draft is not None:
                turn.timings[-1] = replace(turn.timings[-1], ended=draft.why)
                return draft
        raise AssertionError("the stage `write` always ends a question")

    def _without_model(
        self, question: Question, failed: Turn, error: ChatModelError
    ) -> Turn:
        """Return the turn that answers a question after the language model failed, as
        an installation without one answers it. Nothing of it is cached.
        """
        log.warning("Answered without the language model: %s", error.in_full)
        failed.events.step("generate", error_text(failed, error), failed=True)
        failed.events.begin_again(explain(failed, error))
        settings = failed.settings
        if settings.reranker == "llm":
            settings = replace(settings, reranker="none")
        mode = question.mode
        if needs_language_model(mode):
            mode = CHOOSES
        # The seconds may be used up by waiting for the model.
        budget = replace(question.budget, seconds=None)
        question = replace(
            question, settings=settings, mode=mode, budget=budget, cache=False
        )
        turn = self.begin(
            question, failed.request, has_model=False, events=failed.events
        )
        turn.timings = failed.timings
        turn.limits.failure = error
        turn.limits.spending.add(*failed.limits.spending.steps)
        return turn

    def begin(
        self,
        question: Question,
        request: RequestContext,
        send: Send = send_nothing,
        *,
        has_model: bool | None = None,
        events: Emitter | None = None,
    ) -> Turn:
        """Return the turn of a question, before its first stage. ``has_model``: other
        than the flow's own; ``events``: those of a turn that failed.
        """
        settings = question.settings or self.settings
        may_write = self.has_model if has_model is None else has_model
        # Without the stage `cache` nothing is given again, not even a model's reply.
        may_repeat = question.cache and "cache" in stages_of(settings.stages)
        return Turn.begin(
            replace(question, settings=settings),
            replace(request, cache=may_repeat),
            send,
            catalog=self.catalog,
            analyzer=self.analyzer,
            judge_with=self.judge_with,
            has_model=may_write,
            is_led=may_write and _is_led(question, settings),
            events=events,
            is_foreign=self.advice.is_foreign(question.query),
        )


@dataclass(frozen=True, slots=True)
class Gather:
    """The stage that searches. The planner ends it: it has enough, a round has added
    nothing, or the budget is used up (which its questions to a model and its searches
    notice); or it finds that no search is needed.
    """

    search: SearchTool

    def run(self, turn: Turn) -> Draft | None:
        planner = turn.planner
        while True:
            wanted = planner.plan(turn)
            if isinstance(wanted, Draft):
                return wanted
            if not wanted:
                return None
            results = self.search.run(turn, wanted)
            planner.keep(turn, results)


class Write:
    """The stage that writes."""

    def run(self, turn: Turn) -> Draft:
        return turn.writer.write(turn)


def stages_of(names: Sequence[str]) -> Sequence[str]:
    """Return the stages that a setting means, in their order: those that it lists; or
    all but those that it lists with a minus; or all, where it lists none.
    """
    if not names:
        return STAGES
    left_out = {name[1:] for name in names if name.startswith("-")}
    listed: Collection[str] = names
    if left_out:
        listed = STAGES
    return [name for name in STAGES if name in listed and name not in left_out]


def _is_led(question: Question, settings: QuerySettings) -> bool:
    """Return whether a language model says what to look for, where one writes: what
    the stages before `plan` read is a hint to it then.
    """
    if settings.plain or settings.planner != "model":
        return False
    if question.attachments or question.mode not in LED_MODES:
        return False
    if question.expand:
        # Mode deep by rounds of questions is what adds terms (seed 001).
        return False
    return "plan" in stages_of(settings.stages)


def check_stages(names: Sequence[str]) -> None:
    """Raises UnknownNameError, SettingsError: STAGES names what is no stage, or leaves
    out what every question needs.
    """
    for name in names:
        if name.removeprefix("-") not in STAGES:
            raise UnknownNameError.among("STAGES", "stage", name, STAGES)
    with_minus = [name for name in names if name.startswith("-")]
    if with_minus and len(with_minus) < len(names):
        raise SettingsError(
            "STAGES lists stages that run, or with a minus those that are left out: "
            "not both."
        )
    meant = stages_of(names)
    lacking = [name for name in REQUIRED_STAGES if name not in meant]
    if lacking:
        raise SettingsError(
            f"STAGES leaves out {', '.join(lacking)}, which every question needs: add "
            "them, or leave STAGES empty for all stages."
        )
