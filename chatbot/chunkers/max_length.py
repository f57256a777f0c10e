"""Paragraphs joined up to the size, without overlap (R-E5)."""

from __future__ import annotations

from .paragraph import ParagraphChunker


class MaxLengthChunker(ParagraphChunker):
    takes_overlap = False


build = MaxLengthChunker
