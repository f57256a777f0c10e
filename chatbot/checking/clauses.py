"""Split an answer into clauses, each with the passages it cites: the text before a [n],
a table cell, a sentence. Also finds the places of findings.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import compress, count, pairwise
from typing import NamedTuple

from ..domain.chat import Mark
from ..language.figures import MONTHS
from ..language.sentences import sentences
from .contradictions import Defect
from .tables import without_tables
from .wording import GROUP, NUMBERS, QUOTATION, cited_numbers, strip_marks

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
_SHORTENED = re.compile(r"\b(?:est|proj|approx|ca|c|etc|incl)\.[)\]]?[*_]*$")
"""Abbreviations whose full stop ends no sentence: (2023 est.) [1]."""
_ORDINAL = re.compile(rf"\b(\d{{1,2}}\.)\s(?=(?:{'|'.join(MONTHS)})\b)", re.IGNORECASE)
"""9. August."""
_LINK = re.compile(r"!?\[([^\[\]\n]{1,300})\]\([^()\s]{1,2000}\)")
_CITES = re.compile(_GROUPS)
_JOINT = re.compile(r"^[\s,;:.)]*(?:(?:and|but|while|whereas)\s+)?")
_KEPT = "\ue000"
"""Stands for white space at which no sentence ends."""
MAX_TRIES = 50
"""Places that are compared for one mark: "5" is in "15", too."""
_BEGINS = re.compile(r"(?<![^\W_])(?<!\d[.,](?=\d))")
_ENDS = re.compile(r"(?![^\W_])(?!(?<=\d)[.,]\d)")
"""Places at which no word and no number goes on."""
STOPS = (".", "!", "。", "！")


class Clause(NamedTuple):
    """``text`` includes the numbers, ``words`` does not.

    ``sentence``: the words of its whole sentence; ``beside``: all numbers cited there.
    ``following``: the numbers that the next sentence of its line cites, or the line
    after a list. ``place``: its table, row and column, if it is a cell.
    """

    text: str
    words: str
    numbers: tuple[int, ...]
    sentence: str
    beside: tuple[int, ...]
    following: tuple[int, ...] = ()
    place: tuple[int, int, int] | None = None

    @property
    def is_cell(self) -> bool:
        return self.place is not None


def clauses(response: str) -> Iterator[Clause]:
    """Yield the clauses of an answer in text order, then those of its tables. A
    quotation is never split. Numbers after a full stop belong to the sentence before
    it. Text after the last [n] of a sentence belongs to that [n]; where no figure is
    before the first, each [n] has the text after it ("Kenya [1] grows by 2 %").
    """
    text, cells = without_tables(response)
    text = _HEADING.sub(
        lambda line: line[0] if NUMBERS.search(line[0]) else "", _LITERAL.sub("", text)
    )
    text = _LIST_MARK.sub("", _STRONG_MARK.sub("", _LINK.sub(r"\1", text)))
    text = QUOTATION.sub(lambda quote: re.sub(r"\s", _KEPT, quote[0]), text)
    text = _ORDINAL.sub(rf"\1{_KEPT}", text)
    text = _AFTER_STOP.sub(
        lambda stop: (
            f"{stop[1]}{_KEPT}{stop[2]}"
            + (
                ""
                if _SHORTENED.search(
                    stop.string[max(0, stop.start() - 8) : stop.end(1)]
                )
                else "\n"
            )
        ),
        text,
    )
    below = tuple[int, ...]()
    upwards = list[Clause]()
    for line in filter(str.strip, reversed(text.split("\n"))):
        following = (
            () if line.rstrip().endswith(STOPS) else below
        )  # a list may have its source in the line after it
        for sentence in reversed(sentences(line)):
            parts = list(_clauses(sentence.replace(_KEPT, " "), following))
            upwards += reversed(parts)
            following = parts[0].numbers or following
        below = following
    yield from reversed(upwards)
    for cell in cells:
        words = (
            f"{', '.join(filter(None, (cell.column, cell.row)))}: {_words(cell.text)}"
        )
        yield Clause(
            _as_read(cell.text),
            words,
            cell.numbers,
            words,
            cell.numbers,
            place=cell.place,
        )


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
        part = sentence[start:end]
        yield Clause(
            _as_read(_JOINT.sub("", part)),
            _words(part),
            tuple(cited_numbers(part)),
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


def marks_in(
    response: str, findings: Sequence[tuple[Clause, Defect]]
) -> tuple[Mark, ...]:
    """Return the marks of an answer in text order. ``findings``: what its clauses lack,
    in the order of the clauses. A finding that cannot be located within its clause
    marks the whole clause; a clause that is not found is not marked.
    """
    if not findings:
        return ()
    places = list(compress(count(), map(str.isalnum, response)))
    letters = "".join(filter(str.isalnum, response))

    def locate(part: str, start: int, end: int) -> tuple[int, int] | None:
        """Return where ``part`` is between two places, as whole words and numbers, with
        any signs between them.
        """
        of_part = "".join(filter(str.isalnum, part))
        at, last = (bisect_left(places, place) for place in (start, end))
        for _ in range(MAX_TRIES if of_part else 0):
            if (at := letters.find(of_part, at, last)) < 0:
                return None
            first = places[at]
            behind = places[at + len(of_part) - 1] + 1
            if _BEGINS.match(response, first) and _ENDS.match(response, behind):
                whole = first - next(
                    n for n, sign in enumerate(part) if sign.isalnum()
                )  # with its "$", its "%"
                is_exact = whole >= 0 and response.startswith(part, whole)
                return (whole, whole + len(part)) if is_exact else (first, behind)
            at += 1
        return None

    marks = list[Mark]()
    located = None
    position = (0, 0)
    # Beyond 200 marks the rest adds nothing.
    for clause, finding in findings[:200]:
        if clause is not located:
            located = clause
            end = len(response)
            position = (
                locate(clause.text, position[1], end)
                or locate(clause.text, 0, end)
                or (0, 0)
            )
        start, end = position
        if not end:
            continue
        if finding.kind == "unknown_citation":
            groups = NUMBERS.finditer(
                response, start, end + 1
            )  # the clause ends with its last digit
            spans = (
                group.span()
                for group in groups
                if int(finding.text) in cited_numbers(group[0])
            )
            start, end = next(spans, position)
        else:
            start, end = locate(finding.text, start, end) or position
        marks.append(Mark(start, end, finding.kind, finding.text))
    return tuple(sorted(dict.fromkeys(marks), key=lambda mark: (mark.start, mark.end)))
