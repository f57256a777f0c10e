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

from ..schema import Chunk, Context, Passage, SearchHit
from ..text import estimate_tokens
from .rendering import render_passage
from .windows import WHOLE, shared, wider_text, window

__all__ = ["Neighbourhood", "build_context", "in_prompt_order", "shortened", "wider_text", "within"]


class Neighbourhood(Protocol):
    """What of a store a context needs."""

    def surroundings(self, chunk: Chunk, *, margin: int) -> list[Chunk]: ...


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
    shown: list[_Shown] = []
    for number, hit in enumerate(hits, start=1):
        one = _Shown(number, hit, (), 0)
        if shown and _tokens(_lay_out([*shown, one])) > budget_tokens:
            break
        shown.append(one)
    for place, one in enumerate(shown):
        if neighbours := _neighbours(one.hit.chunk, store, margin):
            wider = [*shown[:place], replace(one, neighbours=neighbours, margin=margin), *shown[place + 1 :]]
            shown = wider if _tokens(_lay_out(wider)) <= budget_tokens else shown
    return _lay_out(shown)


def _neighbours(chunk: Chunk, store: Neighbourhood, margin: int) -> tuple[Chunk, ...]:
    """What stands around it; of a table only rows about the same: a scope holds for what is shown around a hit, too."""
    near = store.surroundings(chunk, margin=margin) if margin else []
    return tuple(other for other in near if other.id != chunk.id and other.metadata == chunk.metadata)


def in_prompt_order(context: Context) -> list[Passage]:
    """The best at both ends, where models read best; runs of one report in reading order."""
    by_number = {passage.number: passage for passage in context.passages}
    return [by_number[number] for number in context.order or sorted(by_number)]


def shortened(context: Context, keep: int) -> Context:
    """The ``keep`` best passages."""
    return _only(context, context.passages[:keep])


def within(context: Context, chunk_ids: AnyOf[str], *, budget_tokens: int) -> Context:
    """Only these passages, under their numbers, the best first until the budget is used; one always fits."""
    passages: list[Passage] = []
    for passage in context.passages:
        if passage.hit.chunk.id not in chunk_ids:
            continue
        passages.append(passage)
        if len(passages) > 1 and _tokens(Context(tuple(passages))) > budget_tokens:
            passages.pop()
            break
    return _only(context, passages)


def _only(context: Context, passages: Sequence[Passage]) -> Context:
    numbers = {passage.number for passage in passages}
    return Context(tuple(passages), tuple(number for number in context.order if number in numbers))


def _tokens(context: Context) -> int:
    return sum(estimate_tokens(render_passage(passage)) for passage in context.passages)


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
        skip = shared(before.hit.chunk, chunk) if before and before.hit.chunk.ordinal + 1 == chunk.ordinal else 0
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
