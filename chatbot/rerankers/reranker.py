"""What a reranker decides: the order of the hits that are left after threshold and fusion (R-B7, R-B8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..cancellation import Cancellation
from ..schema import SearchHit, Usage


@dataclass(frozen=True, slots=True)
class Reranked:
    """At most top_k of the hits, best first, and what it cost. Scores and ranks are as they came."""

    hits: tuple[SearchHit, ...]
    usage: Usage = field(default_factory=Usage)


class Reranker(Protocol):
    def candidates(self, top_k: int) -> int:
        """How many hits to be given for ``top_k`` of them; never fewer."""

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, cancel: Cancellation) -> Reranked:
        """``hits`` are best first. Raises DependencyError where a model behind it failed."""
