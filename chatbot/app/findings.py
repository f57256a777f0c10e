"""What a check of an installation finds. `doctor` runs the checks, also those of
extras.
"""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """``name`` is stable and machine-readable; ``remedy`` is a command or an action,
    empty if nothing is wrong. `diagnose` adds the area of a check.
    """

    severity: Severity
    area: str
    name: str
    message: str
    remedy: str = ""
