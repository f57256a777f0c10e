"""A report: an outline, sections written one by one from searches of their own, sources at the end (R-A6)."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from collections.abc import Collection as AnyOf
from contextlib import suppress
from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import TypeVar

from ..errors import EmbeddingError
from ..grounding.answer import prompt_for
from ..grounding.context import build_context, restrict
from ..grounding.wording import cited_numbers, normalise, strip_marks, with_numbers_of
from ..model_output.asking import outline
from ..model_output.readers import OutlineSection, ReportOutline
from ..questions.decomposition import sub_questions
from ..request import RequestContext
from ..retrieval.pipeline import with_rank
from ..schema import (
    SECTION_SEPARATOR,
    Answer,
    AnswerEvent,
    Citation,
    Context,
    Event,
    Prompt,
    Question,
    ScopeSummary,
    SearchHit,
    SourcesEvent,
    StepEvent,
    StepTiming,
    TokenEvent,
)
from ..text import escape_markdown
from ..words import Say
from .answering import (
    LEAST_CONTEXT,
    WritingPlan,
    answer_empty,
    conclude,
    is_empty,
    note_left_out,
    open_research,
    quotations,
    with_below,
    write_answer,
)
from .budget import SecondsUsedUpError
from .repetition import WrittenSentences, has_statements
from .run import AgentRun, BaseAgent
from .searches import Findings, distinct, narrowed_search, number_passages

SCOUTED = 10
"""Passages that the outline is made from."""
MOST_FOUND = 10
"""Passages that a section stands on."""
MAX_SECTIONS = 6
LONGEST_TITLE = 120
"""Characters of a title that is the task itself."""
EVERYTHING = 1_000_000
SEARCH_FAILED = "The search for this section failed or took too long."
MOST_FAILURES = 2
"""Sections in which the model may fail before it is asked for no other."""
NOTHING = "The reports say nothing about this."
NOTHING_NEW = "The reports say nothing about this that the sections above do not say."

T = TypeVar("T")


@dataclass(slots=True)
class _Found:
    """What the searches of a report found: the hits by section title, the titles of sections whose search
    ``failed``, and the ``closest`` hits where nothing was taken.
    """

    evidence: Findings = field(default_factory=Findings)
    failed: set[str] = field(default_factory=set)
    closest: list[SearchHit] = field(default_factory=list)


class ReportAgent(BaseAgent):
    """Implements `protocols.Agent`. One generation call for the outline and one for each section."""

    needs_language_model = True

    def run(self, question: Question, *, request: RequestContext) -> Iterator[Event]:
        """Plan an outline, search for each section, then write the sections one by one."""
        run = AgentRun(self._resources, question, request)
        if (scope := (yield from open_research(run))) is None:
            return
        scouted, plan = yield from self._outline(run)
        found = yield from self._searched(run, plan)
        if request.cancelled:
            return
        if not found.evidence.hits and not is_empty(run, scouted):
            # The sections found nothing, or had no time left: the first look did.
            only = OutlineSection(_title(question.search_text), question.search_text)
            plan = ReportOutline(plan.title, (only,))
            found.evidence.add((only.title, hit) for hit in scouted)
        if not found.evidence.hits:
            yield from answer_empty(run, scope, found.closest)
            return
        yield from self._report(run, scope, plan, found)

    def _outline(self, run: AgentRun) -> Generator[StepEvent, None, tuple[Sequence[SearchHit], ReportOutline]]:
        """The passages nearest to the task, and what the model plans for them; the task's parts by rule else."""
        question = run.question
        yield run.step("search", "Looking for what there is")
        (first,) = yield from run.search(
            [replace(narrowed_search(run.question, question.search_text, run.resources.catalog), top_k=SCOUTED)],
            planning=True,
        )
        scouted = first.hits if first else ()
        yield run.step("outline", "Planning the outline")
        planned = yield from run.ask(
            "outline",
            outline(MAX_SECTIONS),
            "An outline by rule",
            most=str(MAX_SECTIONS),
            passages=number_passages(scouted, tokens=run.settings.deep_context_tokens),
        )
        if planned is None:
            parts = sub_questions(question.search_text, question.scope, self._resources.catalog)
            planned = ReportOutline("", tuple(OutlineSection(_title(part), part) for part in parts))
        yield run.step("plan", planned.title or "The outline", items=[section.title for section in planned.sections])
        return scouted, planned

    def _searched(self, run: AgentRun, plan: ReportOutline) -> Generator[StepEvent, None, _Found]:
        """Search for all sections at once. A passage belongs to each section that found it, and has one number."""
        found_all = _Found()
        yield run.step("search", "Searching for each section")
        found_at_most = min(run.question.top_k, MOST_FOUND)
        searches = [
            replace(
                narrowed_search(run.question, section.question, run.resources.catalog),
                label=section.title,
                top_k=found_at_most,
            )
            for section in plan.sections
        ]
        for section, found in zip(plan.sections, (yield from run.search(searches)), strict=True):
            if found is None:
                found_all.failed.add(section.title)
            elif is_empty(run, found.hits):
                found_all.closest += found.hits
            else:
                found_all.evidence.add((section.title, hit) for hit in found.hits)
        return found_all

    def _report(self, run: AgentRun, scope: ScopeSummary, plan: ReportOutline, found: _Found) -> Iterator[Event]:
        started, evidence = time.perf_counter(), found.evidence
        hits = with_rank(distinct(evidence.hits))
        context = build_context(
            hits, self._resources.store, budget_tokens=EVERYTHING, margin=run.settings.context_margin
        )
        run.spending.add(StepTiming.since("context", started))
        yield SourcesEvent(tuple(passage.hit for passage in context.passages), scope)
        title = f"# {escape_markdown(plan.title or _title(run.question.query))}"
        yield TokenEvent(title)
        done, sections = [title], Sections(run, plan, [passage.number for passage in context.passages])
        for place, section in enumerate(plan.sections):
            if run.request.cancelled:
                break
            left = plan.sections[place:]
            if place and (over := (yield from sections.over(left))):
                yield TokenEvent(f"\n\n{over}")
                done.append(over)
                break
            yield run.step("section", section.title)
            heading = f"## {escape_markdown(section.title)}"
            yield TokenEvent(f"\n\n{heading}\n\n")
            of_section = {hit.chunk.id for hit in evidence.of(section.title)}
            own = yield from sections.share(context, of_section, len(left))
            if own.passages:
                text = yield from sections.write(section, own)
            else:
                text = run.say(SEARCH_FAILED if section.title in found.failed else NOTHING)
                yield TokenEvent(text)
            done += [heading, text]
        body = "\n\n".join(done)
        answer = conclude(run, scope, body, hits, context, truncated=sections.truncated).answer
        if sources := _sources(answer, run.say):
            yield TokenEvent(f"\n\n{sources}")
        yield AnswerEvent(with_below(answer, sources))


class Sections:
    """``truncated``: whether one of them ends early. ``numbers``: those of the whole report's passages."""

    def __init__(self, run: AgentRun, plan: ReportOutline, numbers: AnyOf[int]) -> None:
        self._numbers = frozenset(numbers)
        self._run = run
        self._plan = plan
        self._written = WrittenSentences(run.resources.embedder, run.resources.analyzer)
        self.truncated = False

    def over(self, left: Sequence[OutlineSection]) -> Generator[StepEvent, None, str]:
        """A sentence that names the sections ``left`` unwritten, once the budget is used up or the model has failed
        too often; "" before.
        """
        run = self._run
        if stopper := run.spending.stops_answer():
            yield from run.stop(stopper)
        elif sum(step.failed and step.name == "generate" for step in run.path) < MOST_FAILURES:
            return ""
        titles = "; ".join(escape_markdown(section.title) for section in left)
        return run.say("Not written any more: {titles}.", titles=titles)

    def share(self, context: Context, found: AnyOf[str], left: int) -> Generator[StepEvent, None, Context]:
        """What a section ``found``, as far as it fits: the ``left`` still to be written share the budget of tokens."""
        most, of_budget = self._run.settings.deep_context_tokens, self._run.spending.tokens_left
        share = most if of_budget is None else of_budget // left - self._run.settings.max_answer_tokens
        own = restrict(context, found, budget_tokens=min(most, max(LEAST_CONTEXT, share)))
        if share < most:
            yield from note_left_out(self._run, len(own.passages), len(found))
        return own

    def write(self, section: OutlineSection, context: Context) -> Generator[Event, None, str]:
        """Write a section; returns its text without the heading, which the events have."""
        run, written = self._run, self._written
        about = f"{section.title}. {section.question}"
        already = (yield from self._compared(lambda limited: written.sentences_about(about, limited))) or ()

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

        way = WritingPlan(prompt, lambda context: quotations(run, section.question, context) or run.say(NOTHING))
        done = yield from write_answer(run, context, way)
        self.truncated = self.truncated or done.truncated
        given = {passage.number for passage in done.context.passages}.union(cited_numbers(" ".join(already)))
        # Each section is shown other numbers, and one that it was not shown is a passage of another section. What is
        # the number of none stays, and is marked as such.
        unknown = set(cited_numbers(done.text)) - self._numbers
        text = with_numbers_of(_without_heading(done.text, section.title), given | unknown)
        kept = yield from self._compared(lambda limited: written.without_repetition(text, limited))
        if kept is not None and text and not has_statements(kept) and not run.request.cancelled:
            yield TokenEvent(f"\n\n{run.say(NOTHING_NEW)}")
            return run.say(NOTHING_NEW)
        return text if kept is None else kept

    def _compared(self, look: Callable[[RequestContext], T]) -> Generator[StepEvent, None, T | None]:
        """What is found in the text so far; the embedding of it stands in the ledger. None where it fails."""
        run, started, found = self._run, time.perf_counter(), None
        try:
            with suppress(SecondsUsedUpError), run.within_seconds(share=1.0) as limited:
                found = look(limited)
        except EmbeddingError as error:
            yield run.step("compare_written", error.message, failed=True)
            return None
        yield from run.note_time(limited)
        run.spending.add(StepTiming.since("compare_written", started, self._written.take_usage()))
        return found


def _without_heading(text: str, title: str) -> str:
    """The section's text without its own title, which models like to begin with."""
    first, _, rest = text.strip().partition("\n")
    is_title = normalise(strip_marks(first)).strip("# :") == normalise(title).strip("# :")
    return rest.strip() if is_title and rest.strip() else text


def _title(task: str) -> str:
    return shorten(task, LONGEST_TITLE, placeholder=" …")


def _sources(answer: Answer, say: Say) -> str:
    """The passages cited, by number, as the last section."""
    lines = [f"- [{one.number}] {_place(one, say)}" for one in answer.citations]
    return "\n".join([f"## {say('Sources')}", "", *lines]) if lines else ""


def _place(cited: Citation, say: Say) -> str:
    chunk, section = cited.hit.chunk, cited.section.rpartition(SECTION_SEPARATOR)[2]
    page = say("page {page}", page=chunk.page) if chunk.page is not None else ""
    return escape_markdown(", ".join(filter(None, (chunk.title, section, page))))


build = ReportAgent
