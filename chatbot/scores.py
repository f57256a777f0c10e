"""Scores on one scale, and scores of different searches made comparable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ScoreArray = NDArray[np.float64]


def standard(values: ScoreArray) -> ScoreArray:
    """Z-scores: each value as its distance from the mean, in standard deviations; all 0 where they are equal."""
    z_scores: ScoreArray = (values - values.mean()) / (values.std() or 1.0)
    return z_scores


def to_score(cosine: float) -> float:
    """A cosine as the Atlas `vectorSearchScore`, (1 + cosine) / 2; rounding never takes it outside [0, 1]."""
    return min(1.0, max(0.0, (1.0 + float(cosine)) / 2.0))
