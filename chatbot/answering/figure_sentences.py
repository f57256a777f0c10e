"""The table of a `FigureQuery` in words: one sentence that says what came out, how, and
of which year; then what is missing.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from operator import attrgetter

from ..checking.tables import markdown_table
from ..domain.figure_query import (
    Aggregate,
    Count,
    Difference,
    FigureCell,
    FigureQuery,
    FigureRow,
    FigureTable,
    Filter,
    Growth,
    Rank,
    Ratio,
)
from ..language.countries import country_code
from ..language.local_figures import local_text
from ..language.markdown import escape_markdown
from ..language.words import Say, counted
from ..questions.reading import list_in_words
from .figure_steps import compared_columns, in_unit
from .figure_words import MOST_COLUMNS, MOST_LISTED

COMPARED = {
    ">": "{name} is above {value} in {number} of {whole}: {subjects}.",
    ">=": "{name} is at least {value} in {number} of {whole}: {subjects}.",
    "<": "{name} is below {value} in {number} of {whole}: {subjects}.",
    "<=": "{name} is at most {value} in {number} of {whole}: {subjects}.",
    "=": "{name} is {value} in {number} of {whole}: {subjects}.",
    "!=": "{name} is not {value} in {number} of {whole}: {subjects}.",
    "between": "{name} is between {value} in {number} of {whole}: {subjects}.",
    "outside": "{name} is not between {value} in {number} of {whole}: {subjects}.",
}
OPPOSITE = {
    ">": "<=",
    ">=": "<",
    "<": ">=",
    "<=": ">",
    "=": "!=",
    "between": "outside",
}
AGGREGATES = {
    "mean": "Average {name} of {whole}: {value}.",
    "sum": "Total {name} of {whole}: {value}.",
    "min": "Lowest {name}: {subject}, {value}.",
    "max": "Highest {name}: {subject}, {value}.",
}
OF_SUBJECTS = {
    ("ratio", False): "{name}: {first} has {value} what {second} has: {how}.",
    ("ratio", True): "{name}: {first} has {value} what {second} has: {how}.",
    ("change", False): "{name}: {second} is {value} above {first}: {how}.",
    ("change", True): "{name}: {second} is {value} below {first}: {how}.",
    ("difference", False): "{name}: {first} is {value} above {second}: {how}.",
    ("difference", True): "{name}: {first} is {value} below {second}: {how}.",
}
"""By the operation, and whether its result is below zero."""


def in_words(query: FigureQuery, table: FigureTable, say: Say) -> str:
    """Return what a query found as one sentence, and a second one about its year and
    what is missing.
    """
    sentences = [_main(query, table, say)]
    if table.shared_year is not None:
        text = "Figures of {year}, the newest year that all have."
        sentences.append(say(text, year=table.shared_year))
    missing = list(dict.fromkeys(one.subject for one in table.missing))
    if missing and query.subjects:
        names = list_in_words(map(escape_markdown, missing), say("and"), say(", "))
        sentences.append(say("Not found: {names}.", names=names))
    return " ".join(filter(None, sentences))


def _main(query: FigureQuery, table: FigureTable, say: Say) -> str:
    filters = [step for step in query.steps if isinstance(step, Filter)]
    if not any(cell for row in table.rows for cell in row.cells):
        if filters and table.whole:
            return _filtered(filters[-1], table, say)
        return say("No figure was found.")
    for step in reversed(query.steps):
        if isinstance(step, Count):
            return _counted(filters, table, say)
        if isinstance(step, Filter):
            return _filtered(step, table, say)
        if isinstance(step, Rank):
            return _ranked(step, table, say)
        if isinstance(step, Aggregate):
            return _aggregated(step, table, say)
        if isinstance(step, Difference | Ratio | Growth):
            return _compared(step, query, table, say)
    if query.every_year:
        return _courses(table, say)
    return _each(table, say)


def _counted(filters: Sequence[Filter], table: FigureTable, say: Say) -> str:
    """Return how many subjects pass the last filter; without one, how many there
    are.
    """
    if filters:
        return _filtered(filters[-1], table, say)
    name = escape_markdown(table.columns[0].indicator)
    whole = whole_of(table, say)
    return say("{name}: {whole} with a figure.", name=name, whole=whole)


def _courses(table: FigureTable, say: Say) -> str:
    """Return how each indicator went over its years, of the first subjects."""
    sentences = []
    for name in dict.fromkeys(column.indicator for column in table.columns):
        numbers = []
        for number, column in enumerate(table.columns):
            if column.indicator == name:
                numbers.append(number)
        for row in table.rows[:MOST_LISTED]:
            sentences.append(_course(row, escape_markdown(name), numbers, say))
    return " ".join(filter(None, sentences))


def cell_text(
    cell: FigureCell | None,
    say: Say,
    *,
    with_how: bool = True,
    as_written: bool = False,
) -> str:
    """Return a cell with its year, how it was computed and its citations: "28,251 feet
    (8,611 m) [1]". ``as_written``: a copied one also as its report writes it, where the
    language of ``say`` differs.
    """
    if cell is None:
        return say("not found")
    marks = "".join(f"[{number}]" for number in cell.citations)
    written = escape_markdown(cell.text)
    text = local_text(written, say)
    notes: list[str] = []
    if as_written and not cell.how and text != written:
        notes.append(say("“{name}”", name=written))
    if with_how and cell.how:
        how = escape_markdown(cell.how)
        # What was converted stands there as its report writes it.
        notes.append(how if len(cell.sources) == 1 else local_text(how, say))
    notes.append(escape_markdown(_when(cell, say)))
    note = ", ".join(filter(None, notes))
    if note:
        text = f"{text} ({note})"
    return f"{text} {marks}".strip()


def _when(cell: FigureCell, say: Say) -> str:
    """Return the year of a cell; of a copied figure without one, its edition."""
    if cell.year is not None:
        if cell.estimate:
            return f"{cell.year} est."
        return str(cell.year)
    editions = {source.edition for source in cell.sources}
    if len(cell.sources) != 1 or None in editions:
        return ""
    return say("{year} edition", year=editions.pop())


def _each(table: FigureTable, say: Say) -> str:
    """Each figure of the first subjects."""
    parts = []
    for row in table.rows[:MOST_LISTED]:
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell is None:
                continue
            parts.append(
                say(
                    "{subject}, {name}: {value}.",
                    subject=escape_markdown(row.subject),
                    name=escape_markdown(column.indicator),
                    value=cell_text(cell, say, as_written=True),
                )
            )
    return " ".join(parts)


def _filtered(step: Filter, table: FigureTable, say: Say) -> str:
    key = OPPOSITE[step.compare] if step.negated else step.compare
    columns = compared_columns(step, table)
    number = columns[0]
    unit = step.unit or table.columns[number].unit
    value = step.indicator
    if step.value is not None:
        value = in_unit(step.value, unit)
    elif step.times != 1:
        value = f"{step.times.normalize():f} × {step.indicator}"
    if step.compare == "between" and step.upper is not None and step.value is not None:
        value = f"{step.value.normalize():f} - {in_unit(step.upper, unit)}"
    listed = numbered(table, say, *columns) or say("none")
    if len(table.rows) == 1:
        listed = _in_line(table, table.rows[0], columns, say, ", ")
    return say(
        COMPARED[key],
        name=escape_markdown(table.columns[number].indicator),
        value=local_text(escape_markdown(value), say),
        number=len(table.rows),
        whole=whole_of(table, say),
        subjects=listed,
    )


def _ranked(step: Rank, table: FigureTable, say: Say) -> str:
    """Name the one that is asked for, and list those that were kept."""
    text = "Lowest {name}: {first}." if step.lowest else "Highest {name}: {first}."
    whole = whole_of(table, say)
    row = _row_asked(step, table)
    if row is not None:
        text = "Number {place} of {whole} by {name}: {first}."
        if step.lowest:
            text = "Number {place} of {whole} by {name}, from the lowest: {first}."
    sentence = say(
        text,
        name=escape_markdown(table.columns[0].indicator),
        first=_in_line(table, row or table.rows[0], (0,), say, ", "),
        place=table.rows.index(row) + 1 if row else 1,
        whole=whole,
    )
    listed = say("Of {whole} with a figure, the newest of each:", whole=whole)
    return f"{sentence} {listed}{numbered(table, say)}"


def subject_asked(query: FigureQuery, table: FigureTable) -> str:
    """Return whose place a ranking is asked for, or who has the place; "" where the
    first one is meant.
    """
    for step in query.steps:
        row = _row_asked(step, table) if isinstance(step, Rank) else None
        if row is not None:
            return row.subject
    return ""


def _row_asked(step: Rank, table: FigureTable) -> FigureRow | None:
    """Return the row at the place that is asked for, or that of the subject whose place
    is; None where the first one is meant.
    """
    for place, row in enumerate(table.rows, start=1):
        if row.subject == step.of or place == step.place:
            return row
    return None


def numbered(table: FigureTable, say: Say, column: int = 0, *beside: int) -> str:
    """Return the figures of a column as a numbered list, a blank line before it; "" of
    an empty table. ``beside``: columns whose figures follow with their names.
    """
    lines: list[str] = []
    for row in table.rows[:MOST_LISTED]:
        if row.cells[column] is not None:
            shown = _in_line(table, row, (column, *beside), say, ": ")
            lines.append(f"{len(lines) + 1}. {shown}")
    if lines:
        return "\n\n" + "\n".join(lines)
    return ""


def _in_line(
    table: FigureTable, row: FigureRow, columns: Sequence[int], say: Say, mark: str
) -> str:
    """Return a subject with its figure, and behind it those of further columns with
    their names: "Jordan: 4.5% of GDP [1]; Education expenditure: 3.5% of GDP [2]".
    """
    column, *beside = columns
    parts = [f"{escape_markdown(row.subject)}{mark}{cell_text(row.cells[column], say)}"]
    for other in beside:
        name = escape_markdown(table.columns[other].indicator)
        parts.append(f"{name}: {cell_text(row.cells[other], say)}")
    return "; ".join(parts)


def side_by_side(
    table: FigureTable,
    say: Say,
    *,
    lowest: bool = False,
    newer: Collection[str] = (),
) -> str:
    """Return which subject has the highest figure of each indicator, or the ``lowest``,
    and all figures as a table. ``newer``: indicators of which some subjects have newer
    figures than those of the year that all have.
    """
    sentences = []
    lines: list[list[str]] = [
        ["", *(escape_markdown(row.subject) for row in table.rows)]
    ]
    for number, column in enumerate(table.columns):
        sentences.append(higher(table, number, say, lowest=lowest))
        if column.indicator in newer:
            text = "{name}: figures of {year}, the newest year that all have."
            name = escape_markdown(column.indicator)
            sentences.append(say(text, name=name, year=column.year))
        lines.append([escape_markdown(column.indicator), *_shown(table, number, say)])
    if len(table.rows) > MOST_COLUMNS:
        lines = [list(line) for line in zip(*lines, strict=True)]
    text = " ".join(filter(None, sentences))
    return f"{text}\n\n{markdown_table(lines[0], lines[1:])}".strip()


def _shown(table: FigureTable, number: int, say: Say) -> list[str]:
    return [cell_text(row.cells[number], say) for row in table.rows]


def over_years(table: FigureTable, say: Say, end: str = "") -> str:
    """Return of each indicator how it went from its first year to its last, and all
    years as a table; for an ``end`` ("min" or "max") in which years it was that. The
    table has a column a year. Of several subjects the first sentence stands above their
    table and the others below it.
    """
    parts = []
    names = [escape_markdown(row.subject) for row in table.rows]
    for name in dict.fromkeys(column.indicator for column in table.columns):
        numbers = []
        for number, column in enumerate(table.columns):
            if column.indicator == name:
                numbers.append(number)
        kinds = _kinds_of(table, numbers)
        lines = [[say("Year"), *names], *_years_of(table, numbers, kinds, say)]
        courses = [_course(row, name, numbers, say, end) for row in table.rows]
        sentences = list(filter(None, courses))
        if len(numbers) < 2:
            parts.append(" ".join(sentences))
            continue
        above = sentences[:1] if len(sentences) > 2 else sentences
        parts += [" ".join(above), markdown_table(lines[0], lines[1:])]
        if kinds == {(True, "", True)}:
            parts.append(say("All figures of the table are estimates."))
        parts.append(" ".join(sentences[len(above) :]))
    return "\n\n".join(filter(None, parts))


def _kinds_of(
    table: FigureTable, numbers: Sequence[int]
) -> set[tuple[bool, str, bool]]:
    """Return of the cells of some columns whether the year is the column's, how they
    were computed, and whether they are estimates.
    """
    kinds = set()
    for number in numbers:
        year = table.columns[number].year
        for row in table.rows:
            cell = row.cells[number]
            if cell is not None:
                kinds.add((cell.year == year, cell.how, cell.estimate))
    return kinds


def _years_of(
    table: FigureTable,
    numbers: Sequence[int],
    kinds: set[tuple[bool, str, bool]],
    say: Say,
) -> Iterator[list[str]]:
    """Yield the line of each year. Where its year is that of all its figures they do
    not repeat it.
    """
    is_plain = kinds in ({(True, "", True)}, {(True, "", False)})
    for number in numbers:
        cells = [row.cells[number] for row in table.rows]
        if is_plain:
            cells = [cell and replace(cell, year=None, sources=()) for cell in cells]
        shown = [cell_text(cell, say) for cell in cells]
        yield [str(table.columns[number].year), *shown]


def whole_of(table: FigureTable, say: Say) -> str:
    """Return how many subjects had a figure: "24 countries", or "12 rows" of
    tables that are not of countries.
    """
    subjects = set[str]()
    for row in table.rows:
        for cell in row.cells:
            if cell is not None:
                subjects.update(figure.subject for figure in cell.sources)
    noun = "country"
    if subjects and not any(map(country_code, subjects)):
        noun = "row"
    return counted(say, table.whole, noun)


def _course(
    row: FigureRow, name: str, numbers: Sequence[int], say: Say, end: str = ""
) -> str:
    cells = [cell for number in numbers if (cell := row.cells[number]) is not None]
    if not cells:
        return ""
    if end:
        cells.sort(key=attrgetter("value"), reverse=end == "max")
        same = [cell_text(cell, say) for cell in cells if cell.value == cells[0].value]
        return say(
            AGGREGATES[end],
            name=escape_markdown(name),
            subject=escape_markdown(row.subject),
            value=", ".join(same),
        )
    first = cells[0]
    last = cells[-1]
    text = "{where}: rose from {first} to {last}."
    if first is last:
        text = "{where}: {first}, the only figure."
    elif first.value == last.value:
        text = "{where}: the same at the beginning and at the end, {first} and {last}."
    elif first.value > last.value:
        text = "{where}: fell from {first} to {last}."
    where = f"{escape_markdown(row.subject)}, {escape_markdown(name)}"
    return say(
        text, where=where, first=cell_text(first, say), last=cell_text(last, say)
    )


def higher(table: FigureTable, number: int, say: Say, *, lowest: bool = False) -> str:
    """Return in which subject the figure of a column is highest, or ``lowest``; "" of
    fewer than two figures.
    """
    rows = by_value(table, number)
    if len(rows) < 2:
        return ""
    text = "{name}: highest in {first}, {value}."
    if lowest:
        rows.reverse()
        text = "{name}: lowest in {first}, {value}."
    if len(rows) == 2:
        text = "{name}: higher in {first}, {value}, than in {second}, {other}."
        if lowest:
            text = "{name}: lower in {first}, {value}, than in {second}, {other}."
        if table_value(rows[0], number) == table_value(rows[1], number):
            text = "{name}: the same in {first}, {value}, and in {second}, {other}."
    cells = [row.cells[number] for row in rows[:2]]
    values = [cell_text(cell, say, as_written=True) for cell in cells]
    return say(
        text,
        name=escape_markdown(table.columns[number].indicator),
        first=escape_markdown(rows[0].subject),
        value=values[0],
        second=escape_markdown(rows[1].subject),
        other=values[1],
    )


def by_value(table: FigureTable, number: int) -> list[FigureRow]:
    """Return the rows that have a figure in a column, the highest first."""
    rows = [row for row in table.rows if row.cells[number] is not None]
    return sorted(rows, key=lambda row: table_value(row, number), reverse=True)


def table_value(row: FigureRow, number: int) -> Decimal:
    """Return the value of a cell that is there."""
    cell = row.cells[number]
    assert cell is not None
    return cell.value


def _aggregated(step: Aggregate, table: FigureTable, say: Say) -> str:
    parts = []
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell is None:
                continue
            parts.append(
                say(
                    AGGREGATES[step.op],
                    name=escape_markdown(column.indicator),
                    whole=whole_of(table, say),
                    subject=escape_markdown(row.subject),
                    value=cell_text(cell, say, with_how=step.op in {"min", "max"}),
                )
            )
    return " ".join(parts)


def _compared(
    step: Difference | Ratio | Growth, query: FigureQuery, table: FigureTable, say: Say
) -> str:
    """Say what two subjects, indicators or years make together."""
    parts = []
    for row in table.rows:
        for number, cell in enumerate(row.cells):
            if cell is None:
                continue
            column = table.columns[number]
            name = column.indicator
            if column.year is not None and len(table.columns) > 1:
                name = f"{name} ({column.year})"
            parts.append(_pair(step, query, table, row, name, cell, say))
    return " ".join(parts)


def _pair(
    step: Difference | Ratio | Growth,
    query: FigureQuery,
    table: FigureTable,
    row: FigureRow,
    name: str,
    cell: FigureCell,
    say: Say,
) -> str:
    value = local_text(escape_markdown(cell.text), say)
    shown = value.removeprefix("-")
    marks = "".join(f"[{number}]" for number in cell.citations)
    how = f"{local_text(escape_markdown(cell.how), say)} {marks}".strip()
    is_less = cell.value < 0
    if table.compared:
        first, second = table.compared
        return say(
            OF_SUBJECTS[step.op, is_less],
            name=escape_markdown(name),
            first=escape_markdown(first),
            second=escape_markdown(second),
            value=shown,
            how=how,
        )
    is_of_indicators = step.of == "indicators"
    if step.of is None and not isinstance(step, Growth):
        is_of_indicators = len(query.indicators) > 1
    several = len(query.years or query.editions) > 1
    if isinstance(step, Growth) or (several and not is_of_indicators):
        text = "{subject}, {name}: rose by {value}: {how}."
        if isinstance(step, Ratio):
            text = "{subject}, {name}: {value}, from {how}."
        elif is_less == isinstance(step, Growth):
            text = "{subject}, {name}: fell by {value}: {how}."
    else:
        text = "{subject}, {name}: {value}, from {how}."
        shown = value
    return say(
        text,
        subject=escape_markdown(row.subject),
        name=escape_markdown(name),
        value=shown,
        how=how,
    )
