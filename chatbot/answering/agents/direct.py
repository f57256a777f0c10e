"""One retrieval, one generation call (seed 004's deterministic flow, R-E2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial

from ...checking.answer import prompt_for
from ...domain import Context, Event, Scope, ScopeSummary, SearchHit
from ...language import escape_markdown
from ...questions.overview import asks_what_it_is_about
from ...search.compression import Neighbours
from ...search.pipeline import of_whole_report
from ...search.ranking import split_by_country_tag
from .answering import WritingPlan, answer_empty, answer_from, answer_text, is_empty, open_scope, quotations
from .budget import Allowance, SecondsUsedUpError
from .run import AgentRun, BaseAgent
from .searches import Search
from .tables import answer_table, compile_table, with_table


class DirectAgent(BaseAgent):
    """Searches once. A model that fails is an error: no earlier work would be lost."""

    def answer(self, run: AgentRun) -> Iterator[Event]:
        question = run.question
        if question.attachments:
            yield from self._about_attachments(run)
            return
        if (scope := (yield from open_scope(run))) is None:
            return
        if not (run.has_model or question.page) and (yield from answer_table(run, scope)):
            return
        table = compile_table(run) if run.has_model and not question.page else None
        yield run.step("search", f"Searching {scope.chunks:,} passages")
        if (about := self._about_report(run)) is not None:
            yield from answer_from(run, scope, *about)
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
        if table is not None:
            yield from answer_from(run, scope, *with_table(run, table, hits), tokens=run.settings.deep_context_tokens)
            return
        verdict = "nothing" if is_empty(run, hits) else run.judge.verdict(run.reading, hits)
        if verdict == "nothing" and (run.settings.on_empty != "relax" or not hits):
            yield from answer_empty(run, scope, hits)
            return
        run.closest_only = verdict != "answers"
        way = WritingPlan(partial(prompt_for, template="closest_user")) if run.closest_only else WritingPlan()
        yield from answer_from(run, scope, hits, way)

    def _about_report(self, run: AgentRun) -> tuple[Sequence[SearchHit], WritingPlan] | None:
        """The passages that say most of the one report in scope, for the question what it is about, to which no
        single passage is near; None for other questions.
        """
        question, resources = run.question, run.resources
        if question.page or not asks_what_it_is_about(question.search_text, run.reading.names):
            return None
        tagged, _ = split_by_country_tag(question.scope, resources.catalog)
        if resources.catalog.holdings(tagged).documents != 1:
            return None
        (record,) = resources.catalog.all(tagged)
        hits, sentences = of_whole_report(record, resources.store, resources.analyzer, top_k=question.top_k)

        def quoted(context: Context) -> str:
            numbers = {passage.hit.chunk.id: passage.number for passage in context.passages}
            shown = ((one.text, numbers[one.chunk_id]) for one in sentences if one.chunk_id in numbers)
            return "\n\n".join(quotations(run, text, context, [number], most=1) for text, number in shown)

        writes = not sentences or run.has_model
        return (hits, WritingPlan() if writes else WritingPlan(quoting=quoted)) if hits else None

    def _about_attachments(self, run: AgentRun) -> Iterator[Event]:
        """Answer from attachments, whose passages are in no store and are gone afterwards (R-A2)."""
        question, result = run.question, None
        yield run.step("compress", "Looking for the passages that matter")
        with suppress(SecondsUsedUpError), run.limited() as limited:
            result = run.resources.compressor.retrieve(
                question.search_text, question.attachments, top_k=question.top_k, request=limited
            )
        yield from run.note_time(limited)
        if result is None:
            yield from answer_text(run, run.why_stopped, ScopeSummary(Scope(), len(question.attachments), 0))
            return
        retrieval, chunks = result
        run.spending.add(*retrieval.steps)
        run.note(retrieval)
        scope = ScopeSummary(Scope(), len(question.attachments), len(chunks))
        if retrieval.hits:
            yield from answer_from(run, scope, retrieval.hits, WritingPlan(), around=Neighbours(chunks))
            return
        names = ", ".join(document.name for document in question.attachments)
        text = run.say("Nothing in {names} is close to this question.", names=escape_markdown(names))
        yield from answer_text(run, text, scope)


build = DirectAgent
