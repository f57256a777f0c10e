"""Calculations that a language model gives for figures that no rule derives. They are
done again exactly: the model says how, the program proves it.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, DivisionByZero, InvalidOperation, Overflow
from functools import cached_property

from ..domain.errors import read_table
from ..domain.formulas import Formula, Term, evaluate, numbers_in, read_calculation
from ..language.figures import SCALES, figures
from .amounts import Amount
from .arithmetic import Fraction, is_result
from .evidence import Evidence, is_supported

__all__ = ["Calculator", "is_stated"]

_BOUNDS = read_table(__package__, "meaning")
MAX_FORMULA_CHARACTERS = int(_BOUNDS["formula_characters"]["value"])
_FACTORS = frozenset(Decimal(str(value)) for value in _BOUNDS["factors"]["values"])
_LARGEST_COUNT = int(_BOUNDS["count"]["value"])
_PER_CENT = Decimal("0.01")
_OPERATIONS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_SCALES = sorted(set(SCALES.values()))


class Calculator:
    """Computes formulas from the figures of cited passages."""

    def __init__(self, cited: Sequence[Evidence]) -> None:
        self._cited = cited

    def proves(self, claim: Amount | Fraction, formula: str) -> bool:
        """Return whether a formula gives a claim, as it is rounded, and has only
        figures of the passages, counts ("/ 3" for a mean) and factors of units.
        """
        calculation = read_calculation(formula[:MAX_FORMULA_CHARACTERS])
        if calculation is None:
            return False
        return any(_says(claim, known.result(calculation)) for known in self._readings)

    @cached_property
    def _readings(self) -> "tuple[_Known, _Known]":
        """With the passages' scales, or as a formula of one unit is written: thousands
        of kilowatts are megawatts.
        """
        return _Known(self._cited), _Known(self._cited, as_written=True)


def _says(claim: Amount | Fraction, result: Decimal | None) -> bool:
    if result is None:
        return False
    if isinstance(claim, Fraction):
        return claim.fits(result) or claim.fits(result * _PER_CENT)
    # In the unit that is written; a share also as a part of one.
    in_its_unit = claim._replace(size=Decimal(1))
    if is_result(in_its_unit, result):
        return True
    return claim.measure == "share" and is_result(claim, result)


def is_stated(claim: Amount, cited: Sequence[Evidence]) -> bool:
    """Return whether a passage has this number, or it is a count or a base: "the third
    of five", "for every 100".
    """
    if claim.figure.bare and any(_is_count(value) for value in claim.figure.values):
        return True
    return is_supported(claim, cited)


def _is_count(value: Decimal) -> bool:
    if value in _FACTORS:
        return True
    # "1e999" is infinite, and no whole number.
    return abs(value) <= _LARGEST_COUNT and value == int(value)


class _Known:
    """The numbers that a formula may have, with the scale that they have in their
    passage, or ``as_written``.
    """

    def __init__(self, cited: Sequence[Evidence], *, as_written: bool = False) -> None:
        self._values: dict[Decimal, Decimal] = {}
        for written, value in _stated(cited):
            self._values.setdefault(value, value)
            self._values.setdefault(written, written if as_written else value)

    def result(self, calculation: Formula) -> Decimal | None:
        """Return what a calculation gives; None where it gives nothing, has a number
        that is neither of a passage nor a count or factor, or none of a passage.
        """
        numbers = numbers_in(calculation)
        others = [number for number in numbers if number not in self._values]
        if len(others) == len(numbers) or not all(_is_count(one) for one in others):
            return None
        try:
            return evaluate(calculation, {}, _computed, self._values).value
        except (DivisionByZero, InvalidOperation, Overflow):
            return None


def _computed(sign: str, left: Term, right: Term) -> Term:
    return Term(_OPERATIONS[sign](left.value, right.value), "", "")


def _stated(cited: Sequence[Evidence]) -> Iterator[tuple[Decimal, Decimal]]:
    """Yield the figures of passages: the number as a formula may write it, "39.2" for
    "$39.2 billion" and ".33" for "33%", and its value.
    """
    for source in cited:
        for figure in figures(source.full, comma=source.comma):
            if not figure.values:
                continue
            value = max(figure.values, key=abs)
            yield value, value
            if figure.unit == "%":
                yield value * _PER_CENT, value * _PER_CENT
            for scale in _SCALES:
                if abs(value) >= scale:
                    yield value / scale, value
