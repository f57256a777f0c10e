"""Numbered passages within a token budget: search small, show wide.

Every hit keeps its own number, its rank, so that a citation leads to the chunk that was found and the page knows the
sources before the first word. Hits of one report whose windows meet are shown as one run of text, in reading order,
each with its share of it: nothing stands there twice, and what is between two hits belongs to the first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection as AnyOf
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

from ..prompts import inert, on_one_line, passage_fence
from ..schema import ATTACHMENTS, Chunk, Context, Passage, SearchHit
from ..text import estimate_tokens, sentences

PART = "\n\n"
WHOLE = 1_000_000
"""A margin that cuts nothing."""
_Counted = dict[tuple[int, str], int]
"""Tokens of passages by number and text."""


class Neighbourhood(Protocol):
    """What of a store a context needs."""

    def surroundings(self, chunks: Sequence[Chunk], *, margin: int) -> list[list[Chunk]]: ...


@dataclass(frozen=True, slots=True)
class _Shown:
    """A hit with the neighbours its window reaches; ``margin`` 0 = it is shown alone."""

    number: int
    hit: SearchHit
    neighbours: tuple[Chunk, ...]
    margin: int


def build_context(hits: Sequence[SearchHit], store: Neighbourhood, *, budget_tokens: int, margin: int) -> Context:
    """Passages numbered by rank, best first, until ``budget_tokens`` (estimated, with their source lines) are used.

    The first always fits. What is left of the budget shows the ``margin`` characters around each, the best first:
    another hit is worth more than surroundings.
    """
    counted: _Counted = {}

    def fits(shown: Sequence[_Shown]) -> bool:
        return _tokens(_lay_out(shown), counted) <= budget_tokens

    shown = [_Shown(number, hit, (), 0) for number, hit in enumerate(hits, start=1)]
    if not fits(shown):
        fewer = (count for count in range(2, len(shown)) if not fits(shown[:count]))
        shown = shown[: max(1, next(fewer, len(shown)) - 1)]
    around = store.surroundings([one.hit.chunk for one in shown], margin=margin) if margin else [[]] * len(shown)
    near = [_neighbours(one.hit.chunk, found) for one, found in zip(shown, around, strict=True)]
    wide = [replace(one, neighbours=own, margin=margin) if own else one for one, own in zip(shown, near, strict=True)]
    if fits(wide):  # mostly: one layout instead of one for each
        return _lay_out(wide)
    for place, one in enumerate(wide):
        wider = [*shown[:place], one, *shown[place + 1 :]]
        shown = wider if near[place] and fits(wider) else shown
    return _lay_out(shown)


def in_prompt_order(context: Context) -> list[Passage]:
    """The best at both ends, where models read best; runs of one report in reading order."""
    by_number = {passage.number: passage for passage in context.passages}
    return [by_number[number] for number in context.order or sorted(by_number)]


def keep_best(context: Context, keep: int) -> Context:
    """The ``keep`` best passages."""
    return _only(context, context.passages[:keep])


def restrict(context: Context, chunk_ids: AnyOf[str], *, budget_tokens: int) -> Context:
    """Only these passages, under their numbers, the best first until the budget is used; one always fits."""
    passages: list[Passage] = []
    counted: _Counted = {}
    for passage in context.passages:
        if passage.hit.chunk.id not in chunk_ids:
            continue
        passages.append(passage)
        if len(passages) > 1 and _tokens(Context(tuple(passages)), counted) > budget_tokens:
            passages.pop()
            break
    return _only(context, passages)


def render_passage(passage: Passage, *, metadata: bool = True) -> str:
    """Source lines with edition and page, then the text; the text alone without ``metadata``."""
    chunk = passage.hit.chunk
    if not metadata:
        return passage_fence(passage.number, inert(passage.wider_text))
    page = f", page {chunk.page}" if chunk.page is not None else ""
    if chunk.collection == ATTACHMENTS:  # three labelled lines, as seed 000 has them (R-A3)
        lines = [f"Source: {on_one_line(chunk.document_name)}{page}", f"Title: {on_one_line(chunk.title)}"]
        text = f"Content: {inert(passage.wider_text)}"
    else:
        year = chunk.metadata.get("year")
        edition = f", edition {on_one_line(str(year))}" if year is not None else ""
        lines = [f"Report: {on_one_line(chunk.title)}{edition}{page}", f"Section: {on_one_line(chunk.section)}"]
        text = inert(passage.wider_text)
    return passage_fence(passage.number, "\n".join([*lines, text]))


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
    own_before = [_without(other, end=overlap(other, after_it)) for other, after_it in pairwise([*earlier, chunk])]
    own_after = [_without(other, start=overlap(before_it, other)) for before_it, other in pairwise([chunk, *later])]
    head = PART.join(_part(other, labelled) for other in own_before if other.text)
    tail = PART.join(_part(other, labelled) for other in own_after if other.text)
    own = _part(_without(chunk, start=skip), labelled)
    return PART.join(part for part in (_last(head, before), own, _first(tail, after)) if part)


def overlap(first: Chunk, second: Chunk) -> int:
    """Characters at the end of the first that the second begins with, by their offsets.

    None where the texts do not bear that out: passages of older systems have no offsets.
    """
    count = first.end - second.start
    return count if count > 0 and first.text[-count:] == second.text[:count] else 0


def texts_of(chunks: Sequence[Chunk]) -> Iterator[str]:
    """Of passages in reading order: each without what it shares with the one before."""
    if chunks:
        yield chunks[0].text
    for before, chunk in pairwise(chunks):
        yield chunk.text[overlap(before, chunk) :]


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
    return f"{chunk.heading}: {chunk.text}" if labelled and chunk.heading else chunk.text


def _neighbours(chunk: Chunk, near: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """What stands around it; of a table only rows about the same: a scope holds for what is shown around a hit, too."""
    return tuple(other for other in near if other.id != chunk.id and other.metadata == chunk.metadata)


def _only(context: Context, passages: Sequence[Passage]) -> Context:
    numbers = {passage.number for passage in passages}
    return Context(tuple(passages), tuple(number for number in context.order if number in numbers))


def _tokens(context: Context, counted: _Counted) -> int:
    """Of its passages as they are rendered, each of which is ``counted`` once."""
    for passage in context.passages:
        if (key := (passage.number, passage.wider_text)) not in counted:
            counted[key] = estimate_tokens(render_passage(passage))
    return sum(counted[passage.number, passage.wider_text] for passage in context.passages)


def _lay_out(shown: Sequence[_Shown]) -> Context:
    documents: dict[tuple[str, str], list[_Shown]] = defaultdict(list)
    for one in shown:
        chunk = one.hit.chunk
        documents[chunk.document_id, Chunk.version_of(chunk.id)[1]].append(one)
    passages: list[Passage] = []
    runs: list[list[int]] = []
    for of_document in documents.values():
        for run in _runs(sorted(of_document, key=lambda one: (one.hit.chunk.ordinal, one.hit.chunk.start))):
            passages += _texts(run, of_document)
            runs.append([one.number for one in run])
    return Context(tuple(sorted(passages, key=lambda passage: passage.number)), tuple(_best_at_both_ends(runs)))


def _runs(in_order: Sequence[_Shown]) -> Iterator[list[_Shown]]:
    """The hits of a document, parted where their windows do not meet."""
    run = [in_order[0]]
    for before, one in pairwise(in_order):
        if not _meet(before, one):
            yield run
            run = []
        run.append(one)
    yield run


def _meet(first: _Shown, second: _Shown) -> bool:
    """Whether they follow each other, or all that is between them is reached from both."""
    before, after = first.hit.chunk, second.hit.chunk
    if after.ordinal == before.ordinal + 1:
        return True
    between = {chunk.ordinal for chunk in _between((first, second), before.ordinal, after.ordinal)}
    complete = len(between) == after.ordinal - before.ordinal - 1 > 0
    return complete and after.start - before.end <= first.margin + second.margin


def _between(shown: Iterable[_Shown], first: int, last: int) -> list[Chunk]:
    """The neighbours with an ordinal between these two, in reading order, each once."""
    found = {chunk.ordinal: chunk for one in shown for chunk in one.neighbours if first < chunk.ordinal < last}
    return [found[ordinal] for ordinal in sorted(found)]


def _texts(run: Sequence[_Shown], of_document: Sequence[_Shown]) -> Iterator[Passage]:
    """The share of each hit of a run."""
    ordinals = sorted(one.hit.chunk.ordinal for one in of_document)
    for before, one, after in zip([None, *run], run, [*run[1:], None], strict=False):
        chunk = one.hit.chunk
        floor = max((ordinal for ordinal in ordinals if ordinal < chunk.ordinal), default=-1)
        ceiling = min((ordinal for ordinal in ordinals if ordinal > chunk.ordinal), default=WHOLE)
        earlier = [] if before else _between([one], floor, chunk.ordinal)
        later = _between([one, after] if after else [one], chunk.ordinal, ceiling)
        skip = overlap(before.hit.chunk, chunk) if before and before.hit.chunk.ordinal + 1 == chunk.ordinal else 0
        text = window(
            chunk, earlier, later,
            before=one.margin, after=WHOLE if after else one.margin,
            skip=skip if skip < len(chunk.text) else 0,
        )  # fmt: skip
        yield Passage(one.number, one.hit, text)


def _best_at_both_ends(runs: Iterable[Sequence[int]]) -> Iterator[int]:
    """The numbers in the order of a prompt: the runs as 1, 3, 5, ... 4, 2 by the best number of each."""
    ranked = sorted(runs, key=min)
    for run in (*ranked[::2], *ranked[1::2][::-1]):
        yield from run
