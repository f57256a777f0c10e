"""`Sums` as counters of a row: added atomically, whoever else adds at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from ..schema import LedgerRow, Usage
from ..schema.sums import StageSums, Sums, added_up

PREFIX = "stages:"
"""Of a stage's counters. No dots: the embedded database takes them literally in an upsert, and beyond 64 fields."""
_USAGE = tuple(part.name for part in fields(Usage))
_STAGE_FIELDS = tuple(part.name for part in fields(StageSums) if part.name != "stage")


def increments(sums: Sums) -> dict[str, Any]:
    """For `$inc`: what is not zero."""
    own = {"questions": sums.questions, "cost": sums.cost, "unpriced_tokens": sums.unpriced_tokens}
    return {name: value for name, value in {**own, **asdict(sums.usage)}.items() if value}


def stage_increments(row: LedgerRow) -> dict[str, Any]:
    """The same for one stage of an answer."""
    usage = row.usage
    found = StageSums(row.stage, row.runs, usage.calls, usage.tokens, usage.embedding_tokens, row.ms)
    values = {name: getattr(found, name) for name in _STAGE_FIELDS}
    return {f"{PREFIX}{row.stage}:{name}": value for name, value in values.items() if value}


def read_sums(row: Mapping[str, Any]) -> Sums:
    """What a row has been increased by; a counter that is not there is 0."""
    usage = Usage(**{name: int(row.get(name, 0)) for name in _USAGE})
    cost = round(float(row.get("cost", 0.0)), 10)
    return Sums(int(row.get("questions", 0)), usage, cost, int(row.get("unpriced_tokens", 0)))


def read_stages(row: Mapping[str, Any]) -> tuple[StageSums, ...]:
    """The stages of a row, the longest first."""
    found: dict[str, dict[str, Any]] = {}
    for name, value in row.items():
        if name.startswith(PREFIX):
            stage, _, part = name.removeprefix(PREFIX).rpartition(":")
            found.setdefault(stage, {})[part] = round(value, 2)
    return added_up(StageSums(stage, **values) for stage, values in found.items())
