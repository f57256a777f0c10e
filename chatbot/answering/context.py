"""Numbered passages within a token budget: search small chunks, show wide windows.

Every hit keeps its rank as number, so that a citation leads to the chunk that the
search returned, and the page knows the sources before the first word. No text is
repeated: where the windows of two hits meet, the text between them belongs to the first
that has room for it.
"""

import re
from collections.abc import Collection as AnyOf
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count, pairwise, takewhile
from typing import TYPE_CHECKING

from ..domain import Chunk, Context, Passage, SearchHit
from ..domain.documents import ATTACHMENTS
from ..language.counts import estimate_tokens
from ..language.sentences import sentences
from ..models.prompts import inert, on_one_line, passage_fence

if TYPE_CHECKING:
    from ..domain.protocols import Passages
    from ..search.compression import Neighbours

PART = "\n\n"
CONTEXT_MARGIN = 300
"""Characters that a prompt and the page show around a passage."""
_LIKE_NAME = re.compile(r"^#+(?= )", re.MULTILINE)
_LIKE_NUMBER = re.compile(r"\[(\d+)\]")
_Place = tuple[str, str, int]
"""A report, its version, and an ordinal."""
_TokenCounts = dict[tuple[int, str], int]
"""Tokens of passages by number and text."""


def build_context(
    hits: Sequence[SearchHit],
    store: "Passages | Neighbours",
    *,
    budget_tokens: int,
    margin: int = CONTEXT_MARGIN,
    section: int = 0,
) -> Context:
    """Return passages numbered by rank, best first, until ``budget_tokens`` (estimated,
    with source lines) are used. The first passage is always included. The rest of the
    budget adds what stands around each passage, best first: ``section`` characters of
    it where these fit, else ``margin``. Another hit is worth more than surroundings.
    With ``section`` each passage says where there is more of its section.
    """
    counts: _TokenCounts = {}
    passages = _alone(hits)
    while len(passages) > 1 and _tokens(passages, counts) > budget_tokens:
        passages = _alone(hits[: len(passages) - 1])
    chunks = [passage.hit.chunk for passage in passages]
    shown, places = (
        {chunk.id for chunk in chunks},
        {_place(chunk): chunk for chunk in chunks},
    )
    # As far as the window of another hit may reach, too.
    margins = [characters for characters in (section, margin) if characters]
    around = store.surroundings(chunks, margin=2 * max(margins)) if margins else ()
    for index, others in enumerate(around):
        free = [one for one in others if one.id not in shown]
        for characters in margins:
            wide, between = _widened(passages[index], free, places, characters)
            wider = [*passages[:index], wide, *passages[index + 1 :]]
            if _tokens(wider, counts) <= budget_tokens:
                passages, shown = wider, shown | between
                break
        if section:
            more = _more_of_section(passages[index], others, shown)
            passages[index] = replace(passages[index], more=more)
    return Context(tuple(passages))


def _more_of_section(
    passage: Passage, around: Iterable[Chunk], shown: AnyOf[str]
) -> str:
    """Return where a section goes on beyond what is shown of it: "above", "below"."""
    chunk = passage.hit.chunk
    sides: dict[str, None] = {}
    for one in around:
        if one.section != chunk.section or one.id in shown:
            continue
        if one.text[-80:] in passage.wider_text:
            continue
        side = "below"
        if one.ordinal < chunk.ordinal:
            side = "above"
        sides[side] = None
    return " and ".join(sides)


def _widened(
    passage: Passage,
    around: Iterable[Chunk],
    places: Mapping[_Place, Chunk],
    margin: int,
) -> tuple[Passage, set[str]]:
    """Return a passage with the text around it, and the ids of the chunks that no other
    passage may show: those up to a hit whose window meets this one. ``places``: the
    hits.
    """
    chunk, between, near = (
        replace(passage.hit.chunk, text=passage.wider_text),
        set[str](),
        list[Chunk](),
    )
    # The scope holds for the rows of one table too. What is under another heading would
    # be read as said of this.
    free = {
        one.ordinal: one
        for one in around
        if (one.section, one.metadata) == (chunk.section, chunk.metadata)
    }
    reach = {-1: margin, 1: margin}
    for step in reach:
        adjoining = [
            free[ordinal]
            for ordinal in takewhile(
                free.__contains__, count(chunk.ordinal + step, step)
            )
        ]
        other = places.get(_place(chunk, step * (len(adjoining) + 1)))
        if (
            other is not None
            and max(other.start - chunk.end, chunk.start - other.end) <= 2 * margin
        ):
            between.update(one.id for one in adjoining)
            reach[step] = 2 * margin
        near += adjoining
    near.sort(key=lambda one: one.ordinal)
    return replace(
        passage, wider_text=window(chunk, near, before=reach[-1], after=reach[1])
    ), between


def _alone(hits: Sequence[SearchHit]) -> list[Passage]:
    """Return the passages of hits without surroundings, and without the text that the
    hit right before has, too.
    """
    by_place, passages = {_place(hit.chunk): hit.chunk for hit in hits}, list[Passage]()
    for number, hit in enumerate(hits, start=1):
        before = by_place.get(_place(hit.chunk, -1))
        rest = hit.chunk.text[overlap(before, hit.chunk) if before else 0 :].strip()
        passages.append(Passage(number, hit, rest or hit.chunk.text))
    return passages


def _place(chunk: Chunk, step: int = 0) -> _Place:
    return chunk.document_id, Chunk.version_of(chunk.id)[1], chunk.ordinal + step


def in_prompt_order(context: Context) -> list[Passage]:
    """Return the passages with the best at both ends, where models read best: 1, 3, 5,
    ... 4, 2. Those that follow each other in a report stay together in reading order,
    at the place of their best number.
    """
    runs: list[list[Passage]] = []
    for passage in sorted(
        context.passages, key=lambda one: (_place(one.hit.chunk), one.number)
    ):
        if not runs or _place(passage.hit.chunk) != _place(runs[-1][-1].hit.chunk, 1):
            runs.append([])
        runs[-1].append(passage)
    ranked = sorted(runs, key=lambda run: min(passage.number for passage in run))
    return list(chain.from_iterable((*ranked[::2], *ranked[1::2][::-1])))


def render_passage(
    passage: Passage, *, metadata: bool = True, is_labelled: bool = False
) -> str:
    """Return the source lines with edition and page, then the text; without
    ``metadata`` only the text. ``is_labelled``: as the lines of an attachment are.
    """
    chunk = passage.hit.chunk
    if not metadata:
        return passage_fence(passage.number, inert(passage.wider_text))
    page = f", page {chunk.page}" if chunk.page is not None else ""
    if (
        is_labelled or chunk.collection == ATTACHMENTS
    ):  # three labelled lines, as seed 000 has them (R-A3)
        lines = [
            f"Source: {on_one_line(chunk.document_name)}{page}",
            f"Title: {on_one_line(chunk.title)}",
        ]
        text = f"Content: {inert(passage.wider_text)}"
    else:
        year = chunk.metadata.get("year")
        edition = f", edition {on_one_line(str(year))}" if year is not None else ""
        kind = "General document, about no country" if passage.hit.general else "Report"
        lines = [
            f"{kind}: {on_one_line(chunk.title)}{edition}{page}",
            f"Section: {on_one_line(chunk.section)}",
        ]
        text = inert(passage.wider_text)
    return passage_fence(passage.number, "\n".join([*lines, text]))


def render_by_report(
    passages: Sequence[Passage], bare: AnyOf[str] = frozenset()
) -> str:
    """Return passages under the names of their reports, the newest first, in reading
    order, with heading and page; of those with ``bare`` ids only that. No text of a
    report looks like the name of another, or like a number of a passage.
    """
    by_report: dict[str, list[Passage]] = {}
    for passage in passages:
        by_report.setdefault(passage.hit.chunk.document_id, []).append(passage)
    reports = sorted(
        by_report.values(), key=lambda of_report: _edition(of_report[0]), reverse=True
    )
    blocks = []
    for of_report in reports:
        lines = [_report_line(of_report[0].hit)]
        for passage in sorted(of_report, key=lambda one: one.hit.chunk.ordinal):
            lines.append(_passage_lines(passage, is_bare=passage.hit.chunk.id in bare))
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _edition(passage: Passage) -> str:
    return str(passage.hit.chunk.metadata.get("year") or "")


def _report_line(hit: SearchHit) -> str:
    title = on_one_line(hit.chunk.title)
    year = on_one_line(str(hit.chunk.metadata.get("year") or ""))
    if year and year not in title:
        title = f"{title}, edition {year}"
    return f"# {title}"


def _passage_lines(passage: Passage, *, is_bare: bool) -> str:
    chunk = passage.hit.chunk
    where = [on_one_line(chunk.section)] if chunk.section else []
    if chunk.page is not None:
        where.append(f"page {chunk.page}")
    if passage.more:
        where.append(f"more {passage.more}")
    head = f"[{passage.number}] {', '.join(where)}".strip()
    if is_bare:
        return f"{head}: see the table"
    text = _LIKE_NUMBER.sub(r"(\1)", inert(passage.wider_text))
    return f"{head}\n{_LIKE_NAME.sub('-', text)}"


def window(chunk: Chunk, around: Sequence[Chunk], *, before: int, after: int) -> str:
    """Return the chunk with its neighbours in the report, in reading order, cut to
    ``before`` and ``after`` characters. If neighbours have other headings, each part
    begins with its own, so that a figure keeps its name. Where chunks overlap, the
    neighbours lose the common text.
    """
    earlier = [other for other in around if other.ordinal < chunk.ordinal]
    later = [other for other in around if other.ordinal > chunk.ordinal]
    labelled = any(other.section != chunk.section for other in (*earlier, *later))

    def join(chunks: Iterable[Chunk]) -> str:
        parts = (
            f"{one.heading}: {one.text}" if labelled and one.heading else one.text
            for one in chunks
            if one.text
        )
        return PART.join(parts)

    head = join(
        _without(one, end=overlap(one, after_it))
        for one, after_it in pairwise([*earlier, chunk])
    )
    tail = join(
        _without(one, start=overlap(before_it, one))
        for before_it, one in pairwise([chunk, *later])
    )
    parts = (
        _cut(head, before, keep_end=True),
        join([chunk]),
        _cut(tail, after, keep_end=False),
    )
    return PART.join(filter(None, parts))


def overlap(first: Chunk, second: Chunk) -> int:
    """Return how many characters at the end of the first chunk begin the second, by
    their offsets. Return 0 if the texts do not agree with the offsets: passages of
    older systems have none.
    """
    count = first.end - second.start
    if count > 0 and first.text[-count:] == second.text[:count]:
        return count
    return 0


def texts_of(chunks: Sequence[Chunk]) -> Iterator[str]:
    """Yield the texts of chunks in reading order, each without its overlap with the one
    before.
    """
    if chunks:
        yield chunks[0].text
    for before, chunk in pairwise(chunks):
        yield chunk.text[overlap(before, chunk) :]


def _cut(text: str, size: int, *, keep_end: bool) -> str:
    """Return ``size`` characters of a text without a sentence or line that is cut: half
    a figure is worse than none.
    """
    if len(text) <= size:
        return text
    text = (text[-size:] if size else "") if keep_end else text[:size]
    pieces = sentences(text)
    if len(pieces) < 2:
        return ""
    return (
        text[text.index(pieces[1], len(pieces[0])) :]
        if keep_end
        else text[: text.rindex(pieces[-1])]
    ).strip()


def _without(chunk: Chunk, *, start: int = 0, end: int = 0) -> Chunk:
    """Return the chunk without this many characters at its start and end."""
    if start or end:
        return replace(chunk, text=chunk.text[start : len(chunk.text) - end].strip())
    return chunk


def _tokens(passages: Sequence[Passage], counts: _TokenCounts) -> int:
    """Return the tokens of the rendered passages; ``counts`` caches each."""
    keys = [(passage.number, passage.wider_text) for passage in passages]
    for key, passage in zip(keys, passages, strict=True):
        if key not in counts:
            counts[key] = estimate_tokens(render_passage(passage))
    return sum(map(counts.__getitem__, keys))
