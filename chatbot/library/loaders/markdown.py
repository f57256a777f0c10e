"""Markdown: headings become section paths, the first top-level heading the title, front
matter the metadata. Plain text is one section without a heading.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...domain import Loaded, Section
from ...domain.documents import AUTHOR_SEPARATOR, lay_out
from ...domain.errors import LoadError, read_table
from ...domain.scope import Value
from . import Fit, Sample
from .html import read_fragment
from .html_outline import HtmlReader
from .markdown_page import MARKUP, TEMPLATE, drop_strong, page_writer
from .sections import HeadingOutline
from .text import read_text

_FENCE = re.compile(r"```|~~~")
_ANY_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)
_INDENTED_TAG = re.compile(r"^[ \t]{4,}(?=</?[a-zA-Z])", re.MULTILINE)
"""It is no code: it belongs to the element around it."""
_NUMBER = re.compile(r"^( {0,9}\d{1,3})([.)])(?=\s)", re.MULTILINE)
"""Of an item: a reader sees it."""
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t]*$", re.MULTILINE)
_DEFINITION = re.compile(r" {0,3}\[[^\]^][^\]]*\]:\s*\S")
"""Of a link that the text names."""
_OPENING = re.compile(
    r" {0,3}(?:(`{3,})[^`]*$|(~{3,})|<!--(?!.*-->)|<(?:script|style|pre)\b(?!.*</))",
    re.IGNORECASE,
)
"""Begins lines that may look like headings."""
_CLOSING = re.compile(r"-->|</(?:script|style|pre)>", re.IGNORECASE)


class MarkdownLoader:
    """Implements `loaders.FileLoader`: the text that a page made of it shows."""

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
        title, sections = markdown_sections(body, path.name)
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


def markdown_sections(
    text: str, name: str = "The text"
) -> tuple[str, tuple[Section, ...]]:
    """Return the title ("" if there is none) and the sections of a Markdown text, as a
    page shows them. A heading with nothing below it is a section of its own, so that
    searches find it. A title alone is the text. Raises LoadError, whose message calls
    the text ``name``: the HTML in it nests too deep.
    """
    reader = HtmlReader()
    reader.outline = outline = _Outline()
    lines = text.split("\n")
    links: dict[str, Any] = {}
    page_writer().parse("\n".join(filter(_DEFINITION.match, lines)), links)
    for piece in _pieces(lines):
        plain = "\n".join(piece)
        if not _FENCE.search(plain):
            plain = _INDENTED_TAG.sub("   ", drop_strong(plain))
            plain = _NUMBER.sub(r"\1\\\2", plain)
        if "`" not in plain:
            plain = TEMPLATE.sub("", plain)
        if MARKUP.search(plain) or (links and "[" in plain):
            read_fragment(page_writer().render(plain, links), name, reader)
            continue
        heading = _HEADING.match(plain)
        if heading is not None:
            outline.heading(len(heading[1]), heading[2])
            plain = plain[heading.end() :]
        outline.add(plain.strip())
    outline.keep_bare(0)
    sections = lay_out(outline.sections(keep_title=True))
    return outline.first, sections or lay_out([Section((), outline.first)])


class _Outline(HeadingOutline):
    """The outline of a text whose first heading is its title if it is of level 1."""

    first = ""

    def heading(self, level: int, text: str) -> None:
        self.keep_bare(level)
        if level == 1 and self.is_bare and not (self._names or self.first):
            self.first = text
            return
        super().heading(level, text)

    def keep_bare(self, level: int) -> None:
        """Make the last heading the text below it if a heading of ``level`` leaves it
        without one.
        """
        if self.is_bare and self._names and level <= self._names[-1][0]:
            self.add(self._names[-1][1])


def _pieces(lines: Sequence[str], characters: int = 100_000) -> Iterator[list[str]]:
    """Yield the lines of each heading with the text below it, of a longer text about as
    many ``characters``, up to an empty line: the tokens and elements of a long file
    would fill the memory.
    """
    piece: list[str] = []
    size = 0
    closing: re.Pattern[str] | None = None
    for line in lines:
        if closing is not None:
            if closing.search(line):
                closing = None
        elif _HEADING.match(line) or (size > characters and not line):
            yield piece
            piece = []
            size = 0
        elif opening := _OPENING.match(line):
            mark = opening[1] or opening[2]
            closing = _CLOSING
            if mark:
                closing = re.compile(rf"^ {{0,3}}{mark}{mark[0]}*\s*$")
        piece.append(line)
        size += len(line)
    yield piece


MAX_FRONT_MATTER_LINES = 200
"""If it is not closed by then, it is a text that begins with a rule."""
_KEY = re.compile(r"([A-Za-z_][\w -]*?)\s*(?::(?:\s+|$)|=\s*)(.*)")
_SKIPPED = re.compile(r"\s*(?:#.*|\[[\w.\[\]]+\]\s*)?")
"""An empty line, a comment, or the name of a table of TOML."""
_NAMED = re.compile(r"(?:\{\s*)?name\s*[:=]\s*(.*?)(?:\s*\})?")
"""The name of a person: "name: Ada Lo", {name = "Ada Lo"}."""
_ITEM = re.compile(r"\s*-\s+(.*)")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_BLOCK = {"|", ">", "|-", ">-", "|+", ">+"}
_YEARS = range(1000, 3001)
_NO_FRONT_MATTER = Loaded("", sections=())
_Entry = tuple[int, list[str]]
"""The line of a key, counted from 1 in the file, and its values."""


_KEYS = read_table(__package__, "keys")["front_matter"]
"""The keys of each field, the first that is filled counts."""
_PROPERTIES = ("authors", "publisher", "published", "created", "url")


def _end_of_front_matter(lines: Sequence[str]) -> int:
    """Return the number of the line that closes it, 0 if there is none. Hugo's has its
    own marks.
    """
    marks = {"---": {"---", "..."}, "+++": {"+++"}}.get(lines[0].rstrip(), set())
    for number, line in enumerate(lines[1 : MAX_FRONT_MATTER_LINES + 2], start=1):
        if line.rstrip() in marks:
            return number
    return 0


def _stated_metadata(texts: Mapping[str, str], where: str) -> dict[str, Value]:
    """Return country, kind and year of the front matter. Raises LoadError, which says
    ``where``: its year is not a year.
    """
    metadata: dict[str, Value] = {
        field: texts[field] for field in ("country_name", "type") if field in texts
    }
    year = texts.get("year")
    if not year:
        return metadata
    if not (year.isdecimal() and int(year) in _YEARS):
        raise LoadError(
            f"{where}: year must be a year such as 2024, not {year[:40]!r}."
        )
    metadata["year"] = int(year)
    return metadata


def read_front_matter(text: str, name: str) -> tuple[Loaded, str]:
    """Return the front matter (empty if there is none) and the text below it. Messages
    call the file ``name``. Raises LoadError: its year is not a year.
    """
    lines = text.lstrip("\n").split("\n", MAX_FRONT_MATTER_LINES + 2)
    skipped = len(text) - len(text.lstrip("\n"))
    end = _end_of_front_matter(lines)
    if not end:
        return _NO_FRONT_MATTER, text
    entries = _entries(lines[1:end], first=skipped + 2)
    if not entries:
        return _NO_FRONT_MATTER, text
    stated: dict[str, list[str]] = {}
    for field, keys in _KEYS.items():
        for key in keys:
            _, values = entries.get(key, (0, []))
            if values:
                stated.setdefault(field, values)
    texts = {field: " ".join(values).strip() for field, values in stated.items()}
    number, _ = entries.get("year", (0, []))
    metadata = _stated_metadata(texts, f"{name}: line {number}")
    labels = stated.get("labels", [])
    if len(labels) == 1:
        labels = [part.strip() for part in labels[0].split(",")]
    front = Loaded(
        texts.get("title", ""),
        (),
        None,
        metadata,
        (*filter(None, labels),),
        texts.get("description", ""),
        properties={
            field: AUTHOR_SEPARATOR.join(stated[field])
            for field in _PROPERTIES
            if field in stated
        },
    )
    return front, "\n".join(lines[end + 1 :])


def _entries(lines: Sequence[str], *, first: int) -> dict[str, _Entry] | None:
    """Return entries by key in lower case; None if a line cannot be part of front
    matter.
    """
    entries: dict[str, _Entry] = {}
    values: list[str] | None = None
    for number, line in enumerate(lines, start=first):
        if _SKIPPED.fullmatch(line):
            continue
        if key := _KEY.fullmatch(line.rstrip()):
            values = _values(key[2])
            entries[key[1].lower().replace("-", "_").replace(" ", "_")] = number, values
        elif values is not None and (item := _ITEM.fullmatch(line)):
            values.append(_unquoted(item[1]))
        elif values is not None and line[0] in " \t":
            values.append(_unquoted(line))
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
    named = _NAMED.fullmatch(text)
    if named is not None:
        text = named[1]
    if len(text) > 1 and text[0] in "'\"":
        closing = text.find(text[0], 1)
        return text[1:closing] if closing > 0 else text
    return _COMMENT.sub("", text).strip()
