"""One retrieval, one generation call (seed 004's deterministic flow, R-E2)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from textwrap import shorten

from ...domain import Event, Scope, ScopeSummary
from ...language import escape_markdown
from ...questions.kinds import asks_of_reports
from ...search.compression import Neighbours
from ...search.pipeline import with_rank
from ...search.scope import summarise
from ..answer import prompt_for
from .answering import WritingPlan, answer_empty, answer_from, answer_text, is_empty, open_scope
from .budget import Allowance, SecondsUsedUpError
from .overview import overview
from .run import AgentRun, BaseAgent
from .searches import Search, alternate, narrowed_search
from .tables import answer_rendered, compile_table, with_table

MOST_HELD_AGAINST, HELD_AGAINST_CHARACTERS = 3, 600
"""Passages of attachments, and characters of them with the question, that reports are searched for."""


class DirectAgent(BaseAgent):
    """Searches once. A model that fails is an error: no earlier work would be lost."""

    def answer(self, run: AgentRun) -> Iterator[Event]:
        question = run.question
        if question.attachments:
            yield from self._about_attachments(run)
            return
        if (scope := (yield from open_scope(run))) is None:
            return
        table = None if question.page else compile_table(run)
        if not run.has_model and (yield from answer_rendered(run, scope, table)):
            return
        yield run.step("search", f"Searching {scope.chunks:,} passages")
        if (whole := overview(run)) is not None:
            yield from answer_from(run, scope, whole.hits, whole.plan)
            return
        search = Search(question.search_text, question.search_text, question.scope, question.top_k)
        allowance, retrieval = Allowance(run.spending), None
        with suppress(SecondsUsedUpError), run.limited() as limited:
            retrieval = run.retrieve(search, allowance, limited)
        yield from run.note_time(limited)
        if retrieval is None:
            yield from answer_empty(run, scope, ())
            return
        allowance.settle(*retrieval.steps)
        run.note(retrieval)
        if allowance.refused:
            yield from run.stop("calls")
        hits = retrieval.hits
        if table is not None and run.has_model:
            yield from answer_from(run, scope, *with_table(run, table, hits), tokens=run.settings.deep_context_tokens)
            return
        empty = is_empty(run, hits)
        verdict = "nothing" if empty else run.judge.verdict(run.reading, hits)
        if verdict == "nothing" and not empty and run.has_model and run.settings.on_empty != "general":
            verdict = "closest"  # a doubt, which a model can tell from a fact
        if verdict == "nothing" and (run.settings.on_empty != "relax" or not hits):
            yield from answer_empty(run, scope, hits)
            return
        run.closest_only = verdict != "answers"
        way = WritingPlan(partial(prompt_for, template="closest_user")) if run.closest_only else WritingPlan()
        yield from answer_from(run, scope, hits, way)

    def _about_attachments(self, run: AgentRun) -> Iterator[Event]:
        """Answer from attachments, whose passages are in no store and are gone afterwards (R-A2).

        From the library's reports, too, where the question speaks of them: "Does Kenya's report agree with this?"
        """
        question, result = run.question, None
        yield run.step("compress", "Looking for the passages that matter")
        whole = run.settings.context_tokens // 2 if run.has_model else 0
        names = bool(run.reading.about or run.reading.document or question.scope)
        is_held = asks_of_reports(question.search_text, names=names)
        with suppress(SecondsUsedUpError), run.limited() as limited:
            result = run.resources.compressor.retrieve(
                question.search_text,
                question.attachments,
                top_k=question.top_k,
                request=limited,
                whole=whole,
                of_all=is_held,
            )
        yield from run.note_time(limited)
        if result is None:
            yield from answer_text(run, run.why_stopped, ScopeSummary(Scope(), len(question.attachments), 0))
            return
        retrieval, chunks = result
        run.spending.add(*retrieval.steps)
        run.note(retrieval)
        scope = ScopeSummary(Scope(), len(question.attachments), len(chunks))
        hits = retrieval.hits
        if is_held:
            said = " ".join(hit.chunk.text for hit in hits[:MOST_HELD_AGAINST])
            search = narrowed_search(question, question.search_text, run.resources.catalog)
            query = shorten(f"{question.search_text} {said}", HELD_AGAINST_CHARACTERS)
            [found] = yield from run.search([replace(search, query=query)])
            searched = summarise(run.resources.catalog, search.scope)
            scope = replace(searched, documents=searched.documents + scope.documents)
            hits = with_rank(list(alternate([hits, found.hits if found else ()])))
        if hits:
            around = Neighbours(chunks, run.resources.store)
            yield from answer_from(run, scope, hits, WritingPlan(), around=around)
            return
        attached = ", ".join(document.name for document in question.attachments)
        text = run.say("Nothing in {names} is close to this question.", names=escape_markdown(attached))
        yield from answer_text(run, text, scope)


build = DirectAgent
