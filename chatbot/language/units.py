"""Units of figures as reports and people write them, and the conversion between them:
"sq km", "square miles", "bbl/day", "births/1,000 population", "million people".
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache

from ..domain.errors import InvalidRequestError, read_table
from .figures import ANY_SCALE, SCALES

ZERO_CELSIUS_IN_FAHRENHEIT = Decimal(32)
"""°F at 0 °C: the one pair of units with different zeros."""
PEOPLE = "people"
PERCENT = "%"
ONE_IN = "one in"
"""The unit of a share or a rate as one of so many: 4% are one in 25."""
_PER = re.compile(
    r"\s*/\s*|\s+(?:per|for (?:each|every)|por|par|لكل)\s+", re.IGNORECASE
)
_NUMBER = re.compile(r"^(\d[\d,.]*)\s*")
_EACH = re.compile(r"^(?:each|every|the|a|an)\s+", re.IGNORECASE)
_SCALE = re.compile(rf"^({ANY_SCALE})(?:\s+(?:of|de|d['’]))?(?:\s+|$)", re.IGNORECASE)
_CURRENCY = re.compile(r"^(?:us\s?)?(\$|dollars?|usd|dólares)(?!\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Known:
    """A unit of the table: how many of its kind's base one of it is."""

    name: str
    kind: str
    factor: Decimal


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as it is written. ``factor``: how many of the base units of ``kinds`` one
    of it is. ``kinds``: the power of each kind, sorted: ("time", -1), ("volume", 1) for
    "bbl/day"; a noun that the table does not have is a kind of its own.
    """

    text: str
    factor: Decimal
    kinds: tuple[tuple[str, int], ...]

    @property
    def counted(self) -> tuple[tuple[str, int], ...]:
        """The kinds without those that only say what is counted: people are a number,
        with or without the word.
        """
        return tuple(kind for kind in self.kinds if kind != (PEOPLE, 1))


@cache
def known_units() -> Mapping[str, Known]:
    """Return the units of the table by each of their names, in lower case."""
    by_name: dict[str, Known] = {}
    for kind, table in read_table(__package__, "units").items():
        for name, (factor, *others) in table["units"].items():
            unit = Known(name, kind, Decimal(factor))
            for written in (name, *others):
                by_name[written.lower()] = unit
    return by_name


@cache
def unit_pattern() -> re.Pattern[str]:
    """Return what finds names of the table's units in a question, the longest first.
    Letters that stand for many other things ("m", "g", "ha") are no names there.
    """
    names = [
        re.escape(name)
        for name, unit in known_units().items()
        if unit.kind not in {"share", "time", PEOPLE}
        and (len(name) > 2 or not name.isalpha())
    ]
    names += ["km", "ft", "mi", "kg"]
    listed = "|".join(sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<![\w/])(?:{listed})(?!\w)", re.IGNORECASE)


@lru_cache(2_000)
def read_unit(text: str) -> Unit:
    """Return a unit as it is written; one that the table does not have is a kind of its
    own. "" is a plain number.
    """
    # A space in front: "per 100,000 people" has nothing above the line.
    above, *below = _PER.split(f" {' '.join(text.split())}")
    factor = Decimal(1)
    kinds: dict[str, int] = {}
    for position, part in enumerate([above, *below]):
        power = -1 if position else 1
        part_factor, kind = _part(part)
        factor = factor * part_factor if power > 0 else factor / part_factor
        if kind:
            kinds[kind] = kinds.get(kind, 0) + power
    present = {kind: power for kind, power in kinds.items() if power}
    return Unit(text, factor, tuple(sorted(present.items())))


def _part(text: str) -> tuple[Decimal, str]:
    """Return the factor and the kind of what stands above or below a "per": "1,000
    population" are 1,000 people, "million people" a million.
    """
    factor = Decimal(1)
    text = _EACH.sub("", text.strip())
    if number := _NUMBER.match(text):
        factor *= Decimal(number[1].replace(",", "").rstrip("."))
        text = text[number.end() :]
    if scale := _SCALE.match(text.lower()):
        factor *= SCALES[scale[1]]
        text = text[scale.end() :]
    if _CURRENCY.match(text):
        return factor, "$"
    known = known_units().get(text.lower())
    if known is None:
        # "metric tonnes of CO2" are tonnes.
        known = known_units().get(text.lower().partition(" of ")[0])
    if known is None:
        return factor, text.lower()
    return factor * known.factor, known.kind


def is_convertible(unit: str, to: str) -> bool:
    """Return whether `convert` can express figures of one unit in the other."""
    if to == ONE_IN:
        return _is_part(read_unit(unit))
    return _pair(unit, to) is not None


def convert(value: Decimal, unit: str, to: str) -> Decimal:
    """Return a value of ``unit`` in the unit ``to``, exactly.

    Raises InvalidRequestError: they measure different things.
    """
    if to == ONE_IN and is_convertible(unit, to):
        source = read_unit(unit)
        part = value * source.factor
        if len(source.kinds) == 1:
            # A share is in per cent.
            part /= 100
        return 1 / part if part else part
    pair = _pair(unit, to)
    if pair is None:
        message = f"figures in {unit or 'plain numbers'} have no {to}."
        raise InvalidRequestError.for_field("unit", message)
    source, target = pair
    if source.kinds == (("temperature", 1),) and source.factor != target.factor:
        if source.factor == 1:
            return value / target.factor + ZERO_CELSIUS_IN_FAHRENHEIT
        return (value - ZERO_CELSIUS_IN_FAHRENHEIT) * source.factor
    return value * source.factor / target.factor


def _pair(unit: str, to: str) -> tuple[Unit, Unit] | None:
    """Return both units; None if they measure different things. "per 100,000 people"
    takes what is counted from the other: physicians stay physicians.
    """
    source = read_unit(unit)
    target = read_unit(to)
    if source.counted == target.counted:
        return source, target
    nouns = _nouns(source.kinds)
    if len(nouns) == 1 and _without(source.kinds, nouns) == target.counted:
        return source, target
    return None


def _is_part(unit: Unit) -> bool:
    """Return whether a unit is that of a part: a share, or "deaths/1,000 births"."""
    powers = sorted(power for _, power in unit.kinds)
    return unit.kinds == read_unit(PERCENT).kinds or powers == [-1, 1]


def _nouns(kinds: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the kinds above the line that the table does not have."""
    measured = {unit.kind for unit in known_units().values()} | {"$"}
    return [kind for kind in kinds if kind[1] == 1 and kind[0] not in measured]


def _without(
    kinds: Sequence[tuple[str, int]], others: Sequence[tuple[str, int]]
) -> tuple[tuple[str, int], ...]:
    return tuple(kind for kind in kinds if kind not in others)
