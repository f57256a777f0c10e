"""Rows of CSV files, worksheets and JSON records to sections: each row can be found, and cited by its number.

With a text column (``Text``, or ``raw_content`` and the like of saved web pages) a row is a passage; without one it is
a line of a table. A row that names a country or a year is found under that country or year.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..countries import country_code
from ..errors import LoadError
from ..schema import Section, Value
from .sections import require_width, row_text

TEXT_COLUMNS = ("text", "raw_content", "content", "body")
SOURCE_COLUMNS = ("source", "url")
COUNTRY_COLUMNS = ("country_name", "country", "nation")
LONGEST_LABEL = 80
"""Characters. A longer value is prose, not the name of a row."""
_NUMBER = re.compile(r"[-+−]?[\d\s.,'’%$€£¥]*\d[\d\s.,'’%$€£¥]*(?:[eE][-+]?\d+)?%?")
_YEAR = re.compile(r"([12]\d{3})(?:\.0+)?")


def record_sections(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, path: tuple[str, ...] = (), name: str = "The table"
) -> list[Section]:
    """A section for each row that has something to read. Rows are numbered from 1, without the header.

    ``path`` goes before each section's own name; ``name`` is what an error calls the table (the file's name).

    Raises:
        LoadError: no row has text. The columns found are named.
    """
    table = list(rows)
    names = column_names(header, max(map(len, table), default=0))
    sections = row_sections(names, table, path)
    if not sections:
        columns = {column_key(column): column for column in names}
        text = next((columns[column] for column in TEXT_COLUMNS if column in columns), None)
        problem = f'has a column "{text}", but no row has any text in it' if text else "has no values below its header"
        raise LoadError(f"{name} {problem}. Columns found: {', '.join(names) or 'none'}.")
    return sections


def row_sections(names: Sequence[str], rows: Iterable[Sequence[str]], path: tuple[str, ...]) -> list[Section]:
    """`record_sections` for complete column names; no sections where no row has text."""
    table = [[cell.strip() for cell in row] for row in rows]
    columns = {column_key(column): place for place, column in reversed(list(enumerate(names)))}
    text = _first(columns, TEXT_COLUMNS)
    return _lines(names, columns, table, path) if text is None else _passages(names, columns, table, text, path)


def column_names(header: Sequence[str], width: int) -> list[str]:
    """The header in ``width`` columns or more: missing names are numbered, repeated ones counted."""
    width = max(width, len(header))
    require_width(width)
    names: dict[str, None] = {}
    counts: Counter[str] = Counter()
    for place in range(width):
        name = " ".join(header[place].split()).lstrip("\ufeff") if place < len(header) else ""
        name = name or f"Column {place + 1}"
        counts[name] += 1
        while (counted := f"{name} ({counts[name]})" if counts[name] > 1 else name) in names:
            counts[name] += 1
        names[counted] = None
    return list(names)


def column_key(name: str) -> str:
    """How columns are compared: "Country Name", "country-name" and "COUNTRY_NAME" are one."""
    return re.sub(r"[\s_-]+", "_", name.strip().casefold())


def row_metadata(values: Mapping[str, str]) -> dict[str, Value]:
    """What a record says it is about, from its values by `column_key`; what is no country, year or type is left out."""
    metadata: dict[str, Value] = {}
    countries = (values.get(column, "") for column in COUNTRY_COLUMNS)
    if country := next((name for name in countries if name and country_code(name)), None):
        metadata["country_name"] = country
    if year := _YEAR.fullmatch(values.get("year", "")):
        metadata["year"] = int(year[1])
    if 0 < len(kind := values.get("type", "")) <= LONGEST_LABEL:
        metadata["type"] = kind
    return metadata


def _passages(
    names: Sequence[str], columns: Mapping[str, int], table: Sequence[Sequence[str]], text: int, path: tuple[str, ...]
) -> list[Section]:
    title, source = columns.get("title"), _first(columns, SOURCE_COLUMNS)
    sections = []
    for number, row in enumerate(table, start=1):
        if not (body := _cell(row, text)):
            continue
        rest = [place for place in range(len(row)) if place not in {text, title, source}]
        # Country and year too: a passage that does not speak of them is still looked for by them.
        lines = [body, row_text([names[place] for place in rest], [row[place] for place in rest])]
        lines.append(f"Source: {origin}" if (origin := _cell(row, source)) else "")
        label = f"Row {number}: {heading}" if (heading := " ".join(_cell(row, title).split())) else f"Row {number}"
        sections.append(Section((*path, label), "\n".join(filter(None, lines)), metadata=_metadata(columns, row)))
    return sections


def _lines(
    names: Sequence[str], columns: Mapping[str, int], table: Sequence[Sequence[str]], path: tuple[str, ...]
) -> list[Section]:
    named_by, year = _naming_column(columns, table), columns.get("year")
    sections = []
    for number, row in enumerate(table, start=1):
        if not any(row):
            continue
        label = " ".join(_cell(row, named_by).split())
        if not 0 < len(label) <= LONGEST_LABEL:
            label = f"Row {number}"
        elif year not in {None, named_by} and (when := _cell(row, year)):
            label = f"{label}, {when}"
        sections.append(Section((*path, label), row_text(names, row), metadata=_metadata(columns, row)))
    return sections


def _naming_column(columns: Mapping[str, int], table: Sequence[Sequence[str]]) -> int | None:
    """The column whose values name the rows: the country, else the first that is mostly words."""
    country = _first(columns, COUNTRY_COLUMNS)
    if country is not None:
        return country
    for place in sorted(columns.values()):
        values = [value for row in table if (value := _cell(row, place))]
        if 2 * sum(_NUMBER.fullmatch(value) is None for value in values) > len(values):
            return place
    return None


def _metadata(columns: Mapping[str, int], row: Sequence[str]) -> dict[str, Value]:
    return row_metadata({key: _cell(row, place) for key, place in columns.items()})


def _first(columns: Mapping[str, int], wanted: Sequence[str]) -> int | None:
    return next((columns[column] for column in wanted if column in columns), None)


def _cell(row: Sequence[str], place: int | None) -> str:
    return row[place] if place is not None and place < len(row) else ""
