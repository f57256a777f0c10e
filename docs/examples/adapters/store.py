"""The plainest search there is: every passage of the scope is read from the database
for every question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..database.rows import decode_vector
from ..domain import Match, Scope, Vector
from . import StoreTraits
from .chunks import MongoChunks

TRAITS = StoreTraits()


class ScanStore(MongoChunks):
    """Writing and reading are `MongoChunks`; only the two searches are here."""

    expected = "the index has {dimensions}."

    def vector_search(
        self,
        vector: Vector,
        *,
        top_k: int,
        scope: Scope,
        num_candidates: int | None = None,
    ) -> list[Match]:
        """Raises EmbedderMismatchError: the vector is of another model."""
        self.check_length(vector, "question")
        return _best(
            {
                str(row["_id"]): self._score(row, vector)
                for row in self._with_vector(scope)
            },
            top_k,
        )

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        """A passage scores by how often it has the words of the question."""
        wanted = set(self.terms_of(query))
        scores: dict[str, float] = {}
        for row in self._rows(scope):
            words = Counter(self.terms_of(self._chunk(row, "").search_text))
            if found := sum(words[term] for term in wanted):
                scores[str(row["_id"])] = float(found)
        return _best(scores, top_k)

    def vector_scores(
        self, vector: Vector, chunk_ids: Sequence[str]
    ) -> dict[str, float]:
        """(1 + cosine) / 2 by chunk id."""
        wanted = set(chunk_ids)
        rows = (row for row in self._with_vector(Scope()) if str(row["_id"]) in wanted)
        return {str(row["_id"]): self._score(row, vector) for row in rows}

    def ping(self) -> str:
        """Counts what there is to read."""
        return f"a scan of {self.count(Scope())} passages"

    def _rows(self, scope: Scope) -> Iterator[Mapping[str, Any]]:
        for collection in self.collections():
            if scope.holds(collection.name):
                yield from collection.find(scope.to_mql())

    def _with_vector(self, scope: Scope) -> Iterator[Mapping[str, Any]]:
        return (row for row in self._rows(scope) if self.embedding_field in row)

    def _score(self, row: Mapping[str, Any], vector: Vector) -> float:
        stored = decode_vector(row[self.embedding_field])
        return (
            1
            + float(stored @ vector)
            / max(float(np.linalg.norm(stored) * np.linalg.norm(vector)), 1e-12)
        ) / 2


def _best(scores: Mapping[str, float], top_k: int) -> list[Match]:
    order = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], chunk_id))
    return [Match(chunk_id, scores[chunk_id]) for chunk_id in order[:top_k]]


build = ScanStore
