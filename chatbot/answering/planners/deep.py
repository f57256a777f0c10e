"""Deep search (seed 002, R-C2): sub-questions searched at once, and more questions
until nothing is missing.
"""

from collections.abc import Sequence

from ...domain import SearchHit
from ...language.counts import count_of
from ...models import replies
from ...search.pipeline import Retrieval
from ..tools import Tools
from ..tools.search import (
    Search,
    bullet_list,
    narrowed_search,
    new_questions,
    number_passages,
)
from ..turn import Turn

ADDED_TERMS = 6
"""Terms that a model may add to a question."""
MAX_SUB_QUESTIONS = 4
"""Questions that the first round searches for, as in DeepSearcher."""
MAX_GAP_QUESTIONS = 3
"""Questions that a later round adds, as in DeepSearcher."""
MAX_JUDGED_PASSAGES = 24
"""Passages that one call judges, and so the most that a round brings."""


class Deep:
    """With r rounds at most 2 + 2 r calls of the model, besides repairs. The question
    itself is searched beside its parts. Without a language model: one round, and
    sub-questions by rule.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._round = 0
        self._kept_any = True
        self._queries: Sequence[str] = ()
        self.searched: list[str] = []
        """All that was searched for."""
        self.parts: list[str] = []
        """The sub-questions of the first round."""

    def plan(self, turn: Turn) -> Sequence[Search]:
        rounds = turn.settings.deep_rounds if turn.has_model else 1
        if self._round == rounds or not self._kept_any:
            # Nobody would search for what is missing, or nothing new was found.
            return ()
        self._round += 1
        wanted = self._gaps(turn) if self.searched else self._first_questions(turn)
        self._queries = new_questions(wanted, self.searched)
        if not self._queries:
            return ()
        turn.events.stop_if_cancelled()
        self.searched += self._queries
        count = count_of(len(self._queries), "search")
        turn.events.step("search", f"Round {self._round}: {count} at once")
        return [
            narrowed_search(turn.question, query, turn.catalog)
            for query in self._queries
        ]

    def keep(self, turn: Turn, results: Sequence[Retrieval | None]) -> None:
        found = turn.found
        near: list[tuple[str, Sequence[SearchHit]]] = []
        for query, result in zip(self._queries, results, strict=True):
            if result is None:
                continue
            hits = self._near(turn, query, result.hits)
            before = near[0][1] if near and len(self.parts) > 1 else ()
            near.append((query, self._told_before(turn, query, before) or hits))
        new = found.unseen(near, most=MAX_JUDGED_PASSAGES)
        found.closest += [hit for _, hit in new]
        kept: Sequence[tuple[str, SearchHit]] = new
        if new and turn.has_model:
            kept = self._relevant(turn, new)
        found.add(kept)
        self._kept_any = bool(kept)

    def _first_questions(self, turn: Turn) -> list[str]:
        """Return what the first round searches for."""
        question = turn.question
        self.parts = self._sub_questions(turn)
        if len(self.parts) > 1 and not turn.has_model:
            # The quotations are those of the parts.
            return self.parts
        wanted = [question.search_text, *self.parts]
        if question.expand and turn.has_model:
            terms = self._tools.model.ask(
                turn,
                "expand",
                replies.queries(ADDED_TERMS),
                "No further terms",
                most=str(ADDED_TERMS),
            )
            if terms:
                turn.events.step("expand", "Also searched for", items=terms)
                wanted.append(" ".join([question.search_text, *terms]))
        return wanted

    def _sub_questions(self, turn: Turn) -> list[str]:
        question = turn.question
        parts = sub_questions(self._tools, turn)
        # The question itself is searched anyway.
        parts = new_questions(parts, [question.search_text]) or [question.search_text]
        if parts != [question.search_text]:
            count = count_of(len(parts), "sub-question")
            turn.events.step("plan", count, items=parts)
        return list(parts)

    def _near(
        self, turn: Turn, query: str, hits: Sequence[SearchHit]
    ) -> Sequence[SearchHit]:
        """Return the hits that are not about something else, where no model judges
        them; all with `ON_EMPTY`=relax.
        """
        if turn.has_model or turn.settings.on_empty == "relax":
            return hits
        if turn.judge.verdict(turn.read(query), hits) == "nothing":
            return []
        return [hit for hit in hits if (hit.score or 0.0) >= turn.judge.bounds.floor]

    def _told_before(
        self, turn: Turn, part: str, before: Sequence[SearchHit]
    ) -> Sequence[SearchHit]:
        """Return the passages of the first part of a question where they answer a later
        one, too: who asks "and how many people were served?" goes on about what was
        asked before. Without a model; none where they do not, or where a country says
        where to look.
        """
        if turn.has_model or not before or turn.reading.about:
            return ()
        reading = turn.read(part)
        return before if turn.judge.verdict(reading, before) == "answers" else ()

    def _relevant(
        self, turn: Turn, new: Sequence[tuple[str, SearchHit]]
    ) -> Sequence[tuple[str, SearchHit]]:
        """Return the new hits that the model calls relevant, in one call; all if its
        reply cannot be read (R-C9).
        """
        hits = [hit for _, hit in new]
        chosen = numbers_that_help(self._tools, turn, hits, self.searched)
        if chosen is None:
            return new
        count = count_of(len(new), "passage")
        turn.events.step("relevance", f"{len(chosen)} of {count} help")
        return [new[number - 1] for number in chosen]

    def _gaps(self, turn: Turn) -> Sequence[str]:
        """Return questions for what is still missing; none if the model's reply cannot
        be read.
        """
        tokens = turn.settings.deep_context_tokens
        gaps = gap_questions(self._tools, turn, self.searched, tokens=tokens)
        if gaps is None:
            return []
        text = "Something is missing" if gaps else "The passages are enough"
        turn.events.step("reflect", text, items=gaps)
        return gaps


def sub_questions(tools: Tools, turn: Turn) -> Sequence[str]:
    """Return the model's sub-questions; by rule without a model, or where its reply
    cannot be read.
    """
    parts: Sequence[str] | None = None
    if turn.has_model:
        parts = tools.model.ask(
            turn,
            "plan",
            replies.queries(MAX_SUB_QUESTIONS),
            "Sub-questions by rule",
            most=str(MAX_SUB_QUESTIONS),
        )
    return parts or tools.figures.parts_of(turn, MAX_SUB_QUESTIONS)


def numbers_that_help(
    tools: Tools, turn: Turn, hits: Sequence[SearchHit], queries: Sequence[str]
) -> list[int] | None:
    """Return the numbers, from 1, of the hits that the model calls relevant for the
    queries; None if its reply cannot be read (R-C9).
    """
    chosen = tools.model.ask(
        turn,
        "relevance",
        replies.numbers(len(hits)),
        "All passages are kept",
        passages=number_passages(hits),
        queries=bullet_list(queries),
    )
    if chosen is None:
        return None
    return sorted(chosen)


def gap_questions(
    tools: Tools, turn: Turn, searched: Sequence[str], *, tokens: int | None = None
) -> Sequence[str] | None:
    """Return the model's questions for what is still missing in what was kept, of which
    it is shown ``tokens``, None = all; None if its reply cannot be read.
    """
    return tools.model.ask(
        turn,
        "reflect",
        replies.queries(MAX_GAP_QUESTIONS),
        "No further searches",
        most=str(MAX_GAP_QUESTIONS),
        passages=number_passages(turn.found.hits, tokens=tokens),
        queries=bullet_list(searched),
    )
