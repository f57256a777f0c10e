"""Compare what a clause says with the rows of figures of its passages: value, label,
country, and change over time.

Only what contradicts the passages is marked: words are of a figure's own row in any
form, and of another only if they are its very words. In doubt a figure is of every row
that has its value.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from itertools import compress, groupby, pairwise, permutations, takewhile
from typing import NamedTuple

from ..language.characters import lowered
from ..language.country_names import keys_in
from .amounts import Amount
from .contradictions import ABOVE, BELOW, FALLS, NEGATORS, RISES, Defect
from .evidence import (
    WORD,
    Evidence,
    PassageRow,
    Sentence,
    Token,
    beginning,
    keys_of,
    label_key,
)
from .foreign import Headings
from .wording import pattern, stems

_COMPARED = pattern(r"\b(?:{compares}|{negates})\W+(?:\w+\W+){0,2}$")
_PART_END = re.compile(r"[,;:] |\b(?:and|while|whereas|but|against|versus) ")
_UNCHANGED = pattern(r"\b{unchanged}\b")
_FACTORS = {"doubl": 2.0, "tripl": 3.0, "quadrupl": 4.0, "halv": 0.5}
_CHANGES = ABOVE | BELOW | _FACTORS.keys() | {"chang", "unchang", "same"}
FACTOR_SHARE = 0.2
"""Tolerance of a change around the factor that the clause states, as a share of it."""
_HIGHEST = stems("highest")
_LOWEST = stems("lowest")
_INCOME = stems("income")
_SPENDING = stems("spending")
_GOALS = frozenset(["to", "at"])
VERB_DISTANCE = 8
"""Words before a figure among which its verb is looked for."""
MAX_FIGURES = 50
"""Figures of one clause; more of them are a list."""
_Rows = Sequence[tuple[Evidence, PassageRow | None]]


def row_defects(
    clause: Sentence, cited: Sequence[Evidence], headings: Headings
) -> Iterator[Defect]:
    """Yield what the clause says of another row than the one that has its figure, and
    changes that go the other way.
    """
    around = frozenset[Decimal]().union(
        *(one.around for one in cited)
    )  # "of 1,000", years of editions
    rows: list[tuple[Amount, _Rows]] = []
    for one in clause.amounts:
        figure = one.figure
        if figure.year:
            continue
        if figure.bare and (figure.word or figure.values & around):
            continue
        of_figure: list[tuple[Evidence, PassageRow | None]] = []
        for source in cited:
            for true in source.amounts_like(one):
                if one.shares_year(true):
                    of_figure.append((source, source.row_of.get(id(true))))
        rows.append((one, of_figure))
    yield from _of_others(clause, rows, headings)
    shown = [one for one, some in rows if some]
    of_shown = [row for _, some in rows for row in some]
    if shown and all(
        row and headings.name_another(row, clause.keys, source.beginnings)
        for source, row in of_shown
    ):
        yield Defect(
            "figure", clause.text[shown[0].figure.start : shown[0].figure.end].strip()
        )
    yield from _negated(clause, shown, of_shown)
    yield from _wrong_balance(clause, cited)
    yield from _wrong_changes(clause, set(map(id, shown)), cited, headings)


def _negated(
    clause: Sentence, shown: Sequence[Amount], of_shown: _Rows
) -> Iterator[Defect]:
    """Yield the share of a heading where the clause denies the heading's very word:
    "60.5 % have no electricity" of "Electricity access: 60.5 %".
    """
    shares = [one for one in shown if one.measure == "share"]
    if len(shares) != 1:
        return
    denied: set[str] = set()
    for at, token in enumerate(clause.tokens):
        if token.key in NEGATORS:
            denied |= {near.key for near in clause.tokens[at + 1 : at + 3]}
    rows = [row for _, row in of_shown if row is not None]
    headings = [keys_of(row.heading) for row in rows]
    if len(rows) == len(of_shown) and all(
        not NEGATORS & keys and denied & keys for keys in headings
    ):
        yield Defect("figure", shares[0].figure.text)


def _wrong_balance(clause: Sentence, cited: Sequence[Evidence]) -> Iterator[Defect]:
    """Yield "surplus" where the passages have more spending than income, and "deficit"
    where they have less.
    """
    sign = ("surplus" in clause.keys) - ("deficit" in clause.keys)
    if not sign:
        return
    years = {one.figure.year for one in clause.amounts}
    incomes: list[float] = []
    spendings: list[float] = []
    for source in cited:
        for row in source.rows[:MAX_FIGURES]:
            keys = row.label | keys_of(row.heading)
            if not row.amount.years <= years:
                continue
            if keys & _INCOME:
                incomes.append(row.value)
            if keys & _SPENDING:
                spendings.append(row.value)
    if len(incomes) == len(spendings) == 1 and (incomes[0] - spendings[0]) * sign < 0:
        yield Defect("direction", "surplus" if sign > 0 else "deficit")


def _of_others(
    clause: Sentence, rows: Sequence[tuple[Amount, _Rows]], headings: Headings
) -> Iterator[Defect]:
    """Yield the figures that are said to be of another label of their heading, and the
    countries that are said to have another's figure. Words may be of the figure before
    or behind them, one country of all: the fewest defects count.
    """
    labels = {
        key
        for _, some in rows
        for _, row in some
        if row
        for one in (row.label, *row.siblings)
        for key in one
    }
    rows = (
        [(one, some) for one, some in rows if one.figure.text not in labels]
        if labels or clause.countries
        else []
    )
    if not 0 < len(rows) <= MAX_FIGURES:
        return
    lower = lowered(clause.text)
    countries = {country.start: country for country in clause.countries}
    inside = {place for one, _ in rows for place in range(one.figure.start, one.end)}
    # A word that compares the label with something, or excludes it, stands before it.
    words = [
        (place, key)
        for match in WORD.finditer(lower)
        if (place := match.start()) not in inside
        if (key := label_key(match[0])) not in labels
        or not _COMPARED.search(lower, max(0, place - 40), place)
    ]
    if not any(key in labels or place in countries for place, key in words):
        return
    telling = [
        key in labels or (place in countries and len(countries) > 1)
        for place, key in words
    ]
    readings = _readings(
        lower, [one for one, _ in rows], [place for place, _ in words], telling
    )
    choices = list[list[Defect]]()
    for owners in readings:
        choices.append([])
        for number, (one, some) in enumerate(rows):
            owned = [
                word
                for word, owner in zip(words, owners, strict=True)
                if owner == number and some
            ]
            keys = {key for _, key in owned}
            beside = [countries[place] for place, _ in owned if place in countries]
            if keys and all(
                row and headings.name_sibling(row, keys) for _, row in some
            ):
                choices[-1].append(
                    Defect(
                        "figure", clause.text[one.figure.start : one.figure.end].strip()
                    )
                )
            of_sources = (
                {key for source, _ in some for key in keys_in(source.full)}
                if beside
                else ()
            )
            if of_sources and all(
                of_sources.isdisjoint(country.keys) for country in beside
            ):
                choices[-1].append(Defect("name", beside[0].text))
    yield from min(choices, key=len, default=())


def _readings(
    text: str, figures: Sequence[Amount], places: Sequence[int], telling: Sequence[bool]
) -> Sequence[Sequence[int]]:
    """Return the ways in which the words at some places may be of figures, by the
    figures' numbers: of the next one, of the one before, or of the only one within
    commas. Where a telling word is of no figure, a way does not count.
    """
    if len(figures) == 1:
        return [[0] * len(places)]
    starts = [one.figure.start for one in figures]
    ends = [one.end for one in figures]
    cuts = [match.end() for match in _PART_END.finditer(text)]
    parts = [bisect_right(cuts, start) for start in starts]
    only = {part: number for number, part in enumerate(parts) if parts.count(part) == 1}
    ways = [
        [bisect_left(starts, place) for place in places],
        [bisect_right(ends, place) - 1 for place in places],
        [only.get(bisect_right(cuts, place), -1) for place in places],
    ]
    able = [
        way
        for way in ways
        if all(0 <= owner < len(figures) for owner in compress(way, telling))
    ]
    return able or ways[:2]


class _Change(NamedTuple):
    """A change or comparison that a clause states. Of its two values, the first is the
    earlier or the left one; the second is greater (``sign`` 1), less (-1), the same, or
    so many times the first.
    """

    sign: int
    is_same: bool = False
    factor: float | None = None

    def fits(self, first: float, last: float) -> bool:
        if ((last > first) - (last < first)) * self.sign < 0 or (
            self.is_same and first != last
        ):
            return False
        if self.factor is None or first <= 0:
            return True
        low = self.factor * (1 - FACTOR_SHARE)
        high = self.factor * (1 + FACTOR_SHARE)
        return last / first >= low if self.factor > 1 else last / first <= high


def _wrong_changes(
    clause: Sentence,
    supported: Collection[int],
    cited: Sequence[Evidence],
    headings: Headings,
) -> Iterator[Defect]:
    """Yield what changes or compares in another way than the passages say."""
    if clause.keys.isdisjoint(_CHANGES | _HIGHEST | _LOWEST):
        return
    is_same = _UNCHANGED.search(lowered(clause.text)) is not None
    tokens = clause.tokens
    factor = next(
        (_FACTORS[token.key] for token in tokens if token.key in _FACTORS), None
    )
    places = [place for place, token in enumerate(tokens) if token.key == "#"]
    shown = [place for place in places if id(tokens[place].amount) in supported]
    yield from _turned(tokens, shown, _Change(0, is_same and len(shown) == 2, factor))
    yield from _turned_prose(clause, cited)
    goal = (
        tokens[max(0, places[0] - 2) : places[0]] if len(places) == 1 else ()
    )  # of "fell to 4.6 %"
    if not places or any(token.key in _GOALS for token in goal):
        series = [
            [*one]
            for e in cited
            for _, one in groupby(e.rows, lambda row: (row.heading, row.label))
        ]
        change = _Change(_sign(tokens), is_same, factor)
        if len(series) == 1:
            yield from _wrong_extreme(clause, series[0])
        if len(series) == 1 and (change.sign or is_same):
            yield from _turned_series(tokens, series[0], change)
        else:
            yield from _wrong_comparison(clause, cited, headings)


def _sign(
    tokens: Sequence[Token], ups: frozenset[str] = RISES, downs: frozenset[str] = FALLS
) -> int:
    """Return 1 if the last word of change says that something rises, -1 if it falls,
    else 0.
    """
    for place in reversed(range(len(tokens))):
        if sign := (tokens[place].key in ups) - (tokens[place].key in downs):
            return (
                0
                if any(
                    token.key in NEGATORS for token in tokens[max(0, place - 2) : place]
                )
                else sign
            )
    return 0


def _turned(
    tokens: Sequence[Token], places: Sequence[int], change: _Change
) -> Iterator[Defect]:
    """Yield the second of two figures that do not change as the clause says: "rose from
    7.7 % to 6.9 %".
    """
    for at, (place, other) in enumerate(pairwise(places)):
        one = tokens[place].amount
        two = tokens[other].amount
        if (
            not one
            or not two
            or not one.measures_as(two)
            or min(*one.figure.values, *two.figure.values) < 0
        ):
            continue
        start = max(places[at - 1] + 1 if at else 0, place - VERB_DISTANCE)
        sign, orders = _orders(tokens[start:place], one, tokens[place + 1 : other], two)
        orders |= {(one, two)} if change.is_same else set()
        for first, last in orders:
            is_measured = first.measure and last.measure
            values = [
                float(min(each.figure.values) * (each.size if is_measured else 1))
                for each in (first, last)
            ]
            if not change._replace(sign=sign).fits(*values):
                yield Defect("direction", tokens[other].text)
                break


def _orders(
    before: Sequence[Token], one: Amount, between: Sequence[Token], two: Amount
) -> tuple[int, set[tuple[Amount, Amount]]]:
    """Return the direction in which two figures are said to change, and their orders in
    the words and in the years, which differ in "from 4.5 % in 2024 to 7.7 % in 2023".
    """
    links = {token.key for token in between}
    is_dated = bool(one.years and two.years) and one.years.isdisjoint(two.years)
    by_year = (
        (one, two) if not is_dated or min(one.years) < min(two.years) else (two, one)
    )
    if "from" in {token.key for token in before[-3:]}:  # "from just over 4 %"
        return _sign(before) if "to" in links else 0, {(one, two), by_year}
    if "from" in links:
        return _sign(between) or _sign(before), {
            (two, one),
            by_year if is_dated else (two, one),
        }
    if "than" in links or _compares(
        before
    ):  # "Women live longer than men: 77 years against 73"
        return _sign(
            [*takewhile(lambda t: t.key != "than", [*before, *between])], ABOVE, BELOW
        ), {(two, one)}
    # "It grew by 5 % in 2022 and by 4 % in 2023": the figures are the changes, or the
    # second has its verb.
    is_change = _sign(between) != 0 or (
        bool(before) and (before[-1].key == "by" or _sign(before[-1:]) != 0)
    )
    return _sign(before), {by_year} if is_dated and not is_change else set()


def _compares(tokens: Sequence[Token]) -> bool:
    """Return whether one thing is compared with another, and not a figure with a bound
    ("more than half").
    """
    after = next(
        (
            tokens[place + 1 : place + 3]
            for place, token in enumerate(tokens)
            if token.key == "than"
        ),
        [],
    )
    return any(
        token.is_capital or label_key(token.text) != token.key
        for token in after
        if not token.amount
    )


def _turned_prose(clause: Sentence, cited: Sequence[Evidence]) -> Iterator[Defect]:
    """Yield figures to which something rises in the clause and falls in a sentence of
    the passage, or the reverse.
    """
    for amount, sign, text in _directions(clause.tokens):
        moves = [
            move
            for e in cited
            if sign
            for near in e.nearest(clause.keys)
            for move in _directions(near.tokens)
        ]
        if {other for true, other, _ in moves if amount.agrees(true)} == {-sign}:
            yield Defect("direction", text)


def _directions(tokens: Sequence[Token]) -> Iterator[tuple[Amount, int, str]]:
    """Yield the figures with the direction of the verb before them, and their texts."""
    place = 0
    for at, token in enumerate(tokens):
        if token.amount and token.key == "#":
            yield (
                token.amount,
                _sign(tokens[max(place, at - VERB_DISTANCE) : at]),
                token.text,
            )
            place = at + 1


def _turned_series(
    tokens: Sequence[Token], series: Sequence[PassageRow], change: _Change
) -> Iterator[Defect]:
    """Yield the word of change of a clause if the series of its passages went the other
    way between the years that it names, or, without any, in all steps. The figure of
    one year is compared with the one before.
    """
    values = {max(row.amount.years): row.value for row in series if row.amount.years}
    years = sorted(
        year for token in tokens if token.amount and (year := token.amount.figure.year)
    )
    if len(years) == 1 and any(token.key == "#" for token in tokens):
        years = [year for year in sorted(values) if year <= years[0]][-2:]
    shown = [
        year
        for year in sorted(values)
        if not years or years[0] <= year <= (years[-1] if years[1:] else year)
    ]
    if len(shown) < 2 or (years and shown[0] != years[0]) or min(values.values()) < 0:
        return
    steps = [change.fits(values[one], values[other]) for one, other in pairwise(shown)]
    is_certain = years or not change.sign or not any(steps) or change.factor
    if is_certain and not change.fits(values[shown[0]], values[shown[-1]]):
        words = (
            token.text
            for token in tokens
            if token.key in RISES | FALLS | _FACTORS.keys()
        )
        yield Defect("direction", next(words, ""))


def _wrong_extreme(clause: Sentence, series: Sequence[PassageRow]) -> Iterator[Defect]:
    """Yield the year that the clause calls that of the highest or lowest figure of a
    series, and that is not.
    """
    years = [one.figure for one in clause.amounts if one.figure.year]
    values = {max(row.amount.years): row.value for row in series if row.amount.years}
    is_highest = not clause.keys.isdisjoint(_HIGHEST)
    if len(years) != 1 or is_highest != clause.keys.isdisjoint(_LOWEST):
        return
    value = values.get(years[0].year or 0)
    extreme = max if is_highest else min
    if value is not None and value != extreme(values.values()):
        yield Defect("year", years[0].text)


def _wrong_comparison(
    clause: Sentence, cited: Sequence[Evidence], headings: Headings
) -> Iterator[Defect]:
    """Yield the word that compares the figures of two labels the wrong way: "men live
    longer than women".
    """
    before, than, after = clause.text.partition(" than ")
    tokens = Sentence(before, []).tokens
    keys = {beginning(key) for key in clause.keys}
    change = _Change(-_sign(tokens, ABOVE, BELOW) if than else 0)
    pairs = [
        (row, other)
        for source in cited
        if change.sign
        for row, other in permutations(source.rows[:MAX_FIGURES], 2)
        if row.heading == other.heading
        and row.amount.years == other.amount.years
        and set() != row.label - other.label <= keys_of(before)
        and set() != other.label - row.label <= keys_of(after)
        and any(phrase <= keys for phrase in headings.phrases(row.heading))
    ]
    if pairs and not any(change.fits(row.value, other.value) for row, other in pairs):
        yield Defect(
            "direction",
            next(
                token.text for token in reversed(tokens) if token.key in ABOVE | BELOW
            ),
        )
