"""Which passages an answer cites, and whether they bear what is said with them.

A deterministic check, strict: every figure and every quotation of a cited sentence must stand in one of the passages
it cites. A rounded figure counts where the sentence says so ("about 52 million"), a sum or a share that the model
worked out itself does not; a difference does, where both its terms stand in the sentence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from itertools import combinations, groupby

from ..schema import Citation, Context, Passage, Question, Range, Unsupported
from ..text import sentences
from .dates import Date, date_stands, dates
from .figures import Figure, comma_decimals, figures, scales_named, unify_signs
from .reported_figures import bound_years
from .wording import cited_numbers, cited_sentences, is_quoted, normalise, quotations

_NAME = re.compile(r"[^\W\d_]-$")
"""COVID-19, F-16."""
_FALLING = re.compile(
    r"\b(?:fall|fell|drop|declin|decreas|reduc|deficit|contract|shrank|shrunk|shrink|loss|lost|negativ|minus|below|"
    r"net |out-?flow|emigra|sank|sink|gesunken|rückgang|verlust|unter |baisse|recul|déficit|disminu|descen|queda)",
    re.IGNORECASE,
)
_ABOUT = (
    "about|around|approximately|approx\\.|roughly|some|ca\\.|circa|close to|~|≈|rund|etwa|ungefähr|environ|unos|unas"
)
_OVER = "(?:just |well )?over|more than|above|at least|über|mehr als|plus de|más de|mais de"
_UNDER = "(?:just )?under|less than|below|nearly|almost|knapp|fast|unter|weniger als|près de|moins de|presque|casi"
_HEDGES = {
    ROUND_HALF_UP: re.compile(rf"(?:^|[\s(])(?:{_ABOUT})\s*$", re.IGNORECASE),
    ROUND_FLOOR: re.compile(rf"(?:^|[\s(])(?:{_OVER})\s*$", re.IGNORECASE),
    ROUND_CEILING: re.compile(rf"(?:^|[\s(])(?:{_UNDER})\s*$", re.IGNORECASE),
}
ROUGHLY = Decimal("0.05")
"""How far a rounded number may be from the true one, as a share of it."""
SNIPPET_CHARACTERS = 400
MOST_TERMS = 4
"""Figures of one sentence among which differences are looked for: more of them are a list."""
SMALL = 100
"""Below it a number of the question ("the top 5") may be repeated without standing in a passage."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a number stands: with which unit, bound to which years."""

    unit: str
    years: frozenset[int]


@dataclass(frozen=True, slots=True)
class ClaimedFigure:
    """A number of an answer with what its sentence says of it, and the years that are bound to it."""

    figure: Figure
    years: frozenset[int] = frozenset()
    falling: bool = False
    hedge: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Of one passage."""

    words: str
    places: dict[Decimal, list[Place]] = field(default_factory=dict)
    dates: list[Date] = field(default_factory=list)
    around: frozenset[Decimal] = frozenset()
    """Numbers of its title, section, page and metadata: they bear years and the like, no amounts."""

    @classmethod
    def of(cls, passage: Passage) -> Evidence:
        """Read once for each passage that is cited."""
        chunk = passage.hit.chunk
        where = " \n".join([chunk.title, chunk.section, str(chunk.page or ""), *map(str, chunk.metadata.values())])
        text = passage.wider_text if chunk.text in passage.wider_text else f"{passage.wider_text}\n{chunk.text}"
        places: dict[Decimal, list[Place]] = defaultdict(list)
        comma = comma_decimals(text)
        headed = scales_named(where, figures(where))
        for sentence in sentences(text):
            for value, place in _places(sentence, comma, headed):
                places[value].append(place)
        around = frozenset(value for figure in figures(where) for value in (*figure.values, *figure.parts))
        return cls(f"{normalise(where)}\n{normalise(text)}", places, dates(where) + dates(text), around)


def _places(sentence: str, comma: bool, headed: set[Decimal]) -> Iterator[tuple[Decimal, Place]]:
    found = figures(sentence, comma=comma)
    factors = headed | scales_named(sentence, found)
    bound = bound_years(sentence, found)
    for figure, years in zip(found, bound, strict=True):
        values = {*figure.values, *figure.parts}
        if not figure.scaled:
            values |= {(value * factor).normalize() + 0 for value in figure.values for factor in factors}
        for value in values:
            yield value, Place(figure.unit, years)


def claims(sentence: str, *, comma: bool, skip: Sequence[Date]) -> list[ClaimedFigure]:
    """The numbers of an answer's sentence that have to stand in its passages; not those of ``skip``.

    A number word counts with a unit or a scale only: "one of them" says nothing.
    """
    found = figures(sentence, comma=comma)
    falling = bool(_FALLING.search(sentence))
    result = []
    for figure, years in zip(found, bound_years(sentence, found), strict=True):
        before = sentence[max(0, figure.start - 24) : figure.start]
        inside_date = any(date.start <= figure.start < date.end for date in skip)
        named = figure.year is None and _NAME.search(unify_signs(before))
        if inside_date or (figure.bare and (figure.word or named)):
            continue
        hedge = next((rounding for rounding, words in _HEDGES.items() if words.search(before)), None)
        result.append(ClaimedFigure(figure, years, falling, hedge))
    return result


def stands(claim: ClaimedFigure, evidence: Sequence[Evidence]) -> bool:
    """Whether one of the passages has the number, with its unit, and does not give it another year."""
    figure = claim.figure
    if figure.bare and any(value in passage.around for passage in evidence for value in figure.values):
        return True
    found = [place for passage in evidence for place in _candidates(claim, passage)]
    if any(not claim.years or not place.years or claim.years & place.years for place in found):
        return True
    known = {value for passage in evidence for value in (*passage.places, *passage.around)}
    return not found and bool(figure.parts) and known.issuperset(figure.parts)


def _candidates(claim: ClaimedFigure, passage: Evidence) -> list[Place]:
    wanted = set(claim.figure.values)
    if claim.falling:
        wanted |= {-value for value in wanted}
    found = [place for value in wanted for place in passage.places.get(value, ())]
    if not found and claim.hedge:
        found = [
            place
            for value, places in passage.places.items()
            if any(_rounds_to(value, near, claim.hedge) for near in wanted)
            for place in places
        ]
    return [place for place in found if not (claim.figure.unit and place.unit and claim.figure.unit != place.unit)]


def _rounds_to(value: Decimal, claimed: Decimal, rounding: str) -> bool:
    """Whether ``claimed`` is ``value`` rounded to the digits it shows; zeros at its end may be digits or not."""
    if not claimed or not value or abs(value - claimed) > ROUGHLY * abs(value):
        return False
    exponent = int(claimed.normalize().as_tuple().exponent)
    return exponent > -9 and value.quantize(Decimal(1).scaleb(exponent), rounding) == claimed


def day_stands(readings: Sequence[Date], evidence: Sequence[Evidence]) -> bool:
    """Whether a passage has a date in one of its readings."""
    known = [date for passage in evidence for date in passage.dates]
    numbers = {value for passage in evidence for value in (*passage.places, *passage.around)}
    return any(date_stands(date, known, numbers) for date in readings)


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
    evidence: dict[int, Evidence] = {}
    for number in cited_numbers(response):
        if number in passages:
            evidence[number] = Evidence.of(passages[number])
    unsupported = _unsupported(response, evidence, question) if passages else ()
    doubtful = {number for sentence in unsupported if sentence.lacking for number in sentence.numbers}
    citations = (
        Citation(number, passages[number].hit, _snippet(passages[number]), number not in doubtful)
        for number in evidence
    )
    return Checked(tuple(citations), unsupported)


def _unsupported(response: str, evidence: dict[int, Evidence], question: Question | None) -> tuple[Unsupported, ...]:
    given = _given(question) if question else frozenset[Decimal]()
    asked = normalise(f"{question.query}\n{question.search_text}") if question else ""
    comma = comma_decimals(response)
    found = []
    for sentence in cited_sentences(response):
        known = tuple(number for number in sentence.numbers if number in evidence)
        unknown = tuple(number for number in sentence.numbers if number not in evidence)
        cited = [evidence[number] for number in known]
        figures_missing = _missing_figures(sentence.words, cited, comma, given) if cited else ()
        quoted = quotations(sentence.words) if cited else []
        foreign = [q for q in quoted if not any(is_quoted(q, e.words) for e in cited) and not is_quoted(q, asked)]
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
    said = [
        (claim.figure, stands(claim, cited) or bool(claim.figure.bare and claim.figure.values & given))
        for claim in claims(words, comma=comma, skip=whole)
    ]
    worked_out = _differences([figure for figure, borne in said if borne])
    missing += [
        (figure.start, figure.text)
        for figure, borne in said
        if not borne and worked_out.isdisjoint((unit, v) for unit in _units(figure) for v in figure.values)
    ]
    return tuple(dict.fromkeys(text for _, text in sorted(missing)))


def _differences(borne: Sequence[Figure]) -> set[tuple[str, Decimal]]:
    """By how much figures of one sentence that its passages bear differ, in the same unit; not years, not counts."""
    terms = [f for f in borne if f.year is None and (not f.bare or any(value >= SMALL for value in f.values))]
    if len(terms) > MOST_TERMS:
        return set()
    return {
        (one.unit, abs(first - second))
        for one, other in combinations(terms, 2)
        if one.unit == other.unit
        for first in one.values
        for second in other.values
    }


def _units(figure: Figure) -> tuple[str, ...]:
    return (figure.unit, "%") if figure.bare else (figure.unit,)  # "1.6 points"


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
