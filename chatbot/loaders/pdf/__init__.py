"""PDF: the text of each page in reading order, headings as section paths, tables as lines.

Read from here down: `document` opens the file, `page` reads one page (its `words`, `columns` and `tables`, from what
`drawing` takes of its `content`), `outline` makes sections of all. No permissively licensed library kept as many table
rows whole (benchmarks/table_structure.py).
"""

from __future__ import annotations

from pathlib import Path

from ...schema import Loaded
from ..formats import Fit, Sample

_WITHIN = 1024
"""Bytes. Other programs put mail headers and the like before a PDF."""


class PdfLoader:
    """Implements `formats.FileLoader`."""

    noun = "a PDF"
    suffixes = (".pdf",)
    isolated = True

    def fit(self, sample: Sample) -> Fit:
        start = sample.head.find(b"%PDF-", 0, _WITHIN)
        if start < 0:
            return Fit.NO
        # A text may speak of "%PDF-" as well.
        first = not sample.head[:start].strip(b"\xef\xbb\xbf \t\r\n")
        return Fit.CERTAIN if first or sample.is_named(self.suffixes) or b"\0" in sample.head else Fit.NO

    def load(self, path: Path) -> Loaded:
        """``Section.page`` counts the pages of the file from 1."""
        from .document import read_pdf

        return read_pdf(path)
