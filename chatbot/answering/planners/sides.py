"""One search for each country, year or report that a question compares, the same for
all; figures come from the table of figures.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...domain import SearchHit
from ...domain.documents import Chunk
from ...domain.figures import ReportedFigure
from ...domain.scope import Scope, Values
from ...language.countries import usual_name
from ...language.counts import count_of
from ...language.markdown import escape_markdown
from ...language.words import Say
from ...questions.reading import COUNTRY, YEAR
from ...questions.sides import Side, Sides, sides, terms_of_topic
from ...search.pipeline import Retrieval
from ...search.subjects import with_article
from ..early.figures import table_alone
from ..figure_words import Rendered, render_changes
from ..tools import Tools
from ..tools.search import Search
from ..turn import Draft, Turn, alternate, distinct
from ..writers import Desk

STEM_CHARACTERS = 5
"""Letters that two words begin with, where they are of one thing: "econo"."""
MAX_SHARED_PASSAGES = 2
"""Passages of a side for a language model, where all sides have one heading."""
MAX_NAMED = 12
"""Names that are listed one by one; of the others the number is said."""
NOTHING_TO_COMPARE = (
    "There is nothing to compare: name at least two countries, years or reports in "
    "the question, or choose them as the "
    "scope."
)


@dataclass(frozen=True, slots=True)
class Compared:
    """What is compared, and what was found for each side."""

    every: Sides
    ready: Sequence[Side]
    """The sides that have reports."""
    results: Sequence[Retrieval | None]
    hits: Sequence[SearchHit]


class BySides:
    """Answers from the table of figures, else searches for all sides at once."""

    def __init__(self, tools: Tools, desk: Desk) -> None:
        self._tools = tools
        self._desk = desk
        self._every = Sides(())
        self._ready: Sequence[Side] = ()
        self._table: Rendered | None = None
        self.compared: Compared | None = None
        """Set after the searches."""

    def plan(self, turn: Turn) -> Sequence[Search] | Draft:
        if self._ready:
            return ()
        question = turn.question
        every = sides(turn.reading, question.scope, turn.catalog, any_reports=True)
        self._every = _named(every, turn.say)
        ready = [side for side in self._every.compared if side.ready]
        if not ready:
            text = no_report(self._every.compared, turn.say)
            text = text or turn.say(NOTHING_TO_COMPARE)
            return Draft(text=text, scope=turn.scope)
        self._ready = ready
        names = [side.name for side in ready]
        turn.events.step("plan", "What is compared", items=names)
        editions = _Editions.of(ready, turn)
        if editions is not None:
            self._table = self._changes(turn, editions)
        if self._table is not None:
            turn.events.step("changes", "Figures that differ", items=self._table.things)
        elif editions is not None and self._every.bare:
            text = turn.say(
                "The reports of {years} give the same figures.",
                years=listed(names, turn.say),
            )
            return Draft(text=text, scope=turn.scope)
        else:
            self._table = self._compiled(turn)
        if self._table is not None and not turn.has_model:
            draft = table_alone(turn, self._table, self._tools.figures, self._desk)
            if draft is not None:
                return replace(draft, below=no_other_report(self._every, turn))
        turn.events.step("search", f"{count_of(len(ready), 'search')} at once")
        return [
            Search(side.name, side.query, side.scope, question.top_k) for side in ready
        ]

    def keep(self, turn: Turn, results: Sequence[Retrieval | None]) -> None:
        found = turn.found
        hits = balanced(of_shared_heading(results) if turn.has_model else results)
        found.closest = hits
        if self._table is not None:
            hits = distinct([*self._tools.figures.passages_of(self._table), *hits])
            found.table = self._table
            found.is_enough = True
        found.add_all(turn.question.search_text, hits)
        self.compared = Compared(self._every, self._ready, results, hits)

    def _compiled(self, turn: Turn) -> Rendered | None:
        """Return the table that the question asks for: of the key figures, where it
        names nothing but what is compared.
        """
        figures = self._tools.figures
        if not self._every.bare:
            compares = len(self._ready) < len(self._every.compared)
            return figures.compile(turn, compares=compares)
        computed = figures.compute(turn)
        if computed is not None:
            return computed
        countries = [side.scope.get(COUNTRY) for side in self._ready]
        names = [
            str(named.values[0]) for named in countries if isinstance(named, Values)
        ]
        names = list(dict.fromkeys(names))
        if not names:
            return None
        scope = turn.question.scope.having(COUNTRY, names)
        return figures.key_figures(turn, scope, names)

    def _changes(self, turn: Turn, editions: "_Editions") -> Rendered | None:
        """Return the changes between editions of one country, in all or in the named
        chapter; None without changes.
        """
        tables = self._tools.figures.tables
        years = (editions.first, editions.last)
        changes = tables.changed(editions.scope.having(YEAR, list(years)), *years)
        if not self._every.bare:
            terms = terms_of_topic(self._ready[0].query)
            new = [figure.chunk_id for _, figure in changes]
            by_id = {chunk.id: chunk for chunk in self._desk.passages.get(new)}
            asked = {word[:STEM_CHARACTERS] for word in terms if word.isalpha()}
            changes = [
                change
                for change in changes
                if terms and asked <= self._stems(turn, change, by_id)
            ]
        return render_changes(changes, years, turn.say)

    def _stems(
        self,
        turn: Turn,
        change: tuple[ReportedFigure, ReportedFigure],
        chunks: dict[str, Chunk],
    ) -> set[str]:
        """Return the beginnings of the words of a figure's chapter: "economic" begins
        as "Economy" does.
        """
        _, new = change
        chunk = chunks.get(new.chunk_id)
        chapter = chunk.chapter if chunk is not None else ""
        return {word[:STEM_CHARACTERS] for word in turn.analyzer.terms(chapter)}


@dataclass(frozen=True, slots=True)
class _Editions:
    """Editions of one country: the scope of the first side, and the years."""

    scope: Scope
    first: int
    last: int

    @classmethod
    def of(cls, ready: Sequence[Side], turn: Turn) -> "_Editions | None":
        """Return the editions that the sides are; None where they are something else.
        The edition of a year stands for a side that is this year of figures.
        """
        scopes = [_edition_scope(side, turn) for side in ready]
        conditions = [scope.get(YEAR) for scope in scopes]
        years = [
            int(condition.values[0])
            for condition in conditions
            if isinstance(condition, Values)
        ]
        if len(ready) < 2 or len(years) < len(ready):
            return None
        if len({scope.get(COUNTRY) for scope in scopes}) > 1:
            return None
        return cls(scopes[0], min(years), max(years))


def _edition_scope(side: Side, turn: Turn) -> Scope:
    edition = side.scope.having(YEAR, [side.year] if side.year else [])
    if turn.catalog.holdings(edition).ready:
        return edition
    return side.scope


def balanced(results: Sequence[Retrieval | None]) -> list[SearchHit]:
    """Return the best of each side, then the second best, ...: cut anywhere, each side
    has its share. Each passage once.
    """
    return distinct(alternate([result.hits if result else () for result in results]))


def of_shared_heading(
    results: Sequence[Retrieval | None],
) -> Sequence[Retrieval | None]:
    """Return of each side its best `MAX_SHARED_PASSAGES` passages where all have
    something under one heading; else all, as they are.
    """
    headings = [
        {hit.chunk.heading for hit in result.hits} for result in results if result
    ]
    if len(headings) < 2:
        return results
    shared = set.intersection(*headings) - {""}
    if not shared:
        return results

    def best(result: Retrieval) -> Retrieval:
        ordered = sorted(result.hits, key=lambda hit: hit.chunk.heading not in shared)
        return replace(result, hits=tuple(ordered[:MAX_SHARED_PASSAGES]))

    return [best(result) if result else None for result in results]


def _named(compared: Sides, say: Say) -> Sides:
    """Say of sides that are a number whether it is the year of a report or of
    figures.
    """

    def name(side: Side) -> str:
        if not side.name.isdecimal():
            return side.name
        if side.year is None:
            return say("the {year} report", year=side.name)
        return say("the year {year}", year=side.name)

    named = [replace(side, name=name(side)) for side in compared.compared]
    return replace(compared, compared=tuple(named))


def no_report(every: Sequence[Side], say: Say) -> str:
    """Return a sentence that names the sides without a report, "" where all have
    one.
    """
    absent = [with_article(side.name, say) for side in every if not side.ready]
    if not absent:
        return ""
    return say("There is no report for {names}.", names=listed(absent, say))


def no_other_report(every: Sides, turn: Turn) -> str:
    """Return `no_report` of the sides of which nothing is said above the answer, as it
    is of the countries that the question is about, and of editions.
    """
    about = {usual_name(country.keys[0]) for country in turn.reading.about}
    absent = [
        side
        for side in every.compared
        if side.scope.get(YEAR) is None and side.name not in about
    ]
    return no_report(absent, turn.say)


def listed(names: Sequence[str], say: Say) -> str:
    """Return the names, each once; of many the number of the rest."""
    named = list(dict.fromkeys(escape_markdown(name) for name in names))
    shown = named[:MAX_NAMED]
    if len(named) > MAX_NAMED:
        shown.append(say("{number} more", number=len(named) - MAX_NAMED))
    return "; ".join(shown)
