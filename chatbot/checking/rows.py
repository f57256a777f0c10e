"""Compare what a clause says with the rows of figures of its passages: value, label, country, and change over time.

A word is of the figure that follows it, or of the one before where the clause begins with a figure. In doubt a figure
is of every row that has its value."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby, pairwise
from typing import TypeVar

from ..language import lowered
from ..questions.names import keys_in
from .amounts import Amount
from .contradictions import ABOVE, BELOW, FALLS, NEGATORS, RISES, Defect, nearest
from .evidence import BEGINNING, WORD, Evidence, Row, Sentence, Token, keys_of, label_key
from .foreign import Headings
from .wording import pattern

_COMPARED = pattern(r"\b(?:{compares}|{negates})\W+(?:\w+\W+){0,2}$")
_UNCHANGED = pattern(r"\b{unchanged}\b")
_FACTORS = {"doubl": 2.0, "tripl": 3.0, "quadrupl": 4.0, "halv": 0.5}
_CHANGES = ABOVE | BELOW | _FACTORS.keys()
FACTOR_SHARE = 0.2
"""Tolerance of a change around the factor that the clause states, as a share of it."""
VERB_DISTANCE = 8
"""Words before a figure among which its verb is looked for."""
COMPARED_DISTANCE = 40
"""Characters before a label in which a word may compare something with it or exclude it."""
LABEL_SHARE = 1 / 3
"""Share of the words of a label that names it."""
MAX_UNIT_CHARACTERS = 20
"""Between an amount and the bracket that is of it."""
MAX_PAIRS = 50
"""Pairs of figures that one comparison may be of."""
_Value = TypeVar("_Value")
_Found = Sequence[tuple[Evidence, Amount]]


def row_defects(clause: Sentence, cited: Sequence[Evidence], headings: Headings) -> Iterator[Defect]:
    """Yield what the clause says of another row than the one that has its figure, and changes that go the other way."""
    places = [
        (one, [(source, true) for source in cited for true in source.amounts_like(one) if one.shares_year(true)])
        for one in clause.amounts if not one.figure.year
    ]  # fmt: skip
    shown, matches = [one for one, sources in places if sources], [sources for _, sources in places if sources]
    yield from _of_other_countries(clause, shown, matches)
    yield from _of_siblings(clause, shown, matches)
    yield from _of_other_headings(clause, shown, matches, headings)
    if clause.keys.isdisjoint(_CHANGES) and not _UNCHANGED.search(lowered(clause.text)):
        return
    yield from _turned(clause, set(map(id, shown)))
    yield from _turned_prose(clause, cited)
    if not any(map(_is_figure, clause.tokens)):
        yield from _turned_series(clause, cited, headings)


def _beside(text: str, shown: Sequence[Amount], mentions: Sequence[tuple[int, _Value]]) -> Iterator[frozenset[_Value]]:
    """Yield what is mentioned between each amount and the one before; if nothing is before the first, directly after
    each. What stands in brackets behind an amount is of it: "45,608 (Somalia)"."""
    at = list[tuple[int, _Value]]()
    for place, value in mentions:
        bracket = text.rfind("(", 0, place) if ")" not in text[max(0, text.rfind("(", 0, place)) : place] else -1
        behind = [one.figure.start for one in shown if bracket - MAX_UNIT_CHARACTERS <= one.end <= bracket]
        at.append((behind[-1] if behind else place, value))
    is_before = any(place <= shown[0].figure.start for place, _ in at) if shown else False
    starts = [0, *(one.end for one in shown)] if is_before else [one.end for one in shown]
    ends = [one.end for one in shown] if is_before else [*(one.figure.start for one in shown[1:]), 1 << 30]
    for start, end in zip(starts, ends, strict=False):
        is_next = not is_before and end < len(text)  # behind a comma, and before a bracket, it is of the next amount
        length = (text[end - 1] != "(") * len(re.split("[,;]", text[start:end])[0]) if is_next else end - start
        yield frozenset(value for place, value in at if 0 <= place - start < length)


def _of_other_countries(clause: Sentence, shown: Sequence[Amount], matches: Sequence[_Found]) -> Iterator[Defect]:
    """Yield the countries beside a figure that only passages about others have."""
    if not clause.countries:
        return
    mentions = [(country.start, place) for place, country in enumerate(clause.countries)]
    for places, sources in zip(_beside(clause.text, shown, mentions), matches, strict=True):
        beside = [clause.countries[place] for place in sorted(places)]
        countries = {key for source, _ in sources for key in keys_in(source.full)} if beside else ()
        if countries and all(countries.isdisjoint(one.keys) for one in beside):
            yield Defect("name", beside[0].text)


def _of_siblings(clause: Sentence, shown: Sequence[Amount], matches: Sequence[_Found]) -> Iterator[Defect]:
    """Yield the figures beside which the label of another figure under their heading stands, instead of their own."""
    rows, lower = [[source.row_of(true) for source, true in sources] for sources in matches], lowered(clause.text)
    labels = {key for some in rows for row in some if row for label in (row.label, *row.siblings) for key in label}
    if not labels:
        return
    figures = {place for one in shown if one.figure.text not in labels for place in range(one.figure.start, one.end)}
    mentions = [
        (place, key)
        for match in WORD.finditer(lower)
        if (place := match.start()) not in figures and (key := label_key(match[0])) in labels
        and not _COMPARED.search(lower, max(0, place - COMPARED_DISTANCE), place)
    ]  # fmt: skip
    of_rows = [(one, some) for one, some in zip(shown, rows, strict=True) if one.figure.text not in labels]
    for (amount, some), beside in zip(of_rows, _beside(lower, [one for one, _ in of_rows], mentions), strict=True):
        if beside and all(row and _is_of_sibling(row, beside) for row in some):
            yield Defect("figure", clause.text[amount.figure.start : amount.figure.end].strip())


def _is_of_sibling(row: Row, beside: frozenset[str]) -> bool:
    """Return whether the words beside a figure are of another label than its own, and not just one of many."""
    return any(
        row.label & beside < sibling & beside and len(beside & sibling) >= LABEL_SHARE * len(sibling - row.label)
        for sibling in row.siblings
    )


def _of_other_headings(
    clause: Sentence, shown: Sequence[Amount], matches: Sequence[_Found], headings: Headings
) -> Iterator[Defect]:
    """Yield the first figure of a clause that names another heading of the reports, and not that of its figures."""
    rows = [(source, source.row_of(true)) for sources in matches for source, true in sources]
    keys, others = clause.keys, headings.named(clause.keys) if rows else ()
    if not others or any(row is None or headings.names(row.heading, keys) for _, row in rows):
        return
    if not all(any({key[:BEGINNING] for key in other} <= source.beginnings for source, _ in rows) for other in others):
        yield Defect("figure", clause.text[shown[0].figure.start : shown[0].figure.end].strip())


def _is_figure(token: Token) -> bool:
    return token.key == "#" and token.amount is not None


def _sign(tokens: Sequence[Token], ups: frozenset[str] = RISES, downs: frozenset[str] = FALLS) -> int:
    """Return 1 if the last word of change says that something rises, -1 if it falls, else 0."""
    for place in reversed(range(len(tokens))):
        if sign := (tokens[place].key in ups) - (tokens[place].key in downs):
            return 0 if any(token.key in NEGATORS for token in tokens[max(0, place - 2) : place]) else sign
    return 0


def _turned(clause: Sentence, supported: Collection[int]) -> Iterator[Defect]:
    """Yield the second of two figures that do not change as the clause says: "rose from 7.7 % to 6.9 %"."""
    tokens, lower = clause.tokens, lowered(clause.text)
    places = [place for place, token in enumerate(tokens) if _is_figure(token) and id(token.amount) in supported]
    for at, (place, other) in enumerate(pairwise(places)):
        one, two = tokens[place].amount, tokens[other].amount
        if not one or not two or not one.measures_as(two) or min(*one.figure.values, *two.figure.values) < 0:
            continue
        if _UNCHANGED.search(lower) and len(places) == 2 and not one.agrees(two):
            yield Defect("direction", tokens[other].text)
        start = max(places[at - 1] + 1 if at else 0, place - VERB_DISTANCE)
        sign, orders = _orders(tokens[start:place], one, tokens[place + 1 : other], two)
        for first, last in orders:
            is_measured = first.measure and last.measure
            values = [float(min(each.figure.values) * (each.size if is_measured else 1)) for each in (first, last)]
            change = (values[1] > values[0]) - (values[1] < values[0])
            if change == -sign != 0 or not _is_by_factor(tokens, *values):
                yield Defect("direction", tokens[other].text)
                break


def _orders(
    before: Sequence[Token], one: Amount, between: Sequence[Token], two: Amount
) -> tuple[int, set[tuple[Amount, Amount]]]:
    """Return the direction in which two figures are said to change, and their orders in the words and in the years,
    which differ in "from 4.5 % in 2024 to 7.7 % in 2023"."""
    links = {token.key for token in between}
    is_dated = bool(one.years and two.years) and one.years.isdisjoint(two.years)
    by_year = (one, two) if not is_dated or min(one.years) < min(two.years) else (two, one)
    if before and before[-1].key == "from":
        return _sign(before) if "to" in links else 0, {(one, two), by_year}
    if "from" in links:
        return _sign(between) or _sign(before), {(two, one), by_year if is_dated else (two, one)}
    if "than" in links:
        return _sign([*before, *between], ABOVE, BELOW), {(two, one)}
    # "It grew by 5 % in 2022 and by 4 % in 2023": the figures are the changes, or the second has its verb.
    is_change = _sign(between) != 0 or (bool(before) and (before[-1].key == "by" or _sign(before[-1:]) != 0))
    return _sign(before), {by_year} if is_dated and not is_change else set()


def _turned_prose(clause: Sentence, cited: Sequence[Evidence]) -> Iterator[Defect]:
    """Yield figures to which something rises in the clause and falls in a sentence of the passage, or the reverse."""
    directions = list(_directions(clause.tokens))
    if not any(sign for _, sign in directions):
        return
    moves = [moves for one in nearest(clause, cited) for moves in _directions(one.tokens)]
    for token, sign in directions:
        others = {other for true, other in moves if token.amount and true.amount and token.amount.agrees(true.amount)}
        if sign and others == {-sign}:
            yield Defect("direction", token.text)


def _directions(tokens: Sequence[Token]) -> Iterator[tuple[Token, int]]:
    """Yield the figures with the direction of the verb before them."""
    place = 0
    for at, token in enumerate(tokens):
        if _is_figure(token):
            yield token, _sign(tokens[max(place, at - VERB_DISTANCE) : at])
            place = at + 1


def _is_by_factor(tokens: Sequence[Token], first: float, last: float) -> bool:
    """Return whether a figure that the clause says to double is at least about twice the first."""
    factor = next((_FACTORS[token.key] for token in tokens if token.key in _FACTORS), None)
    if factor is None or first <= 0:
        return True
    change = last / first
    return change >= factor * (1 - FACTOR_SHARE) if factor > 1 else change <= factor * (1 + FACTOR_SHARE)


def _turned_series(clause: Sentence, cited: Sequence[Evidence], headings: Headings) -> Iterator[Defect]:
    """Yield the word of change of a clause without figures, if the only series of its passages went the other way."""
    tokens = clause.tokens
    years = sorted(year for token in tokens if token.amount and (year := token.amount.figure.year))
    sign, is_same = _sign(tokens), _UNCHANGED.search(lowered(clause.text)) is not None
    factored = any(token.key in _FACTORS for token in tokens)
    series = [list(one) for source in cited for _, one in groupby(source.rows, lambda row: (row.heading, row.label))]
    if len(series) != 1 or not (sign or is_same):
        yield from _wrong_comparison(clause, cited, headings)
        return
    values = {max(row.amount.years): min(row.amount.figure.values) for row in series[0] if row.amount.years}
    shown = [year for year in sorted(values) if not years or years[0] <= year <= (years[-1] if years[1:] else year)]
    if len(shown) < 2 or (years and shown[0] != years[0]) or min(values.values()) < 0:
        return
    steps = [values[after] - values[before] for before, after in pairwise(shown)]
    first, last = float(values[shown[0]]), float(values[shown[-1]])
    is_turned = sign and (last - first) * sign < 0 and (years or all(step * sign <= 0 for step in steps))
    if is_turned or (is_same and first != last) or (factored and not _is_by_factor(tokens, first, last)):
        changes = (t.text for t in tokens if t.key in RISES | FALLS | _FACTORS.keys())
        yield Defect("direction", next(changes, ""))


def _wrong_comparison(clause: Sentence, cited: Sequence[Evidence], headings: Headings) -> Iterator[Defect]:
    """Yield the word that compares the figures of two labels the wrong way: "men live longer than women"."""
    before, than, after = clause.text.partition(" than ")
    tokens = Sentence(before, []).tokens
    sign = _sign(tokens, ABOVE, BELOW) if than else 0
    left, right = keys_of(before), keys_of(after)
    keys = {key for key in clause.keys if label_key(key) == key}
    pairs = [
        (row, other)
        for source in cited if sign
        for row in source.rows if len(left & row.label) == 1 and keys & headings.words(row.heading)
        for other in source.rows
        if row.heading == other.heading and row.amount.years == other.amount.years and len(right & other.label) == 1
        and row.label ^ other.label == (left & row.label) | (right & other.label) != frozenset()
    ][:MAX_PAIRS]  # fmt: skip
    values = [(min(row.amount.figure.values), min(other.amount.figure.values)) for row, other in pairs]
    if values and all((one > other) - (one < other) == -sign for one, other in values):
        yield Defect("direction", next(token.text for token in reversed(tokens) if token.key in ABOVE | BELOW))
