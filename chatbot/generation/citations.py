"""Which passages an answer cites, and whether they bear what is said with them.

A deterministic check, strict: every figure and every quotation of a cited sentence must stand in one of the passages
it cites. A rounded figure counts where the sentence says so ("about 52 million"), a sum or a share that the model
worked out itself does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import groupby

from ..schema import Citation, Context, Passage, Question, Range, Unsupported
from .dates import dates
from .evidence import Claim, Evidence, claims, day_stands, stands
from .figures import comma_decimals, figures
from .sentences import cited_numbers, cited_sentences
from .wording import is_quoted, plain, quotations

SNIPPET_CHARACTERS = 400
SMALL = 100
"""Below it a number of the question ("the top 5") may be repeated without standing in a passage."""


@dataclass(frozen=True, slots=True)
class Checked:
    """``citations``: one per number that occurs in the answer and belongs to a passage, in order of appearance.

    ``unsupported``: the sentences in which a figure, a date or a quotation stands in none of the passages they cite,
    or which cite a number that no passage has. A citation is supported where no sentence that lacks something has it.
    """

    citations: tuple[Citation, ...]
    unsupported: tuple[Unsupported, ...]


def check(response: str, context: Context, question: Question | None = None) -> Checked:
    """What the answer cites, and what of it the passages do not bear.

    What the question itself says (its scope's years, "top 5", a quoted name) is not held against the answer.
    """
    passages = {passage.number: passage for passage in context.passages}
    unsupported = _unsupported(response, passages, question) if passages else ()
    doubtful = {number for sentence in unsupported if sentence.lacking for number in sentence.numbers}
    citations = (
        Citation(number, passages[number].hit, _snippet(passages[number]), number not in doubtful)
        for number in cited_numbers(response)
        if number in passages
    )
    return Checked(tuple(citations), unsupported)


def _unsupported(response: str, passages: dict[int, Passage], question: Question | None) -> tuple[Unsupported, ...]:
    evidence = lru_cache(maxsize=None)(lambda number: Evidence.of(passages[number]))
    given = _given(question) if question else frozenset[Decimal]()
    asked = plain(f"{question.query}\n{question.search_text}") if question else ""
    comma = comma_decimals(response)
    found = []
    for sentence in cited_sentences(response):
        cited = [evidence(number) for number in sentence.numbers if number in passages]
        figures_missing = _missing_figures(sentence.words, cited, comma, given) if cited else ()
        quoted = quotations(sentence.words) if cited else []
        foreign = [q for q in quoted if not any(is_quoted(q, e.words) for e in cited) and not is_quoted(q, asked)]
        known = tuple(number for number in sentence.numbers if number in passages)
        unknown = tuple(number for number in sentence.numbers if number not in passages)
        if figures_missing or foreign or unknown:
            found.append(Unsupported(sentence.text, known, figures_missing, tuple(foreign), unknown))
    return tuple(found)


def _missing_figures(words: str, cited: Sequence[Evidence], comma: bool, given: frozenset[Decimal]) -> tuple[str, ...]:
    found = dates(words)
    days = [date for date in found if date.day is not None]
    whole = [d for d in found if d.day is not None or not any(day.start <= d.start < day.end for day in days)]
    whole.sort(key=lambda date: (date.start, date.end))
    missing = [
        (span[0], words[span[0] : span[1]])
        for span, readings in groupby(whole, key=lambda date: (date.start, date.end))
        if not day_stands(list(readings), cited)
    ]
    missing += [
        (claim.figure.start, claim.figure.text)
        for claim in claims(words, comma=comma, skip=whole)
        if not stands(claim, cited) and not _is_given(claim, given)
    ]
    return tuple(dict.fromkeys(text for _, text in sorted(missing)))


def _is_given(claim: Claim, given: frozenset[Decimal]) -> bool:
    return claim.figure.bare and any(value in given for value in claim.figure.values)


def _given(question: Question) -> frozenset[Decimal]:
    """Years and small counts of the question, and the years of its scope: no amounts, which it may get wrong."""
    text = f"{question.query}\n{question.search_text}"
    asked = figures(text, comma=comma_decimals(text))
    found = {v for figure in asked if figure.bare for v in figure.values if figure.year or 0 <= v < SMALL}
    for _, condition in question.scope.conditions:
        bounds = (condition.gte, condition.lte) if isinstance(condition, Range) else condition.values
        found |= {Decimal(bound) for bound in bounds if isinstance(bound, int)}
    return frozenset(found)


def _snippet(passage: Passage) -> str:
    text = passage.hit.chunk.text
    return text if len(text) <= SNIPPET_CHARACTERS else text[:SNIPPET_CHARACTERS].rsplit(" ", 1)[0] + " …"
