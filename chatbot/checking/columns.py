"""Check the computed columns and rows of an answer's tables: one formula for all."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from itertools import islice, permutations
from operator import itemgetter
from typing import NamedTuple

from .amounts import Amount
from .arithmetic import is_result, pair_results, proven_amount
from .wording import BOUNDS

__all__ = ["CellPlace", "CheckedCells", "check_cells"]


class CellPlace(NamedTuple):
    """Where a cell stands among the tables of an answer."""

    table: int
    row: int
    column: int


class CheckedCells(NamedTuple):
    """``proven``: cells that a formula of their column or row gives; ``wrong``: those
    that the formula of the others in their column or row does not give.
    """

    proven: frozenset[CellPlace]
    wrong: frozenset[CellPlace]


_Formula = tuple[object, ...]
_Figures = Mapping[CellPlace, Amount]


def check_cells(
    figures: _Figures, copied: Collection[CellPlace], sums: Mapping[CellPlace, bool]
) -> CheckedCells:
    """Find the formula that gives most cells of a column or row.

    ``figures``: those of the cells; ``copied``: the cells whose figure a passage has;
    ``sums``: the cells that are called a total, and whether it is of their column.
    """
    proven: set[CellPlace] = set()
    wrong: set[CellPlace] = set()
    for is_turned in (False, True):
        columns = defaultdict[tuple[int, int], list[CellPlace]](list)
        rows = defaultdict[tuple[int, int], dict[int, Amount]](dict)
        beside = defaultdict[tuple[int, int], dict[int, Amount]](dict)
        for cell, figure in figures.items():
            table, row, column = cell
            if is_turned:
                row, column = column, row
            if cell not in copied:
                columns[table, column].append(cell)
            elif len(rows[table, row]) < BOUNDS["group"]:
                rows[table, row][column] = figure
                beside[table, column][row] = figure
        for cells in columns.values():
            right: dict[CellPlace, bool] = {}
            results: dict[CellPlace, dict[_Formula, Decimal]] = {}
            for cell in cells:
                at = (cell.table, cell.column if is_turned else cell.row)
                results[cell] = _results(figures[cell], at, rows, beside)
                if sums.get(cell) == is_turned and ("sum",) in results[cell]:
                    whole = results.pop(cell)["sum",]
                    right[cell] = is_result(figures[cell], whole)
            right |= _right_cells(figures, results)
            for cell, is_right in right.items():
                (proven if is_right else wrong).add(cell)
    return CheckedCells(frozenset(proven), frozenset(wrong - proven))


def _right_cells(
    figures: _Figures, results: Mapping[CellPlace, Mapping[_Formula, Decimal]]
) -> dict[CellPlace, bool]:
    """Return whether cells of a column are right, as far as it can be told."""
    votes = Counter[_Formula]()
    # Where one cell has a sign, that of the others counts, too.
    is_signed = any(min(figures[cell].figure.values) < 0 for cell in results)
    for cell, given in results.items():
        for formula, result in given.items():
            votes[formula] += _is_right(figures[cell], result, is_signed=is_signed)
    best, count = max(votes.items(), key=itemgetter(1), default=((), 0))
    right: dict[CellPlace, bool] = {}
    for cell, given in results.items():
        if count > 1 and best in given:
            right[cell] = _is_right(figures[cell], given[best], is_signed=is_signed)
        # A single cell may be some result by accident, and is no rank.
        elif _is_proven(figures[cell], given, is_named=True):
            right[cell] = True
    if count == 1 and len(results) == 2:
        right |= _wrong_beside(figures, results, right)
    return right


def _is_proven(
    claim: Amount, given: Mapping[_Formula, Decimal], *, is_named: bool
) -> bool:
    """Return whether some formula gives a single cell, and not by accident. A single
    rank or index proves nothing.
    """
    results = [given[key] for key in given if {"rank", "index"}.isdisjoint(key)]
    return proven_amount(claim, results, is_named=is_named) is not None


def _wrong_beside(
    figures: _Figures,
    results: Mapping[CellPlace, Mapping[_Formula, Decimal]],
    right: Mapping[CellPlace, bool],
) -> dict[CellPlace, bool]:
    """Return the one of two cells of which no formula gives what it says, though those
    that give the other one, and not by accident, can be applied to it.
    """
    for (cell, given), (other, of_other) in permutations(results.items(), 2):
        if other in right or figures[cell].measure != figures[other].measure:
            continue
        formulas = {key for key in given if is_result(figures[cell], given[key])}
        is_certain = _is_proven(figures[cell], given, is_named=False)
        if is_certain and formulas <= of_other.keys():
            return {other: False}
    return {}


def _is_right(claim: Amount, result: Decimal, *, is_signed: bool) -> bool:
    """Return whether a cell says a result. ``is_signed``: also that it is negative."""
    is_other = is_signed and (claim.base < 0) != (result < 0)
    return not is_other and is_result(claim, result)


def _results_in(
    claim: Amount, column: int, figure: Amount, others: Mapping[int, Amount]
) -> Iterator[tuple[_Formula, Decimal]]:
    """Yield what a figure is among those of its column: a part of all or of one, and
    its rank.
    """
    bases = {row: other.base for row, other in others.items()}
    whole = sum(bases.values(), Decimal(0))
    if claim.measure == "share" and whole:
        yield (column, "part"), figure.base / whole
    if claim.measure in ("", "share"):
        for row, base in islice(bases.items(), int(BOUNDS["group"])):
            if base:
                yield (column, "to", row), figure.base / base
                yield (column, "index", row), 100 * figure.base / base
    if not claim.measure:
        for sign in (-1, 1):
            before = [one for one in bases.values() if (one - figure.base) * sign > 0]
            yield (column, "rank", sign), Decimal(1 + len(before))


def _results(
    claim: Amount,
    at: tuple[int, int],
    rows: Mapping[tuple[int, int], Mapping[int, Amount]],
    columns: Mapping[tuple[int, int], Mapping[int, Amount]],
) -> dict[_Formula, Decimal]:
    """Return what formulas give for a cell of the row ``at``: of two others of its row,
    of all others, of a cell and the one above or below, as a part of a column or of one
    cell of it, and as a rank.
    """
    table, number = at
    row = rows.get(at, {})
    results: dict[_Formula, Decimal] = {}
    pairs: list[tuple[_Formula, Amount, Amount]] = []
    for first, second in permutations(row, 2):
        pairs.append(((first, second), row[first], row[second]))
    for column, figure in row.items():
        for step in (-1, 1):
            right = rows.get((table, number + step), {}).get(column)
            if right is not None:
                pairs.append(((column, "step", step), figure, right))
        results |= _results_in(claim, column, figure, columns[table, column])
    for key, left, right in pairs:
        for name, result in pair_results(claim, left, right):
            kind = "change" if name in ("increase", "decrease") else name
            results[(*key, kind)] = result
    alike = [figure.base for figure in row.values() if figure.measures_as(claim)]
    if len(alike) > 1:
        results["sum",] = sum(alike, Decimal(0))
    if len(alike) > 2:
        results["mean",] = results["sum",] / len(alike)
    return results
