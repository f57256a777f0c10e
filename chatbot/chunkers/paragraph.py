"""Whole paragraphs, joined up to the size."""

from __future__ import annotations

from .base import BaseChunker
from .splitting import paragraphs, words


class ParagraphChunker(BaseChunker):
    """The overlap is in whole paragraphs. Only a paragraph longer than the size is cut, between words."""

    borders = (paragraphs, words)


build = ParagraphChunker
