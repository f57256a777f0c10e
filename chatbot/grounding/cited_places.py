"""Under which heading of a passage stands what an answer says of it: a passage may span several."""

from __future__ import annotations

from collections.abc import Sequence

from ..chat_models.statements import Statement, statements
from ..schema import SECTION_SEPARATOR, Passage
from ..text import analyzer
from .clauses import Clause
from .wording import is_quoted, normalise, quotations

LEAST = 2
"""Words that a clause and a sentence share where it is taken from that."""


def section_of(passage: Passage, said: Sequence[Clause]) -> str:
    """The heading above the sentence that the first clause with this passage's number is taken from.

    The passage's own section, with those above it, where that is under it or cannot be told.
    """
    own = passage.hit.chunk.section
    told = statements([passage])
    first = next((clause for clause in said if passage.number in clause.numbers), None)
    if first is None or len({one.heading for one in told}) < 2:
        return own
    quoted, terms = quotations(first.words), analyzer("english").terms
    words = set(terms(first.words))

    def nearness(one: Statement) -> tuple[int, int]:
        text = normalise(one.text)
        return sum(is_quoted(quote, text) for quote in quoted), len(words.intersection(terms(one.whole)))

    best = max(told, key=nearness)
    quotes, shared = nearness(best)
    is_own = best.heading == own.rpartition(SECTION_SEPARATOR)[2]
    return own if is_own or not (quotes or shared >= LEAST) else best.heading
