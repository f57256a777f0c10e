"""What a question wants computed from the cells of a sheet, in the five languages of
the page. Which cells are meant is the business of `answering/sheet_sums.py`.
"""

import re
from dataclasses import dataclass
from typing import Literal

from .english import pattern, words

__all__ = [
    "HAPPENS_WORDS",
    "Computation",
    "begins_span",
    "joins_names",
    "read_computations",
    "without_computations",
]

ComputationKind = Literal[
    "unknown", "change", "ratio", "share", "per", "difference", "mean", "sum"
]
HAPPENS_WORDS = words("happens_words")
"""Verbs that say nothing of what is counted."""
_PER_CENT = pattern(r"\b{per_cent_of_sheets}(?!\w)|%")
_BY_HOW_MUCH = pattern(r"\b{by_how_much}\b|%")
_SINCE = pattern(r"\b{since_of_sheets}\W*(?:the\W*)?$")
_JOINS = pattern(
    r"^\W*(?:{and_of_sheets}\W*)?(?:(?:the|of|number|les?|des|las?|los|os|as)\W+)*$"
)
_FORMS: tuple[tuple[ComputationKind, re.Pattern[str]], ...] = (
    ("unknown", pattern(r"\b{not_of_sheets}\b")),
    ("change", pattern(r"\b{changes_of_sheets}\b")),
    ("ratio", pattern(r"\b{ratio_of_sheets}\b")),
    ("share", pattern(r"\b{share_of_sheets}(?!\w)")),
    ("per", pattern(r"\b{per_of_sheets}\b(?! ?(?:cent|cien))")),
    ("difference", pattern(r"\b{difference_of_sheets}\b")),
    ("mean", pattern(r"\b{average}\b")),
    ("sum", pattern(r"\b{altogether}\b")),
)
"""The first that fits a question and its sheet counts."""


@dataclass(frozen=True, slots=True)
class Computation:
    """What words of a question ask to compute. ``start`` and ``end``: where they stand
    in it. ``in_per_cent``: the question asks for per cent. ``asks_size``: it asks how
    large the result is.
    """

    kind: ComputationKind
    start: int
    end: int
    in_per_cent: bool
    asks_size: bool


def read_computations(text: str) -> list[Computation]:
    """Return all that words of a question may ask to compute, the surest first."""
    in_per_cent = _PER_CENT.search(text) is not None
    asks_size = _BY_HOW_MUCH.search(text) is not None
    computations: list[Computation] = []
    for kind, form in _FORMS:
        for match in form.finditer(text):
            computations.append(
                Computation(kind, match.start(), match.end(), in_per_cent, asks_size)
            )
    return computations


def without_computations(text: str) -> str:
    """Return a text without the words that ask to compute something."""
    for _, form in _FORMS:
        text = form.sub(" ", text)
    return _PER_CENT.sub(" ", text)


def begins_span(text: str) -> bool:
    """Return whether a text ends with a word like "since"."""
    return _SINCE.search(text) is not None


def joins_names(text: str) -> bool:
    """Return whether the words between two names make a list of them: "and the"."""
    return _JOINS.search(text) is not None
