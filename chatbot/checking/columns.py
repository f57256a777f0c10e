"""Check the computed columns and rows of an answer's tables: one formula for all."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice, pairwise, permutations
from operator import itemgetter
from statistics import median
from typing import NamedTuple

from .amounts import Amount
from .arithmetic import is_result, pair_results, proven_amount, whole_of
from .wording import BOUNDS

__all__ = ["CellPlace", "CheckedCells", "TableCell", "check_cells"]

_AGGREGATES = frozenset({"sum", "mean", "median", "lowest", "highest", "range"})
_TURNED = "turned"
"""The formula of a surplus for what is called a deficit."""
_RELATIVE = frozenset(
    {"rank", "index", "beyond", "change from", "from mean"}
    | {"lowest", "highest", "median", "converted"}
)
"""Results in a column that a single cell may have by accident."""


class CellPlace(NamedTuple):
    """Where a cell stands among the tables of an answer."""

    table: int
    row: int
    column: int


class TableCell(NamedTuple):
    """A cell that has one figure.

    ``is_copied``: a passage has it; ``is_cited``: it cites one. ``names``: what the
    headings of its row and of its column call it: "sum", "mean", ... or "". ``flow``:
    of what its column and its row are figures, 1 for income; ``balance``: what it is
    itself, 1 for a surplus (`comparisons`). ``is_rate``, ``is_size``: its headings say
    that it is so much of one thing for each of another, or a gap, which has no sign.
    ``is_ranked``: its table counts its rows as ranks.
    """

    figure: Amount
    is_copied: bool
    is_cited: bool = True
    names: tuple[str, str] = ("", "")
    flow: tuple[int, int] = (0, 0)
    balance: int = 0
    is_rate: bool = False
    is_size: bool = False
    is_ranked: bool = False


class CheckedCells(NamedTuple):
    """``proven``: cells that a formula of their column or row gives; ``wrong``: those
    that the formula of the others in their column or row does not give; ``known``: the
    figures of those that are proven or copied; ``exact``: with the values that the
    formulas give.
    """

    proven: frozenset[CellPlace]
    wrong: frozenset[CellPlace]
    known: Mapping[CellPlace, Amount]
    exact: Mapping[CellPlace, Amount]


_Formula = tuple[object, ...]
_Cells = Mapping[CellPlace, TableCell]


@dataclass(slots=True)
class _Lines:
    """The known figures of tables by lines, which are rows, or columns where the tables
    are turned. ``parts``: without those that are the total, mean, ... of their line.
    ``across``: the parts of the lines that cross them. ``flows``: of what a line that
    crosses them is.
    """

    all: dict[tuple[int, int], dict[int, Amount]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    parts: dict[tuple[int, int], dict[int, Amount]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    across: dict[tuple[int, int], dict[int, Amount]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    flows: dict[tuple[int, int], int] = field(default_factory=dict)


@dataclass(slots=True)
class _Found:
    """What is known of the cells of tables. ``wrong``: whether rows or columns tell;
    ``exact``: the values that formulas give; ``aggregates``: the totals, means, ... of
    columns (True) and of rows.
    """

    known: dict[CellPlace, Amount]
    proven: set[CellPlace] = field(default_factory=set)
    wrong: dict[CellPlace, bool] = field(default_factory=dict)
    exact: dict[CellPlace, Amount] = field(default_factory=dict)
    aggregates: dict[bool, set[CellPlace]] = field(
        default_factory=lambda: {True: set(), False: set()}
    )


def check_cells(cells: _Cells) -> CheckedCells:
    """Find the formula that gives most cells of a column or row. What it proves may be
    a term of others: the total of computed differences.
    """
    found = _Found({at: cell.figure for at, cell in cells.items() if cell.is_copied})
    for attempt in range(3):
        if attempt == 2:
            # What is computed may be so of exact figures, not of those shown.
            found.known |= found.exact
        unknown: set[CellPlace] = set()
        for place, cell in cells.items():
            is_known = cell.is_copied and cell.is_cited
            is_checked = place in found.proven or place in found.wrong
            if not is_known and (attempt == 2 or not is_checked):
                unknown.add(place)
        for is_turned in (False, True):
            lines = _lines(cells, found.known, found.aggregates, is_turned=is_turned)
            for line in _crossing_lines(unknown, is_turned=is_turned):
                _check_line(cells, line, lines, found, is_turned=is_turned)
        for place in found.proven:
            found.known.setdefault(place, cells[place].figure)
    shown = {place: cells[place].figure for place in found.known}
    wrong = {*(found.wrong.keys() - found.proven), *_misranked(cells, found.known)}
    proven = found.proven - wrong
    exact = found.known | found.exact
    return CheckedCells(frozenset(proven), frozenset(wrong), shown, exact)


def _check_line(
    cells: _Cells,
    line: Sequence[CellPlace],
    lines: _Lines,
    found: _Found,
    *,
    is_turned: bool,
) -> None:
    """Find which cells of a column, or of a row of turned tables, are right. A single
    one of a row does not make up for what its column tells.
    """
    results: dict[CellPlace, dict[_Formula, Decimal]] = {}
    for place in line:
        cell = cells[place]
        results[place] = _results(cell, place, lines, is_turned=is_turned)
        of_other_balance = _taken_out(results[place])
        if any(is_result(cell.figure, one) for one in of_other_balance):
            found.wrong.setdefault(place, is_turned)
    right = _right_cells(cells, results, is_turned=is_turned)
    are_several = sum(one is not None for one in right.values()) > 1
    for place, result in right.items():
        cell = cells[place]
        if _is_aggregate(cell.figure, results[place]):
            found.aggregates[is_turned].add(place)
        is_of_other = found.wrong.get(place, is_turned) != is_turned
        if result is None:
            if not cell.is_copied:
                found.wrong.setdefault(place, is_turned)
        elif are_several or not is_of_other or any(cell.names):
            found.proven.add(place)
            values = frozenset([result / (cell.figure.size or 1)])
            figure = cell.figure.figure._replace(values=values)
            found.exact[place] = cell.figure._replace(figure=figure)


def _misranked(cells: _Cells, known: Mapping[CellPlace, Amount]) -> Iterator[CellPlace]:
    """Yield the cells at which the order of a ranked table breaks, where no column of
    it is in order.
    """
    columns = defaultdict[int, dict[int, list[CellPlace]]](lambda: defaultdict(list))
    for place, cell in cells.items():
        is_aggregate = bool(cell.names[0])
        if cell.is_ranked and place in known and not is_aggregate:
            columns[place.table][place.column].append(place)
    for of_table in columns.values():
        breaks: list[list[CellPlace]] = []
        for places in of_table.values():
            bases = [known[place].base for place in sorted(places)]
            for sign in (1, -1):
                steps = zip(sorted(places)[1:], pairwise(bases), strict=True)
                breaks.append([at for at, (a, b) in steps if (b - a) * sign < 0])
        if len(breaks) > 2 or any(map(len, breaks)):
            yield from min(breaks, key=len)


def _line_of(place: CellPlace, *, is_turned: bool) -> tuple[int, int]:
    """Return the row and column of a cell, or its column and row."""
    if is_turned:
        return place.column, place.row
    return place.row, place.column


def _lines(
    cells: _Cells,
    known: Mapping[CellPlace, Amount],
    aggregates: Mapping[bool, Collection[CellPlace]],
    *,
    is_turned: bool,
) -> _Lines:
    lines = _Lines()
    for place in cells:
        if place not in known:
            continue
        figure = known[place]
        row, column = _line_of(place, is_turned=is_turned)
        of_row = lines.all[place.table, row]
        if len(of_row) >= BOUNDS["group"]:
            continue
        of_row[column] = figure
        lines.flows[place.table, column] = cells[place].flow[is_turned]
        if place not in aggregates[is_turned]:
            lines.parts[place.table, row][column] = figure
        if place not in aggregates[not is_turned]:
            lines.across[place.table, column][row] = figure
    for parts in (*lines.parts.values(), *lines.across.values()):
        _drop_total(parts)
    return lines


def _drop_total(parts: dict[int, Amount]) -> None:
    """Leave out the last figure of a line where it is the sum of all others."""
    last = max(parts, default=0)
    bases = [amount.base for number, amount in parts.items() if number != last]
    if len(bases) > 2 and whole_of([*bases, parts[last].base]) == parts[last].base:
        del parts[last]


def _crossing_lines(
    unknown: Collection[CellPlace], *, is_turned: bool
) -> Iterator[list[CellPlace]]:
    """Yield the cells of each column, or of each row where the tables are turned."""
    lines = defaultdict[tuple[int, int], list[CellPlace]](list)
    for place in sorted(unknown):
        _, column = _line_of(place, is_turned=is_turned)
        lines[place.table, column].append(place)
    yield from lines.values()


def _taken_out(results: dict[_Formula, Decimal]) -> list[Decimal]:
    """Take the differences that are those of the other balance out of some results."""
    turned = [formula for formula in results if formula[0] == _TURNED]
    return [results.pop(formula) for formula in turned]


def _is_aggregate(claim: Amount, given: Mapping[_Formula, Decimal]) -> bool:
    """Return whether a cell is the total, mean, ... of its line."""
    return any(
        formula[0] in _AGGREGATES and is_result(claim, result)
        for formula, result in given.items()
    )


def _right_cells(
    cells: _Cells,
    results: Mapping[CellPlace, Mapping[_Formula, Decimal]],
    *,
    is_turned: bool,
) -> dict[CellPlace, Decimal | None]:
    """Return what the cells of a column are, None for those that are wrong, as far as
    it can be told.
    """
    right = _named_cells(cells, results, is_turned=is_turned)
    results = {place: results[place] for place in results.keys() - right.keys()}
    figures = {place: cells[place].figure for place in results}
    votes = Counter[_Formula]()
    # Where one cell has a sign, that of the others counts, too.
    is_signed = any(_is_signed(figure) for figure in figures.values())
    for cell, given in results.items():
        for formula, result in given.items():
            votes[formula] += _is_right(figures[cell], result, is_signed=is_signed)
    best, count = max(votes.items(), key=itemgetter(1), default=((), 0))
    if not is_signed and best[-1:] == ("difference",):
        # What is a loss in one row and a gain in another has a sign.
        signs = {given[best] < 0 for given in results.values() if best in given}
        is_signed = len(signs) > 1 and not any(cells[one].is_size for one in results)
    for cell, given in results.items():
        if count > 1 and best in given:
            is_right = _is_right(figures[cell], given[best], is_signed=is_signed)
            right[cell] = given[best] if is_right else None
            continue
        # A single cell may be some result by accident, and is no rank.
        proven = _proven(figures[cell], given, is_named=True)
        if proven is not None:
            right[cell] = proven.base
    if count == 1 and len(results) == 2:
        right |= _wrong_beside(figures, results, right)
    return right


def _named_cells(
    cells: _Cells,
    results: Mapping[CellPlace, Mapping[_Formula, Decimal]],
    *,
    is_turned: bool,
) -> dict[CellPlace, Decimal | None]:
    """Return what the cells that are called a total, mean, ... are, None for those that
    are wrong. If all means are others, they are perhaps weighted.
    """
    right: dict[CellPlace, Decimal | None] = {}
    for place, given in results.items():
        name = cells[place].names[not is_turned]
        if (name,) in given:
            result = given[name,]
            right[place] = result if is_result(cells[place].figure, result) else None
    is_sum = any(cells[place].names[not is_turned] == "sum" for place in right)
    if is_sum or any(result is not None for result in right.values()):
        return right
    return {}


def _is_signed(figure: Amount) -> bool:
    return figure.is_plus or min(figure.figure.values) < 0


def _proven(
    claim: Amount, given: Mapping[_Formula, Decimal], *, is_named: bool
) -> Amount | None:
    """Return a single cell that some formula gives, and not by accident, with the exact
    value. A single rank or index proves nothing.
    """
    results: list[Decimal] = []
    for formula, result in given.items():
        is_other = _is_signed(claim) and (claim.base < 0) != (result < 0)
        if _RELATIVE.isdisjoint(formula) and not is_other:
            results.append(result)
    return proven_amount(claim, results, is_named=is_named)


def _wrong_beside(
    figures: Mapping[CellPlace, Amount],
    results: Mapping[CellPlace, Mapping[_Formula, Decimal]],
    right: Mapping[CellPlace, Decimal | None],
) -> dict[CellPlace, Decimal | None]:
    """Return the one of two cells of which no formula gives what it says, though those
    that give the other one, and not by accident, can be applied to it.
    """
    for (cell, given), (other, of_other) in permutations(results.items(), 2):
        if other in right or figures[cell].measure != figures[other].measure:
            continue
        formulas = {key for key in given if is_result(figures[cell], given[key])}
        proven = _proven(figures[cell], given, is_named=False)
        if proven is not None and formulas <= of_other.keys():
            return {other: None}
    return {}


def _is_right(claim: Amount, result: Decimal, *, is_signed: bool) -> bool:
    """Return whether a cell says a result. ``is_signed``: also that it is negative."""
    is_other = is_signed and (claim.base < 0) != (result < 0)
    return not (is_other and claim.base) and is_result(claim, result)


def _results(
    cell: TableCell, place: CellPlace, lines: _Lines, *, is_turned: bool
) -> dict[_Formula, Decimal]:
    """Return what formulas give for a cell of a row: of two others of its row, of all
    others, of a cell and the one above or below, and of a column, up to it or all.
    """
    number, own = _line_of(place, is_turned=is_turned)
    row = dict(lines.all.get((place.table, number), {}))
    row.pop(own, None)
    claim = cell.figure
    results: dict[_Formula, Decimal] = {}
    pairs: list[tuple[_Formula, Amount, Amount]] = []
    kind: _Formula
    for first, second in permutations(row, 2):
        flow = lines.flows[place.table, first]
        kind = (first, second)
        if flow and flow == -lines.flows[place.table, second]:
            sign = (row[first].base - row[second].base) * flow
            if cell.balance * sign < 0 <= claim.base:
                kind = (_TURNED, *kind)
        pairs.append((kind, row[first], row[second]))
    for column, figure in row.items():
        for step in (-1, 1):
            right = lines.all.get((place.table, number + step), {}).get(column)
            if right is not None:
                pairs.append(((column, "step", step), figure, right))
        if claim.measure == figure.measure and claim.size != figure.size:
            results[column, "converted"] = figure.base
        across = lines.across[place.table, column]
        for formula, result in _results_in(claim, number, figure, across):
            results[column, *formula] = result
    for key, left, right in pairs:
        for name, result in pair_results(claim, left, right):
            if name == "yearly":
                continue
            operation = "change" if name in ("increase", "decrease") else name
            results[(*key, operation)] = result
        if cell.is_rate and right.base and left.measure == right.measure:
            # So much of the rest for each of a part.
            results[(*key, "rest ratio")] = left.base / right.base - 1
    alike: list[Amount] = []
    for column, figure in lines.parts.get((place.table, number), {}).items():
        if column != own and figure.measures_as(claim):
            alike.append(figure)
    results |= {(name,): result for name, result in _aggregates(claim, alike)}
    return results


def _unit_of(claim: Amount, figure: Amount) -> Decimal:
    """Return what the results for a claim without a unit are counted in."""
    return Decimal(1) if claim.measure else figure.size or Decimal(1)


def _aggregates(
    claim: Amount, alike: Sequence[Amount]
) -> Iterator[tuple[str, Decimal]]:
    """Yield what figures of one measure give together."""
    if len(alike) < 2:
        return
    unit = _unit_of(claim, alike[0])
    bases = [figure.base / unit for figure in alike]
    total = sum(bases, Decimal(0))
    yield "sum", total
    yield "mean", total / len(bases)
    yield "median", median(bases)
    yield "lowest", min(bases)
    yield "highest", max(bases)
    if len(bases) > 2:
        yield "range", max(bases) - min(bases)


def _results_in(
    claim: Amount, number: int, figure: Amount, column: Mapping[int, Amount]
) -> Iterator[tuple[_Formula, Decimal]]:
    """Yield what the figure of a row is among those of its column: a part of all or of
    one, what it is beyond these, the sum up to it, and its rank.
    """
    bases = {row: other.base for row, other in column.items()}
    whole = sum(bases.values(), Decimal(0))
    unit = _unit_of(claim, figure)
    if claim.measure == "share" and whole:
        yield ("part",), figure.base / whole
    if claim.measures_as(figure) and len(bases) > 1:
        above = [base for row, base in bases.items() if row <= number]
        yield ("running",), sum(above, Decimal(0)) / unit
        yield ("from mean",), (figure.base - whole / len(bases)) / unit
    for row, base in islice(bases.items(), int(BOUNDS["group"])):
        if claim.measures_as(figure):
            yield ("beyond", row), (figure.base - base) / unit
        if base and claim.measure in ("", "share"):
            yield ("to", row), figure.base / base
            yield ("index", row), 100 * figure.base / base
            yield ("change from", row), figure.base / base - 1
    if not claim.measure:
        for sign in (-1, 1):
            before = [one for one in bases.values() if (one - figure.base) * sign > 0]
            yield ("rank", sign), Decimal(1 + len(before))
