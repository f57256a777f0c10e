"""One retrieval, one generation call (seed 004's deterministic flow, R-E2); overviews,
which no search finds.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from textwrap import shorten

from ...domain import Context, DocumentRecord, Event, Passage, Quotation, SearchHit
from ...domain.chat import ScopeSummary
from ...domain.scope import Scope, Values
from ...language.markdown import escape_markdown, quotation_item
from ...language.statements import statements
from ...questions.kinds import asks_of_reports, asks_what_it_is_about
from ...questions.reading import COUNTRY, YEAR
from ...questions.sides import DOCUMENT
from ...search.compression import Neighbours
from ...search.pipeline import SummarySentence, of_whole_report, with_rank
from ...search.ranking import split_by_country_tag
from ...search.scope import summarise
from ..answer import prompt_for
from .answering import (
    WritingPlan,
    answer_empty,
    answer_from,
    answer_text,
    is_empty,
    open_scope,
)
from .budget import Allowance, SecondsUsedUpError
from .run import AgentRun, BaseAgent
from .searches import Search, alternate, distinct, narrowed_search
from .tables import (
    answer_rendered,
    compile_table,
    key_figures,
    passages_of,
    state_figure,
)

MOST_HELD_AGAINST, HELD_AGAINST_CHARACTERS = 3, 600
"""Passages of attachments, and characters of them with the question, that reports are
searched for.
"""
MAX_SENTENCES = 3
"""Sentences of an overview."""
MAX_PASSAGES = 1_000
"""Passages of a report that are read for its chapters and figures."""


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
            yield from answer_from(run, scope, *whole)
            return
        search = Search(
            question.search_text, question.search_text, question.scope, question.top_k
        )
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
        hits = with_rank(run.judge.said_first(run.reading, retrieval.hits))
        if table is not None and run.has_model:
            way = WritingPlan(
                partial(prompt_for, template="table_user", table=table.text)
            )
            both = distinct([*passages_of(run, table), *hits])
            yield from answer_from(
                run, scope, both, way, tokens=run.settings.deep_context_tokens
            )
            return
        empty = is_empty(run, hits)
        verdict = "nothing" if empty else run.judge.verdict(run.reading, hits)
        if verdict == "nothing" and not empty and run.has_model and not run.is_general:
            verdict = "closest"  # a doubt, which a model can tell from a fact
        if verdict == "nothing" and (run.settings.on_empty != "relax" or not hits):
            yield from answer_empty(run, scope, hits)
            return
        run.closest_only = verdict != "answers"
        way = WritingPlan(opening=partial(state_figure, run))
        if run.closest_only:
            way = WritingPlan(partial(prompt_for, template="closest_user"))
        yield from answer_from(run, scope, hits, way)

    def _about_attachments(self, run: AgentRun) -> Iterator[Event]:
        """Answer from attachments, whose passages are in no store and are gone
        afterwards (R-A2).

        From the library's reports, too, where the question speaks of them: "Does
        Kenya's report agree with this?"
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
            yield from answer_text(
                run,
                run.why_stopped,
                ScopeSummary(Scope(), len(question.attachments), 0),
            )
            return
        retrieval, chunks = result
        run.spending.add(*retrieval.steps)
        run.note(retrieval)
        scope = ScopeSummary(Scope(), len(question.attachments), len(chunks))
        hits = retrieval.hits
        if is_held:
            beginning = " ".join(hit.chunk.text for hit in hits[:MOST_HELD_AGAINST])
            search = narrowed_search(
                question, question.search_text, run.resources.catalog
            )
            query = shorten(
                f"{question.search_text} {beginning}", HELD_AGAINST_CHARACTERS
            )
            [from_reports] = yield from run.search([replace(search, query=query)])
            searched = summarise(run.resources.catalog, search.scope)
            scope = replace(searched, documents=searched.documents + scope.documents)
            hits = with_rank(
                list(alternate([hits, from_reports.hits if from_reports else ()]))
            )
        if hits:
            around = Neighbours(chunks, run.resources.store)
            yield from answer_from(run, scope, hits, WritingPlan(), around=around)
            return
        attached = run.say(", ").join(
            document.name for document in question.attachments
        )
        text = run.say(
            "Nothing in {names} is close to this question.",
            names=escape_markdown(attached),
        )
        yield from answer_text(run, text, scope)


def overview(run: AgentRun) -> tuple[Sequence[SearchHit], WritingPlan] | None:
    """Return the passages for an overview of the one report or country that a question
    asks about, best first, and how to write it; None for other questions. An overview
    has the chapters of a report, its key figures, and the sentences that say most: no
    search finds these.
    """
    question, resources = run.question, run.resources
    if question.page or not asks_what_it_is_about(
        question.search_text, run.reading.names
    ):
        return None
    record, is_of_country = _subject(run)
    if record is None:
        return None
    hits, sentences = of_whole_report(
        record, resources.store, resources.analyzer, top_k=question.top_k
    )
    if not hits:
        return None
    run.is_unread = False  # no search has to understand the question
    most = min(record.part_of or record.chunks, MAX_PASSAGES)
    chunks = resources.store.get(record.chunk_ids()[:most])
    subject = str(record.metadata.get(COUNTRY) or record.title)
    table = key_figures(run, Scope.of({DOCUMENT: Values((record.name,))}), [subject])
    hits = with_rank(distinct([*(passages_of(run, table) if table else ()), *hits]))

    def quoted(context: Context) -> str:
        passages = {passage.hit.chunk.id: passage for passage in context.passages}
        chapters = dict.fromkeys(chunk.chapter for chunk in chunks if chunk.section)
        parts = [table.text] if table else []
        if len(chapters) > 1 and not is_of_country:
            names = escape_markdown(run.say(", ").join(chapters))
            parts.insert(
                0, run.say("The chapters are {names}; from them:", names=names)
            )
        parts += _sentences(run, passages, sentences)
        # A summary that is made by a program is no quotation.
        summaries = (one for one in context.passages if one.hit.chunk.is_summary)
        parts += [
            f"{escape_markdown(one.hit.chunk.text)} [{one.number}]" for one in summaries
        ]
        return "\n\n".join(parts)

    return hits, WritingPlan() if run.has_model else WritingPlan(quoting=quoted)


def _subject(run: AgentRun) -> tuple[DocumentRecord | None, bool]:
    """Return the one report, named or in scope, or the newest of the one country, and
    whether it is for a country.
    """
    catalog = run.resources.catalog
    scope, _ = split_by_country_tag(run.question.scope, catalog)
    ready = [record for record in catalog.all(scope) if record.status == "ready"]
    if document := run.reading.document:
        ready = [record for record in ready if record.name in document.names]
        return max(ready, key=_edition, default=None), False
    if len(ready) == 1:
        return ready[0], False
    country = scope.get(COUNTRY)
    if not isinstance(country, Values) or len(country.values) != 1 or not ready:
        return None, False
    return max(ready, key=_edition), True


def _edition(record: DocumentRecord) -> str:
    return str(record.metadata.get(YEAR, ""))


def _sentences(
    run: AgentRun, passages: dict[str, Passage], sentences: Sequence[SummarySentence]
) -> Iterator[str]:
    """Yield the statements of the report that say what the sentences of its summary
    say.
    """
    for sentence in sentences[:MAX_SENTENCES]:
        passage = passages.get(sentence.chunk_id)
        candidates = statements(passage) if passage is not None else []
        if passage is not None and candidates:
            words = set(sentence.text.split())
            text = max(
                candidates, key=lambda one: len(words.intersection(one.text.split()))
            ).text
            where = run.say(", ").join(
                filter(None, [passage.hit.chunk.title, passage.hit.chunk.heading])
            )
            yield quotation_item(
                Quotation(passage.number, where, " ".join(text.split())), run.say
            )


build = DirectAgent
