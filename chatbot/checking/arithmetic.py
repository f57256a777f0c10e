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
from itertools import combinations, permutations
from typing import NamedTuple

from ..language.characters import lowered
from ..language.figures import Figure
from .amounts import BROADLY, HEDGE, NEAREST, PERCENT, Amount, rounds_to
from .contradictions import ABOVE, BELOW, FALLS, RISES
from .evidence import WORD, Evidence, PassageRow
from .wording import BOUNDS, FRACTIONS, LIMITS, pattern, stem

__all__ = [
    "A_SHARE",
    "Fraction",
    "as_points",
    "fractions",
    "group_results",
    "is_result",
    "names_operation",
    "operations_left",
    "operations_of",
    "pair_results",
    "proven_amount",
    "row_groups",
    "said_sign",
]

_SUMS = pattern(r"\b{sums}\b")
_AVERAGES = pattern(r"\b{averages}\b")
_DIFFERS = pattern(r"\b{differs}\b")
_RESTS = pattern(r"\b{rests}\b")
_MOVES_BY = pattern(r"\b{moves_by}\s+(?:{about}\s+|{over}\s+|{under}\s+)?$")
BEFORE_CLAIM = LIMITS["hedge_characters"] * 2
_POINTS = pattern(r"\s?\b{points}\b")
_FRACTION = re.compile("|".join(f"({words})" for words in FRACTIONS))
_FRACTION_VALUES = list(FRACTIONS.values())
_EDITION = re.compile(r"\d+| \n.*", re.DOTALL)
_CHANGES = {"increase", "decrease"}
_ALWAYS = frozenset({"sum", "difference", "ratio", "quotient", "product", *_CHANGES})


def operations_of(words: str) -> frozenset[str]:
    """Return the operations that a sentence may mean. Words only exclude: "together" is
    no difference, "less" no sum. Without such a word all are possible but means and
    rests.
    """
    lower = lowered(words)
    operations = set(_ALWAYS)
    if _AVERAGES.search(lower):
        operations.add("mean")
    if _RESTS.search(lower):
        operations.add("rest")
    stems = {stem(word) for word in WORD.findall(lower)}
    rises = not stems.isdisjoint(RISES)
    falls = not stems.isdisjoint(FALLS)
    is_sum = _SUMS.search(lower) is not None
    is_difference = rises or falls or _DIFFERS.search(lower) is not None
    if is_sum and not is_difference:
        operations -= {"difference", *_CHANGES}
    if is_difference and not is_sum:
        operations.discard("sum")
    if rises and not falls:
        operations.discard("decrease")
    if falls and not rises:
        operations.discard("increase")
    return frozenset(operations)


def operations_left(
    operations: frozenset[str], claim: Amount, words: str
) -> frozenset[str]:
    """Return the operations that the words beside a claim leave: "+5 %" is no decrease,
    "20 % of it" no change, and "fell by 20 %" no share.
    """
    lower = lowered(words)
    before = lower[max(0, claim.figure.start - BEFORE_CLAIM) : claim.figure.start]
    if before.endswith("+"):
        operations -= {"decrease"}
    elif claim.base < 0:
        operations -= {"increase"}
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


def said_sign(claim: Amount, words: str) -> int:
    """Return 1 where words say that one thing is so much more than another ("5 km
    longer than"), -1 where it is less, else 0.
    """
    behind = WORD.findall(lowered(words[claim.end :]))[: LIMITS["verb_distance"]]
    if "than" in behind:
        compared = {stem(word) for word in behind[: behind.index("than")]}
    else:
        # "5 points below that of 2020".
        compared = {"above", "below"}.intersection(behind[:2])
    return (not compared.isdisjoint(ABOVE)) - (not compared.isdisjoint(BELOW))


def names_operation(words: str) -> bool:
    """Return whether a sentence says that it computes: "together", "more than"."""
    lower = lowered(words)
    return any(one.search(lower) for one in (_SUMS, _AVERAGES, _DIFFERS))


def as_points(claim: Amount, words: str) -> Amount | None:
    """Return a claim of so many points as a share, None if it is of none."""
    lower = lowered(words)
    is_points = _POINTS.match(lower, claim.figure.end)
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
    return rounds_to(result, value, claim.rounding or NEAREST)


def pair_results(
    claim: Amount, first: Amount, second: Amount
) -> Iterator[tuple[str, Decimal]]:
    """Yield the operations on two figures in this order, and what they give."""
    if not first.size or not second.size:
        return
    is_of_first = claim.measure and claim.measure == first.measure != second.measure
    if is_of_first and second.base:
        # So many dollars a head.
        yield "quotient", first.base * second.size / second.base
    if not first.measures_as(second):
        if first.measure == "share" and claim.measures_as(second):
            yield "product", first.base * second.base
        return
    left = first.base
    right = second.base
    if first.measure != second.measure:
        # The unit of one is that of both: "3,334 of 3,819 km".
        left /= first.size
        right /= second.size
    elif claim.measures_as(first) and (first.measure or claim.measure in ("", "share")):
        unit = Decimal(1) if claim.measure else first.size
        yield "difference", (left - right) / unit
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
) -> set[Decimal]:
    """Return what the figures of a group give, by pairs and all together. ``no_parts``:
    the identities of those that are not the part of which a claim is the share.
    """
    results: set[Decimal] = set()
    for first, second in permutations(group, 2):
        for operation, result in pair_results(claim, first, second):
            if operation == "ratio" and id(first) in no_parts:
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
        if "rest" in operations and group[0].measure == "share":
            results.add(1 - total)
    largest = max(bases)
    # One of them may be the total already.
    whole = largest if abs(total - 2 * largest) * 100 <= largest else total
    if whole and claim.measure == "share" and "ratio" in operations:
        parts = [amount.base for amount in group if id(amount) not in no_parts]
        results |= {part / whole for part in parts}
    return results


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


class Fraction(NamedTuple):
    """A part that is said in words: "a third", "three quarters".

    ``bound``: "over", "under", "about" or "", by the words before it.
    """

    text: str
    value: Decimal
    bound: str

    def fits(self, share: Decimal) -> bool:
        """Return whether a share of 1 may be called so."""
        low = BOUNDS["fraction_low"]
        high = BOUNDS["fraction_high"]
        if self.bound == "over":
            low = Decimal(1)
            high = BOUNDS["fraction_over"]
        if self.bound == "under":
            low = BOUNDS["fraction_under"]
            high = Decimal(1)
        return self.value * low <= abs(share) <= self.value * high


def fractions(words: str) -> Iterator[Fraction]:
    """Yield the parts that a sentence states in words."""
    lower = lowered(words)
    for match in _FRACTION.finditer(lower):
        before = lower[max(0, match.start() - 24) : match.start()]
        hedge = HEDGE.search(before)
        bound = (hedge and hedge.lastgroup) or ""
        value = _FRACTION_VALUES[(match.lastindex or 1) - 1]
        yield Fraction(words[match.start() : match.end()], value, bound)
