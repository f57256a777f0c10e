"""One search for each country, year or report, the same for all; an answer with a
table, every cell with its source. Figures come from the table of figures; what reports
say in words is quoted side by side, under one heading.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from ...checking.tables import EMPTY, markdown_table, with_sources
from ...domain import Context, Event, Prompt, Question, Quotation, SearchHit
from ...domain.scope import Values
from ...language.countries import usual_name
from ...language.counts import count_of
from ...language.markdown import escape_markdown, quotation_markdown
from ...language.words import Say, in_english
from ...models.prompts import on_one_line
from ...questions.reading import COUNTRY, YEAR
from ...questions.sides import Side, Sides, sides, terms_of_topic
from ...search.pipeline import Retrieval
from ...search.subjects import with_article
from ..answer import NOTHING, prompt_for
from ..figure_words import Rendered, render_changes
from .answering import (
    WritingPlan,
    answer_empty,
    answer_from,
    answer_text,
    is_empty,
    open_research,
)
from .run import AgentRun, BaseAgent
from .searches import Search, alternate, distinct
from .tables import answer_rendered, compile_table, key_figures, passages_of

SAME_STEM = 5
"""Letters that two words begin with, where they are of one thing."""
OF_SHARED = 2
"""Passages of a side for a language model, where all sides have one heading."""
QUOTES = 2
"""Rows of quotations where no model writes."""
SIDE_BY_SIDE = 3
"""More sides are rows instead of columns."""
MOST_NAMED = 12
"""Names that are listed one by one; of the others the number is said."""
NOTHING_TO_COMPARE = (
    "There is nothing to compare: name at least two countries, years or reports in "
    "the question, or choose them as the "
    "scope."
)


class CompareAgent(BaseAgent):
    """One generation call; without a language model, figures or quotations side by
    side.
    """

    def answer(self, run: AgentRun) -> Iterator[Event]:
        """Answer from the table of figures, else from the searches of all sides at
        once.
        """
        if (scope := (yield from open_research(run))) is None:
            return
        question = run.question
        compared = _named(
            sides(run.reading, question.scope, run.resources.catalog, any_reports=True),
            run.say,
        )
        ready = [side for side in compared.compared if side.ready]
        if not ready:
            yield from answer_text(
                run,
                _no_report(compared.compared, run.say) or run.say(NOTHING_TO_COMPARE),
                scope,
            )
            return
        yield run.step("plan", "What is compared", items=[side.name for side in ready])
        changes, of_one = _changes(run, compared, ready)
        if changes is not None:
            yield run.step("changes", "Figures that differ", items=changes.things)
        elif of_one and compared.bare:
            text = run.say(
                "The reports of {years} give the same figures.",
                years=_listed([s.name for s in ready], run.say),
            )
            yield from answer_text(run, text, scope)
            return
        if compared.bare and not changes:
            countries = [side.scope.get(COUNTRY) for side in ready]
            named = list(
                dict.fromkeys(
                    str(one.values[0]) for one in countries if isinstance(one, Values)
                )
            )
            table = (
                key_figures(run, question.scope.having(COUNTRY, named), named)
                if named
                else None
            )
        else:
            table = changes or compile_table(run)
        if not run.has_model and (yield from answer_rendered(run, scope, table)):
            return
        yield run.step("search", f"{count_of(len(ready), 'search')} at once")
        results = yield from run.search(
            [Search(one.name, one.query, one.scope, question.top_k) for one in ready]
        )
        if run.request.cancelled:
            return
        hits = balanced(of_shared_heading(results) if run.has_model else results)
        if is_empty(run, hits) and not table:
            yield from answer_empty(run, scope, hits)
            return
        hits = distinct([*(passages_of(run, table) if table else ()), *hits])
        comparison = _Comparison(
            run, compared, ready, results, hits, table.text if table else ""
        )
        way = WritingPlan(
            comparison.prompt, comparison.quoting, finish=comparison.finish
        )
        yield from answer_from(
            run, scope, hits, way, tokens=run.settings.deep_context_tokens
        )


def balanced(results: Sequence[Retrieval | None]) -> list[SearchHit]:
    """The best of each side, then the second best, ...: cut anywhere, each side has its
    share. Each passage once.
    """
    return distinct(alternate([one.hits if one else () for one in results]))


def of_shared_heading(
    results: Sequence[Retrieval | None],
) -> Sequence[Retrieval | None]:
    """Of each side its best `OF_SHARED` passages where all have something under one
    heading; else all, as they are.
    """
    headings = [{hit.chunk.heading for hit in one.hits} for one in results if one]
    shared = set.intersection(*headings) - {""} if len(headings) > 1 else set()
    if not shared:
        return results
    return [
        one
        and replace(
            one,
            hits=tuple(
                sorted(one.hits, key=lambda hit: hit.chunk.heading not in shared)[
                    :OF_SHARED
                ]
            ),
        )
        for one in results
    ]


def _named(compared: Sides, say: Say) -> Sides:
    """Say of sides that are a number whether it is the year of a report or of
    figures.
    """

    def name(side: Side) -> str:
        if side.year is None:
            return say("the {year} report", year=side.name)
        return say("the year {year}", year=side.name)

    named = (
        replace(one, name=name(one)) if one.name.isdecimal() else one
        for one in compared.compared
    )
    return replace(compared, compared=tuple(named))


def _changes(
    run: AgentRun, compared: Sides, ready: Sequence[Side]
) -> tuple[Rendered | None, bool]:
    """Return the changes between editions of one country, in all or in the named
    chapter, None without changes; and whether the sides are such editions. The edition
    of a year stands for a side that is this year of figures.
    """
    scopes, catalog = [side.scope for side in ready], run.resources.catalog
    editions = [
        scope.having(YEAR, [side.year] if side.year else [])
        for side, scope in zip(ready, scopes, strict=True)
    ]
    scopes = [
        one if catalog.holdings(one).ready else scope
        for one, scope in zip(editions, scopes, strict=True)
    ]
    years = [
        int(one.values[0])
        for one in (scope.get(YEAR) for scope in scopes)
        if isinstance(one, Values)
    ]
    if (
        len(ready) < 2
        or len(years) < len(ready)
        or len({scope.get(COUNTRY) for scope in scopes}) > 1
    ):
        return None, False
    first, last = min(years), max(years)
    changes = run.resources.tables.changed(
        scopes[0].having(YEAR, [first, last]), first, last
    )
    if not compared.bare:
        store, terms = run.resources.store, run.resources.analyzer.terms
        chunks = {
            chunk.id: chunk for chunk in store.get([new.chunk_id for _, new in changes])
        }
        chapters = [
            chunks[new.chunk_id].chapter if new.chunk_id in chunks else ""
            for _, new in changes
        ]
        topic_terms = terms_of_topic(ready[0].query)
        # The words name only a chapter: "economic" begins as "Economy" does.
        asked_stems = {word[:SAME_STEM] for word in topic_terms if word.isalpha()}
        stems = [{word[:SAME_STEM] for word in terms(one)} for one in chapters]
        changes = [
            one
            for one, words in zip(changes, stems, strict=True)
            if topic_terms and asked_stems <= words
        ]
    return render_changes(changes, (first, last), run.say), True


@dataclass
class _Comparison:
    """Writes a comparison: from what was found for each side to the text of the
    answer.
    """

    run: AgentRun
    every: Sides
    ready: Sequence[Side]
    results: Sequence[Retrieval | None]
    hits: Sequence[SearchHit]
    table: str

    def __post_init__(self) -> None:
        self._chunks: dict[str, set[str]] = {}
        for side, one in zip(self.ready, self.results, strict=True):
            of_side = {
                hit.chunk.id
                for hit in self.hits
                if side.scope.strict().matches(hit.chunk.metadata)
            }
            self._chunks[side.name] = of_side | (
                {hit.chunk.id for hit in one.hits} if one else set()
            )
        self._failed = [
            side.name
            for side, one in zip(self.ready, self.results, strict=True)
            if one is None
        ]

    def prompt(self, question: Question, context: Context) -> Prompt:
        numbers = self._numbers(context)
        lines = [
            f"- {on_one_line(name)}: {', '.join(map(str, cited)) or 'none'}"
            for name, cited in numbers.items()
        ]
        values = {"sides": "\n".join(lines), "table": self.table}
        return prompt_for(
            question, context, rules="compare_system", template="compare_user", **values
        )

    def quoting(self, context: Context) -> str:
        """Return each side's passages under the headings of most sides, else those its
        own question finds first.
        """
        numbers = self._numbers(context)
        of_side = {
            name: [one for one in context.passages if one.number in theirs]
            for name, theirs in numbers.items()
        }
        # The headings of the passages, those of most sides first, of them the nearest
        # to what is asked.
        sides_of, scores = defaultdict[str, set[str]](set), dict[str, float]()
        for name, passages in of_side.items():
            for one in passages:
                sides_of[one.hit.chunk.heading].add(name)
                scores[one.hit.chunk.heading] = one.hit.heading_score or 0.0
        most = max(map(len, sides_of.values()), default=0)
        shared = [heading for heading, names in sides_of.items() if len(names) == most]
        headings = sorted(shared, key=lambda one: -scores[one])[:QUOTES]
        queries = {side.name: side.query for side in self.ready}
        cells: dict[str, list[Quotation | None]] = {}
        for name, passages in of_side.items():
            under = [
                [one for one in passages if one.hit.chunk.heading == heading]
                for heading in headings
            ]
            quotes = [
                self.run.resources.quoter.quotes(queries[name], one) for one in under
            ]
            cells[name] = [quoted[0] if quoted else None for quoted in quotes]
        return quotes_table(cells, self.run.say)

    def finish(self, text: str, context: Context) -> tuple[str, str]:
        """Empty cells without a source; add a table of quotations to an answer without
        a table.
        """
        checked, say = with_sources(text, self._numbers(context)), self.run.say
        parts = [checked.text]
        if checked.emptied:
            parts.append(say("A table without any source was left out."))
        if not checked.tables:
            parts.append(
                f"{say('Side by side, quoted from the reports:')}\n\n"
                f"{self.quoting(context)}"
            )
        return "\n\n".join(filter(None, parts)), "\n\n".join(
            filter(None, self._notes(checked.dropped))
        )

    def _notes(self, dropped: Sequence[str]) -> list[str]:
        """Sentences below the table on what is not in it: names without a source, which
        no passage bears.
        """
        notes, say = list[str](), self.run.say
        if dropped:
            left = _listed(dropped, say)
            notes.append(
                say(
                    "Left out of the table because no source supports them: {names}.",
                    names=left,
                )
            )
        if self._failed:
            notes.append(
                say(
                    "The search failed or took too long for {names}.",
                    names=_listed(self._failed, say),
                )
            )
        # Countries that the question is about, and editions, are said above the answer
        # (`Understanding`).
        about = {usual_name(country.keys[0]) for country in self.run.reading.about}
        absent = [
            side
            for side in self.every.compared
            if side.scope.get(YEAR) is None and side.name not in about
        ]
        notes.append(_no_report(absent, say))
        if self.every.left_out:
            left = _listed(self.every.left_out, say)
            notes.append(
                say("Too many to compare at once; left out: {names}.", names=left)
            )
        return notes

    def _numbers(self, context: Context) -> dict[str, list[int]]:
        return {
            name: [
                passage.number
                for passage in context.passages
                if passage.hit.chunk.id in chunk_ids
            ]
            for name, chunk_ids in self._chunks.items()
        }


def _no_report(every: Sequence[Side], say: Say) -> str:
    absent = [with_article(side.name, say) for side in every if not side.ready]
    return (
        say("There is no report for {names}.", names=_listed(absent, say))
        if absent
        else ""
    )


def _listed(names: Sequence[str], say: Say) -> str:
    named = list(dict.fromkeys(map(escape_markdown, names)))
    more = (
        [say("{number} more", number=len(named) - MOST_NAMED)]
        if len(named) > MOST_NAMED
        else []
    )
    return "; ".join([*named[:MOST_NAMED], *more])


def quotes_table(
    quotes: Mapping[str, Sequence[Quotation | None]], say: Say = in_english
) -> str:
    """Return what each side's quotations say: a column for each side, or a row if there
    are many; None = nothing.
    """

    def with_place(quote: Quotation, side: str) -> str:
        place = quote.where.removeprefix(f"{side}, ")
        return f"**{escape_markdown(place)}:** {quotation_markdown(quote)}"

    names = [escape_markdown(name) for name in quotes]
    columns = [
        [with_place(quote, name) if quote else EMPTY for quote in side]
        if any(side)
        else [say(NOTHING)]
        for name, side in quotes.items()
    ]
    if len(names) > SIDE_BY_SIDE:
        cells = [
            " ".join(cell for cell in column if cell != EMPTY) for column in columns
        ]
        return markdown_table(["", say("Quoted")], list(zip(names, cells, strict=True)))
    return markdown_table(names, list(zip_longest(*columns, fillvalue=EMPTY)))


build = CompareAgent
