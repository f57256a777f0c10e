"""Checks a draft against its passages, and makes the answer of it."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ...domain import Answer
from ...domain.chat import FIGURE_YEAR, Citation, Degraded, ScopeSummary, Trace
from ...domain.documents import SECTION_SEPARATOR
from ...domain.figures import GlossaryEntry
from ...language.markdown import escape_markdown
from ...language.words import Say
from ...models.caches import AnswerCache
from ...search.scope import summarise
from ..answer import assemble, closest_passages
from ..answer_card import asked_card
from ..asked_figures import AskedNames
from ..turn import Draft, Turn
from .cache import with_lookups
from .repair import Repair
from .verify import Verify


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of every question: nothing here can be left out."""

    cache: AnswerCache
    glossary: Callable[[], Sequence[GlossaryEntry]]
    repair: Repair
    verify: Verify

    def run(self, turn: Turn, draft: Draft, lookups: Counter[str]) -> Answer:
        """Return the answer of a draft; its text is sent where it was not yet.

        ``lookups``: those of the caches before this question.
        """
        if draft.finished is not None:
            answer = draft.finished
            trace = with_lookups(answer.trace, turn, lookups)
            return with_preamble(turn, replace(answer, trace=trace))
        if not draft.is_sent:
            hits = [passage.hit for passage in draft.context.passages]
            turn.events.sources(hits, draft.scope)
            turn.events.text(draft.text)
        answer = self._checked(turn, draft)
        again = self.repair.run(turn, draft, answer)
        if again is not None:
            repaired = self._checked(turn, again)
            if len(repaired.marks) < len(answer.marks):
                draft = again
                answer = repaired
        answer = self.verify.run(turn, draft, answer)
        if not answer.answered or turn.closest_only:
            # Figures that only come close are neither shown large nor drawn.
            answer = replace(answer, card=None, figures=())
        elif draft.is_quoted and not draft.is_stated and answer.card is not None:
            terms = turn.analyzer.terms
            names = AskedNames(turn.reading, self.glossary(), terms)
            answer = replace(answer, card=asked_card(answer.card, names))
        if draft.lists_sources:
            answer = _with_sources(turn, answer)
        turn.events.end()
        if turn.cache_key and answer.degraded is None:
            put = partial(self.cache.put, turn.cache_key, answer, turn.request)
            turn.writes.append(put)
            trace = with_lookups(answer.trace, turn, lookups)
            answer = replace(answer, trace=trace)
        return with_preamble(turn, answer)

    def _checked(self, turn: Turn, draft: Draft) -> Answer:
        """Return the answer with its citations checked (or not: `cite`), its trace, and
        what ended it early.
        """
        needs_check = draft.context.passages and not draft.is_quoted
        answer = assemble(
            turn.question,
            draft.text,
            scope=draft.scope,
            context=draft.context,
            trace=_trace(turn, draft),
            glossary=self.glossary() if needs_check else (),
            is_closest=turn.closest_only and turn.has_model,
            is_quoted=draft.is_quoted,
            shown=turn.events.numbering.order,
            ending=draft.ending,
            card=draft.card,
        )
        answer = _without_marks_at(answer, turn.own_lines)
        hits = turn.events.described(cited.hit for cited in answer.citations)
        cited_hits = zip(answer.citations, hits, strict=True)
        citations = tuple(replace(cited, hit=hit) for cited, hit in cited_hits)
        answer = replace(answer, citations=citations)
        answer = replace(answer, response=_with_rest(turn, draft, answer))
        failure = turn.limits.failure
        if failure is not None:
            degraded = Degraded(failure.reason, failure.retry_after)
            is_answered = answer.answered and not turn.closest_only
            answer = replace(answer, degraded=degraded, answered=is_answered)
        # Quotations on a country without a report that do not say what is asked, or
        # figures of something else.
        is_beside = turn.absent is not None or draft.is_computed
        if is_beside and turn.closest_only and not turn.has_model:
            return replace(answer, answered=False)
        return replace(answer, answered=draft.is_answer or answer.answered)


def _trace(turn: Turn, draft: Draft) -> Trace:
    question = turn.question
    limits = turn.limits
    return Trace(
        question.mode,
        question.retrieval_method,
        question.search_text,
        hits=tuple(draft.hits),
        threshold=turn.threshold,
        pipeline=turn.pipeline,
        steps=limits.spending.steps,
        path=tuple(turn.events.path),
        stopped_by=limits.stopped_by or limits.route_stopped_by,
        truncated=draft.truncated,
        closest_only=turn.closest_only,
        unused=tuple(turn.unused),
    )


def _with_rest(turn: Turn, draft: Draft, answer: Answer) -> str:
    """Return the text with what stands below it: the draft's own, and where a model
    found no answer the closest passages.
    """
    parts = [answer.response]
    if draft.below:
        parts.append(draft.below)
    is_silent = draft.ending is not None and not answer.answered
    if is_silent and draft.hits and not answer.citations:
        parts.append(closest_passages(draft.hits, turn.say))
    return "\n\n".join(parts)


def with_preamble(turn: Turn, answer: Answer) -> Answer:
    """Return the answer with what was said above it, and the scope that is offered."""
    preamble = turn.events.preamble
    marks = tuple(mark.moved(len(preamble)) for mark in answer.marks)
    trace = replace(answer.trace, understood=turn.subjects, stages=tuple(turn.timings))
    return replace(
        answer,
        response=preamble + answer.response,
        marks=marks,
        scope=used_scope(turn, answer),
        suggested_scope=turn.suggested_scope,
        trace=trace,
    )


def used_scope(turn: Turn, answer: Answer) -> ScopeSummary:
    """Return the scope of an answer and where it is from, without what was taken from
    earlier and holds none of its passages: all of them are of reports beside it.
    """
    scope = turn.events.with_origins(answer.scope)
    used = scope.scope
    earlier = scope.from_earlier
    for name, condition in earlier.conditions:
        values = {one.hit.chunk.metadata.get(name) for one in answer.citations}
        stated = values - {None}
        if name == FIGURE_YEAR or not values or any(map(condition.matches, stated)):
            continue
        used = used.without(name)
        earlier = earlier.without(name)
    if earlier == scope.from_earlier:
        return scope
    summary = summarise(turn.catalog, used)
    return replace(
        summary,
        page=scope.page,
        from_question=scope.from_question,
        from_earlier=earlier,
    )


def _without_marks_at(answer: Answer, lines: Sequence[str]) -> Answer:
    """Return the answer without doubts about these lines of the program's own."""
    marks = list(answer.marks)
    unsupported = list(answer.unsupported)
    for line in lines:
        start = answer.response.find(line)
        end = start + len(line)
        marks = [mark for mark in marks if not start <= mark.start < end]
        unsupported = [one for one in unsupported if one.sentence not in line]
    return replace(answer, marks=tuple(marks), unsupported=tuple(unsupported))


def _with_sources(turn: Turn, answer: Answer) -> Answer:
    """Send and add a list of the sources."""
    if not answer.citations:
        return answer
    head = f"\n\n## {turn.say('Sources')}\n"
    places = [_place(citation, turn.say) for citation in answer.citations]
    sent = [head]
    shown = [head]
    for citation, place in zip(answer.citations, places, strict=True):
        # The stream numbers its citations itself.
        sent.append(f"\n- [{citation.hit.rank}] {place}")
        shown.append(f"\n- [{citation.number}] {place}")
    turn.events.text("".join(sent))
    return replace(answer, response="".join([answer.response, *shown]))


def _place(cited: Citation, say: Say) -> str:
    """Return where a passage stands: its report, section and page."""
    chunk = cited.hit.chunk
    section = cited.section.rpartition(SECTION_SEPARATOR)[2]
    page = say("page {page}", page=chunk.page) if chunk.page is not None else ""
    named = [part for part in (chunk.title, section, page) if part]
    return escape_markdown(", ".join(named))
