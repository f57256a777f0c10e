"""CSV in its dialects: comma, semicolon, tab or bar; a header, perhaps below some lines about the table."""

from __future__ import annotations

import csv
import io
from collections import Counter
from itertools import islice
from pathlib import Path

from ..errors import LoadError
from ..schema import Loaded, Section, lay_out
from .formats import Fit, Sample
from .records import TEXT_COLUMNS, column_key, column_names, record_sections
from .sections import row_text
from .text import MAX_TEXT_BYTES, read_text

DELIMITERS = "\t;|,"
"""The likelier ones to stand in text come last: the first wins a tie."""
_NO_DELIMITER = "\x1f"
"""The delimiter for a table of one column, whose text may hold any of the others."""
_LOOK_AT = 50
_LONGEST_PREFACE = 20


class CsvLoader:
    """Implements `formats.FileLoader`. Each row becomes a section (`records.record_sections`)."""

    noun = "a CSV table"
    suffixes = (".csv", ".tsv")
    isolated = False

    def fit(self, sample: Sample) -> Fit:
        return Fit.NAMED if sample.text is not None and sample.is_named(self.suffixes) else Fit.NO

    def load(self, path: Path) -> Loaded:
        rows = _rows(read_text(path), path.name)
        start = _header_place(rows)
        preface = "\n".join(row_text((), row) for row in rows[:start])
        sections = record_sections(rows[start], rows[start + 1 :], name=path.name)
        names = column_names(rows[start], 0)
        columns = () if any(column_key(name) in TEXT_COLUMNS for name in names) else tuple(names)
        return Loaded(path.stem, lay_out([Section((), preface), *sections]), columns=columns)


def _rows(text: str, name: str) -> list[list[str]]:
    # Process-wide, but only an upper bound; its default cuts off at 128 KB.
    csv.field_size_limit(MAX_TEXT_BYTES)
    delimiter = choose_delimiter(text)
    try:
        return _strict_rows(text, delimiter, name)
    except LoadError:
        if delimiter != "\t":
            raise
        # Tab-separated files are often written without any quoting: a quotation mark is only a character there.
        return [row for row in csv.reader(io.StringIO(text), delimiter=delimiter, quoting=csv.QUOTE_NONE) if row]


def _strict_rows(text: str, delimiter: str, name: str) -> list[list[str]]:
    """A quotation mark that is never closed would otherwise swallow the rest of the table as one cell."""
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    line = 1
    try:
        for row in reader:
            line = reader.line_num + 1
            if row:
                rows.append(row)
    except csv.Error as error:
        advice = "A quoted value must be closed, and a quotation mark inside it written twice."
        raise LoadError(f"{name} is not a valid CSV table from line {line} on ({error}). {advice}") from error
    return rows


def choose_delimiter(text: str) -> str:
    """The delimiter under which the first rows agree best on their number of cells; more cells win a tie.

    `csv.Sniffer` guesses letters and spaces too, and is wrong for prose in cells.
    """
    best, best_score = _NO_DELIMITER, (False, 0.0, 0)
    for delimiter in DELIMITERS:
        widths, well_formed = _widths(text, delimiter)
        width, times = Counter(widths).most_common(1)[0]
        share = times / len(widths)
        # One name above: a line about the table, where the rest agrees, or a table of one column, where it does not.
        headed = widths[0] > 1 or (width > 2 and share > 0.8)
        if width > 1 and headed and (well_formed, share, width) > best_score:
            best, best_score = delimiter, (well_formed, share, width)
    return best


def _widths(text: str, delimiter: str) -> tuple[list[int], bool]:
    """The number of cells in each of the first rows, and whether the quotation marks there stand at cells' ends."""
    try:
        return _first_widths(text, delimiter, strict=True), True
    except csv.Error:
        return _first_widths(text, delimiter, strict=False), False


def _first_widths(text: str, delimiter: str, *, strict: bool) -> list[int]:
    rows = (row for row in csv.reader(io.StringIO(text), delimiter=delimiter, strict=strict) if row)
    return [len(row) for row in islice(rows, _LOOK_AT)]


def _header_place(rows: list[list[str]]) -> int:
    """The place of the header: above it there may be lines about the table, of a cell or two."""
    ((usual, _),) = Counter(len(row) for row in rows[: 2 * _LOOK_AT]).most_common(1)
    few = 2 if usual > 5 else 1
    for place, row in enumerate(rows[:_LONGEST_PREFACE]):
        if usual == 1 or sum(bool(cell.strip()) for cell in row) > few:
            return place
    return 0


def build() -> CsvLoader:
    return CsvLoader()
