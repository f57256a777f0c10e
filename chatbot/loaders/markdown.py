"""Markdown: headings become section paths, the first top-level heading the title, front matter the metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..errors import LoadError
from ..schema import Loaded, Section, lay_out
from .front_matter import read_front_matter
from .text import read_text

_HEADING = re.compile(r"^(#{1,6})\s+(.+?)(?:\s+#+)?\s*$")
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
# Marks that open before a word and close after one. Code and formulas keep theirs (2**10); the length is bounded so
# that a text full of opening marks is not searched to its end for each.
_STRONG = re.compile(
    r"(`+)(?!`).{1,500}?(?<!`)\1(?!`)"
    r"|\$(?=\S)[^$\n]{1,500}?(?<=\S)\$(?!\d)"
    r"|(?<![\w\\*])(\*{2,3})(?=[^\s*])((?:(?!\n\s*\n).){1,500}?)(?<=[^\s*])\2(?![\w*])",
    re.DOTALL,
)


class MarkdownLoader:
    """Implements `protocols.Loader`. Marks of strong emphasis are dropped: they are neither searched nor quoted."""

    suffixes = (".md", ".markdown")

    def load(self, path: Path) -> Loaded:
        front, body = read_front_matter(read_text(path), path.name)
        title, sections = markdown_sections(body)
        if not sections:
            raise LoadError(f"{path.name} has no text below its front matter.")
        title = front.title or title or path.stem
        return Loaded(title, sections, None, front.metadata, front.labels, front.description)


def markdown_sections(text: str) -> tuple[str, tuple[Section, ...]]:
    """The title ("" where there is none) and the sections of a Markdown text.

    A heading with nothing below it is a section of its own, so that it can be found; a title alone is the text.
    """
    title, sections, headings = "", list[Section](), dict[int, str]()
    parts = list(_parts(text))
    for place, (level, name, body) in enumerate(parts):
        if level == 1 and not headings and not sections and not title:
            title = name
        elif level:
            headings = {kept: text for kept, text in headings.items() if kept < level} | {level: name}
        path = tuple(headings[level] for level in sorted(headings))
        bare = bool(path) and (place + 1 == len(parts) or parts[place + 1][0] <= level)
        if body or bare:
            sections.append(Section(path, body or name))
    return title, lay_out(sections or [Section((), title)])


def _parts(text: str) -> Iterator[tuple[int, str, str]]:
    """Level, heading and what stands below it, up to the next heading; level 0 is what stands above the first."""
    level, name, runs, fence = 0, "", list[str](), ""
    lines: list[str] = []

    def end_run(*, code: bool) -> None:
        runs.append("\n".join(lines) if code else drop_strong("\n".join(lines)))
        lines.clear()

    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            lines.append(line)
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                end_run(code=True)
                fence = ""
        elif mark:
            end_run(code=False)
            lines.append(line)
            fence = mark[1]
        elif heading := _HEADING.match(line):
            end_run(code=False)
            yield level, name, "\n".join(runs).strip()
            runs.clear()
            level, name = len(heading[1]), drop_strong(heading[2])
        else:
            lines.append(line)
    end_run(code=bool(fence))
    yield level, name, "\n".join(runs).strip()


def drop_strong(text: str) -> str:
    """The text without the marks of strong emphasis around words."""
    return _STRONG.sub(lambda match: match[0] if match[2] is None else match[3], text)


def build() -> MarkdownLoader:
    return MarkdownLoader()
