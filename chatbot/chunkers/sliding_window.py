"""Windows of one length over the words, whatever they say."""

from __future__ import annotations

from .base import BaseChunker
from .splitting import words


class SlidingWindowChunker(BaseChunker):
    """A text without spaces is cut at any character, with the overlap as well."""

    borders = (words,)


build = SlidingWindowChunker
