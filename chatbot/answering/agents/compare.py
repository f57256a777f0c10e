"""One search for each country, year or report, the same for all; an answer with a table, every cell with its source."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from ...checking.answer import prompt_for
from ...checking.changed_figures import Change, changed_figures, changes_table, passages_of
from ...checking.paired_quotes import Sources, paired
from ...checking.tables import quotes_table, with_sources
from ...domain import Chunk, Context, Event, Passage, Prompt, Question, Quotation, Scope, ScopeSummary, SearchHit
from ...language import count_of, escape_markdown
from ...language.words import Say
from ...models.prompts import on_one_line
from ...questions.comparison_sides import Side, Sides, sides
from ...questions.reading import COUNTRY, YEAR
from ...questions.wording import list_in_words
from ...search.aspects import newest_reports, of_chapter, shared_aspects
from ...search.pipeline import Retrieval
from ...search.subjects import names_missing, with_article, with_figures
from .answering import WritingPlan, answer_empty, answer_from, answer_text, is_empty, open_research
from .run import AgentRun, BaseAgent
from .searches import Search, alternate, distinct

QUOTES = 2
"""Rows of quotations where no model writes."""
LEAST_OF_CHAPTER = 3
"""Figures that differ, where a chapter is said to have changed: of fewer its text says more."""
MOST_NAMED = 12
"""Names that are listed one by one, of sides or of figures; of the others the number is said."""
NOTHING_TO_COMPARE = (
    "There is nothing to compare: name at least two countries, years or reports in the question, or choose them as the "
    "scope."
)


class CompareAgent(BaseAgent):
    """One generation call; without a language model, quotations side by side."""

    def answer(self, run: AgentRun) -> Iterator[Event]:
        """The searches of all sides at once, then one answer from the best of each."""
        question = run.question
        if (scope := (yield from open_research(run))) is None:
            return
        compared = sides(question.search_text, run.question.scope, run.resources.catalog)
        ready = [side for side in compared.compared if side.ready]
        if not ready:
            yield from answer_text(run, _no_report(compared.compared, run.say) or run.say(NOTHING_TO_COMPARE), scope)
            return
        yield run.step("plan", "What is compared", items=[side.name for side in ready])
        if (yield from self._compared_whole(run, compared, ready, scope)):
            return
        yield run.step("search", f"{count_of(len(ready), 'search')} at once")
        searches = [Search(side.name, side.query, side.scope, question.top_k) for side in ready]
        found = yield from run.search(searches)
        if run.request.cancelled:
            return
        closest = balanced(found)
        found = [_of_its_year(side, one) for side, one in zip(ready, found, strict=True)]
        hits = balanced(found)
        if is_empty(run, hits) and not self._is_named(run, ready, found):
            yield from answer_empty(run, scope, closest)
            return
        yield from self._answer(run, scope, _Comparison(run, compared, ready, found), hits)

    def _compared_whole(
        self, run: AgentRun, every: Sides, ready: Sequence[Side], scope: ScopeSummary
    ) -> Generator[Event, None, bool]:
        """Answer a question that does not say what is compared: with the figures that changed, else with a list of
        what could be compared. Return False if neither is possible.

        For a whole chapter, these are its figures that changed between the reports of one country.
        """
        catalog, store = run.resources.catalog, run.resources.store
        if not every.bare and not _are_editions(ready):
            return False
        reports = [newest_reports(self._edition(run, side), catalog, store) for side in ready]
        if not every.bare:
            terms = run.resources.analyzer.terms
            reports = [of_chapter(ready[0].query, chunks, terms) for chunks in reports]
        changes, aspects = changed_figures(reports), list[str]()
        if changes and (every.bare or len(changes) >= LEAST_OF_CHAPTER):
            yield run.step(
                "changes", "Figures that differ", items=[change.indicator for change in changes[:MOST_NAMED]]
            )
            found = [_holding(passages_of(changes, side), chunks) for side, chunks in enumerate(reports)]
            yield from self._answer(run, scope, _Comparison(run, every, ready, found, changes), balanced(found))
            return True
        if every.bare and (aspects := shared_aspects(reports)):
            yield run.step("aspects", "What they have in common", items=aspects)
            yield from answer_text(run, _offer(ready, aspects, run.say), scope)
        return bool(aspects)

    def _edition(self, run: AgentRun, side: Side) -> Scope:
        """A side that is a year of figures as the edition of that year, where there is one: of a whole chapter no
        single figure is asked for.
        """
        edition = side.scope.having(YEAR, [side.year] if side.year else [])
        return edition if run.resources.catalog.holdings(edition).ready else side.scope

    def _answer(
        self, run: AgentRun, scope: ScopeSummary, comparison: _Comparison, hits: Sequence[SearchHit]
    ) -> Iterator[Event]:
        way = WritingPlan(comparison.prompt, comparison.quoting, comparison.finish)
        tokens = run.settings.deep_context_tokens
        yield from answer_from(run, scope, hits, way, tokens=tokens)

    def _is_named(self, run: AgentRun, asked: Sequence[Side], found: Sequence[Retrieval | None]) -> bool:
        """Whether a passage has all the words of its side's question: that is short, and its scores are low.

        Of 24 things that the reports have ("coffee", "religion") two lay below the floor of the built-in model, both
        named; of 20 that they have not 19 did, none named. Scores of the whole question do not part them.
        """
        terms = run.resources.analyzer.terms
        return any(
            set(terms(side.query)) <= set(terms(hit.chunk.search_text))
            for side, one in zip(asked, found, strict=True)
            for hit in (one.hits if one else ())
        )


def balanced(found: Sequence[Retrieval | None]) -> list[SearchHit]:
    """The best of each side, then the second best, ...: cut anywhere, each side has its share. Each passage once."""
    return distinct(alternate([one.hits if one else () for one in found]))


def _are_editions(sides: Sequence[Side]) -> bool:
    """Whether they differ in nothing but their reports or years."""
    return len(sides) > 1 and len({side.scope.get(COUNTRY) for side in sides}) == 1


def _of_its_year(side: Side, found: Retrieval | None) -> Retrieval | None:
    """A column of a year holds no figures of another."""
    return replace(found, hits=tuple(with_figures(side.year, found.hits))) if found and side.year else found


class _Comparison:
    """Writes a comparison: from what was found for each side to the text of the answer."""

    def __init__(
        self,
        run: AgentRun,
        every: Sides,
        ready: Sequence[Side],
        found: Sequence[Retrieval | None],
        changes: Sequence[Change] = (),
    ) -> None:
        self._run = run
        self._changes = changes
        self._every = every
        self._ready = ready
        self._failed = [side.name for side, one in zip(ready, found, strict=True) if one is None]
        self._without = [
            side.name for side, one in zip(ready, found, strict=True) if side.year and one and not one.hits
        ]
        self._chunks = {
            side.name: {hit.chunk.id for hit in one.hits} if one else set()
            for side, one in zip(ready, found, strict=True)
        }

    def prompt(self, question: Question, context: Context) -> Prompt:
        numbers = self._numbers(context)
        lines = [f"- {on_one_line(name)}: {', '.join(map(str, own)) or 'none'}" for name, own in numbers.items()]
        return prompt_for(question, context, rules="compare_system", template="compare_user", sides="\n".join(lines))

    def quoting(self, context: Context) -> str:
        """The figures that changed; else each side answers its own question, which has no word of the others."""
        names = [side.name for side in self._ready]
        if changed := changes_table(self._changes, names, context.passages, self._run.say):
            return changed
        numbers = self._numbers(context)
        own = {name: [one for one in context.passages if one.number in theirs] for name, theirs in numbers.items()}
        quotes = {side.name: self._quotes(side.query, own[side.name]) for side in self._ready}
        sides = {side.name: Sources(quotes[side.name], own[side.name], side.year) for side in self._ready}
        years = [named.condition for named in self._run.reading.figure_years]
        terms = self._run.resources.analyzer.terms
        return quotes_table(paired(sides, self._ready[0].query, years, most=QUOTES, terms=terms), self._run.say)

    def _quotes(self, asked: str, own: Sequence[Passage]) -> list[Quotation]:
        """The side's quotations, each once though it may stand in several passages."""
        found: dict[str, Quotation] = {}
        for quote in self._run.resources.quoter.quotes(asked, own, request=self._run.request):
            found.setdefault(quote.text, quote)
        return list(found.values())

    def finish(self, text: str, context: Context) -> tuple[str, str]:
        """Cells without a source are emptied; an answer without a table gets one of quotations."""
        checked, say = with_sources(text, self._numbers(context)), self._run.say
        told = [checked.text]
        if checked.emptied:
            told.append(say("A table without any source was left out."))
        if not checked.tables:
            told.append(f"{say('Side by side, quoted from the reports:')}\n\n{self.quoting(context)}")
        return "\n\n".join(filter(None, told)), "\n\n".join(filter(None, self._notes(checked.dropped)))

    def _notes(self, dropped: Sequence[str]) -> list[str]:
        """Sentences below the table on what is not in it: names without a source, which no passage bears."""
        notes, say = list[str](), self._run.say
        if dropped:
            left = _listed(dropped, say)
            notes.append(say("Left out of the table for want of a source: {names}.", names=left))
        if self._failed:
            notes.append(say("The search failed or took too long for {names}.", names=_listed(self._failed, say)))
        if self._without:
            notes.append(say("No figure was found for {names}.", names=_listed(self._without, say)))
        notes.append(_no_report([side for side in self._every.compared if not self._is_said(side)], say))
        if self._every.left_out:
            left = _listed(self._every.left_out, say)
            notes.append(say("Too many to compare at once; left out: {names}.", names=left))
        return notes

    def _is_said(self, side: Side) -> bool:
        """Whether the answer begins with that there is no report for it (`Understanding`)."""
        return names_missing(side.scope, self._run.reading, self._run.question.scope, self._run.resources.catalog)

    def _numbers(self, context: Context) -> dict[str, list[int]]:
        return {
            name: [passage.number for passage in context.passages if passage.hit.chunk.id in own]
            for name, own in self._chunks.items()
        }


def _holding(chunk_ids: Sequence[str], chunks: Sequence[Chunk]) -> Retrieval:
    by_id = {chunk.id: chunk for chunk in chunks}
    return Retrieval(tuple(SearchHit(by_id[one], found_by=("changed",)) for one in chunk_ids), None, ())


def _offer(asked: Sequence[Side], aspects: Sequence[str], say: Say) -> str:
    names = list_in_words((escape_markdown(side.name) for side in asked), say("and"))
    if len(asked) == 1:
        return say("The reports on {names} have, among others: {aspects}.", names=names, aspects=_listed(aspects, say))
    both = "Both have, among others: {aspects}." if len(asked) == 2 else "All have, among others: {aspects}."
    return f"{say('Compare what of {names}?', names=names)} {say(both, aspects=_listed(aspects, say))}"


def _no_report(sides: Sequence[Side], say: Say) -> str:
    absent = [with_article(side.name, say) for side in sides if not side.ready]
    return say("There is no report for {names}.", names=_listed(absent, say)) if absent else ""


def _listed(names: Sequence[str], say: Say) -> str:
    named = list(dict.fromkeys(map(escape_markdown, names)))
    more = [say("{number} more", number=len(named) - MOST_NAMED)] if len(named) > MOST_NAMED else []
    return "; ".join([*named[:MOST_NAMED], *more])


build = CompareAgent
