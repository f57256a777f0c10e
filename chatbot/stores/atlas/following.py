"""How far MongoDB's search indexes have caught up with writes: they follow on their own, up to half a minute late.

The engine answers with ids, and the server drops those whose rows are gone: a search right after a deletion gives
fewer rows than there are, without a word. So a row is first *retired*, which takes it out of the indexes, and goes
once they let it go.
"""

from __future__ import annotations

import logging
from collections.abc import Collection as AnyOf
from collections.abc import Sequence

from ...database.core import Database
from ...database.rows import RETIRED_PREFIX, WITHOUT_EMBEDDING
from ...errors import SearchEngineError
from .definitions import TEXT_PATHS, SearchTarget
from .errors import UNDECLARED, translate_refusals
from .indexes import IndexHealth
from .pipelines import listing_pipeline

log = logging.getLogger(__name__)


class Following:
    """Asks the indexes which chunks of a document they have. ``targets``: vector and text index by collection."""

    def __init__(
        self,
        database: Database,
        targets: Sequence[tuple[SearchTarget, SearchTarget]],
        health: IndexHealth,
        *,
        embedding_field: str,
        dimensions: int,
    ) -> None:
        self._database = database
        self._targets = targets
        self._health = health
        self._field = embedding_field
        self._undeclared: list[SearchTarget] = []
        self._dimensions = dimensions

    def retire(self, document_id: str, *, keep: AnyOf[str]) -> list[str]:
        """See `protocols.LateStore`."""
        update = {
            "$set": {"document_id": f"{RETIRED_PREFIX}{document_id}"},
            "$unset": dict.fromkeys((*WITHOUT_EMBEDDING, *TEXT_PATHS), ""),
        }
        kept = set(keep)
        retired: list[str] = []
        for target, _ in self._targets:
            collection = self._database[target.collection]
            rows = collection.find(
                {"document_id": {"$in": [document_id, f"{RETIRED_PREFIX}{document_id}"]}}, {"_id": 1}
            )
            ids = [row["_id"] for row in rows if row["_id"] not in kept]
            collection.update_each([(id, update) for id in ids])
            retired += map(str, ids)
        return retired

    def unfollowed(self, document_id: str, *, there: AnyOf[str], gone: AnyOf[str]) -> int:
        """See `protocols.LateStore`. An index that cannot answer is not waited for: building, it reads all rows."""
        waiting: set[str] = set()
        for vectors, texts in self._targets:
            collection = self._database[vectors.collection]
            written = collection.find({"_id": {"$in": list(there)}, self._field: {"$exists": True}}, {"_id": 1})
            here = {str(row["_id"]) for row in written}
            leaving = {str(row["_id"]) for row in collection.find({"_id": {"$in": list(gone)}}, {"_id": 1})}
            if here or leaving:
                most = collection.count({"document_id": document_id}) + len(leaving)
                for found in (self._listed(target, document_id, most) for target in (vectors, texts)):
                    waiting |= set() if found is None else (here - found) | (leaving & found)
        return len(waiting)

    def _listed(self, target: SearchTarget, document_id: str, most: int) -> set[str] | None:
        """The ids that an index has of the document, ``most`` at most; None where it cannot be asked."""
        if self._health.failure(target) is not None:
            return None
        pipeline = listing_pipeline(
            target, document_id, dimensions=self._dimensions, path=self._field, limit=max(1, most)
        )
        try:
            with translate_refusals(target):
                return {str(row["_id"]) for row in self._database[target.collection].search(pipeline)}
        except SearchEngineError as error:
            if error.reason != UNDECLARED:
                raise
            if target not in self._undeclared:  # made by an older release: what is written is shown without waiting
                self._undeclared.append(target)
                log.warning("%s", error.message)
            return None
