"""Formulas of derived figures: "[Population] / [Area: land]". Names of headings stand
in brackets, because they have signs of their own ("GDP - composition, by end use").
"""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from .errors import LONGEST_SHOWN, InvalidRequestError

_NAME = re.compile(r"\[([^\[\]]+)\]")
_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}


@dataclass(frozen=True, slots=True)
class Formula:
    """``names``: the headings that it needs, in their order."""

    names: tuple[str, ...]
    tree: ast.expr


@lru_cache(1_000)
def read_formula(text: str) -> Formula:
    """Return a formula. Raises InvalidRequestError: it is none; says what it may
    have.
    """
    names = tuple(dict.fromkeys(name.strip() for name in _NAME.findall(text)))
    written = _NAME.sub(lambda match: f"x{names.index(match[1].strip())}", text)
    tree = _parsed(written)
    if not names or tree is None:
        raise InvalidRequestError.for_field(
            "formula",
            f"{text[:LONGEST_SHOWN]!r} is none. It has names of headings in brackets, "
            "numbers, + - * / and parentheses: [Exports] - [Imports].",
        )
    return Formula(names, tree)


def read_calculation(text: str) -> Formula | None:
    """Return a formula of numbers alone, "(66.1 - 45.6) / 45.6 * 100"; None where the
    text is none.
    """
    tree = _parsed(text)
    if tree is None or any(isinstance(node, ast.Name) for node in ast.walk(tree)):
        return None
    return Formula((), tree)


def _parsed(text: str) -> ast.expr | None:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        _check(tree)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return tree


def _check(node: ast.expr) -> None:
    """Raise ValueError for anything that is no arithmetic."""
    if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        _check(node.left)
        _check(node.right)
        return
    is_number = isinstance(node, ast.Constant) and type(node.value) in {int, float}
    if not is_number and not isinstance(node, ast.Name):
        raise ValueError


@dataclass(frozen=True, slots=True)
class Term:
    """A value inside a formula, with its unit and how it was computed."""

    value: Decimal
    unit: str
    text: str


Compute = Callable[[str, Term, Term], Term]
"""Returns what one of the signs + - * / makes of two terms."""


def numbers_in(formula: Formula) -> list[Decimal]:
    """Return the numbers that are written in a formula."""
    numbers: list[Decimal] = []
    for node in ast.walk(formula.tree):
        if isinstance(node, ast.Constant):
            numbers.append(Decimal(str(node.value)))
    return numbers


def evaluate(
    formula: Formula,
    terms: dict[str, Term],
    compute: Compute,
    meant: Mapping[Decimal, Decimal] | None = None,
) -> Term:
    """Return the value of a formula. ``terms``: by the names of their headings;
    ``meant``: what its numbers stand for, where it is not themselves. Raises what
    ``compute`` raises.
    """
    values = meant or {}

    def value_of(node: ast.expr) -> Term:
        if isinstance(node, ast.BinOp):
            sign = _SIGNS[type(node.op)]
            return compute(sign, value_of(node.left), value_of(node.right))
        if isinstance(node, ast.Name):
            return terms[formula.names[int(node.id[1:])]]
        assert isinstance(node, ast.Constant)
        written = str(node.value)
        number = Decimal(written)
        return Term(values.get(number, number), "", written)

    return value_of(formula.tree)
