"""Compare the changes and comparisons that a clause states with the figures of the
clause itself and of its passages: "rose from 7.7 % to 6.9 %", "men live longer than
women".
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby, pairwise, permutations, takewhile
from typing import NamedTuple

from ..language.characters import lowered
from .amounts import Amount
from .contradictions import ABOVE, BELOW, FALLS, NEGATORS, RISES, Defect
from .evidence import (
    Evidence,
    PassageRow,
    Sentence,
    Token,
    beginning,
    keys_of,
    label_key,
)
from .foreign import Headings
from .wording import LIMITS, pattern, stem, stems

__all__ = ["MAX_FIGURES", "wrong_changes"]

_UNCHANGED = pattern(r"\b{unchanged}\b")
_FACTORS = {"doubl": 2.0, "tripl": 3.0, "quadrupl": 4.0, "halv": 0.5}
_CHANGES = ABOVE | BELOW | _FACTORS.keys() | {"chang", "unchang", "same"}
_MOVES = RISES | FALLS | _FACTORS.keys()
_UP_TO_THAN = re.compile(r"((?:\s\w+){1,3}?) than\b")
_HIGHEST = stems("highest")
_LOWEST = stems("lowest")
_GOALS = frozenset(["to", "at"])
FACTOR_SHARE = 0.2
"""Tolerance of a change around the factor that the clause states, as a share of it."""
VERB_DISTANCE = LIMITS["verb_distance"]
MAX_FIGURES = LIMITS["compared_figures"]
_InOrder = tuple[Amount, Amount]
"""Two figures, the earlier or the left one first."""


class _Change(NamedTuple):
    """A change or comparison that a clause states. Of its two values, the first is the
    earlier or the left one; the second is greater (``sign`` 1), less (-1), the same, or
    so many times the first, or more (``is_more``).
    """

    sign: int
    is_same: bool = False
    factor: float | None = None
    is_more: bool = False

    def fits(self, first: float, last: float) -> bool:
        if self.is_same and first != last:
            return False
        if self.sign > 0 and last < first:
            return False
        if self.sign < 0 and last > first:
            return False
        if self.factor is None or first <= 0:
            return True
        if self.factor > 1:
            least = self.factor * (1 if self.is_more else 1 - FACTOR_SHARE)
            return last / first >= least
        return last / first <= self.factor * (1 + FACTOR_SHARE)


def wrong_changes(
    clause: Sentence,
    supported: Collection[int],
    cited: Sequence[Evidence],
    headings: Headings,
) -> Iterator[Defect]:
    """Yield what changes or compares in another way than the passages say.

    ``supported``: the identities of the amounts of the clause that a passage has.
    """
    if clause.keys.isdisjoint(_CHANGES | _HIGHEST | _LOWEST):
        return
    tokens = clause.tokens
    positions = [at for at, token in enumerate(tokens) if token.key == "#"]
    compared = [at for at in positions if id(tokens[at].amount) in supported]
    change = _stated_change(clause)
    are_two_same = change.is_same and len(compared) == 2
    between_figures = change._replace(sign=0, is_same=are_two_same)
    yield from _turned_pairs(clause.text, tokens, compared, between_figures)
    yield from _turned_prose(clause, cited)
    if positions and not _is_goal(tokens, positions):
        return
    series = _series_of(cited)
    if len(series) != 1:
        yield from _wrong_comparison(clause, cited, headings)
        return
    values = {max(row.amount.years): row.value for row in series[0] if row.amount.years}
    yield from _wrong_extreme(clause, values)
    if change.sign or change.is_same:
        yield from _turned_series(tokens, values, change)
    else:
        yield from _wrong_comparison(clause, cited, headings)


def _stated_change(clause: Sentence) -> _Change:
    is_same = _UNCHANGED.search(lowered(clause.text)) is not None
    for position, token in enumerate(clause.tokens):
        if token.key in _FACTORS:
            before = [one.key for one in clause.tokens[max(0, position - 2) : position]]
            is_more = before[-1:] == ["over"] or before == ["more", "than"]
            factor = _FACTORS[token.key]
            return _Change(_sign(clause.tokens), is_same, factor, is_more)
    return _Change(_sign(clause.tokens), is_same)


def _is_goal(tokens: Sequence[Token], positions: Sequence[int]) -> bool:
    """Return whether a change ends at the only figure of a clause: "fell to 4.6 %"."""
    if len(positions) != 1:
        return False
    before = tokens[max(0, positions[0] - 2) : positions[0]]
    return any(token.key in _GOALS for token in before)


def _series_of(cited: Sequence[Evidence]) -> list[list[PassageRow]]:
    """Return the rows of passages that share a heading and a label, in order."""
    series: list[list[PassageRow]] = []
    for source in cited:
        for _, rows in groupby(source.rows, lambda row: (row.heading, row.label)):
            series.append(list(rows))
    return series


def _sign(
    tokens: Sequence[Token], ups: frozenset[str] = RISES, downs: frozenset[str] = FALLS
) -> int:
    """Return 1 if the last word of change says that something rises, -1 if it falls,
    else 0, also where it is denied.
    """
    for position in reversed(range(len(tokens))):
        key = tokens[position].key
        # No word of change, or one that may be either.
        if (key in ups) == (key in downs):
            continue
        before = tokens[max(0, position - 2) : position]
        if any(token.key in NEGATORS for token in before):
            return 0
        if key in ups:
            return 1
        return -1
    return 0


def _turned_pairs(
    text: str, tokens: Sequence[Token], positions: Sequence[int], change: _Change
) -> Iterator[Defect]:
    """Yield the second of two figures that do not change as the clause says: "rose from
    7.7 % to 6.9 %".
    """
    until = 0
    for position, next_position in pairwise(positions):
        first = tokens[position].amount
        second = tokens[next_position].amount
        before = tokens[max(until, position - VERB_DISTANCE) : position]
        between = tokens[position + 1 : next_position]
        # "More than A, by B" compares nothing behind A.
        is_compared = any(token.key == "than" for token in between)
        until = next_position if is_compared else position + 1
        if not first or not second or not _are_comparable(first, second):
            continue
        if _begins_span(tokens, next_position) or _is_difference(
            text[first.end : second.figure.start]
        ):
            continue
        sign, orders = _orders(before, first, between, second)
        if change.is_same:
            orders |= {(first, second)}
        if not all(_fits(change._replace(sign=sign), *order) for order in orders):
            yield Defect("direction", tokens[next_position].text)


def _is_difference(gap: str) -> bool:
    """Return whether the figure before these words says by how much another is more or
    less: "900 km more than".
    """
    left = _UP_TO_THAN.match(lowered(gap))
    if left is None:
        return False
    return not (ABOVE | BELOW).isdisjoint(map(stem, left[1].split()))


def _begins_span(tokens: Sequence[Token], position: int) -> bool:
    """Return whether a figure is the first of two: "from 11.8 % in 2010 to 5 %"."""
    if not any(
        token.key == "from" for token in tokens[max(0, position - 2) : position]
    ):
        return False
    behind = takewhile(lambda token: token.key != "#", tokens[position + 1 :])
    return any(token.key == "to" for token in behind)


def _are_comparable(first: Amount, second: Amount) -> bool:
    if not first.measures_as(second):
        return False
    return min(*first.figure.values, *second.figure.values) >= 0


def _fits(change: _Change, first: Amount, last: Amount) -> bool:
    values = [min(first.figure.values), min(last.figure.values)]
    if first.measure and last.measure:
        values = [values[0] * first.size, values[1] * last.size]
    return change.fits(float(values[0]), float(values[1]))


def _orders(
    before: Sequence[Token], first: Amount, between: Sequence[Token], second: Amount
) -> tuple[int, set[_InOrder]]:
    """Return the direction in which two figures are said to change, and their orders in
    the words and in the years, which differ in "from 4.5 % in 2024 to 7.7 % in 2023".
    """
    links = {token.key for token in between}
    by_year = _order_of_years(first, second)
    if any(token.key == "from" for token in before[-3:]):
        # "From just over 4 % to 5 %".
        sign = _sign(before) if "to" in links else 0
        return sign, {(first, second)} | by_year
    if "from" in links:
        return _sign(between) or _sign(before), {(second, first)} | by_year
    if "than" in links or _compares(before):
        # "Women live longer than men: 77 years against 73".
        words = takewhile(lambda token: token.key != "than", [*before, *between])
        return _sign(list(words), ABOVE, BELOW), {(second, first)}
    if _is_change(before, between):
        return _sign(before), set()
    return _sign(before), by_year


def _order_of_years(first: Amount, second: Amount) -> set[_InOrder]:
    """Return two figures with the earlier one first; nothing without years of each."""
    if not first.years or not second.years:
        return set()
    if not first.years.isdisjoint(second.years):
        return set()
    if min(first.years) < min(second.years):
        return {(first, second)}
    return {(second, first)}


def _is_change(before: Sequence[Token], between: Sequence[Token]) -> bool:
    """Return whether figures are changes themselves, or the second has its own verb:
    "It grew by 5 % in 2022 and by 4 % in 2023".
    """
    if _sign(between) != 0:
        return True
    last = before[-1:]
    return any(token.key == "by" for token in last) or _sign(last) != 0


def _compares(tokens: Sequence[Token]) -> bool:
    """Return whether one thing is compared with another, and not a figure with a bound
    ("more than half").
    """
    keys = [token.key for token in tokens]
    if "than" not in keys:
        return False
    behind = keys.index("than") + 1
    for token in tokens[behind : behind + 2]:
        if token.amount:
            continue
        if token.is_capital or label_key(token.text) != token.key:
            return True
    return False


def _turned_prose(clause: Sentence, cited: Sequence[Evidence]) -> Iterator[Defect]:
    """Yield figures to which something rises in the clause and falls in a sentence of
    the passage, or the reverse.
    """
    stated = [move for move in _directions(clause.tokens) if move[1]]
    if not stated:
        return
    true: list[tuple[Amount, int, str]] = []
    for source in cited:
        for sentence in source.nearest(clause.keys):
            true += _directions(sentence.tokens)
    for amount, sign, text in stated:
        if {other for one, other, _ in true if amount.agrees(one)} == {-sign}:
            yield Defect("direction", text)


def _directions(tokens: Sequence[Token]) -> Iterator[tuple[Amount, int, str]]:
    """Yield the figures with the direction of the verb before them, and their texts."""
    start = 0
    for position, token in enumerate(tokens):
        if token.amount and token.key == "#":
            before = tokens[max(start, position - VERB_DISTANCE) : position]
            yield token.amount, _sign(before), token.text
            start = position + 1


def _turned_series(
    tokens: Sequence[Token], values: Mapping[int, float], change: _Change
) -> Iterator[Defect]:
    """Yield the word of change of a clause if the series of its passages went the other
    way between the years that it names, or, without any, in all steps.

    ``values``: those of the series by year.
    """
    named = _years_named(tokens, sorted(values))
    years = _years_between(named, sorted(values))
    if len(years) < 2 or min(values.values()) < 0:
        return
    is_certain = bool(named) or not change.sign or change.factor is not None
    if not is_certain:
        steps = pairwise(years)
        is_certain = not any(change.fits(values[a], values[b]) for a, b in steps)
    if is_certain and not change.fits(values[years[0]], values[years[-1]]):
        words = [token.text for token in tokens if token.key in _MOVES]
        yield Defect("direction", "".join(words[:1]))


def _years_between(named: Sequence[int], known: Sequence[int]) -> Sequence[int]:
    """Return the years of a series from the first to the last that a clause names, all
    behind a single one; none where the series does not have the first.
    """
    if not named:
        return known
    if named[0] not in known:
        return ()
    last = named[-1] if len(named) > 1 else known[-1]
    return [year for year in known if named[0] <= year <= last]


def _years_named(tokens: Sequence[Token], known: Sequence[int]) -> list[int]:
    """Return the years that a clause names, in order. The figure of one year is
    compared with the one before.
    """
    years: list[int] = []
    for token in tokens:
        if token.amount and token.amount.figure.year:
            years.append(token.amount.figure.year)
    if len(years) == 1 and any(token.key == "#" for token in tokens):
        return [year for year in known if year <= years[0]][-2:]
    return sorted(years)


def _wrong_extreme(clause: Sentence, values: Mapping[int, float]) -> Iterator[Defect]:
    """Yield the year that the clause calls that of the highest or lowest figure of a
    series, and that is not.
    """
    years = [amount.figure for amount in clause.amounts if amount.figure.year]
    is_highest = not clause.keys.isdisjoint(_HIGHEST)
    is_lowest = not clause.keys.isdisjoint(_LOWEST)
    if len(years) != 1 or is_highest == is_lowest:
        return
    extreme = max if is_highest else min
    value = values.get(years[0].year or 0)
    if value is not None and value != extreme(values.values()):
        yield Defect("year", years[0].text)


def _wrong_comparison(
    clause: Sentence, cited: Sequence[Evidence], headings: Headings
) -> Iterator[Defect]:
    """Yield the word that compares the figures of two labels the wrong way: "men live
    longer than women".
    """
    left, than, right = clause.text.partition(" than ")
    tokens = Sentence(left, []).tokens
    sign = _sign(tokens, ABOVE, BELOW)
    if not than or not sign:
        return
    change = _Change(-sign)
    beginnings = {beginning(key) for key in clause.keys}
    pairs = [
        (row, other)
        for row, other in _labelled_pairs(cited, keys_of(left), keys_of(right))
        if any(phrase <= beginnings for phrase in headings.phrases(row.heading))
    ]
    if not pairs or any(change.fits(row.value, other.value) for row, other in pairs):
        return
    words = [token.text for token in tokens if token.key in ABOVE | BELOW]
    yield Defect("direction", words[-1])


def _labelled_pairs(
    cited: Sequence[Evidence], left: frozenset[str], right: frozenset[str]
) -> Iterator[tuple[PassageRow, PassageRow]]:
    """Yield pairs of rows with one heading and the same years: the words that only the
    first one's label has are named on the left of a comparison, those that only the
    second one's has on the right.
    """
    for source in cited:
        for row, other in permutations(source.rows[:MAX_FIGURES], 2):
            if row.heading != other.heading or row.amount.years != other.amount.years:
                continue
            only_first = row.label - other.label
            only_second = other.label - row.label
            if not only_first or not only_second:
                continue
            if only_first <= left and only_second <= right:
                yield row, other
