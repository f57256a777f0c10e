"""Split an answer into clauses, each with the passages it cites: the text before a [n],
a table cell, a sentence. Also finds the places of findings.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..domain.chat import Mark
from ..language.figures import MONTHS
from ..language.sentences import sentences
from .amounts import Amount, HeadingUnit, amounts, head_unit
from .contradictions import Defect
from .tables import Cell, without_tables
from .wording import GROUP, LIMITS, NUMBERS, QUOTATION, cited_numbers, strip_marks

_LIST_MARK = re.compile(
    r"^[ \t>]*(?:[-*+]|#{1,6}|\(?\d{1,2}[.)])[ \t]+|^[ \t]*\|[ \t]*\d{1,2}[ \t]*(?=\|)",
    re.MULTILINE,
)
_STRONG_MARK = re.compile(
    r"^[ \t>]*(?:\*\*|__)\d{1,2}[.)](?:\*\*|__)?[ \t]+", re.MULTILINE
)
_HEADING = re.compile(
    r"^[ \t>]*(?:#{1,6}[ \t].*|\*\*[^*\n]*[^*\n.!?]\*\*:?[ \t]*)$", re.MULTILINE
)
_LITERAL = re.compile(
    r"(?ms)^[ \t>]*(?:(```|~~~).*?(?:\n[ \t>]*\1[^\n]*|\Z)|\\\[.+?\\\]|\$\$.+?\$\$)"
)
_GROUPS = rf"{GROUP}(?:[ \t]*(?:(?:,|and|&)[ \t]*)?{GROUP})*"
_AFTER_STOP = re.compile(rf"([.!?…。！？][\"'”’»)*_]*)[ \t]*((?:{GROUP}[ \t]*)+)")
_WIDE_STOP = re.compile(r"[。！？][”’」』）)*_]*(?=\w)")
"""A full stop that needs no space behind it."""
_SHORTENED = re.compile(r"\b(?:est|proj|approx|ca|c|etc|incl)\.[)\]]?[*_]*$")
"""Abbreviations whose full stop ends no sentence: (2023 est.) [1]."""
_ORDINAL = re.compile(rf"\b(\d{{1,2}}\.)\s(?=(?:{'|'.join(MONTHS)})\b)", re.IGNORECASE)
"""9. August."""
_LINK = re.compile(r"!?\[([^\[\]\n]{1,300})\]\([^()\s]{1,2000}\)")
_CITES = re.compile(_GROUPS)
_JOINT = re.compile(r"^[\s,;:.)]*(?:(?:and|but|while|whereas)\s+)?")
_KEPT = "\ue000"
"""Stands for white space at which no sentence ends."""
MAX_TRIES = LIMITS["located_places"]
MAX_MARKS = LIMITS["marks"]
MAX_ABBREVIATION = LIMITS["abbreviation_characters"]
_BEGINS = re.compile(r"(?<![^\W_])(?<!\d[.,](?=\d))")
_ENDS = re.compile(r"(?![^\W_])(?!(?<=\d)[.,]\d)")
"""Places at which no word and no number goes on."""
STOPS = (".", "!", "。", "！")


class Clause(NamedTuple):
    """``text`` includes the numbers, ``words`` does not.

    ``sentence``: the words of its whole sentence; ``beside``: all numbers cited there.
    ``following``: the numbers that the next sentence of its line cites, or the line
    after a list. ``cell``: that of a table, if it is one.
    """

    text: str
    words: str
    numbers: tuple[int, ...]
    sentence: str
    beside: tuple[int, ...]
    following: tuple[int, ...] = ()
    cell: Cell | None = None

    @property
    def unit(self) -> HeadingUnit | None:
        """The unit that a table gives to the number of a cell: in the heading of its
        column, else of its row, else in the corner or above the table.
        """
        if self.cell is None:
            return None
        headings = (self.cell.column, self.cell.row, *self.cell.above)
        return next(filter(None, map(head_unit, headings)), None)

    def amounts(self, words: str, *, comma: bool) -> list[Amount]:
        """Return the amounts of its words, or of some at the same positions, with the
        unit that its table gives to a number of the cell.
        """
        in_words = amounts(words, comma=comma)
        unit = self.unit if in_words else None
        if self.cell is None or unit is None:
            return in_words
        start = len(self.cell.headings)
        return [
            unit.read(one) if one.figure.start >= start else one for one in in_words
        ]


def clauses(response: str) -> Iterator[Clause]:
    """Yield the clauses of an answer in text order, then those of its tables. A
    quotation is never split. Numbers after a full stop belong to the sentence before
    it. Text after the last [n] of a sentence belongs to that [n]; where no figure is
    before the first, each [n] has the text after it ("Kenya [1] grows by 2 %").
    """
    text, cells = without_tables(response)
    below: tuple[int, ...] = ()
    upwards: list[Clause] = []
    for line in reversed(_as_lines(text)):
        # A list may have its source in the line after it.
        following = () if line.rstrip().endswith(STOPS) else below
        for sentence in reversed(sentences(line)):
            in_sentence = list(_clauses(sentence.replace(_KEPT, " "), following))
            upwards += reversed(in_sentence)
            following = in_sentence[0].numbers or following
        below = following
    yield from reversed(upwards)
    for cell in cells:
        words = f"{cell.headings}: {_words(cell.text)}"
        yield Clause(
            _as_read(cell.text),
            words,
            cell.numbers,
            words,
            cell.numbers,
            cell=cell,
        )


def _as_lines(text: str) -> list[str]:
    """Return the lines that state something, without Markdown's signs for code, lists,
    headings and links. `_KEPT` stands in them for white space at which no sentence
    ends; numbers behind a full stop end a line.
    """
    text = _HEADING.sub(_with_source, _LITERAL.sub("", text))
    text = _LIST_MARK.sub("", _STRONG_MARK.sub("", _LINK.sub(r"\1", text)))
    text = QUOTATION.sub(lambda quote: re.sub(r"\s", _KEPT, quote[0]), text)
    text = _ORDINAL.sub(rf"\1{_KEPT}", text)
    text = _AFTER_STOP.sub(_with_numbers_behind, text)
    text = _WIDE_STOP.sub(r"\g<0>\n", text)
    return [line for line in text.split("\n") if line.strip()]


def _with_source(heading: re.Match[str]) -> str:
    """Return a heading that cites something, and nothing of others."""
    if NUMBERS.search(heading[0]):
        return heading[0]
    return ""


def _with_numbers_behind(stop: re.Match[str]) -> str:
    """Return a full stop and the numbers behind it, with the end of the sentence behind
    those, unless the full stop is of an abbreviation.
    """
    before = stop.string[max(0, stop.start() - MAX_ABBREVIATION) : stop.end(1)]
    end = "" if _SHORTENED.search(before) else "\n"
    return f"{stop[1]}{_KEPT}{stop[2]}{end}"


def _clauses(sentence: str, following: tuple[int, ...]) -> Iterator[Clause]:
    words = _words(sentence)
    cited = tuple(cited_numbers(sentence))
    groups = list(_CITES.finditer(sentence))
    if len(groups) < 2:
        yield Clause(_as_read(sentence), words, cited, words, cited, following)
        return
    first = sentence[: groups[0].start()]
    rest = sentence[groups[-1].end() :]
    if not re.search(r"\d", first) and re.search(r"\d", rest):
        cuts = [0, *(group.start() for group in groups[1:]), len(sentence)]
    else:
        cuts = [0, *(group.end() for group in groups[:-1]), len(sentence)]
    for start, end in pairwise(cuts):
        text = sentence[start:end]
        yield Clause(
            _as_read(_JOINT.sub("", text)),
            _words(text),
            tuple(cited_numbers(text)),
            words,
            cited,
            following,
        )


def _words(text: str) -> str:
    return strip_marks(NUMBERS.sub(" ", text))


def _as_read(text: str) -> str:
    return " ".join(strip_marks(text).replace("|", " ").split())


# Where the findings of a clause are in the answer: clauses are read without Markdown,
# answers shown with it.

_Span = tuple[int, int]


class _Letters:
    """The letters and digits of an answer, with where they are in it."""

    def __init__(self, response: str) -> None:
        self._response = response
        self._positions = [
            position for position, sign in enumerate(response) if sign.isalnum()
        ]
        self._letters = "".join(response[position] for position in self._positions)

    def locate(self, text: str, span: _Span) -> _Span | None:
        """Return where a text is within a span, as whole words and numbers, with any
        signs between them.
        """
        letters = "".join(sign for sign in text if sign.isalnum())
        if not letters:
            return None
        at = bisect_left(self._positions, span[0])
        last = bisect_left(self._positions, span[1])
        for _ in range(MAX_TRIES):
            at = self._letters.find(letters, at, last)
            if at < 0:
                return None
            first = self._positions[at]
            behind = self._positions[at + len(letters) - 1] + 1
            if _BEGINS.match(self._response, first) and _ENDS.match(
                self._response, behind
            ):
                return self._with_signs(text, letters[0], (first, behind))
            at += 1
        return None

    def _with_signs(self, text: str, first_letter: str, span: _Span) -> _Span:
        """Return the span with the "$" and the "%" of a text, if they are there."""
        start = span[0] - text.index(first_letter)
        if start >= 0 and self._response.startswith(text, start):
            return start, start + len(text)
        return span


def marks_in(
    response: str, findings: Sequence[tuple[Clause, Defect]]
) -> tuple[Mark, ...]:
    """Return the marks of an answer in text order. ``findings``: what its clauses lack,
    in the order of the clauses. A finding that cannot be located within its clause
    marks the whole clause; a clause that is not found is not marked.
    """
    if not findings:
        return ()
    letters = _Letters(response)
    end = len(response)
    marks: dict[Mark, None] = {}
    located: Clause | None = None
    span: _Span | None = (0, 0)
    for clause, finding in findings[:MAX_MARKS]:
        if clause is not located:
            located = clause
            behind = span[1] if span else 0
            span = letters.locate(clause.text, (behind, end))
            span = span or letters.locate(clause.text, (0, end))
        if span is None:
            continue
        if finding.kind == "unknown_citation":
            exact = _span_of_number(response, int(finding.text), span)
        else:
            exact = letters.locate(finding.text, span)
        start, stop = exact or span
        marks[Mark(start, stop, finding.kind, finding.text)] = None
    return tuple(sorted(marks, key=lambda mark: (mark.start, mark.end)))


def _span_of_number(response: str, number: int, span: _Span) -> _Span | None:
    """Return where a clause cites a number."""
    start, last = span
    # The clause ends with its last digit, before the bracket.
    for group in NUMBERS.finditer(response, start, last + 1):
        if number in cited_numbers(group[0]):
            return group.span()
    return None
