"""Ranking metrics with binary relevance. ``ranking`` is best first; ``relevant`` is never empty."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from math import log2

import numpy as np

RESAMPLES = 2000
SEED = 7
"""Fixed: the same figures give the same interval."""


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


def precision_recall(verdicts: Sequence[tuple[bool, bool]]) -> tuple[float | None, float | None]:
    """Precision and recall of ``(said, true)``; None where nothing was said, or nothing is true."""
    right = sum(said and true for said, true in verdicts)
    said_at_all = sum(said for said, _ in verdicts)
    true_at_all = sum(true for _, true in verdicts)
    return right / said_at_all if said_at_all else None, right / true_at_all if true_at_all else None


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % bootstrap interval of a mean (percentiles of resampled means): how far another draw may lie."""
    sample = np.asarray(values, dtype=np.float64)
    picks = np.random.default_rng(SEED).integers(0, len(sample), size=(RESAMPLES, len(sample)))
    low, high = np.percentile(sample[picks].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)
