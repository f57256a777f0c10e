"""The parts of a document that no passage leaves."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from ..schema import Document, Section, document_text


@dataclass(frozen=True, slots=True)
class Run:
    """Text of consecutive sections. ``start`` = its offset in the document's text; all other positions are in `text`.

    ``ends``: where each section's text ends. What is before it and after the last section's end is its heading.
    """

    text: str
    start: int
    sections: tuple[Section, ...]
    ends: tuple[int, ...]
    headings: frozenset[int] = frozenset()
    """Where headings end."""

    def section_at(self, position: int) -> int:
        """Which of the sections a passage that starts here belongs to."""
        return bisect_right(self.ends, position)


def section_runs(document: Document) -> Iterator[Run]:
    """Each section by itself, without its heading."""
    for section in document.sections:
        yield Run(section.text, section.start, (section,), (len(section.text),))


def page_runs(document: Document) -> Iterator[Run]:
    """Consecutive sections on one page and about the same, with their headings as in `schema.document_text`.

    So a passage never spans two pages, nor two table rows that have metadata of their own.
    """
    text = document_text(document.sections)
    start = 0
    for _, group in groupby(document.sections, key=lambda section: (section.page, dict(section.metadata))):
        sections = tuple(group)
        ends = tuple(section.start + len(section.text) - start for section in sections)
        headings = set[int]()
        for section, before in zip(sections, (0, *ends), strict=False):
            if heading := text[start + before : section.start].rstrip():
                headings.add(before + len(heading))
        yield Run(text[start : start + ends[-1]], start, sections, ends, frozenset(headings))
        start += ends[-1]
