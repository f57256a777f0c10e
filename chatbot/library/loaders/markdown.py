"""Markdown: headings become section paths, the first top-level heading the title, front
matter the metadata. Plain text is one section without a heading.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ...domain import Loaded, Section
from ...domain.documents import AUTHOR_SEPARATOR, lay_out
from ...domain.errors import LoadError
from ...domain.scope import Value
from . import Fit, Sample
from .sections import LINE, HeadingOutline
from .text import read_text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock

_ANY_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)
# Marks that open before a word and close after one. Code and formulas keep theirs
# (2**10): CommonMark would read "2**10 and 3**4" as "210 and 34". The length is bounded
# so that a text full of opening marks takes linear time.
_STRONG = re.compile(
    r"(`+)(?!`).{1,500}?(?<!`)\1(?!`)"
    r"|\$(?=\S)[^$\n]{1,500}?(?<=\S)\$(?!\d)"
    r"|(?<![\w\\*])(\*{2,3})(?=[^\s*])((?:(?!\n\s*\n).){1,500}?)(?<=[^\s*])\2(?![\w*])",
    re.DOTALL,
)


class MarkdownLoader:
    """Implements `loaders.FileLoader`. Marks of strong emphasis are dropped: nobody
    searches or quotes them.
    """

    noun = "Markdown"
    suffixes = (".md", ".markdown")
    isolated = False

    def fit(self, sample: Sample) -> Fit:
        if sample.text is None:
            return Fit.NO
        if sample.is_named(self.suffixes):
            return Fit.DECLARED
        return Fit.LOOKS_SO if _ANY_HEADING.search(sample.text) else Fit.NO

    def load(self, path: Path) -> Loaded:
        front, body = read_front_matter(read_text(path), path.name)
        title, sections = markdown_sections(body)
        if not sections:
            raise LoadError(f"{path.name} has no text below its front matter.")
        return replace(
            front, title=front.title or title or path.stem, sections=sections
        )


class TextLoader:
    """Implements `loaders.FileLoader`. A text that fits nothing else is plain text."""

    noun = "plain text"
    suffixes = (".txt", ".text")
    isolated = False

    def fit(self, sample: Sample) -> Fit:
        if sample.text is None:
            return Fit.NO
        return Fit.DECLARED if sample.is_named(self.suffixes) else Fit.ANY_TEXT

    def load(self, path: Path) -> Loaded:
        return Loaded(path.stem, lay_out([Section((), read_text(path))]))


def markdown_sections(text: str) -> tuple[str, tuple[Section, ...]]:
    """Return the title ("" if there is none) and the sections of a Markdown text. A
    heading with nothing below it is a section of its own, so that searches find it. A
    title alone is the text.
    """
    lines = text.split("\n")
    outline = HeadingOutline()
    title = ""
    name = ""
    level = position = 0
    tokens = _block_reader().parse(text)
    for place, token in enumerate(tokens):
        if token.map is None or token.type not in ("heading_open", "fence"):
            continue
        start, end = token.map
        if token.type == "fence":
            _add_text(outline, lines[position:start])
            outline.add("\n".join(lines[start:end]), gap=LINE)
            position = end
            continue
        heading = drop_strong(tokens[place + 1].content)
        if not heading:
            continue
        _add_text(outline, lines[position:start])
        position = end
        above = level
        level = int(token.tag.removeprefix("h"))
        if outline.is_bare and level <= above:
            outline.add(name)
        if level == 1 and outline.is_bare and not (name or title):
            title = heading
            continue
        name = heading
        outline.heading(level, name)
    _add_text(outline, lines[position:])
    if outline.is_bare:
        outline.add(name)
    sections = lay_out(outline.sections(keep_title=True))
    return title, sections or lay_out([Section((), title)])


_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
"""Below the names of a table's columns."""
_CELL_BORDER = re.compile(r"(?<!\\)\|")


def _add_text(outline: HeadingOutline, lines: Sequence[str]) -> None:
    """Add lines without headings and code, and the tables among them."""
    start = 0
    for number, line in enumerate(lines):
        if number <= start or "|" not in line or "|" not in lines[number - 1]:
            continue
        if not _RULE.fullmatch(line):
            continue
        end = number + 1
        while end < len(lines) and "|" in lines[end]:
            end += 1
        _add_text(outline, lines[start : number - 1])
        rows = [_cells(lines[number - 1]), *map(_cells, lines[number + 1 : end])]
        outline.table(rows, heads=1)
        start = end
    text = drop_strong("\n".join(lines[start:]))
    if text.strip():
        outline.add(text, gap=LINE)


def _cells(line: str) -> list[str]:
    cells = _CELL_BORDER.split(line.strip().removeprefix("|"))
    return [drop_strong(cell.replace("\\|", "|")) for cell in cells]


@cache
def _block_reader() -> "MarkdownIt":
    """Return a reader of headings and code blocks. Every other line is passed over one
    by one, because the tokens of a long file's paragraphs and lists fill the memory.
    """
    from markdown_it import MarkdownIt

    reader = MarkdownIt("zero").enable(["heading", "fence", "code"])
    reader.disable("inline")
    reader.block.ruler.at("paragraph", _pass_line)
    return reader


def _pass_line(state: "StateBlock", line: int, end: int, silent: bool) -> bool:
    """Implement a rule of blocks for markdown-it."""
    state.line = line + 1
    return True


def drop_strong(text: str) -> str:
    """Drop the marks of strong emphasis around words."""
    return _STRONG.sub(lambda match: match[0] if match[2] is None else match[3], text)


MAX_FRONT_MATTER_LINES = 200
"""If it is not closed by then, it is a text that begins with a rule."""
_KEY = re.compile(r"([A-Za-z_][\w -]*?)\s*:(?:\s+(.*))?")
_ITEM = re.compile(r"\s*-\s+(.*)")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_BLOCK = {"|", ">", "|-", ">-", "|+", ">+"}
_YEARS = range(1000, 3001)
_NO_FRONT_MATTER = Loaded("", sections=())
_Entry = tuple[int, list[str]]
"""The line of a key, counted from 1 in the file, and its values."""


_PUBLICATION_KEYS = {
    "authors": ("authors", "author"),
    "publisher": ("publisher",),
    "published": ("publication_date", "date", "published"),
    "url": ("source_url", "url", "canonical_url"),
}


def _end_of_front_matter(lines: Sequence[str]) -> int:
    """Return the number of the line that closes it, 0 if there is none."""
    for number, line in enumerate(lines[1 : MAX_FRONT_MATTER_LINES + 2], start=1):
        if line.rstrip() in {"---", "..."}:
            return number
    return 0


def _publication(entries: Mapping[str, _Entry]) -> dict[str, str]:
    """Return who wrote and published it, when and where."""
    properties: dict[str, str] = {}
    for field, keys in _PUBLICATION_KEYS.items():
        for key in keys:
            _, values = entries.get(key, (0, []))
            if values and field not in properties:
                properties[field] = AUTHOR_SEPARATOR.join(values)
    return properties


def read_front_matter(text: str, name: str) -> tuple[Loaded, str]:
    """Return the front matter (empty if there is none) and the text below it. Messages
    call the file ``name``. Raises LoadError: its year is not a year.
    """
    lines = text.lstrip("\n").split("\n", MAX_FRONT_MATTER_LINES + 2)
    skipped = len(text) - len(text.lstrip("\n"))
    if lines[0].rstrip() != "---":
        return _NO_FRONT_MATTER, text
    end = _end_of_front_matter(lines)
    if not end:
        return _NO_FRONT_MATTER, text
    entries = _entries(lines[1:end], first=skipped + 2)
    if not entries:
        return _NO_FRONT_MATTER, text
    texts: dict[str, str] = {}
    for key, (_, values) in entries.items():
        texts[key] = " ".join(values).strip()

    def first(*keys: str) -> str:
        for key in keys:
            if texts.get(key):
                return key
        return ""

    metadata: dict[str, Value] = {}
    country = first("country_name", "country")
    if country:
        metadata["country_name"] = texts[country]
    year = texts.get("year")
    if year:
        if not (year.isdecimal() and int(year) in _YEARS):
            number, _ = entries["year"]
            raise LoadError(
                f"{name}: line {number}: year must be a year such as 2024, not "
                f"{year[:40]!r}."
            )
        metadata["year"] = int(year)
    kind = texts.get("type")
    if kind:
        metadata["type"] = kind
    _, labels = entries.get(first("labels", "tags", "keywords"), (0, []))
    if len(labels) == 1:
        labels = [part.strip() for part in labels[0].split(",")]
    description = texts.get(first("description", "summary", "abstract"), "")
    properties = _publication(entries)
    if "date" in texts:
        properties["created"] = texts["date"]
    front = Loaded(
        texts.get("title", ""),
        (),
        None,
        metadata,
        (*filter(None, labels),),
        description,
        properties=properties,
    )
    return front, "\n".join(lines[end + 1 :])


def _entries(lines: Sequence[str], *, first: int) -> dict[str, _Entry] | None:
    """Return entries by key in lower case; None if a line cannot be part of front
    matter.
    """
    entries: dict[str, _Entry] = {}
    values: list[str] | None = None
    for number, line in enumerate(lines, start=first):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if key := _KEY.fullmatch(line.rstrip()):
            values = _values(key[2] or "")
            entries[key[1].lower().replace("-", "_").replace(" ", "_")] = number, values
        elif values is not None and (item := _ITEM.fullmatch(line)):
            values.append(_unquoted(item[1]))
        elif values is not None and line[0] in " \t":
            values.append(line.strip())
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
