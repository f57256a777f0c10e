"""The common part of loaders: headings and paragraphs to sections, table rows to lines
or sections of their own.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...domain import Section
from ...domain.errors import LoadError
from ...domain.scope import Value
from ...domain.tables import Headings, TableRows, Texts
from ...language.countries import country_code
from ...language.table_text import (
    LEVEL,
    group_depth,
    is_number,
    label,
    labelled_row,
    one_line,
    row_text,
    rows_text,
)
from ...language.table_words import unit_line
from .grid import read_grid

__all__ = [
    "LEVEL",
    "LINE",
    "NOTED",
    "PARAGRAPH",
    "SUPERSCRIPTS",
    "HeadingOutline",
    "WidthError",
    "apart",
    "column_key",
    "column_names",
    "empty_columns",
    "is_number",
    "is_single",
    "is_tagged",
    "label",
    "labelled_row",
    "looks_like_header",
    "one_line",
    "record_sections",
    "require_width",
    "row_metadata",
    "row_sections",
    "row_text",
    "table_text",
]
PARAGRAPH = "\n\n"
LINE = "\n"


_ORDINAL = re.compile(r"[^\W\d_]{2,}|[eoªº]|\W*")
"""As in 1st and 17e, or a mark that is no sign of a number."""
NOTED = re.compile(r"(?:\d[.,;:!?%)”’\"]+|[^\W\d_]{4}[.,;:!?)”’\"]*)$")
"""A figure raised behind it marks a note; CO2, km2 and m3 are shorter."""
SUPERSCRIPTS = str.maketrans("0123456789+-−–n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻ⁿ")
_SUBSCRIPTS = str.maketrans("0123456789+-−–", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋")


def apart(text: str, before: str, *, lowered: bool = False) -> str:
    """Return a superscript or subscript after ``before`` as no part of its number or
    word: 2023⁴, 10⁷, Collections¹.
    """
    signs = text.strip()
    raised = _SUBSCRIPTS if lowered else SUPERSCRIPTS
    is_note = not lowered and signs.isdecimal() and NOTED.search(before)
    if not (before[-1:].isdigit() or is_note) or _ORDINAL.fullmatch(signs):
        return text
    return (
        signs.translate(raised)
        if all(ord(sign) in raised for sign in signs)
        else f" [{signs}]"
    )


class HeadingOutline:
    """The headings and texts of a document, added from top to bottom. Level 1 is the
    highest.
    """

    def __init__(self) -> None:
        self._headings: dict[int, str] = {}
        self._parts: list[tuple[dict[int, str], list[str]]] = [({}, [])]
        self._names: list[tuple[int, str]] = []

    def heading(self, level: int, text: str) -> None:
        """Begin a part. A heading of ``level`` closes those of the same level and
        below.
        """
        self._names.append((level, text))
        self._headings = {
            kept: name for kept, name in self._headings.items() if kept < level
        } | {level: text}
        self._parts.append((self._headings, []))

    def add(self, text: str, *, gap: str = PARAGRAPH) -> None:
        """Add a paragraph, a list item or a table. ``gap`` separates it from the text
        above it.
        """
        if text:
            _, texts = self._parts[-1]
            texts.append(gap + text if texts else text)

    def title(self) -> str:
        """Return the only heading of level 1 if it comes first: it names the document.
        Otherwise "".
        """
        top = [name for level, name in self._names if level == 1]
        return top[0] if len(top) == 1 and self._names[0][0] == 1 else ""

    def sections(self, *, keep_title: bool = False) -> Iterator[Section]:
        """Yield the sections in order. Their paths leave the title out unless
        ``keep_title``.
        """
        lowest = 1 if self.title() and not keep_title else 0
        for headings, texts in self._parts:
            path = tuple(
                headings[level] for level in sorted(headings) if level > lowest
            )
            yield Section(path, "".join(texts))


MAX_COLUMNS = 1_000


class WidthError(ValueError):
    """A table is wider than `MAX_COLUMNS`: the names of its columns would be repeated
    in each row.
    """


def require_width(columns: int) -> None:
    """Raise WidthError if a table has more than `MAX_COLUMNS` columns."""
    if columns > MAX_COLUMNS:
        raise WidthError(
            f"has a table of {columns:,} columns; up to {MAX_COLUMNS:,} are read. "
            "Split it by columns"
        )


_HEADER_YEAR = re.compile(r"(1[89]|20|21)\d\d")


def empty_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line that names the columns without a value in any row, as a form has
    them; no line if all have one.
    """
    filled: set[int] = set()
    for row in rows:
        for place, cell in enumerate(row):
            if cell.strip():
                filled.add(place)
    names: dict[str, None] = {}
    for place, name in enumerate(header):
        shown = " ".join(name.split(LEVEL)).strip()
        if shown and place not in filled:
            names[shown] = None
    if not names:
        return []
    return [f"Empty columns: {', '.join(names)}"]


def table_text(rows: Sequence[Sequence[str]], *, header: bool | None = None) -> str:
    """Return a line for each row, with the names of its columns if the table has them,
    else ``a: b; c``.

    ``header``: whether the first row of more than one cell names the columns; None =
    judge by its look. Rows of one cell above it are captions. Such rows below it, notes
    and names of groups, stand alone too.
    """
    table = []
    for row in rows:
        cells = [one_line(cell) for cell in row]
        if any(cells):
            table.append(cells)
    require_width(max(map(len, table), default=0))
    first = 0
    while first < len(table) and is_single(table[first]):
        first += 1
    names: list[str] = []
    if first + 1 < len(table):
        if header is None:
            header = looks_like_header(table[first])
        if header:
            names = [label(name) for name in table.pop(first)]
    lines = []
    for row in table:
        if names and not is_single(row):
            lines.append(row_text(names, row))
        else:
            lines.append(labelled_row(row))
    return "\n".join([*lines, *empty_columns(names, table)])


def is_single(row: Sequence[str]) -> bool:
    """Return whether only the first cell is filled: a caption, a note or the name of a
    group of rows.
    """
    return (
        bool(row) and bool(row[0].strip()) and not any(cell.strip() for cell in row[1:])
    )


def looks_like_header(cells: Sequence[str]) -> bool:
    """Return whether a row may name columns: all cells but the corner filled, none
    prose or a number but a year.
    """
    texts = [one_line(cell) for cell in cells]
    if not texts or not all(texts[1:]):
        return False
    numbers = 0
    for text in texts:
        if label(text) != text:
            return False
        if is_number(text):
            numbers += 1
            if not _HEADER_YEAR.fullmatch(text):
                return False
    return numbers < len(texts)


TEXT_COLUMNS = ("text", "raw_content", "content", "body")
"""A row with a value in one of these columns is a passage."""
SOURCE_COLUMNS = ("source", "url")
COUNTRY_COLUMNS = ("country_name", "country", "nation")
MAX_ROW_NAME_CHARACTERS = 80
_FIGURE = re.compile(r"[-+−]?[\d\s.,'’%$€£¥]*\d[\d\s.,'’%$€£¥]*(?:[eE][-+]?\d+)?%?")
_YEAR_VALUE = re.compile(r"([12]\d{3})(?:\.0+)?")


def record_sections(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    name: str = "The table",
    note: str = "",
) -> list[Section]:
    """Return `row_sections` of a whole file. An error calls the table ``name`` (the
    file's name). ``note``: the lines above the table.

    Raises:
        LoadError: no row has text. The message names the columns.
    """
    table = list(rows)
    names = column_names(header, max(map(len, table), default=0))
    sections = row_sections(names, table, (), note=note)
    if sections:
        return sections
    columns = {column_key(column): column for column in names}
    problem = "has no values below its header"
    for column in TEXT_COLUMNS:
        if column in columns:
            text = columns[column]
            problem = f'has a column "{text}", but no row has any text in it'
            break
    raise LoadError(f"{name} {problem}. Columns found: {', '.join(names) or 'none'}.")


def row_sections(
    names: Sequence[str],
    rows: Iterable[Sequence[str]],
    path: Texts,
    *,
    title: str = "",
    note: str = "",
    place: str = "",
) -> list[Section]:
    """Return a section for each row that has text, below ``path``. Rows are numbered
    from 1, without the header. With a text column (`TEXT_COLUMNS`) a row is a passage,
    otherwise a row of a table, in the group that a row above it names. A row that names
    a country or a year is found under that country or year. ``names`` name all columns.
    """
    table = [[cell.strip() for cell in row] for row in rows]
    columns = {
        column_key(column): place for place, column in reversed(list(enumerate(names)))
    }
    text = _first(columns, TEXT_COLUMNS)
    if text is not None:
        return _text_sections(names, table, path, columns, text)
    named_by = _naming_column(columns, table)
    year = columns.get("year")
    tags: Headings = ()
    if table and is_tagged(table[0]):
        # A row of tags below the heads says what the columns are.
        tags = tuple(table[0])
        table[0] = [""] * len(table[0])
    grid = read_grid(names, table, title=title, note=note, place=place, tags=tags)
    head = unit_text(note)
    sections = []
    for at, number in enumerate(grid.numbers):
        row = table[number]
        name = f"Row {number + 1}"
        heading = one_line(_cell(row, named_by))
        if 0 < len(heading) <= MAX_ROW_NAME_CHARACTERS:
            row_year = _cell(row, year) if year not in {None, named_by} else ""
            name = f"{heading}, {row_year}" if row_year else heading
        shown = TableRows(grid.table, at, at + 1, head)
        groups = grid.table.rows[at].path[: group_depth(grid.table, shown.rows[0])]
        sections.append(
            Section(
                path=(*path, *groups, name),
                text=rows_text(shown),
                metadata=_metadata(columns, row),
                rows=shown,
            )
        )
    return sections


def _text_sections(
    names: Sequence[str],
    table: Sequence[Sequence[str]],
    path: Texts,
    columns: Mapping[str, int],
    text: int,
) -> list[Section]:
    """Return the rows of a knowledge base: the column ``text`` has their texts."""
    title = columns.get("title")
    source = _first(columns, SOURCE_COLUMNS)
    sections = []
    for number, row in enumerate(table, start=1):
        body = _cell(row, text)
        if not body:
            continue
        name = f"Row {number}"
        if heading := one_line(_cell(row, title)):
            name = f"{name}: {heading}"
        # Country and year too: a passage that does not mention them is still searched
        # by them.
        rest = [
            place for place in range(len(row)) if place not in {text, title, source}
        ]
        others = row_text(
            [names[place] for place in rest], [row[place] for place in rest]
        )
        origin = _cell(row, source)
        lines = [body, others, f"Source: {origin}" if origin else ""]
        sections.append(
            Section(
                path=(*path, name),
                text="\n".join(filter(None, lines)),
                metadata=_metadata(columns, row),
            )
        )
    return sections


def _metadata(columns: Mapping[str, int], row: Sequence[str]) -> dict[str, Value]:
    return row_metadata({key: _cell(row, place) for key, place in columns.items()})


_TAG = re.compile(r"#[a-z]\w*(?:\s*[+-]\s*\w+)*", re.IGNORECASE)
"""A tag of the Humanitarian Exchange Language, in a row below the headings."""


def is_tagged(row: Sequence[str]) -> bool:
    """Return whether all cells of a row that are filled are tags."""
    filled = [cell.strip() for cell in row if cell.strip()]
    return bool(filled) and all(map(_TAG.fullmatch, filled))


def unit_text(note: str) -> str:
    """Return the lines beside a table that give its unit: "(in thousands)"."""
    return "\n".join(line for line in note.splitlines() if unit_line(line))


def column_names(header: Sequence[str], width: int) -> list[str]:
    """Return names for ``width`` columns or more: missing names are numbered, repeated
    ones counted.
    """
    width = max(width, len(header))
    require_width(width)
    names: dict[str, None] = {}
    counts: Counter[str] = Counter()
    for place in range(width):
        name = ""
        if place < len(header):
            name = one_line(header[place]).lstrip("\ufeff")
        name = name or f"Column {place + 1}"
        counts[name] += 1
        counted = name
        if counts[name] > 1:
            counted = f"{name} ({counts[name]})"
        while counted in names:
            counts[name] += 1
            counted = f"{name} ({counts[name]})"
        names[counted] = None
    return list(names)


def column_key(name: str) -> str:
    """Return the form in which columns are compared: "Country Name", "country-name" and
    "COUNTRY_NAME" are equal.
    """
    return re.sub(r"[\s_-]+", "_", name.strip().casefold())


def row_metadata(values: Mapping[str, str]) -> dict[str, Value]:
    """Return the country, year and type of a record from its values by `column_key`,
    without invalid ones.
    """
    metadata: dict[str, Value] = {}
    for column in COUNTRY_COLUMNS:
        country = values.get(column, "")
        if country and country_code(country):
            metadata["country_name"] = country
            break
    year = _YEAR_VALUE.fullmatch(values.get("year", ""))
    if year:
        metadata["year"] = int(year[1])
    kind = values.get("type", "")
    if 0 < len(kind) <= MAX_ROW_NAME_CHARACTERS:
        metadata["type"] = kind
    return metadata


def _naming_column(
    columns: Mapping[str, int], table: Sequence[Sequence[str]]
) -> int | None:
    """Return the column whose values name the rows: the country, else the first that is
    mostly words.
    """
    country = _first(columns, COUNTRY_COLUMNS)
    if country is not None:
        return country
    for place in sorted(columns.values()):
        names = 0
        for row in table:
            value = _cell(row, place)
            if not value:
                continue
            if _FIGURE.fullmatch(value):
                names -= 1
            else:
                names += 1
        if names > 0:
            return place
    return None


def _first(columns: Mapping[str, int], names: Sequence[str]) -> int | None:
    for name in names:
        if name in columns:
            return columns[name]
    return None


def _cell(row: Sequence[str], place: int | None) -> str:
    return row[place] if place is not None and place < len(row) else ""
