"""Reads glossaries: a table of terms, and the abbreviations list of a report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..domain import SECTION_SEPARATOR, Chunk
from ..domain.errors import InvalidRequestError
from ..domain.figures import GlossaryEntry
from .loaders.csv import read_table

COLUMNS = ("term", "meaning", "other_words", "heading", "label")
NEEDED = COLUMNS[:2]
SEPARATOR = "|"
"""Between the other words of a cell."""
_LIST = re.compile(
    r"\b(?:abbreviations|acronyms|glossary|abreviaturas|acrónimos|siglas|glosario|abréviations|acronymes|sigles|glossaire)\b",
    re.IGNORECASE,
)
"""The heading of a list of terms."""
_TABLE_ROW = re.compile(r"[^:;]{1,80}: (?P<term>[^:;]{1,60}); [^:;]{1,300}: (?P<meaning>.+)")
"""A row of a table with named columns, as loaders write it."""
_LINE = re.compile(r"[\s|*•-]*(?P<term>\w[^:|\t]{0,59}?)[\s*]*(?:[:|\t]|\s[–—-]\s)[\s*]*(?P<meaning>\w[^|]{2,}?)[\s|]*")
_HEADER = re.compile(r"^.*\n(?=[\s|:-]*---)", re.MULTILINE)
"""The names of the columns of a Markdown table."""


def read_glossary(path: Path) -> list[GlossaryEntry]:
    """Return the entries of a CSV table with the columns COLUMNS; only NEEDED are required.

    Raises:
        LoadError: the file is not a table.
        InvalidRequestError: naming the row and the column.
    """
    table = read_table(path)
    header = [name.casefold() for name in next(table, (0, []))[1]]
    wrong = [f"{name}: is missing" for name in NEEDED if name not in header]
    if wrong := [*wrong, *(f"{name}: is unknown" for name in header if name not in COLUMNS)]:
        raise InvalidRequestError(f"{path.name}, row 1, column {wrong[0]}. Valid: {', '.join(COLUMNS)}.")
    rows: dict[tuple[str, str, str], int] = {}
    entries: list[GlossaryEntry] = []
    for line, cells in table:
        row = dict.fromkeys(COLUMNS, "") | dict(zip(header, cells, strict=False))
        if empty := [name for name in NEEDED if not row[name]]:
            raise InvalidRequestError(f"{path.name}, row {line}, column {empty[0]}: is empty. Fill it in.")
        first = rows.setdefault((row["term"].casefold(), row["heading"], row["label"]), line)
        if first != line:
            raise InvalidRequestError(f"{path.name}, row {line}, column term: {row['term']!r} is in row {first} too.")
        words = tuple(dict.fromkeys(filter(None, map(str.strip, row["other_words"].split(SEPARATOR)))))
        entries.append(GlossaryEntry(row["term"], row["meaning"], words, row["heading"], row["label"]))
    return entries


def listed_terms(chunks: Iterable[Chunk]) -> Iterator[GlossaryEntry]:
    """Yield the terms of a report's lists of abbreviations: lines ``TERM: meaning`` below such a heading."""
    for chunk in chunks:
        if _LIST.search(chunk.section.split(SECTION_SEPARATOR)[-1]):
            for line in _HEADER.sub("", chunk.text).splitlines():
                if match := _TABLE_ROW.fullmatch(line) or _LINE.fullmatch(line):
                    yield GlossaryEntry(match["term"], match["meaning"], passage=chunk.ordinal)
