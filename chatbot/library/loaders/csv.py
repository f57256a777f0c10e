"""CSV in its dialects: comma, semicolon, tab or bar; a header, perhaps below some lines about the table."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ...domain import Loaded, Section, lay_out
from ...domain.errors import LoadError
from . import Fit, Sample
from .sections import TEXT_COLUMNS, column_key, column_names, record_sections, row_text
from .text import MAX_TEXT_BYTES, read_text

DELIMITERS = "\t;|,"
"""The first wins a tie. Those that are likelier in prose come last."""
_NO_DELIMITER = "\x1f"
"""The delimiter for a table of one column, whose text may contain any of the others."""
_SAMPLE_ROWS = 50
_MAX_PREFACE_ROWS = 20


class CsvLoader:
    """Implements `loaders.FileLoader`. Each row becomes a section (`sections.row_sections`)."""

    noun = "a CSV table"
    suffixes = (".csv", ".tsv")
    isolated = False

    def fit(self, sample: Sample) -> Fit:
        return Fit.NAMED if sample.text is not None and sample.is_named(self.suffixes) else Fit.NO

    def load(self, path: Path) -> Loaded:
        rows = [row for _, row in _rows(read_text(path), path.name)]
        # Lines about the table, of a cell or two, may stand above its header.
        ((usual, _),) = Counter(len(row) for row in rows[: 2 * _SAMPLE_ROWS]).most_common(1)
        filled = (sum(bool(cell.strip()) for cell in row) for row in rows[:_MAX_PREFACE_ROWS])
        few = 0 if usual == 1 else 2 if usual > 5 else 1
        start = next((place for place, count in enumerate(filled) if count > few), 0)
        preface = "\n".join(row_text((), row) for row in rows[:start])
        sections = record_sections(rows[start], rows[start + 1 :], name=path.name)
        names = column_names(rows[start], 0)
        columns = () if any(column_key(name) in TEXT_COLUMNS for name in names) else tuple(names)
        return Loaded(path.stem, lay_out([Section((), preface), *sections]), columns=columns)


def _rows(text: str, name: str) -> list[tuple[int, list[str]]]:
    """Return the rows that are not empty, with the number of their first line."""
    # Process-wide, but only an upper bound; the default refuses cells above 128 KB.
    csv.field_size_limit(MAX_TEXT_BYTES)
    delimiter = choose_delimiter(text)
    # Strict: a quotation mark that is never closed would swallow the rest of the table as one cell.
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    line = 1
    try:
        for row in reader:
            rows += [(line, row)] if row else []
            line = reader.line_num + 1
    except csv.Error as error:
        # Tab-separated files are often written without any quoting: a quotation mark is only a character there.
        if delimiter == "\t":
            reader = csv.reader(io.StringIO(text), delimiter=delimiter, quoting=csv.QUOTE_NONE)
            return [(reader.line_num, row) for row in reader if row]
        advice = "A quoted value must be closed, and a quotation mark inside it written twice."
        raise LoadError(f"{name} is not a valid CSV table from line {line} on ({error}). {advice}") from error
    return rows


def choose_delimiter(text: str) -> str:
    """Return the delimiter under which the first rows agree best on their number of cells; more cells win a tie.

    `csv.Sniffer` guesses letters and spaces too, and is wrong for prose in cells.
    """
    best, best_score = _NO_DELIMITER, (False, 0.0, 0)
    for delimiter in DELIMITERS:
        try:
            widths, well_formed = _first_widths(text, delimiter, strict=True), True
        except csv.Error:  # a quotation mark within a cell
            widths, well_formed = _first_widths(text, delimiter, strict=False), False
        width, times = Counter(widths).most_common(1)[0]
        share = times / len(widths)
        # One name above: a line about the table if the rest agrees, a table of one column if it does not.
        headed = widths[0] > 1 or (width > 2 and share > 0.8)
        if width > 1 and headed and (well_formed, share, width) > best_score:
            best, best_score = delimiter, (well_formed, share, width)
    return best


def _first_widths(text: str, delimiter: str, *, strict: bool) -> list[int]:
    rows = (row for row in csv.reader(io.StringIO(text), delimiter=delimiter, strict=strict) if row)
    return [len(row) for row in islice(rows, _SAMPLE_ROWS)]


def read_table(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers and stripped cells, the header first, without empty rows.

    Raises LoadError: it is no CSV table, or a row has more cells than the header.
    """
    rows = _rows(read_text(path), path.name)
    for line, row in rows:
        if len(row) > len(rows[0][1]):
            raise LoadError(f"{path.name}, line {line}: more cells than the header. Quote cells with commas.")
        if any(cells := [cell.strip() for cell in row]):
            yield line, cells
