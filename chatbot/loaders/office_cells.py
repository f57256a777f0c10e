"""Cells of a workbook to texts, as a person sees them."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from typing import Any

_PERCENT = re.compile(r"0(?:\.(0+))?\s*%")
_QUOTED = re.compile(r'"[^"]*"|\\.')


def cell_text(cell: Any) -> str:
    """The text of a cell; "" for an empty one, an error such as ``#REF!`` and a formula without a stored result."""
    value = cell.value
    if value is None or cell.data_type == "e":
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return _number_text(value, cell.number_format or "")
    if isinstance(value, datetime | date | time | timedelta):
        return _time_text(value)
    return " ".join(str(value).split())


def _number_text(value: float, number_format: str) -> str:
    if match := _PERCENT.search(_QUOTED.sub("", number_format)):
        return f"{value * 100:.{len(match[1] or '')}f}%"
    if isinstance(value, int) or value.is_integer():
        return str(int(value))
    return f"{value:.15g}"  # what Excel keeps: .1 + .2 is .3 there


def _time_text(value: datetime | date | time | timedelta) -> str:
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ", timespec="minutes")
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"
    return value.isoformat()
