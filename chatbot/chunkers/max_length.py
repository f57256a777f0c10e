"""Paragraphs joined up to the size, without overlap (R-E5)."""

from __future__ import annotations

from .base import BaseChunker
from .splitting import paragraphs, words


class MaxLengthChunker(BaseChunker):
    """As `paragraph`, for those who want no text twice."""

    borders = (paragraphs, words)
    takes_overlap = False


build = MaxLengthChunker
