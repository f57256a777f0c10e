"""Tables and records in text, as sections (`sections.row_sections`): CSV in its
dialects, JSON Lines and JSON. The keys of other JSON name headings. A table may stand
below some lines about it.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from ...domain import Loaded, Section
from ...domain.documents import lay_out
from ...domain.errors import LoadError
from ...domain.tables import Texts
from . import Fit, Sample
from . import sections as tables
from .markdown_page import drop_strong
from .text import MAX_TEXT_BYTES, clean, read_text

DELIMITERS = "\t;|,"
"""The first wins a tie. Those that are likelier in prose come last."""
_NO_DELIMITER = "\x1f"
"""The delimiter for a table of one column, whose text may contain any of the others."""
NO_TEXT_NOTE = 'No column is called "Text", so each row was read as a line of a table.'
_SAMPLE_ROWS = 50


class CsvLoader:
    noun = "a CSV table"
    suffixes = (".csv", ".tsv")
    isolated = False

    def fit(self, sample: Sample) -> Fit:
        return (
            Fit.NAMED
            if sample.text is not None and sample.is_named(self.suffixes)
            else Fit.NO
        )

    def load(self, path: Path) -> Loaded:
        rows = [row for _, row in _rows(read_text(path), path.name)]
        start = _header_row(rows)
        below: list[str] = []
        while len(rows) > start + 2 and len(rows[start]) > 1 and len(rows[-1]) == 1:
            below.insert(0, *rows.pop())
        above = [tables.row_text((), row) for row in rows[:start]]
        preface = "\n".join(above)
        title = tables.take_title(above)
        sections = tables.record_sections(
            rows[start],
            rows[start + 1 :],
            name=path.name,
            title=title,
            note="\n".join([*above, *below]),
        )
        notes = Section((), "\n".join(below))
        placed = lay_out([Section((), preface), *sections, notes])
        names = tables.column_names(rows[start], 0)
        for name in names:
            if tables.column_key(name) in tables.TEXT_COLUMNS:
                return Loaded(path.stem, placed)
        return Loaded(path.stem, placed, columns=tuple(names), notes=(NO_TEXT_NOTE,))


def _header_row(rows: Sequence[Sequence[str]]) -> int:
    """Return the place of the row that names the columns: lines about the table, of a
    cell or two, may stand above it.
    """
    widths = _without_single_lines([len(row) for row in rows[: 2 * _SAMPLE_ROWS]])
    ((usual, _),) = Counter(widths).most_common(1)
    few = 1
    if usual == 1:
        few = 0
    elif usual > 5:
        few = 2
    for place, row in enumerate(rows[:20]):
        filled = list(filter(str.strip, row))
        if len(filled) > few:
            return place
    return 0


_SEPARATOR_LINE = re.compile(r"\ufeff?\"?sep=(.)\"?[ \t;,]*\n", re.IGNORECASE)
"""Excel's own first line."""


def _rows(text: str, name: str) -> list[tuple[int, list[str]]]:
    """Return the rows that are not empty, with the number of their first line."""
    # Process-wide, but only an upper bound; the default refuses cells above 128 KB.
    csv.field_size_limit(MAX_TEXT_BYTES)
    named = _SEPARATOR_LINE.match(text)
    text = text[named.end() :] if named else text
    delimiter = named[1] if named else choose_delimiter(text)
    # Strict: a quotation mark that is never closed would swallow the rest of the table
    # as one cell.
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    above = int(named is not None)
    line = 1 + above
    try:
        for row in reader:
            rows += [(line, row)] if row else []
            line = reader.line_num + 1 + above
    except csv.Error as error:
        # Tab-separated files are often written without any quoting: a quotation mark is
        # only a character there.
        if delimiter == "\t":
            reader = csv.reader(
                io.StringIO(text), delimiter=delimiter, quoting=csv.QUOTE_NONE
            )
            return [(reader.line_num, row) for row in reader if row]
        advice = (
            "A quoted value must be closed, and a quotation mark inside it written "
            "twice."
        )
        raise LoadError(
            f"{name} is not a valid CSV table from line {line} on ({error}). {advice}"
        ) from error
    return rows


def choose_delimiter(text: str) -> str:
    """Return the delimiter under which the first rows agree best on their number of
    cells; more cells win a tie. `csv.Sniffer` guesses letters and spaces too, and is
    wrong for prose in cells.
    """
    best = _NO_DELIMITER
    best_score = (False, 0.0, 0)
    for delimiter in DELIMITERS:
        try:
            widths = _first_widths(text, delimiter, strict=True)
            well_formed = True
        except csv.Error:  # a quotation mark within a cell
            widths = _first_widths(text, delimiter, strict=False)
            well_formed = False
        below = _without_single_lines(widths)
        width, times = Counter(below).most_common(1)[0]
        share = times / len(widths)
        # One name above: a line about the table if the rows below agree, a table of one
        # column if they do not.
        headed = widths[0] > 1 or (width > 2 and times > 0.8 * len(below))
        if width > 1 and headed and (well_formed, share, width) > best_score:
            best = delimiter
            best_score = (well_formed, share, width)
    return best


def _without_single_lines(widths: Sequence[int]) -> Sequence[int]:
    """Return the numbers of cells of a table's rows, without the lines of one cell
    above and below it. All of them, where these are the most.
    """
    start = 0
    stop = len(widths)
    while start < stop and widths[start] == 1:
        start += 1
    while stop > start and widths[stop - 1] == 1:
        stop -= 1
    if 2 * (stop - start) < len(widths):
        return widths
    return widths[start:stop]


def _first_widths(text: str, delimiter: str, *, strict: bool) -> list[int]:
    rows = (
        row
        for row in csv.reader(io.StringIO(text), delimiter=delimiter, strict=strict)
        if row
    )
    return [len(row) for row in islice(rows, _SAMPLE_ROWS)]


def read_table(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers and stripped cells, the header first, without empty rows.
    Raises LoadError: it is no CSV table, or a row has more cells than the header.
    """
    rows = _rows(read_text(path), path.name)
    for line, row in rows:
        if len(row) > len(rows[0][1]):
            raise LoadError(
                f"{path.name}, line {line}: more cells than the header. Quote "
                "cells with commas."
            )
        if any(cells := [cell.strip() for cell in row]):
            yield line, cells


HEADINGS = ("title", "name", "heading")
TEXTS = ("text", "content", "raw_content", "body", "description", "summary")
_JSON_START = re.compile(r'\s*(?:\{\s*["}]|\[\s*[{"\]])')
_LONG_SAMPLE_CHARACTERS = 16 * 1024
"""A sample of this length without a whole value: the value continues beyond the
sample.
"""
MAX_LINE_CHARACTERS = 200
"""A longer value is a section of its own under its key."""


class JsonLoader:
    noun = "JSON"
    suffixes = (".json", ".jsonl", ".ndjson")
    isolated = False

    def fit(self, sample: Sample) -> Fit:
        if sample.text is None:
            return Fit.NO
        if sample.is_named(self.suffixes):
            return Fit.DECLARED
        if not _JSON_START.match(sample.text):
            return Fit.NO
        try:
            json.JSONDecoder().raw_decode(sample.text.strip())
        except RecursionError:
            return Fit.WELL_FORMED
        except ValueError:
            return (
                Fit.WELL_FORMED
                if len(sample.text) >= _LONG_SAMPLE_CHARACTERS
                else Fit.NO
            )
        return Fit.WELL_FORMED

    def load(self, path: Path) -> Loaded:
        text = read_text(path)
        try:
            content = _parse(text, path.name)
            sections = lay_out(_sections(content, path.name))
        except RecursionError as error:
            raise LoadError(
                f"{path.name} is nested too deeply to be read. Flatten it and try "
                "again."
            ) from error
        if not sections:
            raise LoadError(f"{path.name} has no text: all its values are empty.")
        if not isinstance(content, dict):
            return Loaded(path.stem, sections)
        values = {
            tables.column_key(key): _scalar(value)
            for key, value in content.items()
            if _is_scalar(value)
        }
        return Loaded(
            _heading(content)[1] or path.stem,
            sections,
            metadata=tables.row_metadata(values),
        )


def _parse(text: str, name: str) -> Any:
    """Return the value; a list for JSON Lines, whatever the file is called."""
    try:
        content = _value(text)
    except json.JSONDecodeError as error:
        if error.lineno > 1:
            with suppress(ValueError):
                _value(text.strip().split("\n")[0])
                return list(_json_lines(text, name))
        raise LoadError(
            f"{name} is not valid JSON: line {error.lineno}: {error.msg}."
        ) from error
    except ValueError as error:  # an integer beyond the limit that Python sets
        raise LoadError(
            f"{name} has a number with thousands of digits. Write it as a string."
        ) from error
    if not isinstance(content, dict | list):
        raise LoadError(
            f"{name} is a single JSON value, not an object or a list. Save it as text."
        )
    return content


def _json_lines(text: str, name: str) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            if line.strip():
                yield _value(line)
        except ValueError as error:
            problem = (
                error.msg
                if isinstance(error, json.JSONDecodeError)
                else "a number with thousands of digits"
            )
            raise LoadError(
                f"{name} is not valid JSON Lines: line {number}: {problem}."
            ) from error


def _value(text: str) -> Any:
    # Numbers stay as they are written: 2.10 is not 2.1, and 1e999 is not infinite.
    return json.loads(text, parse_float=str, parse_constant=str)


def _sections(content: Any, name: str) -> list[Section]:
    if isinstance(content, list):
        if content and all(isinstance(item, dict) for item in content):
            records = [_record(item) for item in content]
            if (flat := [record for record in records if record is not None]) and len(
                flat
            ) == len(content):
                return tables.record_sections(*_columns(flat), name=name)
        return list(_list_sections(content, (), ""))
    heading, _ = _heading(content)
    return list(_object_sections(content, (), skip=heading))


def _columns(records: Sequence[Mapping[str, str]]) -> tuple[list[str], list[list[str]]]:
    """Return the names of all columns in order of appearance, and the records' values
    under them.
    """
    header = list(dict.fromkeys(key for record in records for key in record))
    tables.require_width(len(header))
    return header, [[record.get(key, "") for key in header] for record in records]


def _record(item: Mapping[str, Any]) -> dict[str, str] | None:
    """Return a record as text by column, one level of objects flattened; None if it is
    nested deeper.
    """
    record: dict[str, str] = {}
    for key, value in item.items():
        if _is_scalar(value):
            record[clean(key)] = _scalar(value)
        elif isinstance(value, dict) and all(
            _is_scalar(inner) for inner in value.values()
        ):
            for inner_key, inner in value.items():
                record[
                    clean(f"{key} {inner_key}" if inner_key in item else inner_key)
                ] = _scalar(inner)
        else:
            return None
    return record


def _object_sections(
    content: Mapping[str, Any], path: Texts, skip: str
) -> Iterator[Section]:
    """Yield the object's own text, then what is nested in it. ``skip`` is the key that
    is already its heading.
    """
    lines = list[str]()
    long_values = list[Section]()
    nested = list[tuple[str, Any]]()
    for key, value in content.items():
        if key == skip:
            continue
        if not _is_scalar(value):
            nested.append((key, value))
            continue
        text = _scalar(value)
        label = _label(key)
        if tables.column_key(key) in TEXTS:
            lines.append(text)
        elif len(text) > MAX_LINE_CHARACTERS or "\n" in text:
            long_values.append(Section((*path, label), text))
        elif text:
            lines.append(f"{label}: {text}")
    yield Section(path, "\n".join(filter(None, lines)))
    yield from long_values
    for key, value in nested:
        if isinstance(value, list):
            yield from _list_sections(value, path, _label(key))
        else:
            heading, name = _heading(value)
            yield from _object_sections(
                value, (*path, name or _label(key)), skip=heading
            )


def _list_sections(items: Sequence[Any], path: Texts, label: str) -> Iterator[Section]:
    """Yield items with headings under these, and records without as rows under the
    list's own name.
    """
    records = [
        _record(item)
        for item in items
        if isinstance(item, dict) and not _heading(item)[1]
    ]
    if (
        label
        and (flat := [record for record in records if record])
        and len(flat) == len(items)
    ):
        yield from tables.row_sections(*_columns(flat), (*path, label))
        return
    for number, item in enumerate(items, start=1):
        numbered = f"{label} {number}".strip()
        if isinstance(item, dict):
            heading, name = _heading(item)
            yield from _object_sections(item, (*path, name or numbered), skip=heading)
        elif not _is_scalar(item):
            yield from _list_sections(item, path, numbered)
        elif text := _scalar(item):
            yield Section((*path, numbered) if label else path, text)


def _heading(content: Mapping[str, Any]) -> tuple[str, str]:
    """Return the key that names the object, and the name; both empty if there is
    none.
    """
    keys = {tables.column_key(key): key for key in reversed(list(content))}
    for heading in HEADINGS:
        value = content.get(keys.get(heading, ""))
        if (
            isinstance(value, str)
            and 0 < len(name := tables.one_line(clean(value))) <= MAX_LINE_CHARACTERS
        ):
            return keys[heading], name
    return "", ""


def _is_scalar(value: Any) -> bool:
    """Return whether it is a single value or a list of single values."""
    return not isinstance(value, dict) and not (
        isinstance(value, list) and any(isinstance(item, dict | list) for item in value)
    )


def _scalar(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(filter(None, map(_scalar, value)))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else drop_strong(clean(str(value))).strip()


def _label(key: str) -> str:
    """Return ``birth_rate`` as a person would write it: ``Birth rate``."""
    words = tables.one_line(clean(key).replace("_", " "))
    return words[:1].upper() + words[1:]
