"""Numbered passages within a token budget: search small chunks, show wide windows.

Every hit keeps its rank as number, so that a citation leads to the chunk that the search returned, and the page knows
the sources before the first word. Hits of one report with adjoining windows are one run of text in reading order: no
text is repeated, and the text between two hits belongs to the first."""

import math
from collections import defaultdict
from collections.abc import Collection as AnyOf
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from ..domain import ATTACHMENTS, Chunk, Context, Passage, SearchHit
from ..language import estimate_tokens, sentences
from ..models.prompts import inert, on_one_line, passage_fence

if TYPE_CHECKING:
    from ..domain.protocols import Store
    from ..search.compression import Neighbours

PART = "\n\n"
CONTEXT_MARGIN = 300
"""Characters that a prompt and the page show around a passage."""
UNLIMITED = 1_000_000
"""A margin without a limit."""
_TokenCounts = dict[tuple[int, str], int]
"""Tokens of passages by number and text."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """A hit with the neighbours within its window; ``margin`` 0 = the hit alone."""

    number: int
    hit: SearchHit
    neighbours: tuple[Chunk, ...]
    margin: int


def build_context(
    hits: Sequence[SearchHit], store: "Store | Neighbours", *, budget_tokens: int, margin: int = CONTEXT_MARGIN
) -> Context:
    """Return passages numbered by rank, best first, until ``budget_tokens`` (estimated, with source lines) are used.
    The first passage is always included. The rest of the budget adds ``margin`` characters around each passage, best
    first: another hit is worth more than surroundings."""
    counts: _TokenCounts = {}

    def fits(shown: Sequence[_Shown]) -> bool:
        return _tokens(_lay_out(shown), counts) <= budget_tokens

    shown = [_Shown(number, hit, (), 0) for number, hit in enumerate(hits, start=1)]
    if not fits(shown):
        fewer = (count for count in range(2, len(shown)) if not fits(shown[:count]))
        shown = shown[: max(1, next(fewer, len(shown)) - 1)]
    around = store.surroundings([one.hit.chunk for one in shown], margin=margin) if margin else [[]] * len(shown)
    wide: list[_Shown] = []
    for one, others in zip(shown, around, strict=True):
        # The scope holds for the rows of one table too. What is under another heading would be read as said of this.
        chunk, about = one.hit.chunk, (one.hit.chunk.section, one.hit.chunk.metadata)
        near = tuple(other for other in others if other.id != chunk.id and (other.section, other.metadata) == about)
        wide.append(replace(one, neighbours=near, margin=margin) if near else one)
    if fits(wide):  # the usual case, with one layout instead of one for each
        return _lay_out(wide)
    for place, one in enumerate(wide):
        wider = [*shown[:place], one, *shown[place + 1 :]]
        shown = wider if one.neighbours and fits(wider) else shown
    return _lay_out(shown)


def in_prompt_order(context: Context) -> list[Passage]:
    """Return the passages with the best at both ends, where models read best; runs of a report in reading order."""
    by_number = {passage.number: passage for passage in context.passages}
    return [by_number[number] for number in context.order or sorted(by_number)]


def restrict(context: Context, chunk_ids: AnyOf[str], *, budget_tokens: int) -> Context:
    """Return only these passages under their numbers, best first within the budget, at least one."""
    passages: list[Passage] = []
    counts: _TokenCounts = {}
    for passage in context.passages:
        if passage.hit.chunk.id not in chunk_ids:
            continue
        passages.append(passage)
        if len(passages) > 1 and _tokens(Context(tuple(passages)), counts) > budget_tokens:
            passages.pop()
            break
    return only(context, passages)


def render_passage(passage: Passage, *, metadata: bool = True) -> str:
    """Return the source lines with edition and page, then the text; without ``metadata`` only the text."""
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
        kind = "General document, about no country" if passage.hit.general else "Report"
        lines = [f"{kind}: {on_one_line(chunk.title)}{edition}{page}", f"Section: {on_one_line(chunk.section)}"]
        text = inert(passage.wider_text)
    return passage_fence(passage.number, "\n".join([*lines, text]))


def wider_text(chunk: Chunk, around: Sequence[Chunk], *, margin: int) -> str:
    """Return the chunk with its neighbours in the report, cut to ``margin`` characters on each side. If neighbours have
    other headings, each part begins with its own, so that a figure keeps its name. Where chunks overlap, the neighbours
    lose the common text."""
    earlier = [other for other in around if other.ordinal < chunk.ordinal]
    later = [other for other in around if other.ordinal > chunk.ordinal]
    return window(chunk, earlier, later, before=margin, after=margin)


def window(
    chunk: Chunk, earlier: Sequence[Chunk], later: Sequence[Chunk], *, before: int, after: int, skip: int = 0
) -> str:
    """Return the chunk between ``before`` and ``after`` characters of its neighbours, in reading order. The first
    ``skip`` characters of the chunk are left out."""
    labelled = any(other.section != chunk.section for other in (*earlier, *later))

    def join(chunks: Iterable[Chunk]) -> str:
        parts = (f"{one.heading}: {one.text}" if labelled and one.heading else one.text for one in chunks if one.text)
        return PART.join(parts)

    head = join(_without(one, end=overlap(one, after_it)) for one, after_it in pairwise([*earlier, chunk]))
    tail = join(_without(one, start=overlap(before_it, one)) for before_it, one in pairwise([chunk, *later]))
    parts = (_cut(head, before, keep_end=True), join([_without(chunk, start=skip)]), _cut(tail, after, keep_end=False))
    return PART.join(filter(None, parts))


def overlap(first: Chunk, second: Chunk) -> int:
    """Return how many characters at the end of the first chunk begin the second, by their offsets. Return 0 if the
    texts do not agree with the offsets: passages of older systems have none."""
    count = first.end - second.start
    return count if count > 0 and first.text[-count:] == second.text[:count] else 0


def texts_of(chunks: Sequence[Chunk]) -> Iterator[str]:
    """Yield the texts of chunks in reading order, each without its overlap with the one before."""
    if chunks:
        yield chunks[0].text
    for before, chunk in pairwise(chunks):
        yield chunk.text[overlap(before, chunk) :]


def _cut(text: str, size: int, *, keep_end: bool) -> str:
    """Return ``size`` characters of a text without a sentence or line that is cut: half a figure is worse than none."""
    if len(text) <= size:
        return text
    text = (text[-size:] if size else "") if keep_end else text[:size]
    pieces = sentences(text)
    if len(pieces) < 2:
        return ""
    return (text[text.index(pieces[1], len(pieces[0])) :] if keep_end else text[: text.rindex(pieces[-1])]).strip()


def _without(chunk: Chunk, *, start: int = 0, end: int = 0) -> Chunk:
    """Return the chunk without this many characters at its start and end."""
    return replace(chunk, text=chunk.text[start : len(chunk.text) - end].strip()) if start or end else chunk


def only(context: Context, passages: Sequence[Passage]) -> Context:
    """Return the context with these of its passages alone."""
    numbers = {passage.number for passage in passages}
    order = tuple(number for number in context.order if number in numbers)
    return replace(context, passages=tuple(passages), order=order)


def _tokens(context: Context, counts: _TokenCounts) -> int:
    """Return the tokens of the rendered passages; ``counts`` caches each."""
    for passage in context.passages:
        if (key := (passage.number, passage.wider_text)) not in counts:
            counts[key] = estimate_tokens(render_passage(passage))
    return sum(counts[passage.number, passage.wider_text] for passage in context.passages)


def _lay_out(shown: Sequence[_Shown]) -> Context:
    documents: dict[tuple[str, str], list[_Shown]] = defaultdict(list)
    for one in shown:
        chunk = one.hit.chunk
        documents[chunk.document_id, Chunk.version_of(chunk.id)[1]].append(one)
    passages: list[Passage] = []
    runs: list[list[int]] = []
    for of_document in documents.values():
        of_document.sort(key=lambda one: (one.hit.chunk.ordinal, one.hit.chunk.start))
        of_runs = [[of_document[0]]]
        for before, one in pairwise(of_document):
            if _meet(before, one):
                of_runs[-1].append(one)
            else:
                of_runs.append([one])
        ordinals = [one.hit.chunk.ordinal for one in of_document]
        passages += chain.from_iterable(_passages(run, ordinals) for run in of_runs)
        runs += [[one.number for one in run] for run in of_runs]
    # The runs as 1, 3, 5, ... 4, 2 by the best number of each: models read both ends best.
    ranked = sorted(runs, key=min)
    order = chain.from_iterable((*ranked[::2], *ranked[1::2][::-1]))
    return Context(tuple(sorted(passages, key=lambda passage: passage.number)), tuple(order))


def _meet(first: _Shown, second: _Shown) -> bool:
    """Return whether the chunks are adjacent, or both windows together have all chunks between them."""
    before, after = first.hit.chunk, second.hit.chunk
    if after.ordinal == before.ordinal + 1:
        return True
    missing = after.ordinal - before.ordinal - 1
    complete = missing > 0 and len(_between((first, second), before.ordinal, after.ordinal)) == missing
    return complete and after.start - before.end <= first.margin + second.margin


def _between(shown: Iterable[_Shown], first: float, last: float) -> list[Chunk]:
    """Return the neighbours with an ordinal between these two, in reading order, each once."""
    between = {chunk.ordinal: chunk for one in shown for chunk in one.neighbours if first < chunk.ordinal < last}
    return [between[ordinal] for ordinal in sorted(between)]


def _passages(run: Sequence[_Shown], ordinals: Sequence[int]) -> Iterator[Passage]:
    """Yield the passages of a run; ``ordinals`` are those of all hits of the document."""
    for before, one, next_one in zip([None, *run], run, [*run[1:], None], strict=False):
        chunk = one.hit.chunk
        floor = max((ordinal for ordinal in ordinals if ordinal < chunk.ordinal), default=-1)
        ceiling = min((ordinal for ordinal in ordinals if ordinal > chunk.ordinal), default=math.inf)
        is_first = before is None or before.hit.chunk.section != chunk.section
        after = next_one if next_one and next_one.hit.chunk.section == chunk.section else None
        earlier = _between([one], floor, chunk.ordinal) if is_first else []
        later = _between([one, after] if after else [one], chunk.ordinal, ceiling)
        skip = overlap(before.hit.chunk, chunk) if before and before.hit.chunk.ordinal + 1 == chunk.ordinal else 0
        text = window(
            chunk, earlier, later,
            before=one.margin, after=UNLIMITED if after else one.margin,
            skip=skip if skip < len(chunk.text) else 0,
        )  # fmt: skip
        yield Passage(one.number, one.hit, text)
