"""The sections of a report, written one by one, each with what the earlier ones say already (R-A6)."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from collections.abc import Collection as AnyOf
from typing import TypeVar

from ..cancellation import Cancellation
from ..errors import EmbeddingError
from ..generation.answer import prompt_for
from ..generation.context import within
from ..generation.sentences import cited_numbers, with_numbers_of
from ..generation.wording import plain, unmarked
from ..model_output.records import Outline, OutlineSection
from ..schema import Context, Event, Prompt, Question, StepEvent, StepTiming, TokenEvent
from ..text import escape_markdown
from .already_written import AlreadyWritten
from .answering import LEAST_CONTEXT, left_out
from .lines import tells
from .run import Run
from .writing import Way, quotations, written

MOST_FAILURES = 2
"""After so many sections in which the model failed, it is not asked for another."""
NOTHING = "The reports say nothing about this."
NOTHING_NEW = "The reports say nothing about this that the sections above do not say."

T = TypeVar("T")


class Sections:
    """``truncated``: whether one of them ends early. ``numbers``: those of the whole report's passages."""

    def __init__(self, run: Run, plan: Outline, numbers: AnyOf[int]) -> None:
        self._numbers = frozenset(numbers)
        self._run = run
        self._plan = plan
        self._said = AlreadyWritten(run.parts.embedder, run.parts.analyzer)
        self.truncated = False

    def over(self, left: Sequence[OutlineSection]) -> Generator[StepEvent, None, str]:
        """What is said of the sections that are not written: the budget is used up, or the model fails; "" else."""
        run = self._run
        if stopper := run.spending.stops_answer():
            yield from run.stop(stopper)
        elif sum(step.failed and step.name == "generate" for step in run.path) < MOST_FAILURES:
            return ""
        titles = "; ".join(escape_markdown(section.title) for section in left)
        return f"Not written any more: {titles}."

    def share(self, context: Context, found: AnyOf[str], left: int) -> Generator[StepEvent, None, Context]:
        """What a section ``found``, as far as it fits: the ``left`` still to be written share the budget of tokens."""
        most, of_budget = self._run.parts.deep_context_tokens, self._run.spending.tokens_left
        share = most if of_budget is None else of_budget // left - self._run.parts.answer_tokens
        own = within(context, found, budget_tokens=min(most, max(LEAST_CONTEXT, share)))
        if share < most:
            yield from left_out(self._run, len(own.passages), len(found))
        return own

    def write(self, section: OutlineSection, context: Context) -> Generator[Event, None, str]:
        """Its text, without what stands above; what is streamed has that, too."""
        run, said = self._run, self._said
        about = f"{section.title}. {section.question}"
        already = (yield from self._compared(lambda: said.about(about))) or ()

        def prompt(question: Question, context: Context) -> Prompt:
            return prompt_for(
                question,
                context,
                rules="section_system",
                asked="section_user",
                sections="; ".join(one.title for one in self._plan.sections),
                already="\n".join(f"- {sentence}" for sentence in already) or "Nothing.",
                title=section.title,
                section_question=section.question,
            )

        way = Way(prompt, lambda context: quotations(run, section.question, context) or NOTHING)
        done = yield from written(run, context, way)
        self.truncated = self.truncated or done.truncated
        given = {passage.number for passage in done.context.passages}.union(cited_numbers(" ".join(already)))
        # Each section is shown other numbers, and one that it was not shown is a passage of another section. What is
        # the number of none stays, and is marked as such.
        unknown = set(cited_numbers(done.text)) - self._numbers
        text = with_numbers_of(_without_heading(done.text, section.title), given | unknown)
        kept = yield from self._compared(lambda: said.without_repetition(text))
        if kept is not None and text and not tells(kept) and not run.cancel.cancelled:
            yield TokenEvent(f"\n\n{NOTHING_NEW}")
            return NOTHING_NEW
        return text if kept is None else kept

    def _compared(self, look: Callable[[], T]) -> Generator[StepEvent, None, T | None]:
        """What is found in the text so far; the embedding of it stands in the ledger. None where it fails."""
        run, started = self._run, time.perf_counter()

        def work(_: Cancellation) -> T:
            return look()

        try:
            found = yield from run.within_seconds(work, share=1.0)
        except EmbeddingError as error:
            yield run.step("compare_written", error.message, failed=True)
            return None
        run.spending.add(StepTiming.since("compare_written", started, self._said.spent()))
        return found


def _without_heading(text: str, title: str) -> str:
    """Models like to begin with the section's title, which stands there already."""
    first, _, rest = text.strip().partition("\n")
    is_title = plain(unmarked(first)).strip("# :") == plain(title).strip("# :")
    return rest.strip() if is_title and rest.strip() else text
