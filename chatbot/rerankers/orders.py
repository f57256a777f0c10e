"""Rerankers that ask no model: none, diversity and MMR."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import sqrt

from ..protocols import Reranked
from ..request import RequestContext
from ..schema import SearchHit
from ..text import analyzer


class NoReranker:
    """Implements `protocols.Reranker`: cuts, and orders nothing."""

    asks_model = False

    def candidates(self, top_k: int) -> int:
        """Just as many hits as are wanted."""
        return top_k

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, request: RequestContext) -> Reranked:
        """The first ``top_k`` hits, in their order."""
        return Reranked(tuple(hits[:top_k]))


FETCHED = 10
"""Hits to choose three from, as in the seed; more are asked for where more are wanted."""
FETCHED_PER_REPORT = 3


class DiversityReranker:
    """One hit per source and round (seed 001, R-B7): an answer does not stand on one report alone where there are more.

    Groups the hits by document, in rank order, and takes one of each group in turn.
    """

    asks_model = False

    def candidates(self, top_k: int) -> int:
        """Ten, or three times as many as are wanted."""
        return max(FETCHED, FETCHED_PER_REPORT * top_k)

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, request: RequestContext) -> Reranked:
        """A source's second hit comes after the first of every other source."""
        groups: dict[str, list[SearchHit]] = {}
        for number, hit in enumerate(hits):
            # Without a source a hit is a group of its own; the number tells it apart from the others of that kind.
            source = hit.chunk.document_id or f"\0{number}"
            groups.setdefault(source, []).append(hit)
        longest = max(map(len, groups.values()), default=0)
        in_turn = [own[turn] for turn in range(longest) for own in groups.values() if turn < len(own)]
        return Reranked(tuple(in_turn[:top_k]))


RELEVANCE = 0.7
"""Against novelty, 0 to 1; 1 changes nothing."""
FETCHED_PER_NEW = 4


class MmrReranker:
    """Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998): what is relevant and not yet said (R-B8).

    ``terms_of`` gives the words by which passages are compared; no vector leaves the store for it.
    """

    asks_model = False

    def __init__(self, terms_of: Callable[[str], list[str]], *, relevance: float = RELEVANCE) -> None:
        self._terms_of = terms_of
        self._relevance = relevance

    def candidates(self, top_k: int) -> int:
        """Four times as many as are wanted."""
        return FETCHED_PER_NEW * top_k

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, request: RequestContext) -> Reranked:
        """Greedy: each next hit gains most by its relevance and its unlikeness to those chosen before."""
        words = [Counter(self._terms_of(hit.chunk.text)) for hit in hits]
        relevance = _scaled(hits)
        said = [0.0] * len(hits)  # the greatest likeness to what is chosen already
        chosen: list[int] = []
        left = list(range(len(hits)))
        while left and len(chosen) < top_k:
            gains = {n: self._relevance * relevance[n] - (1 - self._relevance) * said[n] for n in left}
            best = max(left, key=lambda n: (gains[n], -n))
            chosen.append(best)
            left.remove(best)
            for n in left:
                said[n] = max(said[n], _cosine(words[best], words[n]))
        return Reranked(tuple(hits[n] for n in chosen))


def _scaled(hits: Sequence[SearchHit]) -> list[float]:
    """How relevant each hit is among them, 0 to 1, by the score that ordered them."""
    scores = [_ordering_score(hit) for hit in hits]
    lowest = min(scores, default=0.0)
    spread = max(scores, default=0.0) - lowest or 1.0
    return [(score - lowest) / spread for score in scores]


def _ordering_score(hit: SearchHit) -> float:
    found = (hit.fused_score, hit.score if "vector" in hit.found_by else hit.keyword_score)
    return next((score for score in found if score is not None), 0.0)


def _cosine(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    shared = sum(count * other[word] for word, count in one.items() if word in other)
    norms = sqrt(sum(c * c for c in one.values()) * sum(c * c for c in other.values()))
    return shared / norms if norms else 0.0


def none(**given: object) -> NoReranker:
    """Build the reranker that changes nothing; it needs none of what builders are given."""
    return NoReranker()


def diversity(**given: object) -> DiversityReranker:
    """Build `DiversityReranker`; it needs none of what builders are given."""
    return DiversityReranker()


def mmr(*, language: str, **given: object) -> MmrReranker:
    """``language`` says which words count, and as the same."""
    return MmrReranker(analyzer(language).terms)
