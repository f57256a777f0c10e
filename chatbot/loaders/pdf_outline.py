"""Pages to sections: the heading above a text is its path, on the next page as well."""

from __future__ import annotations

from collections.abc import Sequence

from ..schema import Section
from ..schema.documents import PARAGRAPH
from .pdf_flow import Caption, Heading, Part, flow, is_note
from .pdf_grid import Table
from .pdf_page import PageText
from .pdf_paragraphs import Paragraph
from .pdf_ruled import CAPTION
from .pdf_styles import Styles, styles_of
from .pdf_text import compounds
from .pdf_words import Line


def sections_of(pages: Sequence[PageText], title: str) -> tuple[str, list[Section]]:
    """The document's title and its sections.

    ``title``: what the file says it is called; where that is "", the largest heading of page 1 is the title. A
    heading that repeats the title is no section.
    """
    styles = styles_of(pages)
    hyphenated = compounds(b.text for page in pages for column in page.columns for b in column if isinstance(b, Line))
    outline: _Outline | None = None
    for page in pages:
        parts = flow(page, styles, hyphenated)
        if outline is None:
            title = title or (_largest_heading(parts, styles) if page.number == 1 else "")
            outline = _Outline(title, styles)
        outline.add(page.number, parts)
    return title, outline.finished() if outline else []


def _largest_heading(parts: Sequence[Part], styles: Styles) -> str:
    """Empty where nothing is larger than the body text."""
    found = [part for part in parts if isinstance(part, Heading) and part.size >= styles.larger_than]
    found = [heading for heading in found if not CAPTION.match(heading.text)]
    return max(found, key=lambda heading: heading.size).text if found else ""


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


class _Outline:
    """Collects sections. A heading with nothing below it is kept as text: it was perhaps none."""

    def __init__(self, title: str, styles: Styles) -> None:
        self._title = _plain(title)
        self._styles = styles
        self._sections: list[Section] = []
        self._headings: list[tuple[Heading, bool]] = []  # and whether something stands below it
        self._caption: Caption | None = None
        self._page = 0

    def add(self, page: int, parts: Sequence[Part]) -> None:
        self._page, self._caption = page, None
        for part in parts:
            if isinstance(part, Heading):
                self._open(part)
            elif isinstance(part, Caption):
                self._caption = part
            elif isinstance(part, Table):
                self._write("\n".join(part.lines))
            else:
                self._add_paragraph(part)

    def finished(self) -> list[Section]:
        self._close(0)
        return self._sections

    def _add_paragraph(self, paragraph: Paragraph) -> None:
        if self._caption and not is_note(paragraph, self._styles) and self._under_caption():
            self._caption = None
        self._write(paragraph.text)

    def _under_caption(self) -> bool:
        """The table called so has been written."""
        last = self._sections[-1] if self._sections else None
        return last is not None and self._caption is not None and last.path[-1:] == (self._caption.text,)

    def _open(self, heading: Heading) -> None:
        self._caption = None
        self._close(heading.level)
        if self._repeats_title(heading):
            self._close(0)
        else:
            self._headings.append((heading, False))

    def _repeats_title(self, heading: Heading) -> bool:
        """The title again, or on page 1 the first line of it."""
        name = _plain(heading.text)
        return name == self._title or (self._page == 1 and heading.level == 0 and self._title.startswith(f"{name} "))

    def _close(self, level: int) -> None:
        """Ends the headings of ``level`` and below."""
        kept = [(heading, used) for heading, used in self._headings if heading.level < level]
        unused = [heading.text for heading, used in self._headings[len(kept) :] if not used]
        self._headings = kept
        if unused:
            self._write(PARAGRAPH.join(unused))

    def _write(self, text: str) -> None:
        self._headings = [(heading, True) for heading, _ in self._headings]
        path = tuple(heading.text for heading, _ in self._headings)
        path += (self._caption.text,) if self._caption else ()
        last = self._sections[-1] if self._sections else None
        if last is not None and last.path == path and last.page == self._page:
            text = f"{last.text}{PARAGRAPH}{text}"
            self._sections.pop()
        self._sections.append(Section(path, text, page=self._page))
