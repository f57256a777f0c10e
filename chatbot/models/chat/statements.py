"""Passages taken apart into statements: each sentence with its heading and label."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...domain import SECTION_SEPARATOR, Passage
from ...language import sentences

LONGEST = 300
"""Characters of a sentence that is quoted whole, where it has clauses to be cut at."""
MOST_WORDS = 8
"""Words of a heading or a label, at most."""
_SOURCE_LINE = re.compile(
    r"\W*(?:(?:data |photo )?(?:sources?|quellen?|fuentes?|fonti?) ?:|copyright\b|©|\(c\)|all rights reserved"
    r"|page \d+$)[^.!?%]{0,200}\W*$",
    re.IGNORECASE,
)
"""Says where something comes from, and nothing itself."""
_WORD = r"(?:[^\s()\d]+|20\d\d|19\d\d)"
_ASIDE = re.compile(rf"\({_WORD}(?: {_WORD}){{0,2}}\)")
"""Of what stands elsewhere: "(2021 est.)" on a line of its own, "(Spanish)" behind an example; "(5.4)" is a figure."""
_NAME = re.compile(r"[^,;:.!?\d]+")
_LABEL = re.compile(r"([^\W\d_a-z][^:]{0,79}?): ")
BULLET = re.compile(r"^[-*•]\s+")
_CLAUSE_END = re.compile(r"(?<=;)\s+")


@dataclass(frozen=True, slots=True)
class Statement:
    """``text`` stands so in the passage; ``cut``: it is a part of its sentence.

    ``heading``: the one above it in the text, else the innermost of the passage. ``label``: what a line before it
    begins with ("Drinking water source" above "rural: 38.6%").
    """

    passage: Passage
    heading: str
    label: str
    text: str
    cut: bool = False

    @property
    def whole(self) -> str:
        """The statement with the names of what it is about, as it is compared with questions."""
        about = [name for name in (self.heading, self.label) if name and not self.text.startswith(name)]
        return ": ".join([*about, self.text])


def statements(passages: Sequence[Passage]) -> list[Statement]:
    """The statements of passages, in text order; source lines, headings, asides only where there is nothing else."""
    found = [one for passage in passages for one in _statements(passage)]
    return list(filter(_is_telling, found)) or found


def _statements(passage: Passage) -> Iterator[Statement]:
    chunk = passage.hit.chunk
    heading, label = chunk.heading, ""
    for number, block in enumerate(chunk.text.split("\n\n")):
        lines = [BULLET.sub("", line.strip()) for line in block.splitlines()]
        if number and len(lines) > 1 and _is_name(lines[0]):
            heading, label, lines = lines[0], "", lines[1:]
        for line in lines:
            if line.endswith(":") and len(line.split()) <= MOST_WORDS:
                label = line[:-1]
                continue
            parts = sentences(line)
            own = _LABEL.match(parts[0]) if parts else None
            if own and len(own[1].split()) <= MOST_WORDS:
                label = own[1]
            for place, sentence in enumerate(parts):
                about = label if place or sentence[:1].islower() else ""
                pieces = _pieces(sentence)
                for piece in pieces:
                    if _letters(piece):
                        yield Statement(passage, heading, about or label * (len(pieces) > 1), piece, len(pieces) > 1)


def _pieces(sentence: str) -> list[str]:
    """The sentence, or of a long one its clauses, as many together as stay short."""
    if len(sentence) <= LONGEST:
        return [sentence]
    pieces: list[str] = []
    for clause in _CLAUSE_END.split(sentence):
        if pieces and len(pieces[-1]) + len(clause) < LONGEST:
            pieces[-1] += f" {clause}"
        else:
            pieces.append(clause)
    return pieces


def _is_name(line: str) -> bool:
    return len(line.split()) <= MOST_WORDS and _NAME.fullmatch(line) is not None


def _is_telling(one: Statement) -> bool:
    return not (_SOURCE_LINE.match(one.text) or _ASIDE.fullmatch(one.text) or _is_heading(one))


def _is_heading(one: Statement) -> bool:
    chunk = one.passage.hit.chunk
    names = (chunk.title, *chunk.section.split(SECTION_SEPARATOR), one.heading)
    return _letters(one.text) in map(_letters, names)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()
