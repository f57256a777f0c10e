"""An answer in clauses, each with the passages it cites: what stands before a [n], a cell of a table, a sentence.

And under which heading of a passage stands what a clause says of it: a passage may span several.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..chat_models.statements import Statement, statements
from ..schema import Passage
from ..text import analyzer, sentences
from .dates import MONTHS
from .tables import without_tables
from .wording import GROUP, NUMBERS, QUOTATION, cited_numbers, is_quoted, normalise, quotations, strip_marks

_LIST_MARK = re.compile(
    r"^[ \t>]*(?:[-*+]|#{1,6}|\(?\d{1,2}[.)])[ \t]+|^[ \t]*\|[ \t]*\d{1,2}[ \t]*(?=\|)", re.MULTILINE
)
_STRONG_MARK = re.compile(r"^[ \t>]*(?:\*\*|__)\d{1,2}[.)](?:\*\*|__)?[ \t]+", re.MULTILINE)
_HEADING = re.compile(r"^[ \t>]*#{1,6}[ \t].*$", re.MULTILINE)
_GROUPS = rf"{GROUP}(?:[ \t]*(?:(?:,|and|&)[ \t]*)?{GROUP})*"
_AFTER_STOP = re.compile(rf"([.!?…。！？][\"'”’»)*_]*)[ \t]*((?:{GROUP}[ \t]*)+)")
_SHORTENED = re.compile(r"\b(?:est|proj|approx|ca|c|etc|incl)\.[)\]]?[*_]*$")
"""What ends in a full stop, and no sentence: (2023 est.) [1]."""
_ORDINAL = re.compile(rf"\b(\d{{1,2}}\.)\s(?=(?:{'|'.join(MONTHS)})\b)", re.IGNORECASE)
"""9. August."""
_LINK = re.compile(r"!?\[([^\[\]\n]{1,300})\]\([^()\s]{1,2000}\)")
_CITES = re.compile(_GROUPS)
_JOINT = re.compile(r"^[\s,;:.)]*(?:(?:and|but|while|whereas)\s+)?")
_YEAR = re.compile(r"(?:fy ?)?(?:1\d{3}|20\d{2})", re.IGNORECASE)
_KEPT = "\ue000"
"""Stands for white space at which no sentence ends."""


@dataclass(frozen=True, slots=True)
class Clause:
    """``text`` as it is read, with its numbers; ``words`` is the same without them.

    ``sentence``: the words of all of it; ``beside``: all that it cites.
    """

    text: str
    words: str
    numbers: tuple[int, ...]
    sentence: str
    beside: tuple[int, ...]


def clauses(response: str) -> Iterator[Clause]:
    """The clauses of an answer in text order, those of tables last. A quotation is never cut; numbers behind a full
    stop belong to what is before it.

    What stands behind the last [n] of a sentence belongs to that; where nothing is said before the first, each [n] has
    what follows it ("Kenya [1] grows by 2 %").
    """
    text, cells = without_tables(response)
    text = _HEADING.sub(lambda line: line[0] if NUMBERS.search(line[0]) else "", text)
    text = _LIST_MARK.sub("", _STRONG_MARK.sub("", _LINK.sub(r"\1", text)))
    text = QUOTATION.sub(lambda quote: re.sub(r"\s", _KEPT, quote[0]), text)
    text = _ORDINAL.sub(rf"\1{_KEPT}", text)
    text = _AFTER_STOP.sub(_keep_together, text)
    for sentence in sentences(text):
        yield from _clauses(sentence.replace(_KEPT, " "))
    for cell in cells:
        when = next((name for name in (cell.column, cell.row) if _YEAR.fullmatch(name)), "")
        names = [name for name in (cell.row, cell.column) if name and name != when]
        words = f"{f'In {when}, ' if when else ''}{', '.join(names)}: {strip_marks(NUMBERS.sub(' ', cell.text))}"
        yield Clause(_as_read(cell.text), words, cell.numbers, words, cell.numbers)


def _keep_together(match: re.Match[str]) -> str:
    before = match.string[max(0, match.start() - 8) : match.end(1)]
    return f"{match[1]}{_KEPT}{match[2]}{'' if _SHORTENED.search(before) else chr(10)}"


def _clauses(sentence: str) -> Iterator[Clause]:
    words, cited = _words(sentence), tuple(cited_numbers(sentence))
    groups = list(_CITES.finditer(sentence))
    if len(groups) < 2:
        yield Clause(_as_read(sentence), words, cited, words, cited)
        return
    for part in _parts(sentence, groups):
        yield Clause(_as_read(_JOINT.sub("", part)), _words(part), tuple(cited_numbers(part)), words, cited)


def _parts(sentence: str, groups: Sequence[re.Match[str]]) -> list[str]:
    first, rest = sentence[: groups[0].start()], sentence[groups[-1].end() :]
    ahead = not re.search(r"\d", first) and re.search(r"\d", rest)
    if ahead:
        cuts = [0, *(group.start() for group in groups[1:]), len(sentence)]
    else:
        cuts = [0, *(group.end() for group in groups[:-1]), len(sentence)]
    return [sentence[start:end] for start, end in pairwise(cuts)]


def _words(text: str) -> str:
    return strip_marks(NUMBERS.sub(" ", text))


def _as_read(text: str) -> str:
    return " ".join(strip_marks(text).replace("|", " ").split())


LEAST_SHARED = 2
"""Words that a clause and a sentence share where it is taken from that."""


def section_of(passage: Passage, said: Sequence[Clause]) -> str:
    """The heading above the sentence that the first clause with this passage's number is taken from.

    The passage's own section, with those above it, where that is under it or cannot be told.
    """
    chunk = passage.hit.chunk
    told = statements([passage])
    first = next((clause for clause in said if passage.number in clause.numbers), None)
    if first is None or len({one.heading for one in told}) < 2:
        return chunk.section
    quoted, terms = quotations(first.words), analyzer("english").terms
    words = set(terms(first.words))

    def nearness(one: Statement) -> tuple[int, int]:
        text = normalise(one.text)
        return sum(is_quoted(quote, text) for quote in quoted), len(words.intersection(terms(one.whole)))

    best = max(told, key=nearness)
    quotes, shared = nearness(best)
    is_own = best.heading == chunk.heading
    return chunk.section if is_own or not (quotes or shared >= LEAST_SHARED) else best.heading
