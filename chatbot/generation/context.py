"""Numbered passages within a token budget: search small, show wide."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Protocol

from ..schema import ATTACHMENTS, SECTION_SEPARATOR, Chunk, Context, Passage, SearchHit
from ..text import estimate_tokens

PART = "\n\n"
_UNSEEN = "[\\s\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]*"
_LETTERS = _UNSEEN.join(f"[{letter}{chr(ord(letter) + 0xFEE0)}]" for letter in "passage")
_DELIMITER = re.compile(rf"(?:[<＜﹤]|&(?:lt|#0*60|#x0*3c);?)(?={_UNSEEN}(?:[/／]{_UNSEEN})*{_LETTERS})", re.IGNORECASE)
"""The start of a passage tag, also with invisible characters, in full width, or as an HTML entity."""


class Neighbourhood(Protocol):
    """What of a store a context needs."""

    def surroundings(self, chunk: Chunk, *, margin: int) -> list[Chunk]: ...


def build_context(hits: Sequence[SearchHit], store: Neighbourhood, *, budget_tokens: int, margin: int) -> Context:
    """Passages numbered by rank, best first, until ``budget_tokens`` (estimated) are used; the first always fits.

    Each shows the ``margin`` characters around it, without what another hit shows anyway.
    """
    taken = {hit.chunk.id for hit in hits}
    passages: list[Passage] = []
    used = 0
    for hit in hits:
        around = store.surroundings(hit.chunk, margin=margin) if margin else [hit.chunk]
        shown = [chunk for chunk in around if chunk.id == hit.chunk.id or chunk.id not in taken]
        wider = wider_text(hit.chunk, shown, margin=margin)
        tokens = estimate_tokens(wider)
        if used + tokens > budget_tokens:
            shown, wider = [hit.chunk], hit.chunk.text
            tokens = estimate_tokens(wider)
            if passages and used + tokens > budget_tokens:
                break
        taken.update(chunk.id for chunk in shown)
        used += tokens
        passages.append(Passage(len(passages) + 1, hit, wider))
    return Context(tuple(passages))


def wider_text(chunk: Chunk, around: Sequence[Chunk], *, margin: int) -> str:
    """The chunk with its neighbours in the report, cut to ``margin`` characters on each side.

    Where neighbours stand under other headings, each part is introduced by its own, so that a figure keeps its name.
    Where passages overlap, the chunk is whole and its neighbours go without what they share.
    """
    labelled = any(other.section != chunk.section for other in around)
    earlier = [other for other in around if other.ordinal < chunk.ordinal]
    later = [other for other in around if other.ordinal > chunk.ordinal]
    own_before = [_without(other, end=_shared(other, after)) for other, after in pairwise([*earlier, chunk])]
    own_after = [_without(other, start=_shared(before, other)) for before, other in pairwise([chunk, *later])]
    before = PART.join(_part(other, labelled) for other in own_before if other.text)
    after = PART.join(_part(other, labelled) for other in own_after if other.text)
    head = before[-margin:] if margin else ""
    tail = after[:margin]
    # A cut line is dropped: half a figure is worse than none.
    if len(before) > margin:
        head = head.partition("\n")[2].strip()
    if len(after) > margin:
        tail = tail.rpartition("\n")[0].strip()
    return PART.join(part for part in (head, _part(chunk, labelled), tail) if part)


def _shared(first: Chunk, second: Chunk) -> int:
    """Characters at the end of the first that the second begins with, by their offsets.

    None where the texts do not bear that out: passages of older systems have no offsets.
    """
    shared = first.end - second.start
    return shared if shared > 0 and first.text[-shared:] == second.text[:shared] else 0


def _without(chunk: Chunk, *, start: int = 0, end: int = 0) -> Chunk:
    """The chunk without so many characters at its start and at its end."""
    return replace(chunk, text=chunk.text[start : len(chunk.text) - end].strip()) if start or end else chunk


def _part(chunk: Chunk, labelled: bool) -> str:
    heading = chunk.section.rpartition(SECTION_SEPARATOR)[2]
    return f"{heading}: {chunk.text}" if labelled and heading else chunk.text


def render_passage(passage: Passage) -> str:
    """A passage as the model sees it: source lines, then the text between delimiters it cannot imitate."""
    chunk = passage.hit.chunk
    if chunk.collection == ATTACHMENTS:  # three labelled lines, as seed 000 has them (R-A3)
        head = (
            f'<passage number="{passage.number}">\nSource: {_inert(chunk.document_name)}\nTitle: {_inert(chunk.title)}'
        )
        return f"{head}\nContent: {_inert(passage.wider_text)}\n</passage>"
    page = f", page {chunk.page}" if chunk.page is not None else ""
    head = f'<passage number="{passage.number}">\nReport: {_inert(chunk.title)}{page}\nSection: {_inert(chunk.section)}'
    return f"{head}\n{_inert(passage.wider_text)}\n</passage>"


def _inert(text: str) -> str:
    return _DELIMITER.sub("(", text)
