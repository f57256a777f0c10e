"""Searches the reports for one question, several searches at the same time (R-C10)."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from ...database.core import begin_request
from ...domain import Passage, Question, RequestContext, Scope, SearchHit, Usage
from ...domain.chat import StepTiming
from ...domain.errors import BudgetExhaustedError, ChatbotError, SearchEngineError
from ...domain.protocols import Catalog, Passages
from ...language.analysis import Analyzer
from ...language.counts import estimate_tokens
from ...models.rerank import NoReranker
from ...questions.reading import COUNTRY, read_names, values_of
from ...search.pipeline import Retrieval, Retriever, without_summaries
from ...search.scope import describe
from ...search.subjects import everything_asked, suggest_scope
from ..budget import (
    EXPLORING_SHARE,
    Allowance,
    SecondsUsedUpError,
)
from ..context import render_passage
from ..turn import Turn
from .attachments import AttachmentTool
from .parallel import Outcome, in_parallel

SEARCH_THREADS = 8
"""Searches of one question at the same time: as many as a planner makes in a round."""


@dataclass(frozen=True, slots=True)
class Search:
    """A query with its scope. ``label`` names it in the steps.

    ``is_alone``: the only search of its question, whose failure is the question's.
    """

    label: str
    query: str
    scope: Scope
    top_k: int
    is_alone: bool = False
    page: int | None = None
    """Only passages of this page, where the question names none."""


@dataclass(frozen=True, slots=True)
class SearchTool:
    """Searches as a question is asked to: with its method, settings and page."""

    retriever: Retriever
    store: Passages
    analyzer: Analyzer
    attachments: AttachmentTool

    def run(self, turn: Turn, searches: Sequence[Search]) -> list[Retrieval | None]:
        """Run these searches; None for each that failed or was too slow, which the
        path names.

        Raises:
            DependencyError: all of them failed, and no search has worked before.
        """
        if turn.question.attachments and turn.settings.plain:
            return [self.attachments.search(turn, one.query) for one in searches]
        if len(searches) == 1 and searches[0].is_alone:
            return [self._alone(turn, searches[0])]
        return self._at_once(turn, searches)

    def find(
        self, query: str, *, top_k: int, scope: Scope, method: str
    ) -> Sequence[SearchHit]:
        """Return the passages nearest to a query, for a program that asks for nothing
        else. Raises DependencyError.
        """
        found = self.retriever.retrieve(query, top_k=top_k, scope=scope, method=method)
        return found.hits

    def retrieve(
        self,
        turn: Turn,
        search: Search,
        allowance: Allowance,
        request: RequestContext,
    ) -> Retrieval:
        """Search in this thread; a reranker's calls are taken from ``allowance``.

        Without tokens for a reranker it is left out, once the model has been asked for
        something.

        Raises:
            DependencyError: the search failed.
            BudgetExhaustedError: the day's tokens were used up before this question
                began.
        """
        question = turn.question
        reading = question.reading if search.query == question.search_text else None
        retrieve = partial(
            self.retriever.retrieve,
            search.query,
            top_k=search.top_k,
            scope=search.scope,
            method=question.retrieval_method,
            settings=turn.settings,
            page=question.page or search.page,
            general=search.scope == question.scope,
            reading=reading,
            request=replace(request, may_call=allowance.take),
        )
        try:
            result = retrieve()
        except BudgetExhaustedError:
            if not turn.limits.spending.usage.calls:
                raise
            result = retrieve(reranker=NoReranker())
        if turn.settings.plain:
            return result
        hits = without_summaries(
            result.hits,
            search.query,
            self.store,
            self.analyzer,
            top_k=search.top_k,
        )
        return replace(result, hits=hits)

    def try_out(self, turn: Turn, search: Search) -> Retrieval | None:
        """Search in this thread, for what may be asked: the trace does not name it, and
        the same search is not run again. None where the seconds were used up. Raises
        DependencyError.
        """
        retrieval = self._within_limits(turn, search)
        if retrieval is not None:
            turn.tried[search] = retrieval
        return retrieval

    def _alone(self, turn: Turn, search: Search) -> Retrieval | None:
        """Search in this thread; None where the seconds were used up. Raises
        DependencyError.
        """
        retrieval = turn.tried.get(search) or self._within_limits(turn, search)
        if retrieval is not None:
            turn.note(retrieval)
        return retrieval

    def _within_limits(self, turn: Turn, search: Search) -> Retrieval | None:
        limits = turn.limits
        allowance = Allowance(limits.spending)
        retrieval: Retrieval | None = None
        with suppress(SecondsUsedUpError), limits.limited() as limited:
            retrieval = self.retrieve(turn, search, allowance, limited)
        limits.note_time(limited)
        if retrieval is None:
            return None
        allowance.settle(*retrieval.steps)
        if allowance.refused:
            limits.stop("calls")
        return retrieval

    def _at_once(
        self, turn: Turn, searches: Sequence[Search]
    ) -> list[Retrieval | None]:
        limits = turn.limits
        limits.share = EXPLORING_SHARE
        left = limits.spending.seconds_left(limits.share)
        if left is not None and left <= 0:
            limits.stop("seconds")
            return [None] * len(searches)
        most = turn.settings.search_seconds
        seconds = most if left is None else min(most, left)
        round_of = _Round(turn, searches, seconds)

        def retrieve(
            search: Search, allowance: Allowance, request: RequestContext
        ) -> Retrieval:
            # A question may search in many rounds; SEARCH_SECONDS limits each.
            begin_request()
            return self.retrieve(turn, search, allowance, request)

        work = [
            partial(retrieve, search, allowance)
            for search, allowance in zip(searches, round_of.allowances, strict=True)
        ]
        for index, outcome in in_parallel(
            work, threads=SEARCH_THREADS, request=turn.request, seconds=seconds
        ):
            round_of.settle(index, outcome)
        turn.events.stop_if_cancelled()
        round_of.end(ends_question=seconds < most)
        return round_of.results


class _Round:
    """The searches of one round, and what became of each."""

    def __init__(self, turn: Turn, searches: Sequence[Search], seconds: float) -> None:
        self.results: list[Retrieval | None] = [None] * len(searches)
        self.allowances = [Allowance(turn.limits.spending) for _ in searches]
        self._turn = turn
        self._searches = searches
        self._seconds = seconds
        self._started = time.perf_counter()
        self._failures: list[ChatbotError | None] = []

    def settle(self, index: int, outcome: Outcome[Retrieval]) -> None:
        """Note how a search ended, and say so."""
        label = self._searches[index].label
        allowance = self.allowances[index]
        if isinstance(outcome, Retrieval):
            self.results[index] = outcome
            self._turn.note(outcome)
            allowance.settle(*outcome.steps)
            self._turn.events.step("found", label, hits=outcome.hits)
            return
        self._failures.append(outcome)
        if allowance.taken:
            # Their tokens are unknown.
            usage = Usage(calls=allowance.taken, failed_calls=allowance.taken)
            allowance.settle(StepTiming.since("rerank", self._started, usage))
        why = f"No answer within {round(self._seconds, 1):g} s."
        if outcome is not None:
            why = outcome.message
        self._turn.events.step("found", f"{label}: {why}", failed=True)

    def end(self, *, ends_question: bool) -> None:
        """Say which limits were reached. ``ends_question``: the time for this round was
        what was left of the question's.

        Raises:
            DependencyError: all searches failed, and none of an earlier round worked.
        """
        turn = self._turn
        if any(allowance.refused for allowance in self.allowances):
            turn.limits.stop("calls")
        all_failed = len(self._failures) == len(self._searches)
        if ends_question and None in self._failures:
            turn.limits.stop("seconds")
        elif self._failures and all_failed and not turn.has_searched:
            raise self._failure()
        turn.has_searched = turn.has_searched or not all_failed

    def _failure(self) -> ChatbotError:
        """Return the first error; where there is none, that all were too slow."""
        for failure in self._failures:
            if failure is not None:
                return failure
        slow = f"The search did not answer within {round(self._seconds, 1):g} s."
        return SearchEngineError(slow, remedy="Raise SEARCH_SECONDS.", retry_after=5)


def narrowed_search(question: Question, query: str, catalog: Catalog) -> Search:
    """Search under the countries and editions that the query is about, inside the
    question's scope. The whole question stays in all of that where it names a country
    besides: one of its parts may be about it. A part that is about a country outside of
    a scope that nobody chose leaves it.
    """
    scope, is_whole = question.scope, query == question.search_text
    if is_whole:
        reading = question.reading or read_names(query, catalog, scope)
        if len(reading.about) < len(reading.countries):
            return Search(query, query, scope, question.top_k)
    else:
        chosen = scope if question.chosen_scope is None else question.chosen_scope
        reading, countries = read_names(query, catalog, chosen), scope.get(COUNTRY)
        if countries is not None and not all(
            map(countries.matches, values_of(reading.about, catalog))
        ):
            scope = chosen
    inside = (
        suggest_scope(everything_asked(reading, scope, catalog), scope, catalog)
        or scope
    )
    label = query if inside == scope else f"{query} ({describe(inside.within(()))})"
    return Search(label, query, inside, question.top_k)


def new_questions(candidates: Sequence[str], earlier: Sequence[str]) -> list[str]:
    """The candidates that are not among the earlier questions, each once. Case, spacing
    and end marks do not matter.
    """
    keys = [
        " ".join(query.casefold().split()).rstrip("?.! ")
        for query in [*earlier, *candidates]
    ]
    return [
        query
        for place, query in enumerate(candidates, start=len(earlier))
        if keys[place] not in keys[:place]
    ]


def number_passages(hits: Sequence[SearchHit], *, tokens: int | None = None) -> str:
    """The passages as a planning prompt has them, numbered from 1; as many as fit
    ``tokens``, at least one.
    """
    shown: list[str] = []
    left = tokens
    for number, hit in enumerate(hits, start=1):
        text = render_passage(Passage(number, hit, hit.chunk.text))
        if left is not None:
            left -= estimate_tokens(text)
            if left < 0 and shown:
                break
        shown.append(text)
    return "\n\n".join(shown)


def bullet_list(queries: Sequence[str]) -> str:
    """Queries as a bulleted list, for a prompt."""
    return "\n".join(f"- {query}" for query in queries)
