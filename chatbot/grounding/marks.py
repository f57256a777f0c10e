"""The places in an answer's text of what the check found: clauses are read without Markdown, answers shown with it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from ..schema import Mark
from .clauses import Clause
from .contradictions import Finding
from .wording import NUMBERS, cited_numbers

MOST, TRIES = 200, 50
"""Marks of an answer, and places that are looked at for one: "5" stands in "15", too."""


def marks_in(response: str, findings: Sequence[tuple[Clause, Finding]]) -> tuple[Mark, ...]:
    """The marks of an answer in text order. ``findings``: its clauses in that order, each with what it lacks.

    What cannot be told apart within its clause marks all of that; a clause that is not found again is not marked.
    """
    letters = _Letters(response)
    marks, read, place = list[Mark](), None, (0, 0)
    for clause, finding in findings[:MOST]:
        if clause is not read:
            read, end = clause, len(response)
            place = letters.find(clause.text, place[1], end) or letters.find(clause.text, 0, end) or (0, 0)
        if place[1]:
            start, end = _within(letters, finding, *place)
            marks.append(Mark(start, end, finding.kind, finding.text))
    return tuple(sorted(dict.fromkeys(marks), key=lambda mark: (mark.start, mark.end)))


def _within(letters: _Letters, finding: Finding, start: int, end: int) -> tuple[int, int]:
    """The place of what was found in its clause."""
    if finding.kind == "unknown_citation":
        groups = NUMBERS.finditer(letters.of, start, end + 1)  # the clause ends with its last digit
        spans = (group.span() for group in groups if int(finding.text) in cited_numbers(group[0]))
        return next(spans, (start, end))
    return letters.find(finding.text, start, end) or (start, end)


class _Letters:
    """A text by its letters and digits alone, with the places that they have in it."""

    def __init__(self, text: str) -> None:
        self.of = text
        self._places = [place for place, sign in enumerate(text) if sign.isalnum()]
        self._text = "".join(text[place] for place in self._places)

    def find(self, part: str, start: int, end: int) -> tuple[int, int] | None:
        """Where a part stands between two places, as whole words and numbers; None where it does not."""
        wanted = "".join(filter(str.isalnum, part))
        at, last = (bisect_left(self._places, place) for place in (start, end))
        for _ in range(TRIES if wanted else 0):
            if (at := self._text.find(wanted, at, last)) < 0:
                return None
            first, behind = self._places[at], self._places[at + len(wanted) - 1] + 1
            if not (self._goes_on(first - 1, -1) or self._goes_on(behind, 1)):
                whole = first - next(n for n, sign in enumerate(part) if sign.isalnum())  # with its "$", its "%"
                return (whole, whole + len(part)) if self.of.startswith(part, max(whole, 0)) else (first, behind)
            at += 1
        return None

    def _goes_on(self, place: int, step: int) -> bool:
        """Whether the word or the number goes on at this place, in this direction."""
        text = self.of
        if not 0 <= place < len(text) or text[place].isalnum():
            return 0 <= place < len(text)
        beyond = place + step
        return (
            text[place] in ".," and 0 <= beyond < len(text) and text[beyond].isdigit() and text[place - step].isdigit()
        )
