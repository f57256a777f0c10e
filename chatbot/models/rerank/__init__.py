"""Rerankers by name: they put search hits in a better order. RERANKER is none unless a preset or setting changes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from math import sqrt

from ...config.registry import Registry
from ...domain import SearchHit
from ...domain.protocols import Reranked, Reranker
from ...domain.request import RequestContext
from ...language import analyzer

RERANKERS: Registry[Reranker] = Registry(
    "reranker",
    {
        "cross_encoder": "chatbot.models.rerank.models:cross_encoder",
        "diversity": "chatbot.models.rerank:diversity",
        "llm": "chatbot.models.rerank.models:llm",
        "mmr": "chatbot.models.rerank:mmr",
        "mongodb": "chatbot.models.rerank.models:mongodb",
        "none": "chatbot.models.rerank:none",
    },
)
"""Each is built by ``build(*, chat_model, language, store)``, with functions that return the model and the store."""


class NoReranker:
    """Implements `protocols.Reranker`: keeps the order and cuts."""

    asks_model = False

    def candidates(self, top_k: int) -> int:
        return top_k

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, request: RequestContext) -> Reranked:
        return Reranked(tuple(hits[:top_k]))


class DiversityReranker:
    """Implements `protocols.Reranker`: one hit for each report in turn, in rank order (seed 001, R-B7).

    So an answer does not rest on one report alone if there are more.
    """

    asks_model = False

    def candidates(self, top_k: int) -> int:
        """Return ten for three, as in the seed, and three times as many as requested beyond."""
        return max(10, 3 * top_k)

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, request: RequestContext) -> Reranked:
        """Put a report's second hit after the first of every other report."""
        groups: dict[str, list[SearchHit]] = {}
        for place, hit in enumerate(hits):
            source = hit.chunk.document_id or f"\0{place}"  # a hit without a report is a group of its own
            groups.setdefault(source, []).append(hit)
        rounds = zip_longest(*groups.values())
        return Reranked(tuple(hit for one in rounds for hit in one if hit is not None)[:top_k])


RELEVANCE = 0.7
"""Weight of relevance against novelty, 0 to 1; 1 changes nothing."""


class MmrReranker:
    """Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998): relevant and not yet said (R-B8).

    Passages are compared by the words that ``terms_of`` returns: no vector leaves the store for it.
    """

    asks_model = False

    def __init__(self, terms_of: Callable[[str], list[str]], *, relevance: float = RELEVANCE) -> None:
        self._terms_of = terms_of
        self._relevance = relevance

    def candidates(self, top_k: int) -> int:
        return 4 * top_k

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, request: RequestContext) -> Reranked:
        """Choose greedily the hit with the highest relevance less its similarity to the hits chosen before."""
        words = [Counter(self._terms_of(hit.chunk.text)) for hit in hits]
        scores = list(map(_ordering_score, hits))
        lowest = min(scores, default=0.0)
        spread = max(scores, default=0.0) - lowest or 1.0
        relevance = [(score - lowest) / spread for score in scores]
        similarity = [0.0] * len(hits)  # the highest one to a chosen hit
        chosen: list[int] = []
        rest = list(range(len(hits)))
        while rest and len(chosen) < top_k:
            gains = {n: self._relevance * relevance[n] - (1 - self._relevance) * similarity[n] for n in rest}
            best = max(rest, key=lambda n: (gains[n], -n))
            chosen.append(best)
            rest.remove(best)
            for n in rest:
                similarity[n] = max(similarity[n], _cosine(words[best], words[n]))
        return Reranked(tuple(hits[n] for n in chosen))


def _ordering_score(hit: SearchHit) -> float:
    scores = (hit.fused_score, hit.score if "vector" in hit.found_by else hit.keyword_score)
    return next((score for score in scores if score is not None), 0.0)


def _cosine(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    shared = sum(count * other[word] for word, count in one.items() if word in other)
    norms = sqrt(sum(c * c for c in one.values()) * sum(c * c for c in other.values()))
    return shared / norms if norms else 0.0


def none(**_: object) -> NoReranker:
    return NoReranker()


def diversity(**_: object) -> DiversityReranker:
    return DiversityReranker()


def mmr(*, language: str, **_: object) -> MmrReranker:
    return MmrReranker(analyzer(language).terms)
