"""Exact or approximate: which shape of `$vectorSearch` suits a collection and a scope."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ..database import Collection, Json
from ..schema import Scope
from .atlas_pipelines import MAX_CANDIDATES, ann_stage, candidates, exact_stage
from .chunks import EMBEDDING_FIELD

EXACT_BELOW = 10_000
"""Documents below which MongoDB advises exact search."""
EXACT_SHARE = 0.05
"""Share of the documents kept by a scope, below which exact search is better and faster."""
REMEMBERED_SECONDS = 30.0
"""A count only chooses between two right answers, so an old one does no harm."""
REMEMBERED_COUNTS = 500


class ShapeChooser:
    """Builds the stage that fits, from counts that are remembered for a while. Thread-safe."""

    def __init__(self, *, path: str = EMBEDDING_FIELD, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._counts: dict[tuple[str, Scope], tuple[float, int]] = {}

    def stage(self, collection: Collection, *, index: str, vector: Sequence[float], scope: Scope, limit: int) -> Json:
        """`$vectorSearch` for the ``limit`` nearest chunks of the collection inside the scope."""
        share = self._share(collection, scope)
        if share is None or limit > MAX_CANDIDATES:
            return exact_stage(index=index, path=self._path, vector=vector, scope=scope, limit=limit)
        wide = candidates(limit, share)
        return ann_stage(index=index, path=self._path, vector=vector, scope=scope, limit=limit, num_candidates=wide)

    def _share(self, collection: Collection, scope: Scope) -> float | None:
        """What the scope keeps of the collection, (0, 1]; None where exact search is better."""
        total = self._count(collection, Scope())
        if total < EXACT_BELOW:
            return None
        share = self._count(collection, scope) / total if scope.conditions else 1.0
        return share if share >= EXACT_SHARE else None

    def _count(self, collection: Collection, scope: Scope) -> int:
        key = (collection.name, scope)
        remembered = self._counts.get(key)
        if remembered and self._clock() - remembered[0] < REMEMBERED_SECONDS:
            return remembered[1]
        count = collection.count(scope.to_mql()) if scope.conditions else collection.estimated_count()
        if len(self._counts) >= REMEMBERED_COUNTS:
            self._counts.clear()
        self._counts[key] = (self._clock(), count)
        return count
