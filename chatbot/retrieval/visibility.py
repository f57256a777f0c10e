"""Questions see one version of a report: never half of it, never two.

While a report is written or removed its passages of another version may be in the store too. Matches of those are
dropped after the search, and the search is widened by what was dropped, so that nobody's result gets shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..schema import Chunk, Match

Unsettled = Callable[[], Mapping[str, str]]
Found = tuple[list[Match], list[Match]]
MOST = 10_000
TRIES = 5


def settled_search(search: Callable[[int], Found], count: int, unsettled: Unsettled) -> Found:
    """``search(n)`` gives up to n matches of each kind; ``unsettled()`` the versions that are to be seen."""
    for _ in range(TRIES):
        visible = unsettled()
        found = _widened(search, count, visible) if visible else search(count)
        if unsettled() == visible and not _mixed(found):
            return found
    return found  # reports change faster than a search takes: what was visible a moment ago is the truth of then


def _widened(search: Callable[[int], Found], count: int, visible: Mapping[str, str]) -> Found:
    asked = count
    while True:
        found = search(asked)
        kept = tuple([match for match in matches if _seen(match.chunk_id, visible)] for matches in found)
        full = any(len(all_) >= asked and len(some) < count for all_, some in zip(found, kept, strict=True))
        if not full or asked >= MOST:
            near, worded = (matches[:count] for matches in kept)
            return near, worded
        asked = min(2 * asked, MOST)


def _mixed(found: Found) -> bool:
    """Whether a report was replaced between the two searches, so quickly that it is settled again."""
    seen = {Chunk.version_of(match.chunk_id) for matches in found for match in matches}
    return len(seen) > len({document_id for document_id, _ in seen})


def _seen(chunk_id: str, visible: Mapping[str, str]) -> bool:
    document_id, version = Chunk.version_of(chunk_id)
    return visible.get(document_id, version) == version
