"""Amounts: figures with their unit and years, and which of them say the same. 39 %
equals 390 per thousand; 55 mph equals 88 km/h; 6.1 equals 6.11 with fewer digits, and
so does "some 6".
"""

import re
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import NamedTuple, Self

from ..domain.tables import Texts
from ..language.analysis import LETTERS_PATTERN
from ..language.characters import lowered
from ..language.figures import (
    ANY_SCALE,
    CURRENCIES,
    MONEY,
    ONES,
    RANGE,
    SCALES,
    TENS,
    Figure,
    figures,
    unify_signs,
)
from ..language.reported_figures import bound_years
from .wording import LIMITS, UNITS, pattern

_PARTS = [
    ("share", 1 / Decimal(n), rf"(?:in|out of)(?: every)? (?:{n}(?![.,]?\d)|{word})")
    for word, n in (ONES | TENS).items()
    if n > 1
]
"""One in three."""
_ENDS_PART = (
    r"(?=\s*(?:[^\w\s]|$)|\s(?:of|is|are|was|were|has|have|had|does|do|can|cannot)\b)"
)
"""Behind "one tonne in eight"; "5 people in 10 villages" is no part."""
_SPELLINGS = [
    *(
        (of, size, rf"[a-z]+(?:-[a-z]+)? {spelling}{_ENDS_PART}")
        for of, size, spelling in _PARTS
    ),
    *(
        (measure, size, spelling)
        for measure, units in UNITS.items()
        for spelling, size in units.items()
    ),
    *_PARTS,
]
_GROUPS = [f"(?P<u{n}>{spelling})" for n, (_, _, spelling) in enumerate(_SPELLINGS)]
_UNIT = re.compile(
    rf"[\s-]?(?:{'|'.join(_GROUPS)})"
    r"(?![\w²³]|(?<=0)[.,\s]?000)"
)
"""Per 100,000 is not per 100."""
_HEAD_UNIT = re.compile(
    rf"(?P<start>^|[(\[,;:]\s?|\b(?:in|as) |(?<!\d )(?<!\d)(?=\b(?:{ANY_SCALE})\b))"
    rf"(?P<money>(?:{MONEY})(?![a-z])\s?)?"
    rf"(?P<scale>(?:{ANY_SCALE})\b\.?\s?)?(?:of |de )?"
    rf"(?P<after>(?:{MONEY})(?![a-z]))?(?:{'|'.join(_GROUPS)})?"
    r"(?![\w²³])(?:(?P<rate>\s?(?:per\b|/))|\s?(?:$|[()\[\],;:])|\sof\b)"
)
"""The unit in the heading of a column or row: "Exports ($ bn)", "Million tonnes of
rice", "Area in sq km".
"""
_PER_HUNDRED = re.compile(r"\s(?=(?:per |/)\s?1[0,. ])")
_OPEN_YEAR = pattern(r"\b{open_years}\W+(?:\w+\W+){0,2}$")
_JOINS_YEARS = re.compile(r"\s*(?:-|/|,|to|and|or)\s*")
_OTHER_YEARS = re.compile(r"(?:\s*(?:-|/|,|to|and|or)\s*(?:19|20)\d\d)+")
_OF_EDITION = pattern(r"[\s(]*{of_edition}\b")
_EDITION_BEFORE = pattern(r"\b{edition_before}\s*\(?$")
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
_LIST_SIGN = re.compile(
    r"\s(?:[-+=]|(?:out )?of|against|versus|vs\.?)\s|\s*,\s*(?:and |or )?"
    r"|\s+(?:and|or|und|y|e|et|o|ou)\s+"
)
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
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
SMALL_COUNT = LIMITS["small_count"]
MIN_YEAR = LIMITS["first_year"]
HEDGE_CHARACTERS = LIMITS["hedge_characters"]
HEADING_CHARACTERS = LIMITS["heading_characters"]
EDITION_CHARACTERS = LIMITS["edition_characters"]


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
        value = max(self.figure.values, key=abs, default=Decimal(0))
        return value * (self.size or 1)

    @property
    def is_part(self) -> bool:
        """Whether it is a part like "one in eight"."""
        return self.measure == "share" and self.size > PERCENT

    def agrees(self, true: Self) -> bool:
        """Return whether it says the same as an amount of a passage: equal, rounded, or
        in another unit.
        """
        if not self.measures_as(true) or (self.is_part and not true.measure):
            return False
        factor = Decimal(1)
        if self.measure and true.measure:
            factor = true.size / self.size
        is_converted = factor != 1
        for true_value in (*true.figure.values, *true.figure.parts, *true.also):
            value = true_value * factor
            for claimed in self.values:
                if claimed == value:
                    return True
                if self._is_near(claimed, value, is_converted=is_converted):
                    return True
        return False

    def shares_year(self, other: Self) -> bool:
        """Return whether both may be of one year."""
        return (
            not self.years or not other.years or not self.years.isdisjoint(other.years)
        )

    def measures_as(self, other: Self) -> bool:
        """Return whether both units are of one kind, as far as they are known."""
        if not self.measure or not other.measure:
            return True
        if self.measure != other.measure:
            return False
        return self.size == other.size or bool(self.size and other.size)

    def _is_near(self, claimed: Decimal, true: Decimal, *, is_converted: bool) -> bool:
        """Return whether ``true`` is rounded to the digits of ``claimed``; zeros at its
        end may be digits or not.
        """
        if not claimed or not true or self.figure.year:
            return False
        if (claimed > 0) != (true > 0):
            return False
        if not self.rounding and not is_converted and self._is_count(claimed):
            return False
        error = abs(true - claimed) / abs(true)
        if error > self._tolerance(claimed):
            return False
        if is_converted and error <= CLOSELY:
            return True
        return rounds_to(abs(true), abs(claimed), self.rounding or NEAREST)

    def _is_count(self, value: Decimal) -> bool:
        """Return whether a value of it is a small count, which nobody rounds."""
        is_small = abs(value) < SMALL_COUNT and not value % 1
        return is_small and self.figure.bare and not self.measure

    def _tolerance(self, value: Decimal) -> Decimal:
        """Return the largest relative error of a value that is rounded as it is."""
        if self.is_part or self.rounding not in ((), NEAREST):
            return BROADLY
        digits = len(value.normalize().as_tuple().digits)
        if self.rounding or digits > 1:
            return ROUGHLY
        return CLOSELY


def rounds_to(value: Decimal, rounded: Decimal, modes: Sequence[str] = NEAREST) -> bool:
    """Return whether ``rounded`` is ``value`` rounded to the digits that it shows."""
    exponent = int(rounded.normalize().as_tuple().exponent)
    if not -9 < exponent < value.adjusted() + 2:
        return False
    return any(
        value.quantize(Decimal(1).scaleb(exponent), mode) == rounded for mode in modes
    )


def amounts(text: str, *, comma: bool) -> list[Amount]:
    """Return the amounts of a sentence in order ("35 births/1,000 people" is one).
    ``comma``: a comma is a decimal point, as in French.
    """
    same = unify_signs(text)
    in_text = figures(same, comma=comma)
    if not in_text:
        return []
    lower = lowered(same)
    is_falling = _FALLING.search(lower) is not None
    all_years = _years(lower, in_text, bound_years(same, in_text))
    result: list[Amount] = []
    for figure, years in zip(in_text, all_years, strict=True):
        if result and figure.start < result[-1].end:
            continue
        measure, size, end = _unit_of(figure, lower)
        rounding = _rounding_of(figure, lower)
        result.append(Amount(figure, measure, size, years, end, is_falling, rounding))
    _share_units(result, lower)
    _share_scales(result, lower)
    return result


class HeadingUnit(NamedTuple):
    """The unit in the heading of a column or row of a table. ``measure``, ``size``: as
    of `Amount`; ``scale``: 1,000,000 for "million".
    """

    measure: str
    size: Decimal
    scale: Decimal

    def read(self, amount: Amount) -> Amount:
        """Return a number of a cell that has no unit itself with this one, and a bare
        one with the scale, too; another amount as it is.
        """
        figure = amount.figure
        if amount.measure or figure.year or figure.word:
            return amount
        if figure.bare:
            values = figure.values | {value * self.scale for value in figure.values}
            figure = figure._replace(values=values, scaled=self.scale > 1)
        return amount._replace(figure=figure, measure=self.measure, size=self.size)


@lru_cache(maxsize=1_000)
def head_unit(heading: str) -> HeadingUnit | None:
    """Return the unit that a heading gives to the numbers below or beside it."""
    lower = lowered(unify_signs(heading[:HEADING_CHARACTERS]))
    rate = _rate_in_heading(lower)
    if rate is not None:
        return rate
    scales: list[Decimal] = []
    units: list[tuple[str, Decimal]] = []
    for match in _HEAD_UNIT.finditer(lower):
        scale = SCALES.get((match["scale"] or "").strip(" .")) or Decimal(1)
        measure, size = _measure_in_heading(match)
        is_told = bool(match["start"].strip()) or scale > 1
        if measure == "time" and not is_told:
            # "Year" heads years.
            continue
        if match["rate"] and scale == 1:
            # "People per sq km" has a unit of its own.
            return None
        if scale > 1:
            scales.append(scale)
        if measure:
            units.append((measure, size))
    if not units and not scales:
        return None
    # "Tons (millions)".
    measure, size = next(iter(units), ("", Decimal(1)))
    return HeadingUnit(measure, size, next(iter(scales), Decimal(1)))


def _rate_in_heading(lower: str) -> HeadingUnit | None:
    """Return the unit of a heading that gives a rate: "per 100 kWh"."""
    for rate in _PER_HUNDRED.finditer(lower):
        match = _UNIT.match(lower, rate.start())
        if match is not None and match.lastgroup is not None:
            measure, size, _ = _SPELLINGS[int(match.lastgroup[1:])]
            return HeadingUnit(measure, size, Decimal(1))
    return None


def _measure_in_heading(match: re.Match[str]) -> tuple[str, Decimal]:
    """Return the measure and size of a unit or currency; "" and 1 for others."""
    measure = ""
    size = Decimal(1)
    money = (match["money"] or match["after"] or "").strip()
    if money:
        names = (name for name, of in CURRENCIES.items() if re.match(of, money))
        measure = next(names, "")
    for name, unit in match.groupdict().items():
        if unit and name[1:].isdigit():
            measure, size, _ = _SPELLINGS[int(name[1:])]
    return measure, size


def _unit_of(figure: Figure, lower: str) -> tuple[str, Decimal, int]:
    """Return the measure and size of a figure's unit, and where it ends."""
    if figure.unit == "%":
        return "share", PERCENT, figure.end
    if figure.unit or figure.year:
        return figure.unit, Decimal(1), figure.end
    match = _UNIT.match(lower, figure.end)
    if match is None or match.lastgroup is None:
        return "", Decimal(1), figure.end
    measure, size, _ = _SPELLINGS[int(match.lastgroup[1:])]
    return measure, size, match.end()


def _rounding_of(figure: Figure, lower: str) -> Texts:
    """Return how the words shortly before a figure say that it is rounded."""
    if figure.year:
        return ()
    hedge = HEDGE.search(lower[max(0, figure.start - HEDGE_CHARACTERS) : figure.start])
    if hedge is None or hedge.lastgroup is None:
        return ()
    return _ROUNDING[hedge.lastgroup]


def _share_units(in_order: list[Amount], lower: str) -> None:
    """Give amounts the unit of the one behind: 160,000 to 227,000 sq mi."""
    for position in range(len(in_order) - 2, -1, -1):
        amount = in_order[position]
        behind = in_order[position + 1]
        if amount.measure or amount.figure.year or not behind.measure:
            continue
        if _SHARE_UNIT.fullmatch(lower, amount.end, behind.figure.start):
            in_order[position] = amount._replace(
                measure=behind.measure, size=behind.size
            )


def _share_scales(in_order: list[Amount], lower: str) -> None:
    """Give the numbers of a list the scale of its last one, too: "500, 40 and 570
    million".
    """
    for position in range(len(in_order) - 2, -1, -1):
        amount = in_order[position]
        figure = amount.figure
        behind = in_order[position + 1].figure
        if not figure.bare or figure.year or not behind.scaled or behind.parts:
            continue
        if not _LIST_SIGN.fullmatch(lower, figure.end, behind.start):
            continue
        words = LETTERS_PATTERN.findall(lowered(behind.text))
        named = (SCALES.get(word) for word in words)
        number = Decimal((_DIGITS.search(behind.text) or "0")[0])
        scale = next(filter(None, named), number and max(behind.values) / number)
        if not scale:
            continue
        values = figure.values | {value * scale for value in figure.values}
        figure = figure._replace(values=values, scaled=True)
        in_order[position] = amount._replace(figure=figure)


def _years(
    text: str, in_text: Sequence[Figure], bound: list[frozenset[int]]
) -> list[frozenset[int]]:
    """Return the years of each amount: ``bound`` (`bound_years`), else those before it:
    "In 2015, 39 %", "Inflation 2015: 4 %". A year that only begins or ends a span
    ("since 2015") and that of an edition are not of an amount. A comparison ends what
    the years before it are of.
    """
    current = frozenset[int]()
    end = 0
    is_open = False
    is_after_year = False
    last_bound: frozenset[int] | None = None
    for index, figure in enumerate(in_text):
        gap = text[end : figure.start]
        end = figure.end
        if figure.year and figure.bare:
            joins = is_after_year and _JOINS_YEARS.fullmatch(gap) is not None
            is_open = (joins and is_open) or _OPEN_YEAR.search(gap) is not None
            if not joins:
                current = frozenset()
            if is_open or _is_of_no_other(figure, text, gap, last_bound):
                current = frozenset()
            else:
                current |= {figure.year}
            is_after_year = True
            continue
        if not is_after_year and _CONTRAST.search(gap):
            current = frozenset()
        last_bound = bound[index]
        bound[index] = last_bound or current
        is_after_year = False
    return bound


def is_of_edition(text: str, year: Figure) -> bool:
    """Return whether a year of a text is that of a report, a census or of prices."""
    lower = lowered(text)
    others = _OTHER_YEARS.match(lower, year.end)
    end = others.end() if others else year.end
    if _OF_EDITION.match(lower, end):
        return True
    before = lower[max(0, year.start - EDITION_CHARACTERS) : year.start]
    return _EDITION_BEFORE.search(before) is not None


def _is_of_no_other(
    year: Figure, text: str, gap: str, last_bound: frozenset[int] | None
) -> bool:
    """Return whether a year is of an edition, or of the figure before it.

    ``gap``: the text between them. ``last_bound``: that figure's years, None without
    one.
    """
    if (year.year or 0) < MIN_YEAR or is_of_edition(text, year):
        return True
    if last_bound is None:
        return False
    # "26.6 %, 2022 est., against 48.5 %".
    is_behind = not last_bound and gap.strip() in {",", ";"}
    return is_behind or year.year in last_bound or "(" in gap.rpartition(")")[2]
