"""Calculations that a language model gives for figures that no rule derives. They are
done again exactly: the model says how, the program proves it.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal, DivisionByZero, InvalidOperation, Overflow

from ..domain.errors import read_table
from ..domain.formulas import Term, evaluate, read_calculation
from ..language.figures import SCALES, figures
from .amounts import Amount
from .arithmetic import Fraction, is_result
from .evidence import Evidence

__all__ = ["is_proven", "is_stated"]

_BOUNDS = read_table(__package__, "meaning")
MAX_FORMULA_CHARACTERS = int(_BOUNDS["formula_characters"]["value"])
_FACTORS = frozenset(map(Decimal, _BOUNDS["factors"]["values"]))
_LARGEST_COUNT = int(_BOUNDS["count"]["value"])
_PER_CENT = Decimal("0.01")


def is_proven(
    claim: Amount | Fraction, formula: str, cited: Sequence[Evidence]
) -> bool:
    """Return whether a formula gives a claim, as it is rounded, and has only figures of
    the cited passages, counts ("/ 3" for a mean) and factors of units.
    """
    calculation = read_calculation(formula[:MAX_FORMULA_CHARACTERS])
    if calculation is None:
        return False
    known = _Known(cited)
    try:
        result = evaluate(calculation, {}, known.compute).value
    except (DivisionByZero, InvalidOperation, Overflow, LookupError):
        return False
    if not known.figures_used:
        return False
    if isinstance(claim, Fraction):
        return claim.fits(result) or claim.fits(result * _PER_CENT)
    # In the unit that is written; a share also as a part of one.
    in_its_unit = claim._replace(size=Decimal(1))
    if is_result(in_its_unit, result):
        return True
    return claim.measure == "share" and is_result(claim, result)


def is_stated(claim: Amount, cited: Sequence[Evidence]) -> bool:
    """Return whether a passage has this number, or it is a small count."""
    values = claim.figure.values
    if any(value == int(value) and abs(value) <= _LARGEST_COUNT for value in values):
        return claim.figure.bare
    return any(value in values for _, value in _stated(cited))


class _Known:
    """The numbers that a formula may have."""

    def __init__(self, cited: Sequence[Evidence]) -> None:
        self.figures_used = 0
        self._values: dict[Decimal, Decimal] = {}
        for written, value in _stated(cited):
            self._values.setdefault(value, value)
            self._values.setdefault(written, value)

    def compute(self, sign: str, left: Term, right: Term) -> Term:
        """Return what a sign makes of two terms. Raises LookupError: a number is
        neither of a passage nor a count or factor.
        """
        first = self._value(left)
        second = self._value(right)
        match sign:
            case "+":
                value = first + second
            case "-":
                value = first - second
            case "*":
                value = first * second
            case _:
                value = first / second
        return Term(value, _COMPUTED, "")

    def _value(self, term: Term) -> Decimal:
        if term.unit == _COMPUTED:
            return term.value
        stated = self._values.get(term.value)
        if stated is not None:
            self.figures_used += 1
            return stated
        is_count = term.value == int(term.value) and 0 < term.value <= _LARGEST_COUNT
        if not is_count and term.value not in _FACTORS:
            raise LookupError(str(term.value))
        return term.value


_COMPUTED = "computed"


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
            if figure.scaled:
                for scale in set(SCALES.values()):
                    yield value / scale, value
