"""The common part of loaders: headings and paragraphs to sections, table rows to lines
or sections of their own.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

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
from ...language.table_words import is_code, is_table_title, unit_line
from .grid import (
    first_filled,
    heading_rows,
    is_single,
    is_tagged,
    read_grid,
)

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
    "label",
    "labelled_row",
    "on_page",
    "one_line",
    "record_sections",
    "require_width",
    "row_metadata",
    "row_sections",
    "row_text",
    "table_sections",
    "take_title",
]
_VOLUME = 0
"""The level above all headings, of what a running head names."""
PARAGRAPH = "\n\n"
LINE = "\n"


_ORDINAL = re.compile(r"[^\W\d_]{2,}|[eoªº]|\W*")
"""As in 1st and 17e, or a mark that is no sign of a number."""
_NOTES = re.compile(r"\d+(?:\s*,\s*\d+)*")
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
    is_note = not lowered and _NOTES.fullmatch(signs) and NOTED.search(before)
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
        self._tables: dict[int, Section] = {}
        """By their places among the parts."""
        self.is_bare = True
        """Nothing was added below the last heading."""
        self._names: list[tuple[int, str]] = []

    def heading(self, level: int, text: str) -> None:
        """Begin a part. A heading of ``level`` closes those of the same level and
        below.
        """
        self.is_bare = True
        self._names.append((level, text))
        self._headings = {
            kept: name for kept, name in self._headings.items() if kept < level
        } | {level: text}
        self._parts.append((self._headings, []))

    def volume(self, name: str) -> None:
        """Begin what a running head names, above all headings; "" = it names nothing.
        The headings go on.
        """
        if name != self._headings.get(_VOLUME, ""):
            self._headings = self._headings | {_VOLUME: name}
            self._parts.append((self._headings, []))

    def add(self, text: str, *, gap: str = PARAGRAPH) -> None:
        """Add a paragraph, a list item or a table. ``gap`` separates it from the text
        above it.
        """
        if text:
            self.is_bare = False
            _, texts = self._parts[-1]
            texts.append(gap + text if texts else text)

    def table(
        self,
        rows: Iterable[Sequence[str]],
        *,
        heads: int | None = None,
        title: str = "",
    ) -> None:
        """Add a table. ``heads``: how many of its rows name the columns, None = judge
        by their look. Without names its rows are lines of text.

        ``title``: "" = the line above it that calls itself a table's title.
        """
        headings, texts = self._parts[-1]
        captions = [title] if title else _take_captions(texts)
        table: list[list[str]] = []
        for row in rows:
            cells = [one_line(cell) for cell in row]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                table.append(cells)
        require_width(max(map(len, table), default=0))
        while len(table) > 1 and is_single(table[0]):
            captions.append(table.pop(0)[0])
            if heads:
                heads -= 1
        names = heading_rows(table, heads=heads)
        if not names:
            self.add("\n".join([*captions, *map(labelled_row, table)]))
            return
        place = headings[max(headings)] if headings else ""
        for section in table_sections((), captions, names, table, place=place):
            self.add_section(section)

    def add_section(self, section: Section) -> None:
        """Add the text or the table of a section, below the heading."""
        if section.rows is None:
            self.add(section.text)
            return
        self.is_bare = False
        headings, _ = self._parts[-1]
        self._tables[len(self._parts)] = section
        self._parts += [(headings, []), (headings, [])]

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
        for place, (headings, texts) in enumerate(self._parts):
            path = tuple(
                headings[level] for level in sorted(headings) if level > lowest
            )
            volume = headings.get(_VOLUME, "")
            if volume and not any(name in volume or volume in name for name in path):
                path = (volume, *path)
            table = self._tables.get(place)
            if table is None:
                yield Section(path, "".join(texts))
            else:
                yield replace(table, path=(*path, *table.path))


def on_page(sections: Sequence[Section], title: str, page: int) -> Iterator[Section]:
    """Yield the sections of a page below its title. A section needs a text to be kept,
    so on a page with only a title this is the text.
    """
    path = (title,) if title else ()
    for section in sections:
        yield replace(section, path=(*path, *section.path), page=page)
    if not sections:
        yield Section((), title, page=page)


def _take_captions(texts: list[str]) -> list[str]:
    """Take the title and the unit of a table from the end of the texts above it."""
    captions: list[str] = []
    while texts:
        before, _, last = texts[-1].rstrip().rpartition("\n")
        line = last.strip(" *_")
        is_title = is_table_title(line)
        if not (is_title or unit_line(line)):
            break
        captions.insert(0, line)
        texts[-1:] = filter(None, [before.rstrip()])
        if is_title:
            break
    return captions


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


def empty_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line that names the columns without a value in any row, as a form has
    them; no line if all have one.
    """
    names: dict[str, None] = {}
    for place, name in enumerate(header):
        shown = " ".join(name.split(LEVEL)).strip()
        if shown and not any("".join(row[place : place + 1]).strip() for row in rows):
            names[shown] = None
    if not names:
        return []
    return [f"Empty columns: {', '.join(names)}"]


TEXT_COLUMNS = ("text", "raw_content", "content", "body")
"""A row with a value in one of these columns is a passage."""
SOURCE_COLUMNS = ("source", "url")
COUNTRY_COLUMNS = ("country_name", "country", "nation")
MAX_ROW_NAME_CHARACTERS = 80
_YEAR_VALUE = re.compile(r"([12]\d{3})(?:\.0+)?")


def record_sections(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    name: str = "The table",
    title: str = "",
    note: str = "",
) -> list[Section]:
    """Return `row_sections` of a whole file. An error calls the table ``name`` (the
    file's name). ``note``: the lines above the table but its ``title``.

    Raises:
        LoadError: no row has text. The message names the columns.
    """
    table = list(rows)
    names = column_names(header, max(map(len, table), default=0))
    sections = row_sections(names, table, (), title=title, note=note)
    if sections:
        return sections
    raise LoadError(
        f"{name} has no row with a text. Columns found: {', '.join(names) or 'none'}."
    )


def table_sections(
    path: Texts,
    captions: Sequence[str],
    header: Sequence[str],
    table: Sequence[Sequence[str]],
    *,
    place: str,
    by_row: bool = False,
) -> Iterator[Section]:
    """Yield a table below ``path``: the lines above it, of which the first is its
    title, its rows, and the lines below it. ``by_row``: a section for each row.
    ``header`` names its columns; without it the rows are lines of text.
    """
    captions = list(captions)
    title = take_title(captions)
    if title:
        path = (*path, title)
    # A unit stands in each row's passage.
    shown = [line for line in captions if not unit_line(line)]
    yield Section(path, "\n".join(shown))
    if not header:
        yield Section(path, "\n".join(map(labelled_row, table)))
        return
    start = min(map(first_filled, (header, *table)))
    table = [row[start:] for row in table]
    notes: list[str] = []
    while table and is_single(table[-1]) and len(header) - start > 1:
        notes.insert(0, table.pop()[0])
    names = column_names(header[start:], max(map(len, table), default=0))
    note = "\n".join([*captions, *notes])
    if by_row:
        yield from row_sections(names, table, path, title=title, note=note, place=place)
    else:
        for column, name in enumerate(header[start:]):
            names[column] = name and names[column]
        grid = read_grid(names, table, title=title, note=note, place=place)
        rows = TableRows(grid.table, 0, len(grid.numbers), unit_text(note))
        yield Section(path, rows_text(rows), rows=rows)
        notes += empty_columns(names, table)
    yield Section(path, "\n".join(notes))


def take_title(captions: list[str]) -> str:
    """Take the title of a table from the lines above it; "" if they have none."""
    if captions and label(captions[0]) and not unit_line(captions[0]):
        return captions.pop(0)
    return ""


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
    tags: Headings = ()
    if table and is_tagged(table[0]):
        # A row of tags below the heads says what the columns are.
        tags = tuple(table[0])
        table[0] = [""] * len(table[0])
    grid = read_grid(names, table, title=title, note=note, place=place, tags=tags)
    head = unit_text(note)
    country = _first(columns, COUNTRY_COLUMNS)
    sections = []
    for at, number in enumerate(grid.numbers):
        row = table[number]
        shown = TableRows(grid.table, at, at + 1, head)
        labels = shown.rows[0].path
        depth = group_depth(grid.table, shown.rows[0])
        name = f"Row {number + 1}"
        for column, heading in enumerate(row):
            if country not in {None, column} or is_code(names[column]):
                continue
            if 0 < len(heading) <= MAX_ROW_NAME_CHARACTERS and not is_number(heading):
                row_year = _cell(row, columns.get("year"))
                name = ", ".join(filter(None, [heading, row_year]))
                break
        sections.append(
            Section(
                path=(*path, *labels[:depth], name),
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
    for place in range(width):
        name = one_line(header[place]).lstrip("\ufeff") if place < len(header) else ""
        name = name or f"Column {place + 1}"
        counted = name
        number = 1
        while counted in names:
            number += 1
            counted = f"{name} ({number})"
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


def _first(columns: Mapping[str, int], names: Sequence[str]) -> int | None:
    for name in names:
        if name in columns:
            return columns[name]
    return None


def _cell(row: Sequence[str], place: int | None) -> str:
    return row[place] if place is not None and place < len(row) else ""
