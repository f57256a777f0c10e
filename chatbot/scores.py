"""Making scores of different searches comparable. Their common scale is described in `chatbot.schema`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ScoreArray = NDArray[np.float64]


def standard(values: ScoreArray) -> ScoreArray:
    """Z-scores: each value as its distance from the mean, in standard deviations; all 0 where they are equal."""
    z_scores: ScoreArray = (values - values.mean()) / (values.std() or 1.0)
    return z_scores
