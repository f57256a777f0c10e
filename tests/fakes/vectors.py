"""Vectors that no model has to make."""

import numpy as np

from chatbot.domain.documents import Matrix


def vectors(count: int, seed: int = 0, dimensions: int = 8) -> Matrix:
    """Random unit rows, the same for the same arguments."""
    rows = (
        np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    )
    return np.asarray(
        rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32
    )
