"""Many questions as one job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

BatchState = Literal["queued", "running", "done", "cancelled"]
ENDED = ("done", "failed", "cancelled")
"""The states of a question that nobody has to ask any more."""


@dataclass(frozen=True, slots=True)
class BatchQuestion:
    """``request``: as `POST /query` takes it; ``number`` from 1. ``worker`` has it in hand until ``until`` (time)."""

    id: str
    batch_id: str
    number: int
    request: dict[str, Any]
    state: str = "queued"
    worker: str = ""
    until: float = 0.0
    tries: int = 0
    answer: dict[str, Any] | None = None
    """The `/query` response as conversations keep it."""
    error: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch; ``detail`` says what it waits for."""

    id: str
    created_at: str
    counts: dict[str, int]
    """Questions by state."""
    cancelled: bool = False
    detail: str = ""

    @property
    def total(self) -> int:
        """The number of its questions."""
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """The number of its questions that are answered, have failed or were cancelled."""
        return sum(self.counts.get(state, 0) for state in ENDED)

    @property
    def state(self) -> BatchState:
        """The state of the whole batch, from those of its questions."""
        if self.cancelled:
            return "cancelled"
        if self.ended == self.total:
            return "done"
        return "running" if self.ended or self.counts.get("running") else "queued"
