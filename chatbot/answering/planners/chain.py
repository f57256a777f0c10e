"""Chain of RAG (seed 002, R-C3): simple questions one after the other, each based on
the earlier answers.
"""

from collections.abc import Sequence

from ...checking.wording import cited_numbers, without_numbers
from ...domain import SearchHit
from ...models.replies import follow_up, prose
from ...search.pipeline import Retrieval
from ..tools import Tools
from ..tools.search import Search, narrowed_search, new_questions, number_passages
from ..turn import Turn

NOT_FOUND = "not found"


class Chain:
    """Asks until the model says that it is enough or repeats a question, or the rounds
    or the budget are used up.

    Two calls a round, besides repairs. The seed asks a third time which passages
    support the short answer; here it cites them.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._query = ""
        self._rounds = 0
        self._links: list[tuple[str, str]] = []
        """The questions of the chain, each with its short answer."""

    @property
    def so_far(self) -> str:
        """The chain so far, for a prompt."""
        return chain_so_far(self._links)

    def plan(self, turn: Turn) -> Sequence[Search]:
        if self._rounds == turn.settings.chain_rounds:
            return ()
        self._rounds += 1
        otherwise = "The question itself is asked"
        if self._links:
            otherwise = "No further questions"
        question = self._tools.model.ask(
            turn, "follow_up", follow_up(), otherwise, so_far=self.so_far
        )
        if self._links and not question:
            return ()
        # Without a readable first question, the question itself is asked.
        self._query = question or turn.question.search_text
        asked = [query for query, _ in self._links]
        if not new_questions([self._query], asked):
            return ()
        turn.events.step("follow_up", self._query)
        return [narrowed_search(turn.question, self._query, turn.catalog)]

    def keep(self, turn: Turn, results: Sequence[Retrieval | None]) -> None:
        [result] = results
        if result is None:
            self._links.append((self._query, ""))
            return
        hits = result.hits
        turn.found.closest += hits
        if not hits:
            self._links.append((self._query, "Not found."))
            return
        short, supporting = self._short_answer(turn, hits)
        self._links.append((self._query, short))
        found = [(self._query, supporting)]
        new = turn.found.unseen(found, most=len(supporting))
        turn.found.add((self._query, hit) for _, hit in new)

    def _short_answer(
        self, turn: Turn, hits: Sequence[SearchHit]
    ) -> tuple[str, Sequence[SearchHit]]:
        """Return the model's short answer, "" without one, and the passages that
        support it: all where it cites none.
        """
        short = self._tools.model.ask(
            turn,
            "intermediate",
            prose(),
            "All passages are kept",
            passages=number_passages(hits),
            question=self._query,
        )
        if short is None:
            return "", hits
        if short.casefold().lstrip("*_\"' ").startswith(NOT_FOUND):
            turn.events.step("intermediate", "Not found.")
            return "Not found.", ()
        supporting = [
            hits[number - 1]
            for number in cited_numbers(short)
            if 1 <= number <= len(hits)
        ]
        turn.events.step("intermediate", short, hits=supporting)
        return short, supporting or hits


def chain_so_far(links: Sequence[tuple[str, str]]) -> str:
    """Return questions and short answers for a prompt, without citations: their numbers
    were those of a single round.
    """
    lines: list[str] = []
    for query, answer in links:
        short = " ".join(without_numbers(answer).split())
        lines.append(f"- {query}")
        lines.append(f"  {short or 'Unknown.'}")
    return "\n".join(lines) or "Nothing yet."
