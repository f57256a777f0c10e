"""Why a search found nothing: MongoDB answers a search of a missing or unfinished index with no rows and no error."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from ..database import Database
from ..errors import SearchEngineError
from .atlas_errors import SearchTarget, explained, not_queryable
from .search_indexes import MISSING, IndexStatus, index_status

TRUSTED_SECONDS = 60.0
"""How long an index that was found queryable is believed to be."""
log = logging.getLogger(__name__)


class EmptyAnswers:
    """Looks into empty answers before they are believed. Thread-safe."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock
        self._trusted: dict[tuple[str, str], float] = {}
        self._warned: set[str] = set()

    def check(self, empty: Sequence[SearchTarget], all_alike: Sequence[SearchTarget]) -> None:
        """Raise where an index that was searched is missing or cannot answer, and its collection has documents.

        ``all_alike``: the indexes of this kind in all collections, searched or not. A text index may be missing as
        long as another collection has one: the free tier has no room for all.

        Raises:
            SearchEngineError: names the index and its state.
        """
        missing = [target for target in empty if self._missing(target)]
        for target in missing:
            if target.kind == "vectorSearch" or not any(self._exists(other) for other in all_alike if other != target):
                raise self._missing_error(target)
            if target.collection not in self._warned:
                self._warned.add(target.collection)
                log.warning("The %s does not exist: keywords are not searched there.", target.described)

    def _missing(self, target: SearchTarget) -> bool:
        """True when the collection has documents and the index does not exist; raises when it cannot answer."""
        key = (target.collection, target.index)
        if self._clock() < self._trusted.get(key, float("-inf")):
            return False
        if self._database[target.collection].estimated_count() == 0:
            return False
        status = index_status(self._database, target)
        if status.state == MISSING:
            return True
        self._require_queryable(status, target)
        self._trusted[key] = self._clock() + TRUSTED_SECONDS
        return False

    def _exists(self, target: SearchTarget) -> bool:
        return index_status(self._database, target).state != MISSING

    @staticmethod
    def _require_queryable(status: IndexStatus, target: SearchTarget) -> None:
        if not status.queryable:
            raise not_queryable(target, status.state, status.message)

    def _missing_error(self, target: SearchTarget) -> SearchEngineError:
        with explained(target):
            others = sorted(str(found.get("name")) for found in self._database[target.collection].search_indexes())
        return SearchEngineError(
            f"The collection {target.collection!r} has no search index {target.index!r}, so nothing can be found in it"
            f" (its search indexes: {', '.join(others) or 'none'}).",
            remedy="Create it: python -m chatbot index create.",
        )
