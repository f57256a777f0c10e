"""Rerankers by name: they put search hits in a better order. RERANKER is none unless a
preset or setting changes it.
"""

from collections.abc import Sequence
from itertools import zip_longest

from ...domain import SearchHit
from ...domain.protocols import Reranked, Reranker
from ...domain.registry import Registry
from ...domain.request import RequestContext

RERANKERS: Registry[Reranker] = Registry(
    "reranker",
    {
        "diversity": "chatbot.models.rerank:DiversityReranker",
        "none": "chatbot.models.rerank:NoReranker",
    },
    group="rerankers",
)
"""Each is built with ``chat_model``, ``language`` and ``store``. The first and the last
are functions that return them, because the model and the store may be set up later. The
extra rerankers has more.
"""


class NoReranker:
    """Implements `protocols.Reranker`: keeps the order and cuts."""

    def __init__(self, **_: object) -> None:
        """Accept and ignore what other rerankers need."""

    def candidates(self, top_k: int) -> int:
        return top_k

    def rerank(
        self,
        query: str,
        hits: Sequence[SearchHit],
        *,
        top_k: int,
        request: RequestContext,
    ) -> Reranked:
        return Reranked(tuple(hits[:top_k]))


class DiversityReranker(NoReranker):
    """Implements `protocols.Reranker`: one hit for each report in turn, in rank order
    (seed 001, R-B7). So an answer does not rest on one report alone if there are more.
    """

    def candidates(self, top_k: int) -> int:
        """Return ten for three, as in the seed, and three times as many as requested
        beyond.
        """
        return max(10, 3 * top_k)

    def rerank(
        self,
        query: str,
        hits: Sequence[SearchHit],
        *,
        top_k: int,
        request: RequestContext,
    ) -> Reranked:
        """Put a report's second hit after the first of every other report."""
        groups: dict[str, list[SearchHit]] = {}
        for place, hit in enumerate(hits):
            source = (
                hit.chunk.document_id or f"\0{place}"
            )  # a hit without a report is a group of its own
            groups.setdefault(source, []).append(hit)
        rounds = zip_longest(*groups.values())
        return Reranked(
            tuple(hit for one in rounds for hit in one if hit is not None)[:top_k]
        )
