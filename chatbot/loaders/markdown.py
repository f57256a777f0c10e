"""Markdown: headings become section paths, the first top-level heading the title."""

from __future__ import annotations

import re
from pathlib import Path

from ..schema import Section
from .text import read_text

_HEADING = re.compile(r"^(#{1,6})\s+(.+?)(?:\s+#+)?\s*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_STRONG = "**"


class MarkdownLoader:
    """Implements `protocols.Loader`. Marks of strong emphasis are dropped: they are neither searched nor quoted."""

    suffixes = (".md", ".markdown")

    def load(self, path: Path) -> tuple[str, list[Section]]:
        text = read_text(path)
        title, sections, headings = path.stem, list[Section](), dict[int, str]()
        lines: list[str] = []
        offset = 0
        fenced = False

        def close() -> None:
            nonlocal offset
            body = "\n".join(lines).replace(_STRONG, "").strip()
            lines.clear()
            if body:
                sections.append(Section(tuple(headings[level] for level in sorted(headings)), body, offset))
                offset += len(body) + 2

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
        return title, sections


def build() -> MarkdownLoader:
    return MarkdownLoader()
