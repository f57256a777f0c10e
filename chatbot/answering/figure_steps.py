"""The operations of a `FigureQuery`, one function each, over a grid of subjects and
columns. All arithmetic is of exact decimals; what was divided is rounded when it is
shown.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple

from ..domain.errors import InvalidRequestError
from ..domain.figure_query import (
    Aggregate,
    AnyStep,
    Axis,
    Convert,
    Count,
    Difference,
    FigureCell,
    FigureColumn,
    FigureRow,
    FigureTable,
    Filter,
    Growth,
    Rank,
    Ratio,
    ShareOf,
)
from ..language.units import ONE_IN, PERCENT, convert, is_convertible, read_unit

POINTS = "percentage points"
TIMES = "times"
CURRENCY_SIGNS = {"$", "€", "£"}
COUNTRIES = "of all"
"""The row of a figure that is made of those of all subjects."""
Cells = tuple[FigureCell | None, ...]


def run(steps: Sequence[AnyStep], grid: FigureTable) -> FigureTable:
    """Return the grid after all steps, in their order. Raises InvalidRequestError: a
    step does not fit the grid; names it.
    """
    for number, step in enumerate(steps):
        try:
            grid = _FUNCTIONS[type(step)](step, grid)
        except InvalidRequestError as error:
            raise InvalidRequestError.for_field(
                f"steps.{number}", f"{step.op}: {error.message}"
            ) from None
    return grid


def _convert(step: Convert, grid: FigureTable) -> FigureTable:
    """Express every column in the unit that can be; at least one has to."""
    columns = []
    for column in grid.columns:
        can_be = is_convertible(column.unit, step.unit)
        columns.append(replace(column, unit=step.unit) if can_be else column)
    if step.unit not in {column.unit for column in columns}:
        units = ", ".join(column.unit or "plain numbers" for column in columns)
        raise InvalidRequestError(f"figures in {units} have no {step.unit}.")
    rows = []
    for row in grid.rows:
        cells: list[FigureCell | None] = []
        for column, cell in zip(grid.columns, row.cells, strict=True):
            cells.append(_converted(cell, column.unit, step))
        rows.append(replace(row, cells=tuple(cells)))
    return replace(grid, columns=tuple(columns), rows=tuple(rows))


def _converted(cell: FigureCell | None, unit: str, step: Convert) -> FigureCell | None:
    if cell is None or not is_convertible(unit, step.unit):
        return cell
    value = convert(cell.value, unit, step.unit)
    text = in_unit(value, step.unit)
    if step.decimals is not None:
        text = with_unit(f"{value:,.{step.decimals}f}", step.unit)
    return replace(cell, value=value, text=text, how=cell.how or cell.text)


def _difference(step: Difference, grid: FigureTable) -> FigureTable:
    return _pairs(step.of, grid, _subtracted)


def _ratio(step: Ratio, grid: FigureTable) -> FigureTable:
    return _pairs(step.of, grid, _divided)


def _change(step: Growth, grid: FigureTable) -> FigureTable:
    """From the first year to the last: the columns stand from the oldest on."""
    compute = _change_in_percent if step.percent else _gained
    over_time = step.of is None and len(grid.columns) > 1
    return _pairs("years" if over_time else step.of, grid, compute)


class Operand(NamedTuple):
    """One of two figures that are computed with, and its column."""

    cell: FigureCell
    column: FigureColumn


Compute = Callable[[Operand, Operand], tuple[Decimal, str, str]]
"""Returns the value of two figures, its unit and how it was computed. Raises
InvalidRequestError: their units do not go together, or one is zero.
"""


def _texts(first: Operand, second: Operand) -> tuple[str, str]:
    """Return the figures as they are read, with their years where these differ."""
    texts = (first.cell.text, second.cell.text)
    years = (first.cell.year, second.cell.year)
    if years[0] == years[1] or None in years:
        return texts
    return f"{texts[0]} in {years[0]}", f"{texts[1]} in {years[1]}"


def _subtracted(first: Operand, second: Operand) -> tuple[Decimal, str, str]:
    unit = _common_unit(first, second)
    value = first.cell.value - second.cell.value
    difference_unit = POINTS if unit == PERCENT else unit
    return value, difference_unit, " - ".join(_texts(first, second))


def _gained(first: Operand, second: Operand) -> tuple[Decimal, str, str]:
    return _subtracted(second, first)


def _divided(first: Operand, second: Operand) -> tuple[Decimal, str, str]:
    how = " / ".join(_texts(first, second))
    if second.cell.value == 0:
        raise InvalidRequestError(f"{how} divides by zero.")
    value = first.cell.value / second.cell.value
    same = read_unit(first.column.unit).kinds == read_unit(second.column.unit).kinds
    unit = TIMES if same else f"{first.column.unit} per {second.column.unit}".strip()
    return value, unit, how


def _change_in_percent(first: Operand, second: Operand) -> tuple[Decimal, str, str]:
    _common_unit(first, second)
    before, after = _texts(first, second)
    how = f"({after} - {before}) / {first.cell.text}"
    if first.cell.value == 0:
        raise InvalidRequestError(f"{how} divides by zero.")
    value = 100 * (second.cell.value - first.cell.value) / abs(first.cell.value)
    return value, PERCENT, how


def _common_unit(first: Operand, second: Operand) -> str:
    if first.column.unit != second.column.unit:
        message = f"{first.column.unit!r} and {second.column.unit!r} differ."
        raise InvalidRequestError(message)
    return first.column.unit


def _pairs(of: Axis | None, grid: FigureTable, compute: Compute) -> FigureTable:
    """Return the grid with its two rows, or each two columns, computed into one: the
    two indicators of each year, or the two years of each indicator.
    """
    by_indicator = _columns_by_indicator(grid)
    axis = of or _axis_of_two(grid, by_indicator)
    if axis == "subjects":
        return _two_rows(grid, compute)
    if axis == "years":
        pairs = [(numbers[0], numbers[-1]) for numbers in by_indicator]
        if any(len(numbers) < 2 for numbers in by_indicator):
            raise InvalidRequestError("needs two years of each indicator.")
    else:
        if len(by_indicator) != 2:
            raise InvalidRequestError(
                f"needs two indicators; the query has {len(by_indicator)}."
            )
        pairs = list(zip(*by_indicator, strict=True))
    columns = []
    cells: list[list[FigureCell | None]] = [[] for _ in grid.rows]
    for first, second in pairs:
        heads = (grid.columns[first], grid.columns[second])
        unit = ""
        for row, computed in zip(grid.rows, cells, strict=True):
            pair = (row.cells[first], row.cells[second])
            cell, unit_of_cell = _computed(pair, heads, compute)
            unit = unit_of_cell or unit
            computed.append(cell)
        columns.append(_head_of_pair(*heads, unit))
    rows = []
    for row, computed in zip(grid.rows, cells, strict=True):
        rows.append(FigureRow(row.subject, tuple(computed)))
    return replace(grid, columns=tuple(columns), rows=tuple(rows))


def _head_of_pair(first: FigureColumn, second: FigureColumn, unit: str) -> FigureColumn:
    if first.indicator == second.indicator:
        return FigureColumn(first.indicator, unit)
    year = first.year if first.year == second.year else None
    return FigureColumn(f"{first.indicator}, {second.indicator}", unit, year)


def _columns_by_indicator(grid: FigureTable) -> list[list[int]]:
    """Return the positions of the columns of each indicator, as many of each."""
    numbers: dict[str, list[int]] = {}
    for number, column in enumerate(grid.columns):
        numbers.setdefault(column.indicator, []).append(number)
    return list(numbers.values())


def _axis_of_two(grid: FigureTable, by_indicator: Sequence[Sequence[int]]) -> Axis:
    """Return what there are two of: of two columns these, else the subjects before the
    indicators, and these before the years.
    """
    if len(grid.columns) != 2 and len(grid.rows) == 2:
        return "subjects"
    if len(by_indicator) == 2:
        return "indicators"
    if all(len(numbers) == 2 for numbers in by_indicator):
        return "years"
    return "subjects"


def _two_rows(grid: FigureTable, compute: Compute) -> FigureTable:
    if len(grid.rows) != 2:
        raise InvalidRequestError(
            f"needs two subjects, indicators or years; the table has {len(grid.rows)} "
            f"subjects and {len(grid.columns)} columns."
        )
    first, second = grid.rows
    cells: list[FigureCell | None] = []
    columns = []
    for number, column in enumerate(grid.columns):
        pair = (first.cells[number], second.cells[number])
        cell, unit = _computed(pair, (column, column), compute)
        cells.append(cell)
        columns.append(replace(column, unit=unit or column.unit))
    row = FigureRow(f"{first.subject}, {second.subject}", tuple(cells))
    return replace(
        grid,
        columns=tuple(columns),
        rows=(row,),
        compared=(first.subject, second.subject),
    )


def _computed(
    pair: Cells, columns: Sequence[FigureColumn], compute: Compute
) -> tuple[FigureCell | None, str]:
    """Return the cell of a pair, and its unit; None where one of them is missing."""
    first, second = pair
    if first is None or second is None:
        return None, ""
    sides = (Operand(first, columns[0]), Operand(second, columns[1]))
    value, unit, how = compute(*sides)
    cell = FigureCell(
        value,
        in_unit(value, unit),
        year=first.year if first.year == second.year else None,
        estimate=first.estimate or second.estimate,
        how=how,
        sources=(*first.sources, *second.sources),
    )
    return cell, unit


def _share_of(step: ShareOf, grid: FigureTable) -> FigureTable:
    totals: Cells = ()
    whole = -1
    if step.indicator:
        whole = _column_of(step.indicator, grid)
    else:
        (row_of_totals,) = _aggregate(Aggregate(op="sum"), grid).rows
        totals = row_of_totals.cells
    if any(total is not None and total.value == 0 for total in totals):
        raise InvalidRequestError("the total is zero.")
    rows = []
    for row in grid.rows:
        cells = []
        for number, cell in enumerate(row.cells):
            total = totals[number] if totals else row.cells[whole]
            if number != whole:
                cells.append(_share(cell, total, with_source=bool(step.indicator)))
        rows.append(replace(row, cells=tuple(cells)))
    columns = []
    for number, column in enumerate(grid.columns):
        if number != whole:
            columns.append(replace(column, unit=PERCENT))
    return replace(grid, columns=tuple(columns), rows=tuple(rows))


def _share(
    cell: FigureCell | None, total: FigureCell | None, *, with_source: bool
) -> FigureCell | None:
    if cell is None or total is None or total.value == 0:
        return None
    value = 100 * cell.value / total.value
    how = f"{cell.text} / {total.text}"
    sources = (*cell.sources, *total.sources) if with_source else cell.sources
    text = in_unit(value, PERCENT)
    return replace(cell, value=value, text=text, how=how, sources=sources)


def _column_of(name: str, grid: FigureTable) -> int:
    """Return the position of an indicator's column. Raises InvalidRequestError: the
    query has none of this name; names those it has.
    """
    names = [column.indicator for column in grid.columns]
    for number, indicator in enumerate(names):
        if indicator.casefold() == name.casefold():
            return number
    listed = ", ".join(dict.fromkeys(names))
    raise InvalidRequestError(f"no indicator {name!r} in the query. Valid: {listed}.")


def _aggregate(step: Aggregate, grid: FigureTable) -> FigureTable:
    """Mean and sum of each column, or the figure of the least or the most."""
    cells: list[FigureCell | None] = []
    subjects = []
    for number, column in enumerate(grid.columns):
        of_column = [(row.subject, row.cells[number]) for row in grid.rows]
        present = [(subject, cell) for subject, cell in of_column if cell is not None]
        if not present:
            cells.append(None)
            continue
        if step.op in {"min", "max"}:
            choose = min if step.op == "min" else max
            subject, cell = choose(present, key=lambda pair: pair[1].value)
            subjects.append(subject)
            cells.append(cell)
            continue
        total = sum((cell.value for _, cell in present), Decimal(0))
        value = total / len(present) if step.op == "mean" else total
        sources = tuple(source for _, cell in present for source in cell.sources)
        how = f"{step.op} of {len(present)}"
        text = in_unit(value, column.unit)
        cells.append(FigureCell(value, text, how=how, sources=sources))
    name = ", ".join(dict.fromkeys(subjects)) or COUNTRIES
    return replace(grid, rows=(FigureRow(name, tuple(cells)),))


def _rank(step: Rank, grid: FigureTable) -> FigureTable:
    ranked = sorted(
        (row for row in grid.rows if row.cells and row.cells[0] is not None),
        key=lambda row: _sort_key(row, lowest=step.lowest),
    )
    kept = ranked[: step.most] if step.most else ranked
    return replace(grid, rows=tuple(kept))


def _sort_key(row: FigureRow, *, lowest: bool) -> tuple[Decimal, str]:
    cell = row.cells[0]
    assert cell is not None
    return (cell.value if lowest else -cell.value, row.subject)


def _filtered_column(step: Filter, grid: FigureTable) -> int:
    """Return the position of the column whose figures a filter looks at."""
    if step.indicator and step.value is not None:
        return _column_of(step.indicator, grid)
    return 0


def compared_columns(step: Filter, grid: FigureTable) -> tuple[int, ...]:
    """Return the position of the column whose figures a filter looks at, and that of
    the column that these are compared with where that is another indicator.
    """
    column = _filtered_column(step, grid)
    if step.value is None and step.indicator:
        return column, _column_of(step.indicator, grid)
    return (column,)


def _filter(step: Filter, grid: FigureTable) -> FigureTable:
    column = _filtered_column(step, grid)
    other = None
    if step.value is None:
        other = _column_of(step.indicator, grid) if step.indicator else column
    if other == column:
        raise InvalidRequestError("needs a value, or another indicator of the query.")
    if step.compare == "between" and (step.value is None or step.upper is None):
        raise InvalidRequestError("between needs value and upper.")
    unit = grid.columns[column].unit
    rows = []
    for row in grid.rows:
        cell = row.cells[column]
        if cell is None:
            continue
        bounds = _bounds(step, row, unit, other)
        if bounds is None:
            continue
        if _compares(step.compare, cell.value, *bounds) != step.negated:
            rows.append(row)
    return replace(grid, rows=tuple(rows))


def _bounds(
    step: Filter, row: FigureRow, unit: str, other: int | None
) -> tuple[Decimal, Decimal] | None:
    """Return what a row's figure is compared with; None without the other figure."""
    if other is not None:
        cell = row.cells[other]
        if cell is None:
            return None
        return cell.value * step.times, Decimal(0)
    value = step.value or Decimal(0)
    upper = step.upper or Decimal(0)
    if step.unit and step.unit != unit:
        return convert(value, step.unit, unit), convert(upper, step.unit, unit)
    return value, upper


def _compares(compare: str, value: Decimal, bound: Decimal, upper: Decimal) -> bool:
    match compare:
        case ">":
            return value > bound
        case ">=":
            return value >= bound
        case "<":
            return value < bound
        case "<=":
            return value <= bound
        case "=":
            return value == bound
    return bound <= value <= upper


def _count(step: Count, grid: FigureTable) -> FigureTable:
    return replace(grid, counted=len(grid.rows))


_FUNCTIONS: dict[type, Callable[[Any, FigureTable], FigureTable]] = {
    Convert: _convert,
    Difference: _difference,
    Ratio: _ratio,
    Growth: _change,
    ShareOf: _share_of,
    Aggregate: _aggregate,
    Rank: _rank,
    Filter: _filter,
    Count: _count,
}

SCALES_SHOWN = (("trillion", 12), ("billion", 9), ("million", 6))
LARGE, SMALL = Decimal(1000), Decimal(1)


def in_unit(value: Decimal, unit: str) -> str:
    """Return a computed value as it is read: "$4.2 billion", "28,251 feet", "2.17
    times".
    """
    if unit in CURRENCY_SIGNS:
        sign = "-" if value < 0 else ""
        return f"{sign}{with_unit(scaled_text(abs(value)), unit)}"
    return with_unit(decimal_text(value), unit)


def with_unit(number: str, unit: str) -> str:
    """Return a number with its unit where it is written: "$5", "5%", "5 km"."""
    if unit in CURRENCY_SIGNS:
        return f"{unit}{number}"
    if unit == PERCENT:
        return f"{number}{unit}"
    if unit == ONE_IN:
        return f"{unit} {number}"
    return f"{number} {unit}".strip()


def scaled_text(value: Decimal) -> str:
    """Return a large value with its scale word: "4.2 billion"."""
    for word, power in SCALES_SHOWN:
        scale = Decimal(10) ** power
        if abs(value) >= scale:
            return f"{decimal_text(value / scale)} {word}"
    return decimal_text(value)


def decimal_text(value: Decimal) -> str:
    """Return a value with as many decimals as it needs to be read: none from 1,000 on,
    two below, three figures below 1.
    """
    size = abs(value)
    if size >= LARGE:
        return f"{value:,.0f}"
    if size >= SMALL or size == 0:
        return _without_zeros(f"{value:,.2f}")
    decimals = 2 - size.adjusted()
    return _without_zeros(f"{value:.{decimals}f}")


def _without_zeros(number: str) -> str:
    if "." not in number:
        return number
    return number.rstrip("0").rstrip(".")
