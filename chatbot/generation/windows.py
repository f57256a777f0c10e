"""A chunk with the text around it: what a prompt and the page show of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from ..schema import SECTION_SEPARATOR, Chunk
from ..text import sentences

PART = "\n\n"
WHOLE = 1_000_000
"""A margin that cuts nothing."""


def wider_text(chunk: Chunk, around: Sequence[Chunk], *, margin: int) -> str:
    """The chunk with its neighbours in the report, cut to ``margin`` characters on each side.

    Where neighbours stand under other headings, each part is introduced by its own, so that a figure keeps its name.
    Where passages overlap, the chunk is whole and its neighbours go without what they share.
    """
    earlier = [other for other in around if other.ordinal < chunk.ordinal]
    later = [other for other in around if other.ordinal > chunk.ordinal]
    return window(chunk, earlier, later, before=margin, after=margin)


def window(
    chunk: Chunk, earlier: Sequence[Chunk], later: Sequence[Chunk], *, before: int, after: int, skip: int = 0
) -> str:
    """The chunk between its neighbours, in reading order, ``before`` and ``after`` characters of them.

    ``skip`` characters of the chunk itself stand elsewhere.
    """
    labelled = any(other.section != chunk.section for other in (*earlier, *later))
    own_before = [_without(other, end=shared(other, after_it)) for other, after_it in pairwise([*earlier, chunk])]
    own_after = [_without(other, start=shared(before_it, other)) for before_it, other in pairwise([chunk, *later])]
    head = PART.join(_part(other, labelled) for other in own_before if other.text)
    tail = PART.join(_part(other, labelled) for other in own_after if other.text)
    own = _part(_without(chunk, start=skip), labelled)
    return PART.join(part for part in (_last(head, before), own, _first(tail, after)) if part)


def shared(first: Chunk, second: Chunk) -> int:
    """Characters at the end of the first that the second begins with, by their offsets.

    None where the texts do not bear that out: passages of older systems have no offsets.
    """
    count = first.end - second.start
    return count if count > 0 and first.text[-count:] == second.text[:count] else 0


# A sentence or line that is cut is dropped: half a figure is worse than none.
def _last(text: str, size: int) -> str:
    if len(text) <= size:
        return text
    text = text[-size:] if size else ""
    pieces = sentences(text)
    return text[text.index(pieces[1], len(pieces[0])) :].strip() if len(pieces) > 1 else ""


def _first(text: str, size: int) -> str:
    if len(text) <= size:
        return text
    text = text[:size]
    pieces = sentences(text)
    return text[: text.rindex(pieces[-1])].strip() if len(pieces) > 1 else ""


def _without(chunk: Chunk, *, start: int = 0, end: int = 0) -> Chunk:
    """The chunk without so many characters at its start and at its end."""
    return replace(chunk, text=chunk.text[start : len(chunk.text) - end].strip()) if start or end else chunk


def _part(chunk: Chunk, labelled: bool) -> str:
    heading = chunk.section.rpartition(SECTION_SEPARATOR)[2]
    return f"{heading}: {chunk.text}" if labelled and heading else chunk.text
