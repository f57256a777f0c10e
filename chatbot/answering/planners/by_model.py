"""What a language model wants to look for, by calls of tools (`tools/calls.py`), round
by round. Each call looks inside the scope of the question, whatever it names.
"""

from collections.abc import Sequence

from ...domain import DocumentRecord, SearchHit
from ...domain.errors import InvalidRequestError
from ...domain.figure_query import Rank
from ...domain.scope import Reading, Scope
from ...language.analysis import WORD_PATTERN
from ...language.words import in_english
from ...questions.reading import COUNTRY, YEAR, read_names
from ...questions.sides import DOCUMENT
from ...search.pipeline import Retrieval
from ...search.subjects import narrowed, suggest_scope
from ..dialogue import MAX_PASSAGES, Dialogue
from ..tools import Tools
from ..tools.calls import (
    EarlierCall,
    FiguresCall,
    Plan,
    ReadCall,
    SearchCall,
    plan_shape,
)
from ..tools.search import Search
from ..turn import Draft, Turn


class ByModel:
    """Does what the model called, and asks it again where it wants to see what was
    found.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._keys: list[str] = []
        """The searches of this round, by the names of their results."""

    def plan(self, turn: Turn) -> Sequence[Search] | Draft:
        dialogue = turn.dialogue
        assert dialogue is not None, "the stage `plan` has run"
        searches: Sequence[Search] = ()
        while not searches:
            plan = self._next_plan(turn, dialogue)
            if plan is None:
                return ()
            searches = self._begin(turn, dialogue, plan)
        count = len(searches)
        turn.events.step(
            "search", f"Searching {turn.scope.chunks:,} passages", items=()
        )
        self._keys = [f"{dialogue.rounds}.{place}" for place in range(count)]
        return searches

    def keep(self, turn: Turn, results: Sequence[Retrieval | None]) -> None:
        assert turn.dialogue is not None, "the stage `plan` has run"
        found = []
        most = 0
        for key, result in zip(self._keys, results, strict=True):
            if result is None:
                continue
            found.append((key, result.hits))
            turn.dialogue.found.append(result.hits)
            most += len(result.hits)
        turn.found.add(turn.found.unseen(found, most=most))

    def _next_plan(self, turn: Turn, dialogue: Dialogue) -> Plan | None:
        """Return the first plan, then the model's next one while it wants more."""
        wants_round = dialogue.wants_round
        dialogue.rounds += 1
        if dialogue.rounds == 1:
            return dialogue.plan
        if not wants_round:
            return None
        dialogue.choose(self._tools.read.passages)
        dialogue.say_what_was_found()
        plan = self._tools.model.ask_for(
            turn,
            "plan",
            plan_shape(takes_tools=dialogue.takes_tools),
            "Written from what was found",
            dialogue.planning_prompt(),
        )
        if plan is None:
            return None
        dialogue.plan = plan
        turn.events.step("plan", "Planned", items=plan.queries)
        return plan

    def _begin(self, turn: Turn, dialogue: Dialogue, plan: Plan) -> list[Search]:
        """Make the calls that need no search, and return the searches of the others."""
        dialogue.needs_round = False
        dialogue.problems += plan.notes
        searches: list[Search] = []
        for call in plan.calls:
            if isinstance(call, SearchCall):
                searches += self._searches(turn, dialogue, call)
            elif isinstance(call, FiguresCall):
                self._compute(turn, dialogue, call)
            elif isinstance(call, ReadCall):
                searches += self._section(turn, dialogue, call)
            elif isinstance(call, EarlierCall):
                self._take_earlier(turn, dialogue)
        return searches

    def _searches(
        self, turn: Turn, dialogue: Dialogue, call: SearchCall
    ) -> list[Search]:
        scope = self._scope(turn, dialogue, call)
        asked = " ".join(call.queries)
        years = ""
        for year in call.years:
            if str(year) not in asked:
                years = f"{years} {year}"
        self._tabulate(turn, dialogue, call, scope)
        # Before another round, few of each show what is still needed.
        least = turn.question.top_k
        most = least if dialogue.wants_round else max(least, MAX_PASSAGES)
        return [Search(query, f"{query}{years}", scope, most) for query in call.queries]

    def _scope(self, turn: Turn, dialogue: Dialogue, call: SearchCall) -> Scope:
        """Return the question's scope, narrowed to what a call names of it. What it
        names beside that is a note to the model: the whole scope is searched.
        """
        scope = turn.question.scope
        catalog = turn.catalog
        if call.countries:
            named = read_names(", ".join(call.countries), catalog, scope)
            reading = Reading(about=named.countries, groups=named.groups)
            narrower = suggest_scope(reading, scope, catalog)
            if narrower is None and scope.get(COUNTRY) is None:
                names = ", ".join(call.countries)
                dialogue.problems.append(
                    f"No report is filed under {names}: all reports were searched."
                )
            scope = narrower or scope
        years = [year for year in catalog.values(YEAR, scope) if year in call.editions]
        return narrowed(scope, YEAR, years, catalog, or_none=True)

    def _tabulate(
        self, turn: Turn, dialogue: Dialogue, call: SearchCall, scope: Scope
    ) -> None:
        """Compute the indicators that are searched for in the reports of all countries:
        a search brings the figures of some.
        """
        if call.countries or len(turn.catalog.values(COUNTRY, scope)) < 2:
            return
        for query in call.queries:
            if turn.read(query).countries:
                continue
            name = self._tools.figures.named_in(query, turn, scope)
            if name and name not in dialogue.computed:
                ranked = FiguresCall(
                    tool="figures", indicators=(name,), steps=(Rank(op="rank"),)
                )
                self._compute(turn, dialogue, ranked)

    def _compute(self, turn: Turn, dialogue: Dialogue, call: FiguresCall) -> None:
        turn.events.step("figures", "; ".join(call.indicators))
        figures = self._tools.figures
        scope = turn.question.scope
        dialogue.computed.update(call.indicators)
        try:
            dialogue.add_table(figures.answer(call, scope, in_english))
            newer = figures.newer_parts(call, scope)
            if newer:
                other = call.model_copy(update={"indicators": tuple(newer)})
                dialogue.add_table(figures.answer(other, scope, in_english))
        except InvalidRequestError as error:
            dialogue.problems.append(error.message)
            dialogue.needs_round = True

    def _section(self, turn: Turn, dialogue: Dialogue, call: ReadCall) -> list[Search]:
        """Return the search for a section or a page of a report, which is shown
        whole where it fits.
        """
        record = report_named(call.report, turn)
        if record is None:
            dialogue.problems.append(f"There is no report {call.report!r} in scope.")
            dialogue.needs_round = True
            return []
        scope = narrowed(turn.question.scope, DOCUMENT, [record.name], turn.catalog)
        query = call.heading or record.title
        label = f"{record.title}: {call.heading or call.page or ''}"
        return [Search(label, query, scope, MAX_PASSAGES, page=call.page)]

    def _take_earlier(self, turn: Turn, dialogue: Dialogue) -> None:
        """Take the passages that earlier answers cite, those of the last ones first."""
        ids: list[str] = []
        for message in reversed(turn.question.history):
            ids += message.cited.chunk_ids
        scope = turn.question.scope
        chunks = self._tools.read.passages.get(list(dict.fromkeys(ids)))
        hits = []
        for chunk in chunks:
            if not scope.holds(chunk.collection):
                continue
            if not scope.matches(chunk.metadata):
                continue
            hits.append(SearchHit(chunk, found_by=("earlier",)))
        dialogue.found.append(hits)
        turn.found.add(turn.found.unseen([("earlier", hits)], most=len(hits)))


def report_named(name: str, turn: Turn) -> DocumentRecord | None:
    """Return the report in scope whose title, file name, country and edition have all
    words of a name: of several the one with the fewest others, the last by title.
    """
    words = _words_of(name)
    best: DocumentRecord | None = None
    fewest = 0
    for record in turn.catalog.all(turn.question.scope):
        values = " ".join(str(value) for value in record.metadata.values())
        own = _words_of(f"{record.title} {record.name} {values}")
        if not words or not words <= own:
            continue
        if best is None or len(own) <= fewest:
            best = record
            fewest = len(own)
    return best


def _words_of(text: str) -> set[str]:
    return set(WORD_PATTERN.findall(text.casefold()))
