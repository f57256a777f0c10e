"""What a question wants computed from the cells of a sheet, in the five languages of
the page. Which cells are meant is the business of `answering/sheet_sums.py`.
"""

import re
from dataclasses import dataclass
from typing import Literal

from .english import number_of, pattern, words

__all__ = [
    "HAPPENS_WORDS",
    "PERSON_WORDS",
    "THERE_WORDS",
    "Computation",
    "asked_label",
    "begins_span",
    "compared_end",
    "counted_place",
    "extreme_of_time",
    "joins_names",
    "negates",
    "quality_asked",
    "read_computations",
    "span_asked",
    "without_computations",
    "without_extreme",
    "without_span",
    "without_there",
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
_COUNTS = pattern(r"\b{counts_of_sheets}\b")
_NO = pattern(r"\b{no_of_sheets}\b")
_LABEL = pattern(r"^\W*{asks_label}\b")
_QUALITY = pattern(r"\b{quality_of_sheets}\b")
_SPAN = pattern(r"\b{span_of_sheets}\b")
_WHICH_OF_TWO = pattern(r"\b{which_of_two}\b")
_LONGEST = pattern(r"\b{longest_of_sheets}\b")
_LATEST = pattern(r"\b{latest_of_sheets}\b")
THERE_WORDS = words("there_words")
"""Words that only say that what is counted is there."""
PERSON_WORDS = words("person_words")
"""Words for the people whose names a sheet has."""
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


def counted_place(text: str) -> int | None:
    """Return where what a question counts stands: behind "how many"; None where it
    counts nothing.
    """
    match = _COUNTS.search(text)
    return match.end() if match else None


def asked_label(text: str) -> int | None:
    """Return where the name stands of which a question asks which one: behind "in
    which"; None where it asks for none.
    """
    match = _LABEL.search(text)
    return match.end() if match else None


def quality_asked(text: str) -> str:
    """Return the word behind "how" that asks for a quality: "old"; "" without one."""
    match = _QUALITY.search(text)
    return match["quality"] if match else ""


def span_asked(text: str) -> slice | None:
    """Return where the first or last periods that a question asks for are among all:
    "the first three months"; None where it asks for none.
    """
    match = _SPAN.search(text)
    if match is None:
        return None
    count = number_of(match["count"])
    return slice(count) if match["first"] else slice(-count, None)


def without_span(text: str) -> str:
    """Return a text without the words for its first or last periods."""
    return _SPAN.sub(" ", text)


def compared_end(text: str) -> Literal["highest", "lowest", ""]:
    """Return whether a question asks which of two is more of something, or less:
    "Which shop was cheaper?"; "" = neither.
    """
    match = _WHICH_OF_TWO.search(text)
    if match is None:
        return ""
    return "lowest" if match["lower"] else "highest"


def negates(text: str) -> bool:
    """Return whether a text says "no" or "without"."""
    return _NO.search(text) is not None


def extreme_of_time(text: str) -> Literal["first", "last", ""]:
    """Return whether a question asks what was first or last; "" = neither."""
    if _LATEST.search(text):
        return "last"
    if _LONGEST.search(text):
        return "first"
    return ""


def without_extreme(text: str) -> str:
    """Return a text without the words that ask what was first or last."""
    return _LATEST.sub(" ", _LONGEST.sub(" ", text))


def without_there(text: str) -> str:
    """Return a text without the words that only say that what is counted is there."""
    kept = [word for word in text.split() if word.lower() not in THERE_WORDS]
    return " ".join(kept)
