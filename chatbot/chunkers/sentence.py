"""Whole sentences, joined up to the size."""

from __future__ import annotations

from .base import BaseChunker
from .splitting import sentences, words


class SentenceChunker(BaseChunker):
    """The overlap is in whole sentences. Only a sentence longer than the size is cut, between words."""

    borders = (sentences, words)


build = SentenceChunker
