"""Amounts: figures with their unit and years, and which of them say the same. 39 %
equals 390 per thousand; 55 mph equals 88 km/h; 6.1 equals 6.11 with fewer digits, and
so does "some 6".
"""

import re
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import NamedTuple, Self

from ..domain.tables import Texts
from ..language.characters import lowered
from ..language.figures import ONES, RANGE, TENS, Figure, figures, unify_signs
from ..language.reported_figures import bound_years
from .wording import UNITS, pattern

_SPELLINGS = [
    (measure, size, spelling)
    for measure, units in UNITS.items()
    for spelling, size in units.items()
]
_SPELLINGS += [
    ("share", 1 / Decimal(n), rf"(?:in|out of)(?: every)? (?:{n}|{word})")
    for word, n in (ONES | TENS).items()
    if n > 1
]
"""One in three."""
_UNIT = re.compile(
    rf"[\s-]?(?:{'|'.join(f'(?P<u{place}>{one[2]})' for place, one in enumerate(_SPELLINGS))})"  # noqa: E501
    r"(?![\w²³]|(?<=0)[.,\s]?000)"
)
"""Per 100,000 is not per 100."""
_OPEN_YEAR = pattern(r"\b{open_years}\W+(?:\w+\W+){0,2}$")
_JOINS_YEARS = re.compile(r"\s*(?:-|/|,|to|and|or)\s*")
_OF_EDITION = pattern(r"[\s(]*{of_edition}\b")
_CONTRAST = pattern(r"\b{contrasts}\b")
_FALLING = pattern(r"\b{falling}")
NEAREST = (ROUND_HALF_UP, ROUND_HALF_EVEN)
HEDGE = pattern(
    r"(?:^|[\s(])(?:(?P<over>{over})|(?P<under>{under})|(?P<about>{about}))\s*$"
)
_ROUNDING = {"over": (ROUND_FLOOR,), "under": (ROUND_CEILING,), "about": NEAREST}
_SHARE_UNIT = pattern(
    rf"{RANGE.pattern}|\s*(?:\([^()]*\)\s*)?{{contrasts}}\s*(?:\w+ ){{0,2}}"
)
"""Between two figures of which the second has the unit of both: "72.7 against 65.4
years".
"""
ROUGHLY = Decimal("0.05")
"""Largest relative error of a rounded number."""
BROADLY = Decimal("0.1")
"""Largest relative error of a number that is over or under a bound, and of a part ("one
in three").
"""
PERCENT = Decimal("0.01")
CLOSELY = Decimal("0.02")
"""Largest relative error of a converted number, and of one with a single digit that no
word calls rounded.
"""
SMALL_COUNT = 100
"""A smaller number without a unit is a count, which nobody rounds."""


class Amount(NamedTuple):
    """A figure with the ``measure`` and ``size`` of its unit: "share" and .01 for %,
    "$" and 1; "" if unknown.

    ``also``: further readings, by the scale in a table's head. ``rounding``: the
    directions in which the words before it say that it is rounded; () = none.
    """

    figure: Figure
    measure: str
    size: Decimal
    years: frozenset[int]
    end: int
    falling: bool = False
    rounding: Texts = ()
    also: frozenset[Decimal] = frozenset()

    @property
    def values(self) -> Iterator[Decimal]:
        """The values that the amount may mean; a fall may be written without its
        sign.
        """
        for value in self.figure.values:
            yield value
            if self.falling:
                yield -value

    @property
    def base(self) -> Decimal:
        """The value that it most likely means, in the first unit of its measure."""
        return max(self.figure.values, default=Decimal(0)) * (self.size or 1)

    def agrees(self, true: Self) -> bool:
        """Return whether it says the same as an amount of a passage: equal, rounded, or
        in another unit.
        """
        if not self.measures_as(true):
            return False
        factor = true.size / self.size if self.measure and true.measure else Decimal(1)
        return any(
            claimed == value or self._is_near(claimed, value, converted=factor != 1)
            for claimed in self.values
            for value in (
                one * factor
                for one in (*true.figure.values, *true.figure.parts, *true.also)
            )
        )

    def shares_year(self, other: Self) -> bool:
        """Return whether both may be of one year."""
        return (
            not self.years or not other.years or not self.years.isdisjoint(other.years)
        )

    def measures_as(self, other: Self) -> bool:
        """Return whether both units are of one kind, as far as they are known."""
        if (
            not self.measure
            or not other.measure
            or (self.measure, self.size) == (other.measure, other.size)
        ):
            return True
        return self.measure == other.measure and bool(self.size and other.size)

    def _is_near(
        self, claimed: Decimal, true: Decimal, *, converted: bool = False
    ) -> bool:
        """Return whether ``true`` is rounded to the digits of ``claimed``; zeros at its
        end may be digits or not.
        """
        if not claimed or not true or self.figure.year or (claimed > 0) != (true > 0):
            return False
        error = abs(true - claimed) / abs(true)
        digits = len(claimed.normalize().as_tuple().digits)
        is_count = (
            self.figure.bare
            and abs(claimed) < SMALL_COUNT
            and not (self.measure or claimed % 1)
        )
        if is_count and not self.rounding and not converted:
            return False
        is_bound = self.rounding not in ((), NEAREST) or (
            self.measure == "share" and self.size > PERCENT
        )
        if error > (
            BROADLY if is_bound else ROUGHLY if self.rounding or digits > 1 else CLOSELY
        ):
            return False
        return (converted and error <= CLOSELY) or rounds_to(
            abs(true), abs(claimed), self.rounding or NEAREST
        )


def rounds_to(value: Decimal, rounded: Decimal, modes: Sequence[str] = NEAREST) -> bool:
    """Return whether ``rounded`` is ``value`` rounded to the digits that it shows."""
    exponent = int(rounded.normalize().as_tuple().exponent)
    if not -9 < exponent < value.adjusted() + 2:
        return False
    return any(
        value.quantize(Decimal(1).scaleb(exponent), mode) == rounded for mode in modes
    )


def amounts(text: str, *, comma: bool) -> list[Amount]:
    """Return the amounts of a sentence in order ("35 births/1,000 people" is one)."""
    same = unify_signs(text)
    in_text = figures(same, comma=comma)
    lower = lowered(same)
    result = list[Amount]()
    falling = bool(in_text) and _FALLING.search(lower) is not None
    for figure, years in zip(
        in_text, _years(lower, in_text, bound_years(same, in_text)), strict=True
    ):
        if result and figure.start < result[-1].end:
            continue
        measure = ""
        size = Decimal(1)
        end = figure.end
        if figure.unit:
            measure, size = (
                ("share", PERCENT) if figure.unit == "%" else (figure.unit, size)
            )
        elif (
            not figure.year
            and (match := _UNIT.match(lower, figure.end))
            and match.lastgroup is not None
        ):
            measure, size, _ = _SPELLINGS[int(match.lastgroup[1:])]
            end = match.end()
        hedge = (
            None
            if figure.year
            # A word that says that it is rounded stands shortly before a figure.
            else HEDGE.search(lower[max(0, figure.start - 24) : figure.start])
        )
        rounding = _ROUNDING[hedge.lastgroup] if hedge and hedge.lastgroup else ()
        result.append(Amount(figure, measure, size, years, end, falling, rounding))
    for place in range(len(result) - 2, -1, -1):  # 160,000 to 227,000 sq mi
        one = result[place]
        after = result[place + 1]
        is_open = not (one.measure or one.figure.year) and after.measure
        if is_open and _SHARE_UNIT.fullmatch(lower, one.end, after.figure.start):
            result[place] = one._replace(measure=after.measure, size=after.size)
    return result


def _years(
    text: str, in_text: Sequence[Figure], bound: list[frozenset[int]]
) -> list[frozenset[int]]:
    """Return the years of each amount: ``bound`` (`bound_years`), else those before it:
    "In 2015, 39 %", "Inflation 2015: 4 %". A year that only begins or ends a span
    ("since 2015") and that of an edition are not of an amount. A comparison ends what
    the years before it are of.
    """
    current = frozenset[int]()
    place = 0
    is_open = False
    is_after_year = False
    before: frozenset[int] | None = None
    for index, figure in enumerate(in_text):
        gap = text[place : figure.start]
        if figure.year and figure.bare:
            joins = is_after_year and _JOINS_YEARS.fullmatch(gap) is not None
            is_open = (joins and is_open) or _OPEN_YEAR.search(gap) is not None
            is_behind = before is not None and (
                figure.year in before or "(" in gap.rpartition(")")[2]
            )
            # An earlier number is hardly a figure's year.
            if (
                is_open
                or is_behind
                or figure.year < 1900
                or _OF_EDITION.match(text, figure.end)
            ):
                current = frozenset()
            else:
                current = (current if joins else frozenset()) | {figure.year}
            is_after_year = True
        else:
            if not is_after_year and _CONTRAST.search(gap):
                current = frozenset()
            bound[index], before, is_after_year = (
                bound[index] or current,
                bound[index],
                False,
            )
        place = figure.end
    return bound
