"""Markdown: headings become section paths, the first top-level heading the title."""

from __future__ import annotations

import re
from pathlib import Path

from ..schema import Loaded, Section, lay_out
from .text import read_text

_HEADING = re.compile(r"^(#{1,6})\s+(.+?)(?:\s+#+)?\s*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_STRONG = "**"


class MarkdownLoader:
    """Implements `protocols.Loader`. Marks of strong emphasis are dropped: they are neither searched nor quoted."""

    suffixes = (".md", ".markdown")

    def load(self, path: Path) -> Loaded:
        title, sections = markdown_sections(read_text(path))
        return Loaded(title or path.stem, sections)


def markdown_sections(text: str) -> tuple[str, tuple[Section, ...]]:
    """The title ("" where there is none) and the sections of a Markdown text."""
    title, sections, headings = "", list[Section](), dict[int, str]()
    lines: list[str] = []
    fenced = False

    def close() -> None:
        body = "\n".join(lines).replace(_STRONG, "")
        lines.clear()
        if body.strip():
            sections.append(Section(tuple(headings[level] for level in sorted(headings)), body))

    for line in text.split("\n"):
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else _HEADING.match(line)
        if heading is None:
            lines.append(line)
            continue
        close()
        level, name = len(heading[1]), heading[2]
        if level == 1 and not headings and not sections:
            title = name
            continue
        headings = {kept: text for kept, text in headings.items() if kept < level} | {level: name}
    close()
    return title, lay_out(sections)


def build() -> MarkdownLoader:
    return MarkdownLoader()
