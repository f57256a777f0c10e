"""Seed 002's agents to the letter (R-C2 to R-C4): what PRESET=deep searches for. The
modes of the same names search for the question beside its parts, narrow each part to
what it names, and judge a round in one call.
"""

from collections.abc import Sequence

from ...checking.wording import without_numbers
from ...domain import SearchHit
from ...models.replies import follow_up, numbers, prose
from ...search.pipeline import Retrieval
from ..tools import Tools
from ..tools.search import Search, new_questions, number_passages
from ..turn import Turn
from .chain import Chain
from .deep import gap_questions, numbers_that_help, sub_questions

KEPT = "kept"
"""The name under which all passages are kept, in the order in which they were found."""


def search_for(turn: Turn, query: str) -> Search:
    """Return the search for a query in the whole scope of the question."""
    return Search(query, query, turn.question.scope, turn.question.top_k)


def keep_new(turn: Turn, hits: Sequence[SearchHit]) -> bool:
    """Keep the hits that are new; return whether there was one."""
    known = {hit.chunk.id for hit in turn.found.of(KEPT)}
    new = {hit.chunk.id: hit for hit in hits if hit.chunk.id not in known}
    turn.found.add_all(KEPT, new.values())
    return bool(new)


class SubQuestions:
    """DeepSearcher: sub-questions, each with a call that says which passages help;
    then what is missing, until nothing is.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._round = 0
        self._is_complete = False
        self._queries: Sequence[str] = ()
        self.searched: list[str] = []
        """All that was searched for."""

    def plan(self, turn: Turn) -> Sequence[Search]:
        rounds = turn.settings.deep_rounds if turn.has_model else 1
        if self._round == rounds or self._is_complete:
            return ()
        self._round += 1
        wanted = self._gaps(turn) if self.searched else self._sub_questions(turn)
        self._queries = new_questions(wanted, self.searched)
        self.searched += self._queries
        return [search_for(turn, query) for query in self._queries]

    def keep(self, turn: Turn, results: Sequence[Retrieval | None]) -> None:
        kept: list[SearchHit] = []
        for query, result in zip(self._queries, results, strict=True):
            if result is not None:
                kept += self._relevant(turn, query, result.hits)
        self._is_complete = not keep_new(turn, kept)

    def _sub_questions(self, turn: Turn) -> Sequence[str]:
        parts = sub_questions(self._tools, turn)
        turn.events.step("plan", items=parts)
        return parts

    def _relevant(
        self, turn: Turn, query: str, hits: Sequence[SearchHit]
    ) -> Sequence[SearchHit]:
        """Return the hits that the model calls relevant for a query; all if its reply
        cannot be read (R-C9).
        """
        if not hits or not turn.has_model:
            return hits
        others = [other for other in self._queries if other != query]
        queries = [query, *others]
        chosen = numbers_that_help(self._tools, turn, hits, queries)
        if chosen is None:
            return hits
        return [hits[number - 1] for number in chosen]

    def _gaps(self, turn: Turn) -> Sequence[str]:
        gaps = gap_questions(self._tools, turn, self.searched)
        turn.events.step("reflect", items=gaps or ())
        return gaps or ()


class ChainOfRag(Chain):
    """Chain of RAG: a question that follows from the answers so far, a short answer,
    and a call that says which passages support it.
    """

    def plan(self, turn: Turn) -> Sequence[Search]:
        if self._rounds == turn.settings.chain_rounds:
            return ()
        self._rounds += 1
        question = self._tools.model.ask(
            turn, "follow_up", follow_up(), "No further questions", so_far=self.so_far
        )
        if not question:
            return ()
        self._query = question
        turn.events.step("follow_up", question)
        return [search_for(turn, question)]

    def keep(self, turn: Turn, results: Sequence[Retrieval | None]) -> None:
        [result] = results
        hits = result.hits if result else ()
        passages = number_passages(hits)
        answer = self._tools.model.ask(
            turn,
            "intermediate",
            prose(),
            "All passages are kept",
            passages=passages,
            question=self._query,
        )
        # Its citations are numbers of this round alone.
        short = " ".join(without_numbers(answer or "").split())
        self._links.append((self._query, short))
        supporting = self._tools.model.ask(
            turn,
            "supported",
            numbers(len(hits)),
            "All passages are kept",
            passages=passages,
            question=self._query,
            answer=short,
        )
        if supporting is not None:
            hits = tuple(hits[number - 1] for number in sorted(supporting))
        turn.events.step("intermediate", answer or "", hits=hits)
        keep_new(turn, hits)
