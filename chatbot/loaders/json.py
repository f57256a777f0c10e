"""JSON: records to rows, documents to sections under the headings that their keys name; JSON Lines too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import LoadError
from ..schema import Loaded, Section, lay_out
from .formats import Fit, Sample
from .markdown import drop_strong
from .records import column_key, record_sections, row_metadata, row_sections
from .sections import require_width
from .text import clean, read_text

HEADINGS = ("title", "name", "heading")
TEXTS = ("text", "content", "raw_content", "body", "description", "summary")
_JSON_START = re.compile(r'\s*(?:\{\s*["}]|\[\s*[{"\]])')
_LONG_SAMPLE = 16 * 1024
"""Characters. So many of a file without a whole value: it goes on beyond the sample."""
LONGEST_LINE = 200
"""Characters. A longer value is a section of its own under its key."""


class JsonLoader:
    """Implements `formats.FileLoader`."""

    noun = "JSON"
    suffixes = (".json", ".jsonl", ".ndjson")
    isolated = False

    def fit(self, sample: Sample) -> Fit:
        if sample.text is None:
            return Fit.NO
        if sample.is_named(self.suffixes):
            return Fit.DECLARED
        return Fit.WELL_FORMED if _begins_as_json(sample.text) else Fit.NO

    def load(self, path: Path) -> Loaded:
        text = read_text(path)
        try:
            content = _parse(text, path.name)
            sections = lay_out(_sections(content, path.name))
        except RecursionError as error:
            raise LoadError(f"{path.name} is nested too deeply to be read. Flatten it and try again.") from error
        if not sections:
            raise LoadError(f"{path.name} has no text: all its values are empty.")
        if not isinstance(content, dict):
            return Loaded(path.stem, sections)
        own = {column_key(key): _scalar(value) for key, value in content.items() if _is_scalar(value)}
        return Loaded(_heading(content)[1] or path.stem, sections, metadata=row_metadata(own))


def _begins_as_json(text: str) -> bool:
    """Whether a text starts as an object or a list does, and its first value is whole or goes on beyond the sample."""
    if not _JSON_START.match(text):
        return False
    try:
        json.JSONDecoder().raw_decode(text.strip())
    except RecursionError:
        return True
    except ValueError:
        return len(text) >= _LONG_SAMPLE
    return True


def _parse(text: str, name: str) -> Any:
    """The value; a list for JSON Lines, whatever the file is called."""
    try:
        content = _value(text)
    except json.JSONDecodeError as error:
        lines = text.strip().split("\n")
        if error.lineno == 1 or not _is_value(lines[0]):
            raise LoadError(f"{name} is not valid JSON: line {error.lineno}: {error.msg}.") from error
        return [_line(line, number, name) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    except ValueError as error:  # an integer beyond the limit that Python sets
        raise LoadError(f"{name} has a number with thousands of digits. Write it as a string.") from error
    if not isinstance(content, dict | list):
        raise LoadError(f"{name} is a single JSON value, not an object or a list. Save it as text.")
    return content


def _line(line: str, number: int, name: str) -> Any:
    try:
        return _value(line)
    except ValueError as error:
        problem = error.msg if isinstance(error, json.JSONDecodeError) else "a number with thousands of digits"
        raise LoadError(f"{name} is not valid JSON Lines: line {number}: {problem}.") from error


def _is_value(line: str) -> bool:
    try:
        _value(line)
    except ValueError:
        return False
    return True


def _value(text: str) -> Any:
    # As they are written: 2.10 is not 2.1, and 1e999 not infinite.
    return json.loads(text, parse_float=str, parse_constant=str)


def _sections(content: Any, name: str) -> list[Section]:
    if isinstance(content, list):
        if content and all(isinstance(item, dict) for item in content):
            records = [_flat(item) for item in content]
            if (flat := [record for record in records if record is not None]) and len(flat) == len(content):
                return record_sections(*_columns(flat), name=name)
        return list(_list_sections(content, (), ""))
    heading, _ = _heading(content)
    return list(_object_sections(content, (), skip=heading))


def _columns(records: Sequence[Mapping[str, str]]) -> tuple[list[str], list[list[str]]]:
    """The names of all columns in the order they are met, and the records' values under them."""
    header = list(dict.fromkeys(key for record in records for key in record))
    require_width(len(header))
    return header, [[record.get(key, "") for key in header] for record in records]


def _flat(item: Mapping[str, Any]) -> dict[str, str] | None:
    """A record as text by column, one level of objects opened; None where it is nested deeper."""
    record: dict[str, str] = {}
    for key, value in item.items():
        if _is_scalar(value):
            record[clean(key)] = _scalar(value)
        elif isinstance(value, dict) and all(_is_scalar(inner) for inner in value.values()):
            for inner_key, inner in value.items():
                record[clean(f"{key} {inner_key}" if inner_key in item else inner_key)] = _scalar(inner)
        else:
            return None
    return record


def _object_sections(content: Mapping[str, Any], path: tuple[str, ...], skip: str) -> Iterator[Section]:
    """The object's own text first, then what is below it. ``skip`` is the key that is already its heading."""
    lines, longer, below = list[str](), list[Section](), list[tuple[str, Any]]()
    for key, value in content.items():
        if key == skip:
            continue
        if not _is_scalar(value):
            below.append((key, value))
            continue
        text, label = _scalar(value), _label(key)
        if column_key(key) in TEXTS:
            lines.append(text)
        elif len(text) > LONGEST_LINE or "\n" in text:
            longer.append(Section((*path, label), text))
        elif text:
            lines.append(f"{label}: {text}")
    yield Section(path, "\n".join(filter(None, lines)))
    yield from longer
    for key, value in below:
        if isinstance(value, list):
            yield from _list_sections(value, path, _label(key))
        else:
            heading, name = _heading(value)
            yield from _object_sections(value, (*path, name or _label(key)), skip=heading)


def _list_sections(items: Sequence[Any], path: tuple[str, ...], label: str) -> Iterator[Section]:
    """Items with headings stand under these; records without are rows under the list's own name."""
    records = [_flat(item) for item in items if isinstance(item, dict) and not _heading(item)[1]]
    if label and (flat := [record for record in records if record]) and len(flat) == len(items):
        yield from row_sections(*_columns(flat), (*path, label))
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
    """The key that names the object, and the name; both empty where there is none."""
    keys = {column_key(key): key for key in reversed(list(content))}
    for wanted in HEADINGS:
        value = content.get(keys.get(wanted, ""))
        if isinstance(value, str) and 0 < len(name := " ".join(clean(value).split())) <= LONGEST_LINE:
            return keys[wanted], name
    return "", ""


def _is_scalar(value: Any) -> bool:
    """A single value, or a list of them."""
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
    """``birth_rate`` as a person would write it: ``Birth rate``."""
    words = " ".join(clean(key).replace("_", " ").split())
    return words[:1].upper() + words[1:]


def build() -> JsonLoader:
    return JsonLoader()
