"""What the scores of an embedding model mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """What goes wrong with one value, as a floor and as a threshold; each from 0 to 1."""

    value: float
    refused: float
    """Questions the reports answer whose best passage is below it."""
    accepted: float
    """Questions about something else whose best passage is not below it."""
    cut: float
    """Passages with the answer that are not above it."""
    kept: float
    """Passages about something else that are above it."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A relevance floor and a threshold for one embedding model, and the errors they imply."""

    model_id: str
    floor: float
    threshold: float
    origin: Literal["measured", "published"]
    dataset: str
    date: str
    pairs: Mapping[str, int] = field(default_factory=dict)
    """How many scores of each kind it stands on."""
    errors: tuple[ErrorRates, ...] = ()
