"""Headings and paragraphs in reading order, to a title and sections: what Word files and web pages have in common."""

from __future__ import annotations

from collections.abc import Iterator

from ..schema import Section

PARAGRAPH = "\n\n"
LINE = "\n"


class Outline:
    """Collects what a reader of a document meets, top to bottom. Levels of headings: 1 is the highest."""

    def __init__(self) -> None:
        self._headings: dict[int, str] = {}
        self._parts: list[tuple[dict[int, str], list[str]]] = [({}, [])]
        self._names: list[tuple[int, str]] = []

    def heading(self, level: int, text: str) -> None:
        """A heading of ``level`` closes those of the same level and below."""
        self._names.append((level, text))
        self._headings = {kept: name for kept, name in self._headings.items() if kept < level} | {level: text}
        self._parts.append((self._headings, []))

    def add(self, text: str, *, gap: str = PARAGRAPH) -> None:
        """A paragraph, a list item or a table; ``gap`` is what parts it from the text above it."""
        if text:
            _, texts = self._parts[-1]
            texts.append(gap + text if texts else text)

    def title(self) -> str:
        """The only heading of level 1, where it is the first heading: it names the document, not a part of it."""
        top = [name for level, name in self._names if level == 1]
        return top[0] if len(top) == 1 and self._names[0][0] == 1 else ""

    def sections(self, *, keep_title: bool = False) -> Iterator[Section]:
        """In order. The paths leave the title out, unless ``keep_title``: the document has another one above it."""
        lowest = 1 if self.title() and not keep_title else 0
        for headings, texts in self._parts:
            path = tuple(headings[level] for level in sorted(headings) if level > lowest)
            yield Section(path, "".join(texts))
