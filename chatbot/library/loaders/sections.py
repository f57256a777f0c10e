"""The common part of loaders: headings and paragraphs to sections, table rows to lines
or sections of their own.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...domain import Section
from ...domain.errors import LoadError
from ...domain.scope import Value
from ...language.countries import country_code

LEVEL = "\x01"
"""Separates the levels of a column's name: "2007" over "Men" """
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


_NUMERIC_CELL = re.compile(r"[-+−(]?\s*[$€£¥]?\s*\d[\d\s.,']*%?\)?")
_HEADER_YEAR = re.compile(r"(1[89]|20|21)\d\d")


def row_text(header: Sequence[str], cells: Sequence[str]) -> str:
    """Return ``Header: value; Header: value``. Empty cells are left out; a cell without
    a header stands alone. A name of several levels (separated by `LEVEL`) leaves out
    those that the cell before it has named: "2007 Men: 3; Women: 4; 2009 Men: 5". Whole
    names in every cell made reports of wide tables up to three times as long.
    """
    written: list[str] = []
    before: list[str] = []
    for place, cell in enumerate(cells):
        if not (value := one_line(cell)):
            continue
        levels = (
            [one_line(level).rstrip(" :") for level in header[place].split(LEVEL)]
            if place < len(header)
            else []
        )
        shared = 0
        while (
            shared < min(len(levels), len(before)) - 1
            and levels[shared] == before[shared]
        ):
            shared += 1
        name = " ".join(filter(None, levels[shared:]))
        written.append(f"{name}: {value}" if name else value)
        before = levels
    return "; ".join(written)


def labelled_row(cells: Sequence[str]) -> str:
    """Return a row whose columns have no names: ``Label: value; value``."""
    first, *others = [value for cell in cells if (value := one_line(cell))] or [""]
    labelled = (
        bool(others)
        and bool(cells[0].strip())
        and bool(label(first))
        and not is_number(first)
    )
    return (
        f"{first.rstrip(' :')}: {'; '.join(others)}"
        if labelled
        else "; ".join([first, *others])
    )


def empty_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line that names the columns without a value in any row, as a form has
    them; no line if all have one.
    """
    filled = {place for row in rows for place, cell in enumerate(row) if cell.strip()}
    names = [
        " ".join(name.split(LEVEL)).strip()
        for place, name in enumerate(header)
        if place not in filled
    ]
    names = list(dict.fromkeys(filter(None, names)))
    return [f"Empty columns: {', '.join(names)}"] if names else []


def table_text(rows: Sequence[Sequence[str]], *, header: bool | None = None) -> str:
    """Return a line for each row, with the names of its columns if the table has them,
    else ``a: b; c``.

    ``header``: whether the first row of more than one cell names the columns; None =
    judge by its look. Rows of one cell above it are captions. Such rows below it, notes
    and names of groups, stand alone too.
    """
    table = [
        row for row in ([one_line(cell) for cell in row] for row in rows) if any(row)
    ]
    require_width(max(map(len, table), default=0))
    first = next(
        (place for place, row in enumerate(table) if not is_single(row)), len(table)
    )
    named = first + 1 < len(table) and (
        looks_like_header(table[first]) if header is None else header
    )
    names = [label(name) for name in table.pop(first)] if named else []
    lines = [
        row_text(names, row) if names and not is_single(row) else labelled_row(row)
        for row in table
    ]
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
    if not texts or not all(texts[1:]) or any(label(text) != text for text in texts):
        return False
    numbers = [text for text in texts if is_number(text)]
    return len(numbers) < len(texts) and all(
        _HEADER_YEAR.fullmatch(number) for number in numbers
    )


def is_number(text: str) -> bool:
    """Return whether a cell is a number as people write it: ``1,285.5``, ``-3``,
    ``(12)``, ``45 %``, ``$7``.
    """
    return bool(_NUMERIC_CELL.fullmatch(text.strip()))


def label(text: str) -> str:
    """Return the text of a cell that is repeated on each row it names; "" for prose,
    which would swell the table.
    """
    # A longer cell is prose, not the name of a column or of rows.
    return text if len(text) <= 120 else ""


def one_line(text: str) -> str:
    return " ".join(text.split())


TEXT_COLUMNS = ("text", "raw_content", "content", "body")
"""A row with a value in one of these columns is a passage."""
SOURCE_COLUMNS = ("source", "url")
COUNTRY_COLUMNS = ("country_name", "country", "nation")
MAX_ROW_NAME_CHARACTERS = 80
_FIGURE = re.compile(r"[-+−]?[\d\s.,'’%$€£¥]*\d[\d\s.,'’%$€£¥]*(?:[eE][-+]?\d+)?%?")
_YEAR_VALUE = re.compile(r"([12]\d{3})(?:\.0+)?")


def record_sections(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, name: str = "The table"
) -> list[Section]:
    """Return `row_sections` of a whole file. An error calls the table ``name`` (the
    file's name).

    Raises:
        LoadError: no row has text. The message names the columns.
    """
    table = list(rows)
    names = column_names(header, max(map(len, table), default=0))
    sections = row_sections(names, table, ())
    if not sections:
        columns = {column_key(column): column for column in names}
        text = next(
            (columns[column] for column in TEXT_COLUMNS if column in columns), None
        )
        problem = (
            f'has a column "{text}", but no row has any text in it'
            if text
            else "has no values below its header"
        )
        raise LoadError(
            f"{name} {problem}. Columns found: {', '.join(names) or 'none'}."
        )
    return sections


def row_sections(
    names: Sequence[str], rows: Iterable[Sequence[str]], path: tuple[str, ...]
) -> list[Section]:
    """Return a section for each row that has text, below ``path``. Rows are numbered
    from 1, without the header. With a text column (`TEXT_COLUMNS`) a row is a passage,
    otherwise a line of a table. A row that names a country or a year is found under
    that country or year. ``names`` name all columns.
    """
    table = [[cell.strip() for cell in row] for row in rows]
    columns = {
        column_key(column): place for place, column in reversed(list(enumerate(names)))
    }
    text = _first(columns, TEXT_COLUMNS)
    title = columns.get("title")
    source = _first(columns, SOURCE_COLUMNS)
    named_by = _naming_column(columns, table)
    year = columns.get("year")
    sections = []
    for number, row in enumerate(table, start=1):
        name = f"Row {number}"
        if text is not None:
            if not (body := _cell(row, text)):
                continue
            if heading := one_line(_cell(row, title)):
                name = f"{name}: {heading}"
            # Country and year too: a passage that does not mention them is still
            # searched by them.
            rest = [
                place for place in range(len(row)) if place not in {text, title, source}
            ]
            lines = [
                body,
                row_text(
                    [names[place] for place in rest], [row[place] for place in rest]
                ),
            ]
            lines.append(f"Source: {origin}" if (origin := _cell(row, source)) else "")
            body = "\n".join(filter(None, lines))
        else:
            if not any(row):
                continue
            if (
                0
                < len(heading := one_line(_cell(row, named_by)))
                <= MAX_ROW_NAME_CHARACTERS
            ):
                row_year = _cell(row, year) if year not in {None, named_by} else ""
                name = f"{heading}, {row_year}" if row_year else heading
            body = row_text(names, row)
        metadata = row_metadata(
            {key: _cell(row, place) for key, place in columns.items()}
        )
        sections.append(Section((*path, name), body, metadata=metadata))
    return sections


def column_names(header: Sequence[str], width: int) -> list[str]:
    """Return names for ``width`` columns or more: missing names are numbered, repeated
    ones counted.
    """
    width = max(width, len(header))
    require_width(width)
    names: dict[str, None] = {}
    counts: Counter[str] = Counter()
    for place in range(width):
        name = one_line(header[place]).lstrip("\ufeff") if place < len(header) else ""
        name = name or f"Column {place + 1}"
        counts[name] += 1
        while (
            counted := f"{name} ({counts[name]})" if counts[name] > 1 else name
        ) in names:
            counts[name] += 1
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
    countries = (values.get(column, "") for column in COUNTRY_COLUMNS)
    if country := next(
        (name for name in countries if name and country_code(name)), None
    ):
        metadata["country_name"] = country
    if year := _YEAR_VALUE.fullmatch(values.get("year", "")):
        metadata["year"] = int(year[1])
    if 0 < len(kind := values.get("type", "")) <= MAX_ROW_NAME_CHARACTERS:
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
        values = [value for row in table if (value := _cell(row, place))]
        if 2 * sum(_FIGURE.fullmatch(value) is None for value in values) > len(values):
            return place
    return None


def _first(columns: Mapping[str, int], names: Sequence[str]) -> int | None:
    return next((columns[name] for name in names if name in columns), None)


def _cell(row: Sequence[str], place: int | None) -> str:
    return row[place] if place is not None and place < len(row) else ""
