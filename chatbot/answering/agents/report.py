"""A report: an outline, sections written one by one from their own searches, sources at
the end (R-A6).
"""

import time
from collections.abc import Collection as AnyOf
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from textwrap import shorten

from ...checking.wording import cited_numbers, normalise, strip_marks, with_numbers_of
from ...domain import Context, Event, SearchHit, StepEvent, Usage
from ...domain.chat import (
    AnswerEvent,
    Citation,
    ScopeSummary,
    SourcesEvent,
    StepTiming,
    TokenEvent,
)
from ...domain.documents import SECTION_SEPARATOR
from ...domain.errors import EmbeddingError
from ...language.markdown import escape_markdown
from ...language.words import Say
from ...models.replies import outline
from ...models.replies.readers import OutlineSection, ReportOutline
from ...search.pipeline import with_rank
from ..answer import prompt_for
from ..context import build_context, restrict
from . import answering
from .answering import (
    LEAST_CONTEXT,
    WritingPlan,
    answer_empty,
    conclude,
    is_empty,
    open_research,
    quotations,
    write,
)
from .budget import SecondsUsedUpError
from .repetition import WrittenSentences, has_statements
from .run import AgentRun, BaseAgent
from .searches import Findings, distinct, narrowed_search, number_passages
from .tables import parts_of

SCOUTED = 10
"""Passages for the outline."""
MOST_FOUND = 10
"""Passages for a section."""
MAX_SECTIONS = 6
LONGEST_TITLE = 120
"""Characters of a title that is the task itself."""
EVERYTHING = 1_000_000
SEARCH_FAILED = "The search for this section failed or took too long."
MOST_FAILURES = 2
"""Sections in which the model may fail before no other is written."""
NOTHING = "The reports say nothing about this."
NOTHING_NEW = "The reports add nothing to the sections above."


class ReportAgent(BaseAgent):
    """One generation call for the outline and one for each section."""

    needs_language_model = True

    def answer(self, run: AgentRun) -> Iterator[Event]:
        """Plan an outline, search for all sections at once, then write the sections one
        by one.
        """
        if (scope := (yield from open_research(run))) is None:
            return
        scouted, plan = yield from self._outline(run)
        yield run.step("search", "Searching for each section")
        top_k = min(run.question.top_k, MOST_FOUND)
        searches = [
            replace(
                narrowed_search(run.question, one.question, run.resources.catalog),
                label=one.title,
                top_k=top_k,
            )
            for one in plan.sections
        ]
        # A passage belongs to each section that found it, and has one number.
        evidence, failed, closest = Findings(), set[str](), list[SearchHit]()
        for section, result in zip(
            plan.sections, (yield from run.search(searches)), strict=True
        ):
            if result is None:
                failed.add(section.title)
            elif is_empty(run, result.hits):
                closest += result.hits
            else:
                evidence.add((section.title, hit) for hit in result.hits)
        if run.request.cancelled:
            return
        if not evidence.hits and not is_empty(run, scouted):
            # The searches for the sections found nothing, or had no time left; the
            # first search did.
            only = OutlineSection(
                _title(run.question.search_text), run.question.search_text
            )
            plan = ReportOutline(plan.title, (only,))
            evidence.add((only.title, hit) for hit in scouted)
        if evidence.hits:
            yield from self._report(run, scope, plan, evidence, failed)
        else:
            yield from answer_empty(run, scope, closest)

    def _outline(
        self, run: AgentRun
    ) -> Generator[StepEvent, None, tuple[Sequence[SearchHit], ReportOutline]]:
        """Return the passages nearest to the task, and the model's plan for them, else
        the task's parts by rule.
        """
        question = run.question
        yield run.step("search", "Looking up what the reports contain")
        look = narrowed_search(question, question.search_text, run.resources.catalog)
        (first,) = yield from run.search([replace(look, top_k=SCOUTED)], planning=True)
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
            parts = parts_of(run)
            planned = ReportOutline(
                "", tuple(OutlineSection(_title(part), part) for part in parts)
            )
        yield run.step(
            "plan",
            planned.title or "The outline",
            items=[section.title for section in planned.sections],
        )
        return scouted, planned

    def _report(
        self,
        run: AgentRun,
        scope: ScopeSummary,
        plan: ReportOutline,
        evidence: Findings,
        failed: AnyOf[str],
    ) -> Iterator[Event]:
        started = time.perf_counter()
        hits = with_rank(distinct(evidence.hits))
        context = build_context(hits, run.resources.store, budget_tokens=EVERYTHING)
        context = replace(context, reports=scope.documents)
        run.spending.add(StepTiming.since("context", started))
        yield SourcesEvent(tuple(passage.hit for passage in context.passages), scope)
        title = f"# {escape_markdown(plan.title or _title(run.question.query))}"
        yield TokenEvent(title)
        done, sections = (
            [title],
            Sections(run, plan, [passage.number for passage in context.passages]),
        )
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
            shared = yield from sections.share(context, of_section, len(left))
            if shared.passages:
                text = yield from sections.write(section, shared)
            else:
                text = run.say(SEARCH_FAILED if section.title in failed else NOTHING)
                yield TokenEvent(text)
            done += [heading, text]
        answer = conclude(
            run, scope, "\n\n".join(done), hits, context, truncated=sections.truncated
        )
        if answer.citations:
            places, head = (
                [_place(one, run.say) for one in answer.citations],
                f"\n\n## {run.say('Sources')}\n",
            )
            # The stream numbers its citations itself.
            streamed, shown = (
                [
                    f"\n- [{number}] {place}"
                    for number, place in zip(numbers, places, strict=True)
                ]
                for numbers in (
                    [c.hit.rank for c in answer.citations],
                    [c.number for c in answer.citations],
                )
            )
            yield TokenEvent("".join([head, *streamed]))
            answer = replace(answer, response="".join([answer.response, head, *shown]))
        yield AnswerEvent(answer)


class Sections:
    """Writes the sections of a report. ``numbers``: those of the whole report's
    passages.
    """

    def __init__(self, run: AgentRun, plan: ReportOutline, numbers: AnyOf[int]) -> None:
        self._numbers = frozenset(numbers)
        self._run = run
        self._plan = plan
        self._written = WrittenSentences(run.resources.embedder, run.resources.analyzer)
        self.truncated = False
        """Return whether a section ends early."""

    def over(self, left: Sequence[OutlineSection]) -> Generator[StepEvent, None, str]:
        """Return a sentence that names the sections ``left``, once the budget is used
        up or the model has failed too often; "" before.
        """
        run = self._run
        if stopper := run.spending.stops_answer():
            yield from run.stop(stopper)
        elif (
            sum(step.failed and step.name == "generate" for step in run.path)
            < MOST_FAILURES
        ):
            return ""
        titles = "; ".join(escape_markdown(section.title) for section in left)
        return run.say("Not written: {titles}.", titles=titles)

    def share(
        self, context: Context, chunk_ids: AnyOf[str], left: int
    ) -> Generator[Event, None, Context]:
        """The passages of a section that fit: the ``left`` sections to be written share
        the budget of tokens.
        """
        most, of_budget = (
            self._run.settings.deep_context_tokens,
            self._run.spending.tokens_left,
        )
        share = (
            most
            if of_budget is None
            else of_budget // left - self._run.settings.max_answer_tokens
        )
        shared = restrict(
            context, chunk_ids, budget_tokens=min(most, max(LEAST_CONTEXT, share))
        )
        if share < most:
            yield from answering.note_left_out(
                self._run, len(shared.passages), len(chunk_ids)
            )
        return shared

    def write(
        self, section: OutlineSection, context: Context
    ) -> Generator[Event, None, str]:
        """Write a section; returns its text without the heading, which the events
        have.
        """
        run = self._run
        already = yield from self._written_about(f"{section.title}. {section.question}")
        prompt = partial(
            prompt_for,
            rules="section_system",
            template="section_user",
            sections="; ".join(one.title for one in self._plan.sections),
            already="\n".join(f"- {sentence}" for sentence in already) or "Nothing.",
            title=section.title,
            section_question=section.question,
        )
        way = WritingPlan(
            prompt,
            lambda context: (
                quotations(run, section.question, context) or run.say(NOTHING)
            ),
        )
        done = yield from write(run, context, way)
        self.truncated = self.truncated or done.truncated
        given = {passage.number for passage in done.context.passages}.union(
            cited_numbers(" ".join(already))
        )
        # A number that this section was not shown belongs to a passage of another
        # section, and is removed. A number of no passage stays, and is marked as such.
        unknown = set(cited_numbers(done.text)) - self._numbers
        text = with_numbers_of(
            _without_heading(done.text, section.title), given | unknown
        )
        kept = self._written.without_repetition(text)
        if text and not has_statements(kept) and not run.request.cancelled:
            yield TokenEvent(f"\n\n{run.say(NOTHING_NEW)}")
            return run.say(NOTHING_NEW)
        return kept

    def _written_about(self, topic: str) -> Generator[StepEvent, None, Sequence[str]]:
        """Return the sentences about a topic so far; none where that fails. The ledger
        gets the embedding's tokens.
        """
        run, started = self._run, time.perf_counter()
        written, usage = list[str](), Usage()
        try:
            with suppress(SecondsUsedUpError), run.limited(share=1.0) as limited:
                written, usage = self._written.sentences_about(topic, limited)
        except EmbeddingError as error:
            yield run.step("compare_written", error.message, failed=True)
            return ()
        yield from run.note_time(limited)
        run.spending.add(StepTiming.since("compare_written", started, usage))
        return written


def _without_heading(text: str, title: str) -> str:
    """The section's text without its own title, which models like to begin with."""
    first, _, rest = text.strip().partition("\n")
    is_title = normalise(strip_marks(first)).strip("# :") == normalise(title).strip(
        "# :"
    )
    return rest.strip() if is_title and rest.strip() else text


def _title(task: str) -> str:
    return shorten(task, LONGEST_TITLE, placeholder=" …")


def _place(cited: Citation, say: Say) -> str:
    chunk, section = cited.hit.chunk, cited.section.rpartition(SECTION_SEPARATOR)[2]
    page = say("page {page}", page=chunk.page) if chunk.page is not None else ""
    return escape_markdown(", ".join(filter(None, (chunk.title, section, page))))


build = ReportAgent
