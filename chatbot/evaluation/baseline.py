"""Comparing a run with an earlier one: what fell, and by how much."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import InvalidRequestError, LoadError
from .runner import ABSTENTION, METRICS

Report = Mapping[str, Any]
"""What `evaluate --json` prints."""


def read_baseline(path: Path) -> Report:
    """Raises LoadError: it cannot be read, or was not written by `--save-baseline`."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        named = {row["name"] for row in report["configurations"]}
    except OSError as error:
        raise LoadError(f"{path.name} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise LoadError(f"{path.name} is no baseline. Write one with --save-baseline {path.name}.") from error
    if not named:
        raise LoadError(f"{path.name} has no configurations. Write it anew with --save-baseline {path.name}.")
    found: Report = report
    return found


def fallen(report: Report, baseline: Report, *, tolerance: float) -> list[str]:
    """One sentence for every figure that is worse than in the baseline by more than the tolerance.

    The own configuration is compared with the own one of then, whatever it was; the others by name, where both runs
    have them. A leak more is a leak too many.

    Raises:
        InvalidRequestError: the baseline is of other questions.
    """
    there, here = baseline["configurations"], report["configurations"]
    if (baseline.get("dataset"), there[0].get("questions")) != (report["dataset"], here[0]["questions"]):
        raise InvalidRequestError(
            f"The baseline is of {there[0].get('questions')} questions of {baseline.get('dataset')!r}, this run of "
            f"{here[0]['questions']} of {report['dataset']!r}. Save a new one with --save-baseline."
        )
    by_name = {row["name"]: row for row in there[1:]}
    pairs = [(here[0], there[0])] + [(row, by_name[row["name"]]) for row in here[1:] if row["name"] in by_name]
    return [sentence for now, then in pairs for sentence in _worse(now, then, tolerance)]


def _worse(now: Report, then: Report, tolerance: float) -> Iterator[str]:
    for metric in (*METRICS, *ABSTENTION):
        before, after = then.get(metric), now.get(metric)
        # Rounded as both are: .90 against .89 is no more than .01.
        if before is not None and round(before - (after or 0.0), 4) > tolerance:
            found = "nothing" if after is None else f"{after:.4f}"
            yield f"{now['name']}: {metric} fell from {before:.4f} to {found} (tolerance {tolerance:g})."
    if now["leaks"] > then.get("leaks", 0):
        yield f"{now['name']}: {now['leaks']} hits outside the filter, {then.get('leaks', 0)} in the baseline."
