"""Writes a report: sections one by one from their own searches, and a list of sources
(R-A6, seed 000).
"""

import time
from collections.abc import Collection as AnyOf
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from ...checking.wording import (
    cited_numbers,
    normalise,
    strip_marks,
    with_numbers_of,
    without_numbers,
)
from ...domain import Context
from ...domain.chat import Prompt, StepTiming
from ...domain.errors import EmbeddingError, read_table
from ...language.counts import estimate_tokens_of
from ...language.markdown import escape_markdown
from ...models.replies.readers import OutlineSection
from ...search.pipeline import with_rank
from ..answer import prompt_for
from ..budget import SecondsUsedUpError
from ..context import build_context, restrict
from ..planners.outline import Outline, short_title
from ..turn import Draft, Turn, distinct
from . import Desk
from .prose import MIN_CONTEXT_TOKENS, LongProse, note_left_out
from .repetition import WrittenSentences, has_statements

ALL_TOKENS = 1_000_000
"""Tokens of all passages together: each section takes its share of them."""
SEARCH_FAILED = "The search for this section failed or took too long."
MAX_FAILURES = 2
"""Sections in which the model may fail before no other is written."""
MAX_WRITTEN_TOKENS = int(read_table(__package__, "report")["written_tokens"]["value"])
NOTHING = "The reports say nothing about this."
NOTHING_NEW = "The reports add nothing to the sections above."


class SectionedReport:
    """A title, the sections of an outline, and their sources."""

    def __init__(self, desk: Desk, planner: Outline) -> None:
        self._desk = desk
        self._planner = planner

    def write(self, turn: Turn) -> Draft:
        """See `AnswerWriter`."""
        started = time.perf_counter()
        hits = with_rank(distinct(turn.found.hits))
        context = build_context(hits, self._desk.passages, budget_tokens=ALL_TOKENS)
        context = replace(context, reports=turn.scope.documents)
        turn.limits.spending.add(StepTiming.since("context", started))
        shown = [passage.hit for passage in context.passages]
        turn.events.sources(shown, turn.scope)
        outline = self._planner.report
        task = short_title(turn.question.query)
        title = f"# {escape_markdown(outline.title or task)}"
        turn.events.text(title)
        done = [title]
        sections = Sections(self._desk, turn, self._planner, context)
        for index, section in enumerate(outline.sections):
            left = outline.sections[index:]
            over = sections.over(left) if index else ""
            if over:
                turn.events.text(f"\n\n{over}")
                done.append(over)
                break
            done += sections.add(section, len(left))
        return Draft(
            text="\n\n".join(done),
            scope=turn.scope,
            hits=hits,
            context=context,
            truncated=sections.truncated,
            is_sent=True,
            lists_sources=True,
        )


class Sections:
    """Writes the sections of a report. ``context``: the passages of all of it."""

    def __init__(
        self, desk: Desk, turn: Turn, planner: Outline, context: Context
    ) -> None:
        self._desk = desk
        self._turn = turn
        self._planner = planner
        self._context = context
        self._numbers = frozenset(passage.number for passage in context.passages)
        self._written = WrittenSentences(desk.embedder, turn.analyzer)
        self.truncated = False
        """True if a section ends early."""

    def over(self, left: Sequence[OutlineSection]) -> str:
        """Return a sentence that names the sections ``left``, once the budget is used
        up, or the model has failed too often for ON_MODEL_ERROR=error; "" before.
        """
        turn = self._turn
        stopper = turn.limits.spending.stops_answer()
        if stopper:
            turn.limits.stop(stopper)
        else:
            failures = [
                step
                for step in turn.events.path
                if step.failed and step.name == "generate"
            ]
            if len(failures) < MAX_FAILURES:
                return ""
            failure = turn.limits.failure
            if turn.quotes_on_error and failure is not None:
                # What is left is quoted, without a further call.
                model_id = self._desk.chat_model.model_id
                turn.limits.note_fault(model_id, failure, is_lasting=True)
                return ""
        titles = "; ".join(escape_markdown(section.title) for section in left)
        return turn.say("Not written: {titles}.", titles=titles)

    def add(self, section: OutlineSection, left: int) -> tuple[str, str]:
        """Write a section, of ``left`` that are to be written; return its heading and
        its text.
        """
        turn = self._turn
        turn.events.step("section", section.title)
        heading = f"## {escape_markdown(section.title)}"
        turn.events.text(f"\n\n{heading}\n\n")
        ids = {hit.chunk.id for hit in turn.found.of(section.title)}
        shared = self._share(ids, left)
        if shared.passages:
            return heading, self._write(section, shared)
        has_failed = section.title in self._planner.failed
        text = turn.say(SEARCH_FAILED if has_failed else NOTHING)
        turn.events.text(text)
        return heading, text

    def _share(self, chunk_ids: AnyOf[str], left: int) -> Context:
        """Return the passages of a section that fit: the ``left`` sections to be
        written share the budget of tokens.
        """
        turn = self._turn
        most = turn.settings.deep_context_tokens
        share = most
        of_budget = turn.limits.spending.tokens_left
        if of_budget is not None:
            share = of_budget // left - turn.settings.max_answer_tokens
        budget = min(most, max(MIN_CONTEXT_TOKENS, share))
        shared = restrict(self._context, chunk_ids, budget_tokens=budget)
        if share < most:
            note_left_out(turn, len(shared.passages), len(chunk_ids))
        return shared

    def _write(self, section: OutlineSection, context: Context) -> str:
        """Write a section; return its text without the heading, which was sent."""
        turn = self._turn
        about = self._written_about(f"{section.title}. {section.question}")
        titles = [one.title for one in self._planner.report.sections]
        writer = _SectionProse(self._desk, section, titles, self._already(about))
        done = writer.write_text(turn, context)
        self.truncated = self.truncated or done.truncated
        given = {passage.number for passage in done.context.passages}
        given.update(cited_numbers(" ".join(about)))
        # A number that this section was not shown belongs to a passage of another
        # section, and is removed. A number of no passage stays, and is marked as such.
        unknown = set(cited_numbers(done.text)) - self._numbers
        text = with_numbers_of(
            _without_heading(done.text, section.title), given | unknown
        )
        kept = self._written.without_repetition(text)
        if text and not has_statements(kept):
            turn.events.text(f"\n\n{turn.say(NOTHING_NEW)}")
            return turn.say(NOTHING_NEW)
        return kept

    def _already(self, about: AnyOf[str]) -> Sequence[str]:
        """Return all that is written so far, with the numbers of passages in what is
        ``about`` the section; where it is too long, only that.
        """
        every = [
            text if text in about else without_numbers(text)
            for text in self._written.texts
        ]
        if estimate_tokens_of(every) > MAX_WRITTEN_TOKENS:
            return list(about)
        return every

    def _written_about(self, topic: str) -> Sequence[str]:
        """Return the sentences about a topic so far; none where that fails. The ledger
        gets the embedding's tokens.
        """
        limits = self._turn.limits
        started = time.perf_counter()
        try:
            with suppress(SecondsUsedUpError), limits.limited(share=1.0) as limited:
                written, usage = self._written.sentences_about(topic, limited)
                limits.spending.add(StepTiming.since("compare_written", started, usage))
                return written
        except EmbeddingError as error:
            self._turn.events.step("compare_written", error.message, failed=True)
            return ()
        limits.note_time(limited)
        limits.spending.add(StepTiming.since("compare_written", started))
        return ()


class _SectionProse(LongProse):
    """One section."""

    def __init__(
        self,
        desk: Desk,
        section: OutlineSection,
        titles: Sequence[str],
        already: Sequence[str],
    ) -> None:
        super().__init__(desk)
        self._section = section
        self._titles = titles
        self._already = already

    def prompt(self, turn: Turn, context: Context) -> Prompt:
        already = "\n".join(f"- {sentence}" for sentence in self._already)
        return prompt_for(
            turn.question,
            context,
            rules="section_system",
            template="section_user",
            sections="; ".join(self._titles),
            already=already or "Nothing.",
            title=self._section.title,
            section_question=self._section.question,
        )

    def quote(self, turn: Turn, context: Context) -> str:
        quoted = self.quotations(turn, self._section.question, context)
        return quoted or turn.say(NOTHING)


def _without_heading(text: str, title: str) -> str:
    """Return the section's text without its own title, which models like to begin
    with.
    """
    first, _, rest = text.strip().partition("\n")
    begins = normalise(strip_marks(first)).strip("# :")
    if begins == normalise(title).strip("# :") and rest.strip():
        return rest.strip()
    return text
