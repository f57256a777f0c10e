"""The topics that several reports share: what a comparison can be about that does not name a topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from ..domain import SECTION_SEPARATOR, Chunk, Scope
from ..domain.protocols import Catalog, Store
from ..questions.comparisons import OF_A_CHAPTER

MOST = 8
SAME_STEM = 5
"""Letters that two words begin with, where they are of one thing."""
MOST_PASSAGES = 1_000
"""Passages of an edition that are read: five of the longest country reports. Their figures take .2 s."""


def newest_reports(scope: Scope, catalog: Catalog, store: Store) -> list[Chunk]:
    """The passages of the scope's newest edition, without summaries, in reading order, at most `MOST_PASSAGES`.

    None of reports of an older system, whose passages cannot be asked for by their ids.
    """
    ready = [record for record in catalog.all(scope) if record.status == "ready"]
    newest = max((str(record.metadata.get("year", "")) for record in ready), default="")
    reports = (record for record in ready if str(record.metadata.get("year", "")) == newest)
    ids = (chunk_id for record in reports for chunk_id in record.chunk_ids())
    chunks = store.get(list(islice(ids, MOST_PASSAGES)))
    return [chunk for chunk in chunks if not chunk.is_summary]


def of_chapter(topic: str, chunks: Sequence[Chunk], terms: Callable[[str], Sequence[str]]) -> list[Chunk]:
    """The passages of the chapter that ``topic`` names, and nothing else: "what changed economically"."""
    idle = terms(" ".join(OF_A_CHAPTER))
    asked = {term for term in terms(topic) if term.isalpha()}.difference(idle)
    chapters = {chunk.section.partition(SECTION_SEPARATOR)[0] for chunk in chunks}
    named = {chapter for chapter in chapters if asked and all(_is_among(term, terms(chapter)) for term in asked)}
    return [chunk for chunk in chunks if chunk.section.partition(SECTION_SEPARATOR)[0] in named]


def _is_among(term: str, others: Sequence[str]) -> bool:
    """Whether another word has the same beginning: "econom" and "economi"."""
    return any(term == other or (len(term) >= SAME_STEM and other.startswith(term[:SAME_STEM])) for other in others)


def shared_aspects(sides: Sequence[Sequence[Chunk]]) -> list[str]:
    """Headings that all sides have, one of each chapter: the first of its shortest, by words."""
    own = [dict.fromkeys(chunk.section for chunk in side if chunk.section) for side in sides]
    chapters: dict[str, list[str]] = {}
    for path in own[0] if own else ():
        if all(path in others for others in own[1:]):
            chapter, _, heading = path.partition(SECTION_SEPARATOR)
            chapters.setdefault(chapter, []).append(heading.rpartition(SECTION_SEPARATOR)[2] or chapter)
    found = (min(headings, key=lambda heading: len(heading.split())) for headings in chapters.values())
    return list(dict.fromkeys(found))[:MOST]
