"""What a Markdown file says of itself before its text: ``key: value`` lines between two lines of ``---``.

The part of YAML that people write there, not all of it: scalars, lists, and text folded over several lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import LoadError
from ..schema import Value

LONGEST = 200
"""Lines. What is not closed by then is a text that starts with a rule."""
_KEY = re.compile(r"([A-Za-z_][\w -]*?)\s*:(?:\s+(.*))?")
_ITEM = re.compile(r"\s*-\s+(.*)")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_BLOCK = {"|", ">", "|-", ">-", "|+", ">+"}
_YEARS = range(1000, 3001)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    title: str = ""
    metadata: Mapping[str, Value] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    description: str = ""


@dataclass(slots=True)
class _Entry:
    """A key with its values; ``line`` counts from 1 in the file."""

    line: int
    values: list[str]

    @property
    def text(self) -> str:
        return " ".join(self.values).strip()


def read_front_matter(text: str, name: str) -> tuple[FrontMatter, str]:
    """The front matter (empty where there is none) and the text below it.

    Raises:
        LoadError: its year is none; the file is called ``name``.
    """
    lines = text.lstrip("\n").split("\n", LONGEST + 2)
    skipped = len(text) - len(text.lstrip("\n"))
    if lines[0].rstrip() != "---":
        return FrontMatter(), text
    closing = (place for place, line in enumerate(lines[: LONGEST + 2]) if place and line.rstrip() in {"---", "..."})
    end = next(closing, None)
    entries = None if end is None else _entries(lines[1:end], first=skipped + 2)
    if end is None or not entries:
        return FrontMatter(), text
    return _front_matter(entries, name), "\n".join(lines[end + 1 :])


def _entries(lines: Sequence[str], *, first: int) -> dict[str, _Entry] | None:
    """Entries by key in lower case; None where a line is nothing that belongs into front matter."""
    entries: dict[str, _Entry] = {}
    entry: _Entry | None = None
    for number, line in enumerate(lines, start=first):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if key := _KEY.fullmatch(line.rstrip()):
            entry = entries[key[1].lower().replace("-", "_").replace(" ", "_")] = _Entry(number, _values(key[2] or ""))
        elif entry is not None and (item := _ITEM.fullmatch(line)):
            entry.values.append(_unquoted(item[1]))
        elif entry is not None and line[0] in " \t":
            entry.values.append(line.strip())
        else:
            return None
    return entries


def _values(text: str) -> list[str]:
    text = text.strip()
    if text in _BLOCK:
        return []
    if text.startswith("[") and text.endswith("]"):
        return [_unquoted(item) for item in text[1:-1].split(",") if item.strip()]
    return [_unquoted(text)] if text else []


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] in "'\"":
        closing = text.find(text[0], 1)
        return text[1:closing] if closing > 0 else text
    return _COMMENT.sub("", text).strip()


def _front_matter(entries: Mapping[str, _Entry], name: str) -> FrontMatter:
    def entry(*keys: str) -> _Entry:
        return next((entries[key] for key in keys if key in entries and entries[key].text), _Entry(0, []))

    metadata: dict[str, Value] = {}
    if country := entry("country_name", "country").text:
        metadata["country_name"] = country
    if (year := entry("year")).text:
        metadata["year"] = _year(year, name)
    if kind := entry("type").text:
        metadata["type"] = kind
    labels = entry("labels", "tags", "keywords").values
    if len(labels) == 1:
        labels = [part.strip() for part in labels[0].split(",")]
    return FrontMatter(
        entry("title").text, metadata, tuple(filter(None, labels)), entry("description", "summary", "abstract").text
    )


def _year(entry: _Entry, name: str) -> int:
    if not (entry.text.isdecimal() and int(entry.text) in _YEARS):
        raise LoadError(f"{name}: line {entry.line}: year must be a year such as 2024, not {entry.text[:40]!r}.")
    return int(entry.text)
