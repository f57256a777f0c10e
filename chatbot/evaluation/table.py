"""The table of configurations that `evaluate` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .runner import ABSTENTION, METRICS

HEADINGS = {"abstention_precision": "abst. prec", "abstention_recall": "abst. rec"}
LONGEST_NAME = 28


def table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Lines of text: a heading, one line for each configuration, and below it the intervals where it has some."""
    columns = [name for name in (*METRICS, "leaks", *ABSTENTION) if name in rows[0]]
    width = max(LONGEST_NAME, *(len(row["name"]) for row in rows)) + 1
    headings = "".join(f"{HEADINGS.get(column, column):>12}" for column in columns)
    yield f"{'configuration':{width}}{headings}{'ms':>9}{'ms p95':>9}"
    for row in rows:
        values = "".join(f"{_shown(row[column]):>12}" for column in columns)
        yield f"{row['name']:{width}}{values}{row['ms']['total']:>9}{row['ms_p95']['total']:>9}"
        if bounds := row.get("intervals"):
            shown = (f"{low:.3f}-{high:.3f}" for low, high in bounds.values())
            yield f"{'  95 %':{width}}" + "".join(f"{text:>12}" for text in shown)


def stages(row: Mapping[str, Any]) -> str:
    """Where the time of one configuration goes: medians, in milliseconds."""
    spent = ", ".join(f"{name} {ms:g}" for name, ms in row["ms"].items() if name != "total")
    return f"{row['name']}, median milliseconds: {spent}"


def _shown(value: float | None) -> str:
    return "-" if value is None else str(value)
