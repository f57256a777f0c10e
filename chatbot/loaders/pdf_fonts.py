"""Ligatures that a PDF maps to their last letter only, as Ghostscript writes them: "first" would read "irst"."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from pdfminer.encodingdb import name2unicode
from pdfminer.pdffont import PDFFont
from pdfminer.pdfinterp import PDFResourceManager
from pdfminer.pdftypes import resolve1
from pdfminer.psparser import PSLiteral


class MendedFonts(PDFResourceManager):
    """pdfminer's font cache; what a glyph is called has the last word over a map that lost letters of it."""

    def get_font(self, objid: object, spec: Mapping[str, object]) -> PDFFont:
        font = super().get_font(objid, spec)
        letters = getattr(getattr(font, "unicode_map", None), "cid2unichr", None)
        if letters:
            for code, text in _ligatures(spec).items():
                if letters.get(code, text[-1]) == text[-1]:
                    letters[code] = text
        return font


def _ligatures(spec: Mapping[str, object]) -> dict[int, str]:
    """Codes of the font's ligature glyphs, by their names (``fi``, ``f_f_i``, ``T_h``)."""
    encoding = resolve1(spec.get("Encoding"))
    differences: Any = resolve1(encoding.get("Differences")) if isinstance(encoding, dict) else None
    found: dict[int, str] = {}
    code = 0
    for entry in differences if isinstance(differences, list) else []:
        if isinstance(entry, int):
            code = entry
        elif isinstance(entry, PSLiteral):
            if len(text := _letters(str(entry.name))) > 1:
                found[code] = text
            code += 1
    return found


def _letters(glyph: str) -> str:
    try:
        return unicodedata.normalize("NFKC", name2unicode(glyph))
    except (KeyError, ValueError):  # a name of the font maker's own
        return ""
