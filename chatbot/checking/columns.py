"""Check the computed columns and rows of an answer's tables: one formula for all."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from decimal import Decimal
from itertools import permutations
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


def check_cells(figures: _Figures, copied: Collection[CellPlace]) -> CheckedCells:
    """Find the formula that gives most cells of a column or row.

    ``figures``: those of the cells; ``copied``: the cells whose figure a passage has.
    """
    proven: set[CellPlace] = set()
    wrong: set[CellPlace] = set()
    for is_turned in (False, True):
        columns = defaultdict[tuple[int, int], list[CellPlace]](list)
        rows = defaultdict[tuple[int, int], dict[int, Amount]](dict)
        for cell, figure in figures.items():
            table, row, column = cell
            if is_turned:
                row, column = column, row
            if cell not in copied:
                columns[table, column].append(cell)
            elif len(rows[table, row]) < BOUNDS["group"]:
                rows[table, row][column] = figure
        for cells in columns.values():
            results: dict[CellPlace, dict[_Formula, Decimal]] = {}
            for cell in cells:
                at = (cell.table, cell.column if is_turned else cell.row)
                results[cell] = _results(figures[cell], at, rows)
            right = _right_cells(figures, results)
            proven.update(cell for cell, is_right in right.items() if is_right)
            wrong.update(cell for cell, is_right in right.items() if not is_right)
    return CheckedCells(frozenset(proven), frozenset(wrong - proven))


def _right_cells(
    figures: _Figures, results: Mapping[CellPlace, Mapping[_Formula, Decimal]]
) -> dict[CellPlace, bool]:
    """Return whether cells of a column are right, as far as it can be told."""
    votes = Counter[_Formula]()
    for cell, given in results.items():
        for formula, result in given.items():
            votes[formula] += is_result(figures[cell], result)
    best, count = max(votes.items(), key=itemgetter(1), default=((), 0))
    right: dict[CellPlace, bool] = {}
    for cell, given in results.items():
        if count > 1 and best in given:
            right[cell] = is_result(figures[cell], given[best])
        # A single cell may be some result by accident.
        elif proven_amount(figures[cell], given.values(), is_named=True):
            right[cell] = True
    return right


def _column_sum(
    table: int, column: int, rows: Mapping[tuple[int, int], Mapping[int, Amount]]
) -> Decimal:
    whole = Decimal(0)
    for (other_table, _), cells in rows.items():
        if other_table == table and column in cells:
            whole += cells[column].base
    return whole


def _results(
    claim: Amount,
    at: tuple[int, int],
    rows: Mapping[tuple[int, int], Mapping[int, Amount]],
) -> dict[_Formula, Decimal]:
    """Return what formulas give for a cell of the row ``at``: of two others of its row,
    of all others, of a cell and the one above or below, and as a part of a column.
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
        if claim.measure == "share":
            whole = _column_sum(table, column, rows)
            if whole:
                results[column, "part"] = figure.base / whole
    for key, left, right in pairs:
        for name, result in pair_results(claim, left, right):
            kind = "change" if name in ("increase", "decrease") else name
            results[(*key, kind)] = result
    alike = [figure.base for figure in row.values() if figure.measures_as(claim)]
    if len(alike) > 2:
        results["sum",] = sum(alike, Decimal(0))
        results["mean",] = results["sum",] / len(alike)
    return results
