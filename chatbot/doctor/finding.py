"""One thing the doctor found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """``name`` is stable and machine-readable; ``remedy`` is a command or an action, empty where nothing is wrong."""

    severity: Severity
    area: str
    name: str
    message: str
    remedy: str = ""
