"""Prove that a figure is calculated from others: a sum, difference, ratio, share, mean,
product, rest, or change in per cent.

A proof may be an accident: with many figures any number is some combination of two. So
figures are combined only where they belong together (`row_groups`), and a figure is
proven only if a wrong one with as many digits would hardly be a result, too. Results
are in the first unit of a measure (`Amount.base`): 35 % is .35.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations, pairwise, permutations
from math import prod
from typing import NamedTuple

from ..language.characters import lowered
from ..language.figures import Figure
from .amounts import (
    BROADLY,
    FRACTION,
    HEDGE,
    NEAREST,
    PERCENT,
    ROUGHLY,
    SMALL_COUNT,
    Amount,
    rounds_to,
)
from .contradictions import FALLS, RISES
from .evidence import WORD, Evidence, PassageRow
from .wording import BOUNDS, FRACTIONS, LIMITS, UNITS, pattern, stem, stems

__all__ = [
    "A_SHARE",
    "RATE",
    "Direction",
    "Fraction",
    "aggregate_named",
    "as_points",
    "bound_before",
    "direction_of",
    "fractions",
    "group_results",
    "is_result",
    "names_operation",
    "operations_left",
    "operations_of",
    "pair_results",
    "part_around",
    "proven_amount",
    "row_groups",
    "sum_word",
    "whole_of",
]

_SUMS = pattern(r"\b{sums}\b")
_AVERAGES = pattern(r"\b{averages}\b")
_DIFFERS = pattern(r"\b{differs}\b")
_AGGREGATE_NAMES = {
    "mean": _AVERAGES,
    "median": pattern(r"\b{medians}\b"),
    "lowest": pattern(r"\b{lowest}\b"),
    "highest": pattern(r"\b{highest}\b"),
}
_COMPOUNDS = pattern(r"\b{compounds}\b")
_OTHERS = pattern(r"\b{others_before}\s$")
_YEARLY = pattern(r"\b{yearly}\b")
_LASTS = pattern(r"\b{lasts}\b")
_DAILY = pattern(r"\b{daily}\b")
_RESTS = pattern(r"\b{rests}\b")
_MOVES_BY = pattern(r"\b{moves_by}\s+(?:{about}\s+|{over}\s+|{under}\s+)?$")
MIN_WHOLE = LIMITS["least_whole"]
BEFORE_CLAIM = LIMITS["hedge_characters"] * 2
_CLOSE = pattern(r"\b{close}\b")
_BOUND_WORDS = pattern(
    r"\b(?:{over}|{under})\s"
    r"(?=(?:an?|one|two|three|four|five|six|ten) |half|twice|\w*\W?\d)"
)
_MAKES_UP = pattern(r"\b{makes_up}\b")
_SIZES = pattern(r"\b{sizes}")
_VALUED = pattern(r"\b{valued}")
_PART = re.compile(r"; |, |\b(?:and|while|whereas|but|against|versus) ")
_COMPARATIVES = stems("more_than") | stems("less_than")
_GAINS = RISES | stems("gains")
_LOSSES = FALLS | stems("losses")
_POINTS = pattern(r"\s?\b{points}\b")
_FRACTION_VALUES = list(FRACTIONS.values())
_EDITION = re.compile(r"\d+| \n.*", re.DOTALL)
_TOLERANCES = {False: ROUGHLY, True: BROADLY}
"""Largest relative errors of results that are written with zeros at their end."""
RATE = "rate"
"""The measure of a claim of so many of one thing for each of another."""
_YEAR = max(UNITS["time"].values())
_DAY = _YEAR / Decimal("365.25")
_CHANGES = {"increase", "decrease"}
_MOVES = {"difference", "yearly", *_CHANGES}
_ALWAYS = frozenset({"sum", "difference", "ratio", "quotient", "product", *_CHANGES})


def operations_of(words: str) -> frozenset[str]:
    """Return the operations that a sentence may mean. Words only exclude: "together" is
    no difference, "less" no sum. Without such a word all are possible but means and
    rests.
    """
    lower = _MAKES_UP.sub("", lowered(words))
    operations = set(_ALWAYS)
    if _YEARLY.search(lower):
        operations.add("yearly")
    if _AVERAGES.search(lower):
        operations.add("mean")
    if _RESTS.search(lower):
        operations.add("rest")
    if _COMPOUNDS.search(lower):
        operations.add("compound")
    if _LASTS.search(lower):
        operations.add("daily cover" if _DAILY.search(lower) else "yearly cover")
    stems = {stem(word) for word in WORD.findall(lower)}
    rises = not stems.isdisjoint(RISES)
    falls = not stems.isdisjoint(FALLS)
    is_sum = _SUMS.search(lowered(words)) is not None
    # "More than a third" compares nothing.
    compared = _DIFFERS.search(_BOUND_WORDS.sub("", lower))
    is_difference = rises or falls or compared is not None
    if is_sum and not is_difference:
        operations -= {"difference", *_CHANGES}
    if is_difference and not is_sum:
        operations.discard("sum")
    if rises and not falls:
        operations.discard("decrease")
    if falls and not rises:
        operations.discard("increase")
    return frozenset(operations)


def aggregate_named(heading: str) -> str:
    """Return what the heading of a row or column calls its figures: "sum", "mean",
    "median", "lowest", "highest" or "".
    """
    lower = lowered(heading)
    if _SUMS.fullmatch(lower):
        return "sum"
    names = (name for name, words in _AGGREGATE_NAMES.items() if words.search(lower))
    return next(names, "")


def operations_left(
    operations: frozenset[str], claim: Amount, words: str
) -> frozenset[str]:
    """Return the operations that the words beside a claim leave: "+5 %" is no decrease,
    "20 % of it" no change, and "fell by 20 %" no share.
    """
    lower = lowered(words)
    before = lower[max(0, claim.figure.start - BEFORE_CLAIM) : claim.figure.start]
    if claim.is_plus:
        operations -= {"decrease"}
    elif claim.base < 0:
        operations -= {"increase"}
    if _OTHERS.search(before):
        # "The other 58 %".
        return operations & {"rest", "difference"}
    if claim.measure != "share":
        return operations
    is_directed = len(operations & _CHANGES) == 1
    is_moved = is_directed and _MOVES_BY.search(before)
    is_part = lower.startswith(" of ", claim.end)
    if is_part and not is_moved:
        return operations - _CHANGES
    if is_moved and not is_part:
        return operations - {"ratio"}
    return operations


class Direction(NamedTuple):
    """How a figure is said to change in time: 1 = it rises, -1 = it falls, 0 = neither.

    ``is_size``: the size of a gap or deficit does. ``is_value``: it gets better or
    worse, which says something of balances alone.
    """

    sign: int = 0
    is_size: bool = False
    is_value: bool = False

    def allows(self, first: Amount, second: Amount) -> bool:
        """Return whether two figures change so, in whatever order they are given."""
        if not self.sign or not first.years or not second.years:
            return True
        if not first.years.isdisjoint(second.years):
            return True
        earlier, later = sorted([first, second], key=lambda one: max(one.years))
        values = (earlier.base, later.base)
        if max(values) < 0 and self.is_size:
            values = (-values[0], -values[1])
        is_unclear = min(values) >= 0 if self.is_value else max(values) < 0
        return is_unclear or (values[1] - values[0]) * self.sign >= 0


def direction_of(claim: Amount, words: str, sentence: str) -> Direction:
    """Return how the words beside a claim, else those of its sentence, say that its
    terms change.
    """
    before = words[max(0, claim.figure.start - BEFORE_CLAIM) : claim.figure.start]
    beside = _PART.split(_MAKES_UP.sub("", lowered(before)))[-1].rpartition("(")[2]
    is_size = _SIZES.search(lowered(sentence)) is not None
    if claim.is_plus:
        return Direction(1, is_size)
    behind = WORD.findall(lowered(words[claim.end :]))[:4]
    if not _COMPARATIVES.isdisjoint(map(stem, behind)):
        # "5 points less than in 2023" compares.
        return Direction()
    valued = _VALUED.search(beside)
    if valued is not None:
        return Direction(1 if valued["better"] else -1, is_value=True)
    for word in reversed(WORD.findall(beside)):
        key = stem(word)
        if (key in _GAINS) != (key in _LOSSES):
            return Direction(1 if key in _GAINS else -1, is_size)
    stems_said = {stem(word) for word in WORD.findall(lowered(sentence))}
    rises = not stems_said.isdisjoint(RISES)
    falls = not stems_said.isdisjoint(FALLS)
    return Direction(rises - falls, is_size)


def names_operation(words: str) -> bool:
    """Return whether a sentence says that it computes: "together", "more than"."""
    lower = lowered(words)
    return any(one.search(lower) for one in (_SUMS, _AVERAGES, _DIFFERS))


def sum_word(words: str) -> int | None:
    """Return where words say that they sum ("together"), None if they do not."""
    match = _SUMS.search(lowered(words))
    return match.start() if match else None


def as_points(claim: Amount, words: str) -> Amount | None:
    """Return a claim of so many points as a share, None if it is of none."""
    end = claim.figure.end
    is_points = _POINTS.match(lowered(words[end : end + BEFORE_CLAIM]))
    if not is_points and not _POINTS.search(lowered(claim.figure.text)):
        return None
    return claim._replace(measure="share", size=PERCENT)


def proven_amount(
    claim: Amount, results: Collection[Decimal], *, is_named: bool = False
) -> Amount | None:
    """Return a claim that is one of some results, and not by accident, with the exact
    result as its value; None if it is none.

    ``is_named``: the answer itself names the figures that the results are of.
    """
    max_chance = BOUNDS["chance_named"] if is_named else BOUNDS["chance"]
    sizes = {abs(result / (claim.size or 1)) for result in results}
    for value in map(abs, claim.figure.values):
        exact = {size for size in sizes if _says(claim, value, size)}
        if not exact:
            continue
        figure = claim.figure._replace(values=frozenset(exact))
        if not value:
            return claim._replace(figure=figure)
        step = Decimal(1).scaleb(int(value.normalize().as_tuple().exponent))
        if value in exact and not claim.rounding and step > 1:
            # The zeros of "40,000" are digits, too.
            step /= 10
        if claim.is_part:
            # "Three out of four" is closer than its digits say.
            step = value * BROADLY
            if all(abs(size - value) > step for size in exact):
                continue
        if _chance(value, sizes, step) <= max_chance:
            return claim._replace(figure=figure)
    return None


def _chance(value: Decimal, sizes: Collection[Decimal], step: Decimal) -> Decimal:
    """Return how probable it is that one of some results is a value by accident."""
    comparable = [size for size in sizes if value / 2 <= size <= value * 2]
    different = {(size / step).to_integral_value() for size in comparable}
    return len(different) * step / value


def is_result(claim: Amount, result: Decimal) -> bool:
    """Return whether a claim says this result, without its sign."""
    size = abs(result / (claim.size or 1))
    return any(_says(claim, abs(value), size) for value in claim.figure.values)


def _says(claim: Amount, value: Decimal, result: Decimal) -> bool:
    if value == result:
        return True
    if not value or not result:
        return False
    if abs(value - result) > result * _TOLERANCES[bool(claim.rounding)]:
        written = claim.figure.text.rstrip("% ")
        if written.endswith("0") and "." not in written:
            # "50 %" is not 47 %.
            return False
    return rounds_to(result, value, claim.rounding or NEAREST)


def pair_results(
    claim: Amount, first: Amount, second: Amount
) -> Iterator[tuple[str, Decimal]]:
    """Yield the operations on two figures in this order, and what they give."""
    if not first.size or not second.size:
        return
    is_of_first = claim.measure and claim.measure in (first.measure, RATE)
    if is_of_first and first.measure != second.measure and second.base:
        # So many dollars a head.
        yield "quotient", first.base * second.size / second.base
    is_whole = bool(second.measure) or second.base >= MIN_WHOLE
    is_part = first.measure == "share" != second.measure and is_whole
    if is_part and claim.measures_as(second):
        unit = Decimal(1) if claim.measure else second.size
        yield "product", first.base * second.base / unit
    if not first.measures_as(second):
        return
    if claim.measure == "time" and first.measure != "time" and second.base:
        # A stock lasts so long that flows so much in a year or a day.
        yield "yearly cover", first.base / second.base * _YEAR
        yield "daily cover", first.base / second.base * _DAY
    left = first.base
    right = second.base
    if first.measure != second.measure:
        # The unit of one is that of both: "3,334 of 3,819 km".
        left /= first.size
        right /= second.size
        if min(left, right) >= SMALL_COUNT and claim.measures_as(first):
            unit = first.size * second.size if claim.measure else Decimal(1)
            yield "sum", (left + right) * unit
    elif claim.measures_as(first) and (first.measure or claim.measure in ("", "share")):
        unit = Decimal(1) if claim.measure else first.size
        yield "difference", (left - right) / unit
        years = max(first.years, default=0) - max(second.years, default=0)
        if years and first.years and second.years:
            yield "yearly", (left - right) / unit / years
        yield "sum", (left + right) / unit
    if right:
        yield from _ratios(claim, left, right)


def _ratios(
    claim: Amount, left: Decimal, right: Decimal
) -> Iterator[tuple[str, Decimal]]:
    """Yield one value as a part of another, and as a change of it."""
    if claim.measure in ("", "ratio", "share"):
        yield "ratio", left / right
    if claim.measure == "share":
        change = (left - right) / right
        yield "increase" if change > 0 else "decrease", change


def group_results(
    claim: Amount,
    group: Sequence[Amount],
    operations: Collection[str],
    no_parts: Collection[int] = (),
    direction: Direction = Direction(),  # noqa: B008  # frozen
) -> set[Decimal]:
    """Return what the figures of a group give, by pairs and all together. ``no_parts``:
    the identities of those that are not the part of which a claim is the share.
    ``direction``: that in which two figures of other years change.
    """
    results: set[Decimal] = set()
    for first, second in permutations(group, 2):
        is_turned = not direction.allows(first, second)
        for operation, result in pair_results(claim, first, second):
            if operation == "ratio" and id(first) in no_parts:
                continue
            if is_turned and operation in _MOVES:
                continue
            if operation == "sum" and first.base * second.base < 0:
                # From a deficit to a surplus is further.
                continue
            if operation in operations:
                results.add(result)
    if "rest" in operations and claim.measure == "share":
        results |= {1 - amount.base for amount in group if amount.measure == "share"}
    if len(group) > 1 and all(amount.measure == group[0].measure for amount in group):
        results |= _results_of_all(claim, group, operations, no_parts)
    return results


def _results_of_all(
    claim: Amount,
    group: Sequence[Amount],
    operations: Collection[str],
    no_parts: Collection[int],
) -> set[Decimal]:
    """Return what the figures of a group, all of one measure, give together."""
    results: set[Decimal] = set()
    bases = [amount.base for amount in group]
    total = sum(bases, Decimal(0))
    if claim.measures_as(group[0]):
        if "sum" in operations:
            results |= _sums(bases)
        if "mean" in operations:
            results.add(total / len(bases))
        if "compound" in operations and group[0].measure == "share":
            growth = prod((1 + base for base in bases), start=Decimal(1))
            results.add(growth - 1)
        if "rest" in operations and group[0].measure == "share":
            results.add(1 - total)
    whole = whole_of(bases)
    if whole and claim.measure == "share" and "ratio" in operations:
        parts = [amount.base for amount in group if id(amount) not in no_parts]
        if not no_parts:
            # All but the largest may be parts of it.
            parts.append(total - whole)
        results |= {part / whole for part in parts}
    largest = max(bases)
    if len(group) > 2 and 0 < total - largest < largest and min(bases) > 0:
        # The others are parts of the largest: "A and B make up 62 %, leaving 2,541".
        if claim.measure == "share" and "sum" in operations:
            results.add((total - largest) / largest)
        if claim.measures_as(group[0]) and {"difference", "rest"}.intersection(
            operations
        ):
            results.add(2 * largest - total)
    return results


def whole_of(bases: Sequence[Decimal]) -> Decimal:
    """Return the sum of figures, or the largest where it is that of the others."""
    largest = max(bases)
    total = sum(bases, Decimal(0))
    if abs(total - 2 * largest) * 100 <= largest:
        return largest
    return total


def _sums(bases: Sequence[Decimal]) -> set[Decimal]:
    """Return the sum of all, and of some where there are few."""
    sums = {sum(bases, Decimal(0))}
    if len(bases) <= BOUNDS["summed"]:
        for count in range(3, len(bases)):
            sums |= {sum(terms, Decimal(0)) for terms in combinations(bases, count)}
    return sums


def row_groups(
    cited: Sequence[Evidence],
    years: Collection[int],
    is_meant: Callable[[PassageRow], bool],
) -> Iterator[tuple[str, list[Amount]]]:
    """Yield the figures of passages that belong together, and what they are: the years
    of a "series", a row of the claim's year and the newest "since", the "parts" of a
    heading, the "totals" of its parts in several years, the same row of several
    "places", several "topics" of one year, the rows that the claim means, a "pair" of
    them: the newest figures of a row in two places, of whatever years.

    ``years``: those of the claim.
    """
    groups = defaultdict[tuple[object, ...], list[PassageRow]](list)
    alike = defaultdict[tuple[object, ...], list[tuple[str, PassageRow]]](list)
    for source in cited:
        title = _EDITION.sub("", source.where)
        for row in source.rows[: int(BOUNDS["rows"])]:
            when = row.amount.years
            if when:
                groups["series", title, row.heading, row.label].append(row)
            if when and years and when.isdisjoint(years):
                continue
            groups["parts", title, row.heading, when, id(source)].append(row)
            groups["places", row.heading, row.label, when].append(row)
            if row.heading == source.heading:
                groups["topics", title, row.label, when].append(row)
            is_any = not row.label
            if is_meant(row):
                groups["meant",].append(row)
                is_any = True
            if is_any:
                alike[row.heading, row.label].append((title, row))
    yield from _newest_pairs(alike.values(), years)
    for (kind, *_), rows in groups.items():
        spans: Iterable[Sequence[PassageRow]] = [rows]
        if kind == "series":
            spans = _spans(rows, years)
            yield from _since(rows, years)
            in_order = sorted(rows, key=_last_year)
            for before, row in pairwise(in_order):
                yield "step", [before.amount, row.amount]
        for span in spans:
            if 1 < len(span) <= BOUNDS["group"]:
                yield str(kind), [row.amount for row in span]
    yield from _totals(groups)


def _since(
    rows: Sequence[PassageRow], years: Collection[int]
) -> Iterator[tuple[str, list[Amount]]]:
    """Yield the figure of the only year of a claim with the newest of its series."""
    newest = max(rows, key=_last_year)
    for row in rows:
        if row is not newest and row.amount.years == {*years}:
            yield "since", [row.amount, newest.amount]


def _totals(
    groups: Mapping[tuple[object, ...], Sequence[PassageRow]],
) -> Iterator[tuple[str, list[Amount]]]:
    """Yield the sums of the parts of one heading, of each year and edition; none where
    a part is of another measure, or is the total itself.
    """
    totals = defaultdict[tuple[object, ...], list[Amount]](list)
    for key, rows in groups.items():
        if key[0] != "parts" or not all(row.label for row in rows):
            continue
        first = rows[0].amount
        if any(row.amount.measure != first.measure for row in rows):
            continue
        total = sum((row.amount.base for row in rows), Decimal(0))
        value = total / (first.size or 1)
        figure = first.figure._replace(values=frozenset([value]))
        totals[key[1:3]].append(first._replace(figure=figure))
    for of_heading in totals.values():
        if 1 < len(of_heading) <= BOUNDS["group"]:
            yield "totals", of_heading


def _newest_pairs(
    alike: Iterable[Sequence[tuple[str, PassageRow]]], years: Collection[int]
) -> Iterator[tuple[str, list[Amount]]]:
    """Yield the newest figures of rows that are alike, each with its place, where these
    are two; none for a claim of certain years.
    """
    if years:
        return
    for rows in alike:
        newest: dict[str, PassageRow] = {}
        for place, row in sorted(rows, key=lambda placed: _last_year(placed[1])):
            newest[place] = row
        if len(newest) == 2:
            yield "pair", [row.amount for row in newest.values()]


def _spans(
    rows: list[PassageRow], years: Collection[int]
) -> Iterator[list[PassageRow]]:
    """Yield the rows of a claim's years and all between; of one, with the one before;
    without any, all.
    """
    rows = sorted(rows, key=_last_year)
    if not years:
        yield rows
        return
    until = [row for row in rows if _last_year(row) <= max(years)]
    if len(years) == 1:
        yield until[-2:]
        return
    yield [row for row in until if _last_year(row) in years]
    yield [row for row in until if _last_year(row) >= min(years)]


def _last_year(row: PassageRow) -> int:
    return max(row.amount.years, default=0)


A_SHARE = Amount(Figure("", 0, 0, frozenset(), "%"), "share", PERCENT, frozenset(), 0)
"""A claim of a share, without its value."""


class Bound(NamedTuple):
    """How the words before a figure bound it: "over", "under", "about" or "".

    ``start``: where they begin. ``is_close``: they say "just over", "almost".
    """

    kind: str
    start: int
    is_close: bool


class Fraction(NamedTuple):
    """A part that is said in words: "a third", "three quarters".

    ``bound``: how the words before it bound it.
    """

    text: str
    value: Decimal
    bound: Bound

    def fits(self, share: Decimal, *, is_stated: bool = False) -> bool:
        """Return whether a share of 1 may be called so. ``is_stated``: the share stands
        beside it, and may be far beyond a bound.
        """
        low = BOUNDS["fraction_low"]
        high = BOUNDS["fraction_high"]
        size = abs(share) / self.value
        kind = self.bound.kind
        if kind == "over":
            low = Decimal(1)
            is_close = self.bound.is_close
            high = BOUNDS["fraction_just_over" if is_close else "fraction_over"]
        if kind == "under":
            low = BOUNDS["fraction_under"]
            high = Decimal(1)
        if is_stated and not self.bound.is_close and kind in ("over", "under"):
            return (size > 1) == (kind == "over")
        return low <= size <= high


def part_around(words: str, at: int) -> tuple[int, int]:
    """Return where the part of a sentence begins and ends that has this position."""
    start = 0
    for stop in _PART.finditer(lowered(words)):
        if stop.start() >= at:
            return start, stop.start()
        start = stop.end()
    return start, len(words)


def bound_before(lower: str, start: int) -> Bound:
    """Return how the words before a place bound what stands there."""
    hedge = HEDGE.search(lower[max(0, start - LIMITS["hedge_characters"]) : start])
    if hedge is None:
        return Bound("", start, is_close=False)
    is_close = _CLOSE.search(hedge[0]) is not None
    return Bound(hedge.lastgroup or "", start - len(hedge[0]), is_close)


def fractions(words: str) -> Iterator[Fraction]:
    """Yield the parts that a sentence states in words."""
    lower = lowered(words)
    for match in FRACTION.finditer(lower):
        value = _FRACTION_VALUES[(match.lastindex or 1) - 1]
        text = words[match.start() : match.end()]
        yield Fraction(text, value, bound_before(lower, match.start()))
