"""A report: an outline, sections written one by one from searches of their own, sources at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import TypeVar

from ..cancellation import Cancellation
from ..generation.answer import prompt_for
from ..generation.context import build_context, within
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
    Prompt,
    Question,
    ScopeSummary,
    SourcesEvent,
    StepEvent,
    StepTiming,
    TokenEvent,
)
from ..text import escape_markdown
from .already_written import AlreadyWritten
from .answering import Way, concluded, is_empty, opened, quotations, when_empty, written
from .collections import routed
from .evidence import Evidence, numbered
from .parts import Parts
from .run import Run
from .searching import narrowed, whole

MOST_SECTIONS = 6
SCOUTED = 10
"""Passages that the outline is made from."""
EVERYTHING = 1_000_000

T = TypeVar("T")


class ReportAgent:
    """Implements `protocols.Agent`. One generation call for the outline and one for each section."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def run(self, question: Question, *, cancel: Cancellation) -> Iterator[Event]:
        run = Run(self._parts, question, cancel)
        if (scope := (yield from opened(run))) is None:
            return
        yield from routed(run)
        plan = yield from self._outline(run)
        evidence = yield from self._searched(run, plan)
        if cancel.cancelled:
            return
        if is_empty(run, evidence.hits):
            yield from when_empty(run, scope, evidence.hits)
            return
        yield from self._report(run, scope, plan, evidence)

    def _outline(self, run: Run) -> Generator[StepEvent, None, Outline]:
        """What the model plans for the passages that are nearest to the task; the task's parts by rule else."""
        question = run.question
        yield run.step("search", "Looking for what there is")
        (scouted,) = yield from run.search([replace(whole(run), top_k=SCOUTED)])
        planned = yield from run.ask(
            "outline",
            outline(MOST_SECTIONS),
            "An outline by rule",
            most=str(MOST_SECTIONS),
            passages=numbered(scouted.hits if scouted else (), tokens=self._parts.deep_context_tokens),
            scope=describe(question.scope),
            question=question.search_text,
        )
        if planned is None:
            parts = sub_questions(question.search_text, question.scope, self._parts.catalog)
            planned = Outline("", tuple(OutlineSection(part, part) for part in parts))
        yield run.step("plan", planned.title or "The outline", items=[section.title for section in planned.sections])
        return planned

    def _searched(self, run: Run, plan: Outline) -> Generator[StepEvent, None, Evidence]:
        """For all sections at once. A passage belongs to each section that found it, and has one number."""
        evidence = Evidence()
        yield run.step("search", "Searching for each section")
        searches = [replace(narrowed(run, section.question), label=section.title) for section in plan.sections]
        for section, found in zip(plan.sections, (yield from run.search(searches)), strict=True):
            if found is not None:
                evidence.add((section.title, hit) for hit in found.hits)
        return evidence

    def _report(self, run: Run, scope: ScopeSummary, plan: Outline, evidence: Evidence) -> Iterator[Event]:
        hits = with_rank(list({hit.chunk.id: hit for hit in evidence.hits}.values()))
        context = build_context(hits, self._parts.store, budget_tokens=EVERYTHING, margin=self._parts.context_margin)
        yield SourcesEvent(tuple(passage.hit for passage in context.passages), scope)
        said = AlreadyWritten(self._parts.embedder, self._parts.analyzer)
        title = f"# {escape_markdown(plan.title or run.question.query)}"
        yield TokenEvent(f"{title}\n\n")
        done, truncated = [title], False
        for section in plan.sections:
            if run.cancel.cancelled or (yield from run.exhausted()):
                break
            found = {hit.chunk.id for hit in evidence.of(section.title)}
            own = within(context, found, budget_tokens=self._parts.deep_context_tokens)
            heading = f"## {escape_markdown(section.title)}"
            yield run.step("section", section.title)
            yield TokenEvent(f"{heading}\n\n")
            text, cut = yield from self._section(run, plan, section, own, said)
            yield TokenEvent("\n\n")
            done += [heading, text]
            truncated = truncated or cut
        body = "\n\n".join(done)
        answer = concluded(run, scope, body, hits, None, context, truncated=truncated).answer
        yield AnswerEvent(replace(answer, response="\n\n".join([body, *_sources(body, context)])))

    def _section(
        self, run: Run, plan: Outline, section: OutlineSection, context: Context, said: AlreadyWritten
    ) -> Generator[Event, None, tuple[str, bool]]:
        """Its text, and whether it ends early."""
        if not context.passages:
            text = "The reports say nothing about this."
            yield TokenEvent(text)
            return text, False
        already = _compared(run, said, lambda: said.about(f"{section.title}. {section.question}"))

        def prompt(question: Question, context: Context) -> Prompt:
            return prompt_for(
                question,
                context,
                rules="section_system",
                asked="section_user",
                sections="; ".join(one.title for one in plan.sections),
                already="\n".join(f"- {sentence}" for sentence in already) or "Nothing.",
                title=section.title,
                section_question=section.question,
            )

        way = Way(prompt, lambda context: quotations(run, section.question, context))
        done = yield from written(run, context, way)
        return _compared(run, said, lambda: said.without_repetition(done.text)), done.truncated


def _compared(run: Run, said: AlreadyWritten, look: Callable[[], T]) -> T:
    """What is found in the text so far; the embedding of it stands in the ledger."""
    started = time.perf_counter()
    found = look()
    run.spending.add(StepTiming.since("compare_written", started, said.spent()))
    return found


def _sources(body: str, context: Context) -> list[str]:
    """The passages cited, by number, as the last section."""
    cited = set(cited_numbers(body))
    lines = [f"- [{p.number}] {_place(p.hit.chunk)}" for p in context.passages if p.number in cited]
    return ["## Sources", "\n".join(lines)] if lines else []


def _place(chunk: Chunk) -> str:
    section = chunk.section.rpartition(SECTION_SEPARATOR)[2]
    page = f"page {chunk.page}" if chunk.page is not None else ""
    return escape_markdown(", ".join(filter(None, (chunk.title, section, page))))


build = ReportAgent
