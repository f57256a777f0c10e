"""PDF: the text of each page in reading order, headings as section paths, tables as lines.

`document` opens the file. `page` reads one page: its `drawing` (from the operators in `content`) to `words`, `tables`
and columns. `outline` makes sections of all pages. No permissively licensed library kept as many table rows whole
(benchmarks/table_structure.py).
"""

from __future__ import annotations

from pathlib import Path

from ....domain import Loaded
from ..formats import Fit, Sample

_HEAD_BYTES = 1024
"""Other programs put mail headers and the like before a PDF."""


class PdfLoader:
    noun = "a PDF"
    suffixes = (".pdf",)
    isolated = True

    def fit(self, sample: Sample) -> Fit:
        start = sample.head.find(b"%PDF-", 0, _HEAD_BYTES)
        if start < 0:
            return Fit.NO
        # A text may contain "%PDF-" as well.
        first = not sample.head[:start].strip(b"\xef\xbb\xbf \t\r\n")
        return Fit.CERTAIN if first or sample.is_named(self.suffixes) or b"\0" in sample.head else Fit.NO

    def load(self, path: Path) -> Loaded:
        """``Section.page`` counts the pages of the file from 1."""
        from .document import read_pdf

        return read_pdf(path)
