"""The rows of sheets: each with its labels and its figures by their heads."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..domain import Chunk, ReportedFigure
from ..domain.scope import NamedYears
from ..language.countries import country_code
from ..language.periods import DAY, is_time, periods_in, unify_periods
from ..language.reported_figures import figures_of, year_of
from ..language.table_words import tells_unit
from ..questions.computations import span_asked
from ..questions.reading import COUNTRY
from ..search.weights import read_weight
from .asked_words import RowFigures, written

__all__ = [
    "DOCUMENT",
    "PERIOD",
    "Moment",
    "SheetRow",
    "by_period",
    "grouped",
    "long_rows",
    "moment_of",
    "newest_of_months",
    "of_span",
    "rows_of",
    "total_column",
]

DOCUMENT = ""
"""The head of what tells documents apart: their country, "" without one."""
ROW = " "
"""The head of names of rows above which nothing stands."""
PERIOD = "Period"
"""The head of months or years that are heads of columns in the sheet."""
Labels = Mapping[str, str]
Moment = tuple[str, ...]
_COLUMNS_OF_SUM = int(read_weight("sheets.columns_of_sum"))


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row of a table: its labels and its figures, each by its head."""

    labels: Labels
    figures: Mapping[str, ReportedFigure]
    chunk: Chunk

    @property
    def year(self) -> int:
        """The newest year of its figures."""
        return max(map(year_of, self.figures.values()))

    def label_of(self, heads: Sequence[str]) -> str:
        """Return its labels under these heads in one text."""
        labels = [self.labels.get(head, "") for head in heads]
        return ", ".join(filter(None, labels))


def grouped(
    rows: Iterable[SheetRow], heads: Sequence[str]
) -> dict[str, list[SheetRow]]:
    """Return rows by their labels under these heads, in the order of the rows."""
    groups: dict[str, list[SheetRow]] = defaultdict(list)
    for row in rows:
        groups[row.label_of(heads)].append(row)
    return groups


def rows_of(chunk: Chunk) -> Iterator[SheetRow]:
    """Yield the rows of a passage of a table: its lines of heads and cells."""
    by_text: dict[str, list[ReportedFigure]] = defaultdict(list)
    for figure in figures_of(chunk):
        by_text[written(figure)].append(figure)
    table = RowFigures(chunk)
    place = str(chunk.metadata.get(COUNTRY) or "")
    for line in chunk.text.splitlines():
        labels = {DOCUMENT: place}
        figures: dict[str, ReportedFigure] = {}
        for cell in line.split("; "):
            head, _, value = cell.rpartition(": ")
            same = by_text[value.partition(" ")[0].rstrip("%")]
            if head and same:
                figures[head] = _of_line(table.of_row(same.pop(0)), line)
            elif head:
                labels[head] = value
                if tells_unit(head) and figures:
                    _add_unit(figures, value)
            elif not figures:
                labels[ROW] = value
        if figures:
            yield SheetRow(labels, figures, chunk)


def _add_unit(figures: dict[str, ReportedFigure], unit: str) -> None:
    """Give the last figure of a row, without a unit of its own, that behind it."""
    head, figure = list(figures.items())[-1]
    if not figure.unit and unit:
        text = f"{figure.text} {unit}"
        figures[head] = replace(figure, unit=unit, text=text)


def _of_line(figure: ReportedFigure, line: str) -> ReportedFigure:
    """Return the figure of a row. Of several rows of one country each is that of its
    line: they are no countries.
    """
    if country_code(figure.subject):
        return replace(figure, subject=line.partition("; ")[0])
    return figure


def total_column(rows: Sequence[SheetRow]) -> str:
    """Return the head of the column that has the sum of all others in each row: "All
    schools" beside the schools; "" without one.
    """
    heads = list(dict.fromkeys(head for row in rows for head in row.figures))
    whole = [row for row in rows if len(row.figures) == len(heads)]
    if len(heads) < _COLUMNS_OF_SUM or 2 * len(whole) < len(rows):
        return ""
    for head in reversed(heads):
        if all(_is_sum(row, head) for row in whole):
            return head
    return ""


def _is_sum(row: SheetRow, head: str) -> bool:
    total = sum(figure.value for figure in row.figures.values())
    return total == 2 * row.figures[head].value


def by_period(row: SheetRow) -> Iterator[SheetRow]:
    """Yield a row; of one with a figure for each month, quarter or week one for each of
    these: what it counts is the head then.
    """
    heads = [head for head in row.figures if periods_in(head)]
    if len(heads) < 2 or len(heads) < len(row.figures):
        yield row
        return
    name = row.label_of([head for head in row.labels if head != DOCUMENT])
    for head in heads:
        labels = {DOCUMENT: row.labels[DOCUMENT], PERIOD: head}
        yield SheetRow(labels, {name: row.figures[head]}, row.chunk)


def long_rows(rows: Iterable[SheetRow]) -> list[SheetRow]:
    """Return rows; of those whose columns are all months or years one for each of
    these, which is a label then: what they count is said by their other labels.
    """
    long: list[SheetRow] = []
    for row in rows:
        heads = list(row.figures)
        if len(heads) < 2 or not all(map(is_time, heads)):
            long.append(row)
            continue
        for head, figure in row.figures.items():
            labels = {**row.labels, PERIOD: head}
            column = figure.heading
            if column in row.labels.values():
                # The heading is the row's name: what is counted is in the title.
                column = row.chunk.title
            long.append(SheetRow(labels, {column: figure}, row.chunk))
    return long


def newest_of_months(
    rows: Sequence[SheetRow], text: str, years: Sequence[NamedYears]
) -> list[SheetRow]:
    """Return rows; of a month that a question names without a year, which several
    years have, only those of the newest. ``text``: the question with its periods in one
    spelling; ``years``: all that it names.
    """
    kept = list(rows)
    for term, year in periods_in(text):
        if year or years:
            continue
        of_month = [row for row in kept if term in _periods_of(row)]
        newest = max((row.year for row in of_month), default=0)
        kept = [row for row in kept if row not in of_month or row.year == newest]
    return kept


def of_span(text: str, rows: Sequence[SheetRow]) -> list[SheetRow]:
    """Return the rows of the first or last months, weeks or quarters that a question
    asks for; all where it asks for none.
    """
    span = span_asked(text)
    kept = list(rows)
    if span is None:
        return kept
    for head in kept[0].labels if kept else ():
        labels = list(dict.fromkeys(row.labels.get(head, "") for row in kept))
        if head != DOCUMENT and all(periods_in(f"{head}: {one}") for one in labels):
            # A sheet may begin with its newest month.
            labels.sort(key=lambda label: moment_of(head, label))
            return [row for row in kept if row.labels.get(head) in labels[span]]
    return kept


def moment_of(head: str, label: str) -> Moment:
    """Return the year and the month of a label, in the order of time; () of another."""
    if len(label) == 4 and label.isdecimal():
        return (label,)
    text = unify_periods(f"{head}: {label}")
    periods = periods_in(text)
    if len(periods) != 1:
        return ()
    [(term, year)] = periods
    days = [f"{int(day.removesuffix('day')):02}" for day in DAY.findall(text)]
    return (year, term, *days)


def _periods_of(row: SheetRow) -> set[str]:
    """Return the months, quarters and weeks that the labels of a row are."""
    periods: set[str] = set()
    for head, label in row.labels.items():
        found = periods_in(f"{head}: {label}")
        if len(found) == 1:
            periods.add(found[0][0])
    return periods
