"""Ranking metrics with binary relevance. ``ranking`` is best first; ``relevant`` is never empty."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from math import log2


def recall(ranking: Sequence[str], relevant: AbstractSet[str], k: int) -> float:
    """The share of the relevant ids among the first ``k``."""
    return len(set(ranking[:k]) & relevant) / len(relevant)


def reciprocal_rank(ranking: Sequence[str], relevant: AbstractSet[str], k: int) -> float:
    """1 / rank of the first relevant id among the first ``k``, else 0."""
    return next((1 / rank for rank, found in enumerate(ranking[:k], start=1) if found in relevant), 0.0)


def ndcg(ranking: Sequence[str], relevant: AbstractSet[str], k: int) -> float:
    """Normalised discounted cumulative gain over the first ``k`` (Järvelin and Kekäläinen, 2002)."""
    gain = sum(1 / log2(rank + 1) for rank, found in enumerate(ranking[:k], start=1) if found in relevant)
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(relevant)) + 1))
    return gain / ideal
