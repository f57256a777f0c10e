"""Answers from the table of figures: series, comparisons, rankings, filters, counts and averages."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial

from ...domain import SECTION_SEPARATOR, Event, Scope, ScopeSummary, SearchHit, Values
from ...questions.kinds import OF_ALL, Request, read_request
from ...questions.reading import COUNTRY, YEAR, editions, values_of
from ...questions.sides import MOST_PARTS, asks_several, compared_countries, sub_questions
from ..figure_words import Rendered, render
from .answering import WritingPlan, answer_from
from .run import AgentRun

TABLE_TOKENS = 6000
"""Tokens of the passages that a table cites: of all countries they are short."""


def answer_rendered(run: AgentRun, scope: ScopeSummary, rendered: Rendered | None) -> Generator[Event, None, bool]:
    """Answer with a table if a question has one, without a language model, which gets it as a source.
    Return False where one of its passages is no longer there."""
    if rendered is None:
        return False
    yield run.step("figures", f"Read {len(rendered.figures)} figures from {len(rendered.chunk_ids)} passages")
    hits = passages_of(run, rendered)
    if hits:
        way = WritingPlan(quoting=lambda context: rendered.text, header="")
        yield from answer_from(run, scope, hits, way, tokens=TABLE_TOKENS)
    return bool(hits)


def passages_of(run: AgentRun, rendered: Rendered) -> list[SearchHit]:
    """Return the passages that a table cites, in the order of their numbers; none where one is no longer there."""
    by_id = {chunk.id: chunk for chunk in run.resources.store.get(rendered.chunk_ids)}
    hits = [SearchHit(by_id[one], found_by=("figures",)) for one in rendered.chunk_ids if one in by_id]
    return hits if len(hits) == len(rendered.chunk_ids) else []


def asked_for(run: AgentRun) -> tuple[Request, list[str]]:
    """Return what kind of request the question is, and the countries it is about, as the data has them."""
    chosen, about = run.question.scope.get(COUNTRY), list[str]()
    if run.reading.countries:
        named = values_of(compared_countries(run.reading), run.resources.catalog)
        about = [str(value) for value in named if chosen is None or chosen.matches(value)]
    of_one = isinstance(chosen, Values) and len(chosen.values) == 1
    return read_request(run.reading, countries=len(about) or int(of_one)), about


def compile_table(run: AgentRun) -> Rendered | None:
    """Return the table that the question asks for; None where it asks for none, or nothing surely meant is in it."""
    request, about = asked_for(run)
    if request.kind in {"value", "prose"} or (run.reading.about and not about) or asks_several(run.reading):
        return None
    if run.is_unread:  # which indicator is meant would be a guess
        return None
    catalog, scope = run.resources.catalog, run.question.scope
    scope = scope.having(COUNTRY, about or catalog.values(COUNTRY, scope))
    years = editions(scope, catalog)
    measured = run.resources.tables.compile(
        request.topic,
        scope,
        about,
        run.request,
        newest=scope.having(YEAR, years[-1:]) if years else None,
        of_all=request.kind in OF_ALL,
    )
    stated_years = [named.condition for named in run.reading.figure_years]
    return render(request, measured, about, stated_years, run.say) if measured else None


def key_figures(run: AgentRun, scope: Scope, subjects: Sequence[str]) -> Rendered | None:
    """Return a table of the figures that say most of these subjects; None where they share none."""
    store = run.resources.store

    def chapters(chunk_ids: Sequence[str]) -> dict[str, str]:
        return {chunk.id: chunk.section.partition(SECTION_SEPARATOR)[0] for chunk in store.get(chunk_ids)}

    measured = run.resources.tables.key_figures(scope, subjects, chapters)
    return render(Request("comparison", ""), measured, subjects, (), run.say) if measured else None


def parts_of(run: AgentRun, most: int = MOST_PARTS) -> list[str]:
    """Return the question in parts by rule: its sentences, countries and things; itself where it is one."""
    things = partial(run.resources.tables.things, scope=run.question.scope, request=run.request)
    return sub_questions(run.reading, things, most)
