"""What several reports speak of alike: what a comparison can be about where it does not say of what."""

from __future__ import annotations

from collections.abc import Sequence

from ..protocols import Catalog, Store
from ..schema import SECTION_SEPARATOR, SUMMARY_ORDINAL, Scope

MOST = 8


def shared_aspects(scopes: Sequence[Scope], catalog: Catalog, store: Store) -> list[str]:
    """Headings that the newest report of each scope has, one of each chapter: the first of its shortest, by words."""
    own = [_headings(scope, catalog, store) for scope in scopes]
    chapters: dict[str, list[str]] = {}
    for path in own[0] if own else ():
        if all(path in others for others in own[1:]):
            chapter, _, heading = path.partition(SECTION_SEPARATOR)
            chapters.setdefault(chapter, []).append(heading.rpartition(SECTION_SEPARATOR)[2] or chapter)
    found = (min(headings, key=lambda heading: len(heading.split())) for headings in chapters.values())
    return list(dict.fromkeys(found))[:MOST]


def _headings(scope: Scope, catalog: Catalog, store: Store) -> dict[str, None]:
    """In reading order. None of reports of an older system, whose passages cannot be asked for by their ids."""
    ready = [record for record in catalog.all(scope) if record.status == "ready"]
    newest = max(ready, key=lambda record: str(record.metadata.get("year", "")), default=None)
    chunks = store.get(newest.chunk_ids()) if newest else []
    return dict.fromkeys(chunk.section for chunk in chunks if chunk.section and chunk.ordinal != SUMMARY_ORDINAL)
