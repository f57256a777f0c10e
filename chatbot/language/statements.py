"""The statements of a passage: its sentences, or clauses of long ones, with the heading
and the label that they belong to.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..domain import Chunk, Passage
from ..domain.documents import SECTION_SEPARATOR
from .sentences import sentences

__all__ = [
    "MAX_STATEMENT_CHARACTERS",
    "Statement",
    "is_chart",
    "is_unavailable",
    "split_statements",
    "statements",
    "states_none",
]

MAX_STATEMENT_CHARACTERS = 300
"""Characters above which a sentence is split at its semicolons."""
_BULLET = re.compile(r"^[-*•]\s+")
_SOURCE_LINE = re.compile(
    r"\W*(?![^;]*;[^:;]+: )(?:(?:data |photo "
    r")?(?:sources?|quellen?|fuentes?|fonti?) ?:|copyright\b|©|\(c\)"
    r"|all rights reserved|page \d+$)[^.!?%]{0,200}\W*$",
    re.IGNORECASE,
)
_WORD = r"(?:[^\s()\d]+|20\d\d|19\d\d)"
_MARK = r"(?:[≤≥<>]?\d[\d.,%–-]*|[A-Z][A-Za-z]{2})"
_MARKS = re.compile(rf"^{_MARK}(?:[^\S\n]+{_MARK})*$", re.MULTILINE)
"""Figures and months along a chart: "0 5 10 15", "JAN FEB"."""
_ASIDE = re.compile(rf"\({_WORD}(?: {_WORD}){{0,2}}\)")
"""Belongs to what stands elsewhere: "(2021 est.)" on a line of its own; "(5.4)" is a
figure.
"""
_NAME = re.compile(r"[^,;:.!?\d]+")
_LABEL = re.compile(r"([^\W\d_a-z][^:]{0,79}?): ")
_CLAUSE_END = re.compile(r"(?<=;)\s+")
_NONE = re.compile(r"\W*(?:none|no|not|0|na|n/a)\b(?![.,]\d)", re.IGNORECASE)


_UNAVAILABLE = re.compile(r"\W*(?:[^:]{1,60}:)?\W*(?:NA|N/A)(?:\s*\([^)]*\))?\W*")
"""Of "total population: NA", "NA (2021 est.)"."""
_STATED_APART = re.compile(r"[;\n]")


def is_unavailable(text: str) -> bool:
    """Return whether a text has nothing but values that are not available: "male: NA;
    female: NA".
    """
    parts = [part for part in _STATED_APART.split(text) if part.strip()]
    return bool(parts) and all(_UNAVAILABLE.fullmatch(part) for part in parts)


def states_none(text: str) -> bool:
    """Return whether a text says first that there is none: "0 km (landlocked)"."""
    return _NONE.match(text) is not None


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a passage, word for word, or some clauses of a long one (``cut``).

    ``heading``: the one above it in the text, else the innermost of the passage.
    ``label``: the beginning of a line before it ("Drinking water source" above "rural:
    38.6%"). ``line``: the number of its line.
    """

    heading: str
    label: str
    text: str
    line: int
    cut: bool = False

    @property
    def whole(self) -> str:
        """The statement with the names of what it is about, as it is compared with
        questions.
        """
        about = [
            name
            for name in (self.heading, self.label)
            if name and not self.text.startswith(name)
        ]
        return ": ".join([*about, self.text])


def statements(passage: Passage) -> list[Statement]:
    """Return the statements of a passage in text order, without source lines, headings
    and lone asides.
    """
    chunk = passage.hit.chunk
    titles = (chunk.title, *chunk.section.split(SECTION_SEPARATOR))
    names = {_letters(title) for title in titles}
    chart = is_chart(chunk)
    chosen = []
    for statement in split_statements(chunk):
        text = statement.text
        if _letters(text) in {*names, _letters(statement.heading)}:
            continue
        if _SOURCE_LINE.match(text) or _ASIDE.fullmatch(text):
            continue
        if chart and _MARKS.fullmatch(text):
            continue
        chosen.append(statement)
    return chosen


def is_chart(chunk: Chunk) -> bool:
    """Return whether the labels along a chart are among the text."""
    # Fewer may be figures of a table.
    return len(" ".join(_MARKS.findall(chunk.text)).split()) >= 4


def split_statements(chunk: Chunk) -> Iterator[Statement]:
    """Yield every statement of a passage that has a letter or a digit."""
    heading = chunk.heading
    label = ""
    number = 0
    for place, block in enumerate(chunk.text.split("\n\n")):
        lines = [_BULLET.sub("", line.strip()) for line in block.splitlines()]
        if place and len(lines) > 1 and _is_heading(lines[0]):
            heading = lines[0]
            label = ""
            lines = lines[1:]
        for line in lines:
            number += 1
            if line.endswith(":") and _is_short(line):
                label = line[:-1]
                continue
            parts = sentences(line)
            match = _LABEL.match(parts[0]) if parts else None
            if match and _is_short(match[1]):
                label = match[1]
            yield from _statements_of_line(parts, heading, label, number)


def _statements_of_line(
    parts: Sequence[str], heading: str, label: str, number: int
) -> Iterator[Statement]:
    for at, sentence in enumerate(parts):
        pieces = _pieces(sentence)
        is_cut = len(pieces) > 1
        has_label = at > 0 or is_cut or sentence[:1].islower()
        about = label if has_label else ""
        for piece in pieces:
            if _letters(piece):
                yield Statement(heading, about, piece, number, is_cut)


def _is_heading(line: str) -> bool:
    return _is_short(line) and _NAME.fullmatch(line) is not None


def _is_short(line: str) -> bool:
    """Return whether a line may be a heading or a label by its length."""
    return len(line.split()) <= 8


def _pieces(sentence: str) -> list[str]:
    """Return the sentence, or the clauses of a long one, as many together as stay
    short.
    """
    if len(sentence) <= MAX_STATEMENT_CHARACTERS:
        return [sentence]
    pieces: list[str] = []
    for clause in _CLAUSE_END.split(sentence):
        if pieces and len(pieces[-1]) + len(clause) < MAX_STATEMENT_CHARACTERS:
            pieces[-1] += f" {clause}"
        else:
            pieces.append(clause)
    return pieces


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()
