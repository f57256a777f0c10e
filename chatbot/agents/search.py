"""One search among several."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ..cancellation import Cancellation, breakable
from ..errors import BudgetExhaustedError, SearchEngineError
from ..rerankers.none import NoReranker
from ..rerankers.reranker import calls_allowed_by
from ..retrieval.pipeline import Retrieval
from ..schema import Question, Scope
from .parts import Parts
from .spending import Claim, Spending


@dataclass(frozen=True, slots=True)
class Search:
    """``label`` is what the person reads of it."""

    label: str
    query: str
    scope: Scope
    top_k: int


def retrieved(
    parts: Parts, question: Question, search: Search, spending: Spending, claim: Claim, cancel: Cancellation
) -> Retrieval:
    """In this thread; the calls of a reranker are taken from ``claim``.

    A reranker that the day's tokens end for is left out, once the model was asked for something.

    Raises:
        DependencyError: it failed.
        BudgetExhaustedError: the day's tokens were used up before this question began.
    """
    retrieve = partial(
        parts.retriever.retrieve,
        search.query,
        top_k=search.top_k,
        scope=search.scope,
        method=question.retrieval_method,
        page=question.page,
        reranker=None if question.cache else parts.uncached_reranker(),
        cancel=cancel,
    )
    with breakable(cancel), calls_allowed_by(claim.take):
        try:
            return retrieve()
        except BudgetExhaustedError:
            if not spending.usage_so_far.calls:
                raise
            return retrieve(reranker=NoReranker())


def too_slow(seconds: float) -> SearchEngineError:
    return SearchEngineError(
        f"The search did not answer within {round(seconds, 1):g} s.", remedy="Raise SEARCH_SECONDS.", retry_after=5
    )
