"""Passages of whole words, wherever that cuts a sentence: the plainest strategy."""

from __future__ import annotations

from . import BaseChunker
from .splitting import words


class PlainChunker(BaseChunker):
    """Fills each passage up to the size; the overlap is in whole words."""

    borders = (words,)


build = PlainChunker
