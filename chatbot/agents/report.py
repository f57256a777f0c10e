"""A report: an outline, sections written one by one from searches of their own, sources at the end."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from textwrap import shorten

from ..cancellation import Cancellation
from ..generation.context import build_context
from ..generation.sentences import cited_numbers
from ..model_output.records import Outline, OutlineSection
from ..model_output.shapes import outline
from ..retrieval.decomposition import sub_questions
from ..retrieval.pipeline import with_rank
from ..retrieval.scope import describe
from ..schema import (
    SECTION_SEPARATOR,
    AnswerEvent,
    Chunk,
    Context,
    Event,
    Question,
    ScopeSummary,
    SearchHit,
    SourcesEvent,
    StepEvent,
    StepTiming,
    TokenEvent,
)
from ..text import escape_markdown
from .answering import concluded, is_empty, when_empty
from .evidence import Evidence, numbered, once
from .opening import begun
from .parts import Parts
from .questions import narrowed
from .run import Run
from .sections import NOTHING, Sections

MOST_SECTIONS = 6
SCOUTED = 10
"""Passages that the outline is made from."""
MOST_FOUND = 10
"""Passages that a section stands on."""
LONGEST_TITLE = 120
"""Characters of a title that is the task itself."""
EVERYTHING = 1_000_000
SEARCH_FAILED = "The search for this section failed or took too long."


@dataclass(slots=True)
class _Found:
    """By title: what each section found, and those whose search ``failed``. ``closest``: hits of none of them."""

    evidence: Evidence = field(default_factory=Evidence)
    failed: set[str] = field(default_factory=set)
    closest: list[SearchHit] = field(default_factory=list)


class ReportAgent:
    """Implements `protocols.Agent`. One generation call for the outline and one for each section."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def run(self, question: Question, *, cancel: Cancellation) -> Iterator[Event]:
        run = Run(self._parts, question, cancel)
        if (scope := (yield from begun(run))) is None:
            return
        scouted, plan = yield from self._outline(run)
        found = yield from self._searched(run, plan)
        if cancel.cancelled:
            return
        if not found.evidence.hits and not is_empty(run, scouted):
            # The sections found nothing, or had no time left: the first look did.
            only = OutlineSection(_title(question.search_text), question.search_text)
            plan = Outline(plan.title, (only,))
            found.evidence.add((only.title, hit) for hit in scouted)
        if not found.evidence.hits:
            yield from when_empty(run, scope, found.closest)
            return
        yield from self._report(run, scope, plan, found)

    def _outline(self, run: Run) -> Generator[StepEvent, None, tuple[Sequence[SearchHit], Outline]]:
        """The passages nearest to the task, and what the model plans for them; the task's parts by rule else."""
        question = run.question
        yield run.step("search", "Looking for what there is")
        (first,) = yield from run.search([replace(narrowed(run, question.search_text), top_k=SCOUTED)], planning=True)
        scouted = first.hits if first else ()
        yield run.step("outline", "Planning the outline")
        planned = yield from run.ask(
            "outline",
            outline(MOST_SECTIONS),
            "An outline by rule",
            most=str(MOST_SECTIONS),
            passages=numbered(scouted, tokens=self._parts.deep_context_tokens),
            scope=describe(question.scope),
            question=question.search_text,
        )
        if planned is None:
            parts = sub_questions(question.search_text, question.scope, self._parts.catalog)
            planned = Outline("", tuple(OutlineSection(_title(part), part) for part in parts))
        yield run.step("plan", planned.title or "The outline", items=[section.title for section in planned.sections])
        return scouted, planned

    def _searched(self, run: Run, plan: Outline) -> Generator[StepEvent, None, _Found]:
        """For all sections at once. A passage belongs to each section that found it, and has one number."""
        found_all = _Found()
        yield run.step("search", "Searching for each section")
        found_at_most = min(run.question.top_k, MOST_FOUND)
        searches = [
            replace(narrowed(run, section.question), label=section.title, top_k=found_at_most)
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

    def _report(self, run: Run, scope: ScopeSummary, plan: Outline, found: _Found) -> Iterator[Event]:
        started, evidence = time.perf_counter(), found.evidence
        hits = with_rank(once(evidence.hits))
        context = build_context(hits, self._parts.store, budget_tokens=EVERYTHING, margin=self._parts.context_margin)
        run.spending.add(StepTiming.since("context", started))
        yield SourcesEvent(tuple(passage.hit for passage in context.passages), scope)
        title = f"# {escape_markdown(plan.title or _title(run.question.query))}"
        yield TokenEvent(title)
        done, sections = [title], Sections(run, plan, [passage.number for passage in context.passages])
        for place, section in enumerate(plan.sections):
            if run.cancel.cancelled:
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
                text = SEARCH_FAILED if section.title in found.failed else NOTHING
                yield TokenEvent(text)
            done += [heading, text]
        body = "\n\n".join(done)
        answer = concluded(run, scope, body, hits, None, context, truncated=sections.truncated).answer
        if sources := _sources(body, context):
            yield TokenEvent(f"\n\n{sources}")
        yield AnswerEvent(replace(answer, response="\n\n".join(filter(None, [body, sources]))))


def _title(task: str) -> str:
    return shorten(task, LONGEST_TITLE, placeholder=" …")


def _sources(body: str, context: Context) -> str:
    """The passages cited, by number, as the last section."""
    cited = set(cited_numbers(body))
    lines = [f"- [{p.number}] {_place(p.hit.chunk)}" for p in context.passages if p.number in cited]
    return "\n".join(["## Sources", "", *lines]) if lines else ""


def _place(chunk: Chunk) -> str:
    section = chunk.section.rpartition(SECTION_SEPARATOR)[2]
    page = f"page {chunk.page}" if chunk.page is not None else ""
    return escape_markdown(", ".join(filter(None, (chunk.title, section, page))))


build = ReportAgent
