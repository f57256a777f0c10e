"""What two versions of a report, or two editions of it, say differently."""

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "ChangedFigure",
    "ComparedWords",
    "StatedFigure",
    "TextDifference",
    "TextDifferences",
]


@dataclass(frozen=True, slots=True)
class StatedFigure:
    """A figure as a report writes it, several as one text; ``year``: the figure's
    own.
    """

    text: str
    year: int | None


@dataclass(frozen=True, slots=True)
class ChangedFigure:
    """``old`` or ``new`` is None where that report has no such figure. ``subject``: ""
    is the whole report.
    """

    subject: str
    indicator: str
    old: StatedFigure | None
    new: StatedFigure | None


@dataclass(frozen=True, slots=True)
class ComparedWords:
    """Words of a passage: in both versions, in the older, or in the newer one."""

    kind: Literal["same", "removed", "added"]
    text: str


@dataclass(frozen=True, slots=True)
class TextDifference:
    """A sentence or line that was changed, removed or added. ``section`` and ``page``:
    where it stands in the newer version, else in the older one.
    """

    section: str
    page: int | None
    pieces: tuple[ComparedWords, ...]


@dataclass(frozen=True, slots=True)
class TextDifferences:
    """``total``: the number of all, of which ``passages`` has the first in reading
    order. ``at``: the time of the replacement as ISO text, "" before it.
    """

    total: int = 0
    passages: tuple[TextDifference, ...] = ()
    at: str = ""
