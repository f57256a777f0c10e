"""What a segment of the in-process index is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..schema import Matrix
from .columns import Column
from .postings import Ints


@dataclass(frozen=True, slots=True)
class Rows:
    """What a segment is made of, one entry per chunk, ordered by chunk id.

    ``values`` holds the filter fields and COLLECTION. ``terms`` holds every row's term ids one after another,
    ``lengths`` how many belong to each row. A row of zeros in ``vectors`` means that the chunk has no embedding.
    """

    ids: NDArray[np.object_]
    documents: Column
    values: Mapping[str, Column]
    vectors: Matrix
    terms: Ints
    lengths: Ints

    def take(self, order: NDArray[np.int64]) -> Rows:
        """The rows at these positions, in that order."""
        starts = np.concatenate(([0], np.cumsum(self.lengths)))
        pieces = [self.terms[starts[row] : starts[row + 1]] for row in order]
        return Rows(
            self.ids[order],
            self.documents.take(order),
            {name: column.take(order) for name, column in self.values.items()},
            self.vectors[order],
            np.concatenate(pieces) if pieces else self.terms[:0],
            self.lengths[order],
        )

    @staticmethod
    def concat(parts: Sequence[Rows]) -> Rows:
        """All rows of the parts, ordered by id."""
        joined = Rows(
            np.concatenate([part.ids for part in parts]),
            Column.concat([part.documents for part in parts]),
            {name: Column.concat([part.values[name] for part in parts]) for name in parts[0].values},
            np.concatenate([part.vectors for part in parts]),
            np.concatenate([part.terms for part in parts]),
            np.concatenate([part.lengths for part in parts]),
        )
        order = np.argsort(joined.ids, kind="stable")
        return joined if bool((order[1:] > order[:-1]).all()) else joined.take(order)
