"""Relevance floors by embedding model: the best score below which nothing found is about the question."""

from __future__ import annotations

FLOORS: dict[str, float] = {"minilm:all-minilm-l6-v2-int8": 0.6}
"""Measured with `benchmarks/relevance_floor.py`; a model that is not listed has no floor."""


def relevance_floor(setting: float | str, model_id: str) -> float:
    """The floor to use: the setting, or for ``auto`` the calibrated one; 0 = no floor."""
    return FLOORS.get(model_id, 0.0) if isinstance(setting, str) else setting
