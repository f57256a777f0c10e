"""Merging two rankings: pure functions over scores by chunk id."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def z_scores(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores as standard deviations from their mean; all equal (or one) gives 0."""
    if not scores:
        return {}
    values = np.fromiter(scores.values(), dtype=np.float64)
    deviation = float(values.std()) or 1.0
    return {key: (score - float(values.mean())) / deviation for key, score in scores.items()}


def weighted_sum(
    vector: Mapping[str, float], keyword: Mapping[str, float], *, vector_weight: float
) -> dict[str, float]:
    """Convex combination (Bruch et al., arXiv 2210.11934); both mappings hold every candidate."""
    return {key: vector_weight * vector[key] + (1 - vector_weight) * keyword[key] for key in vector}
