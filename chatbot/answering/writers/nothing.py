"""Says that nothing was found, what came closest, or what a model knows in general."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...domain import SearchHit
from ...domain.chat import ScopeSummary, StepTiming
from ...domain.errors import ChatModelError
from ...domain.protocols import ChatModel
from ...models.replies.stream import Reply, completion
from ...search.subjects import missing_figures
from ..answer import GENERAL, general_prompt, not_found
from ..turn import Draft, Turn, distinct
from .advice import Advice

NO_REPORTS = (
    "There are no reports yet. Add some in the knowledge base, or with: python -m "
    "chatbot ingest FILES"
)


@dataclass(frozen=True, slots=True)
class NothingFound:
    """Ends a question for which the reports hold nothing, as ON_EMPTY says."""

    chat_model: ChatModel
    advice: Advice

    def write(self, turn: Turn, closest: Sequence[SearchHit]) -> Draft:
        """Answer with the passages that came closest, or with general knowledge within
        the budget. Raises ChatModelError.
        """
        scope = turn.scope
        turn.events.sources((), scope)
        closest = distinct(closest)
        general = self.from_general_knowledge(turn, scope, closest)
        if general is not None:
            return general
        text = self._text(turn, closest)
        advice = ""
        if closest:
            advice = self.advice.on_language_of(turn, closest[0].chunk)
        advice = advice or self.advice.on_language(turn, closest)
        if advice:
            text = f"{advice}\n\n{text}"
        if turn.limits.stopped_by:
            # Where no search came to its end, nobody knows whether the reports answer
            # the question.
            by_then = turn.say("Nothing had been found by then.")
            stopped = f"{turn.limits.why_stopped} {by_then}"
            text = f"{stopped}\n\n{text}" if closest else stopped
        turn.events.text(text)
        return Draft(
            text=text,
            scope=scope,
            hits=closest,
            is_sent=True,
            why="What was found does not answer it.",
        )

    def from_general_knowledge(
        self,
        turn: Turn,
        scope: ScopeSummary,
        hits: Sequence[SearchHit] = (),
        *,
        may_fail: bool = False,
    ) -> Draft | None:
        """Answer from what the model knows, where ON_EMPTY and the budget allow it;
        None where they do not, or where it writes nothing. A model that fails is an
        error if it was not called before, unless it ``may_fail``. Raises
        ChatModelError.
        """
        limits = turn.limits
        spending = limits.spending
        if not turn.is_general or spending.stops_answer():
            return None
        turn.events.step("generate", "Writing the answer")
        above = f"{turn.say(GENERAL)}\n\n"
        started = time.perf_counter()
        prompt = general_prompt(turn.question)
        reply = Reply(prompt)
        try:
            with turn.request.within(spending.seconds_left()) as limited:
                tokens = completion(
                    self.chat_model, prompt, limited, reply, above=above
                )
                for token in tokens:
                    turn.events.text(token.text)
        except ChatModelError as error:
            has_worked = spending.usage.calls > spending.usage.failed_calls
            usage = reply.usage_of_failed(error)
            spending.add(StepTiming.since("generate", started, usage))
            if not (has_worked or may_fail):
                raise
            turn.events.step("generate", error.message, failed=True)
            return None
        spending.add(StepTiming.since("generate", started, reply.usage))
        limits.note_time(limited)
        if not reply.text:
            return None
        return Draft(
            text=above + reply.text,
            scope=scope,
            hits=hits,
            truncated=reply.truncated,
            is_sent=True,
        )

    def is_library_empty(self, turn: Turn) -> bool:
        """Return whether the caller may see no report at all."""
        return not turn.catalog.holdings(turn.question.scope.widest()).documents

    def _text(self, turn: Turn, closest: Sequence[SearchHit]) -> str:
        question = turn.question
        if self.is_library_empty(turn) and not question.attachments:
            return turn.say(NO_REPORTS)
        # The scope of the question: the model may have narrowed it.
        searched = replace(turn.scope, scope=question.scope)
        if turn.absent is not None:
            text = not_found(searched, closest, turn.say)
            return f"{turn.absent.offer} {text}".strip()
        other_years = years_missing(turn, closest)
        return other_years or not_found(searched, closest, turn.say)


def years_missing(turn: Turn, hits: Sequence[SearchHit]) -> str | None:
    """Return what is said where the hits have no figure of the years asked for; None
    where they have.
    """
    return missing_figures(
        turn.reading,
        hits,
        turn.question.scope,
        turn.catalog,
        turn.analyzer,
        turn.say,
    )
