"""Marks the passages of a document that are beside its body: contents, references,
notes, agenda, attendance, contacts, boilerplate.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ..domain import Chunk, Section
from ..language.zones import MAX_SHARE, zone_of_headings, zone_of_text

__all__ = ["with_zones"]


def with_zones(chunks: Sequence[Chunk], sections: Sequence[Section]) -> list[Chunk]:
    """Return the passages of a document, each with its zone. ``sections`` are those of
    the document, in order.
    """
    starts = [section.start for section in sections]
    of_sections = [zone_of_headings(section.path) for section in sections]
    named: list[str] = []
    characters: Counter[str] = Counter()
    for chunk in chunks:
        # A passage of several sections is of a zone only if all of them are.
        first = max(bisect_right(starts, chunk.start) - 1, 0)
        last = max(bisect_left(starts, chunk.end), first + 1)
        zones = set(of_sections[first:last])
        zone = zones.pop() if len(zones) == 1 else ""
        zone = zone or zone_of_text(chunk.text)
        named.append(zone)
        characters[zone] += len(chunk.text)
    bodies = {
        zone
        for zone, count in characters.items()
        if count > MAX_SHARE * characters.total()
    }
    marked = []
    for chunk, zone in zip(chunks, named, strict=True):
        marked.append(replace(chunk, zone="" if zone in bodies else zone))
    return marked
