"""BM25 over array postings (Robertson and Zaragoza, 2009; IDF as in Lucene, so it is never negative)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

K1 = 1.2
B = 0.75

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Postings:
    """For each term id the rows that hold it and how often: ``rows[starts[t]:starts[t + 1]]``, same for ``counts``."""

    starts: NDArray[np.int64]
    rows: Ints
    counts: Floats

    @classmethod
    def build(cls, terms: Ints, lengths: Ints) -> Postings:
        """``terms``: every row's term ids one after another; ``lengths``: terms per row."""
        row_of_term = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
        pairs, counts = np.unique(terms.astype(np.int64) * max(len(lengths), 1) + row_of_term, return_counts=True)
        term_of_pair, row_of_pair = np.divmod(pairs, max(len(lengths), 1))
        vocabulary = int(term_of_pair[-1]) + 1 if len(pairs) else 0
        starts = np.searchsorted(term_of_pair, np.arange(vocabulary + 1))
        return cls(starts, row_of_pair.astype(np.int32), counts.astype(np.float32))

    def document_frequency(self, term: int) -> int:
        if term + 1 >= len(self.starts):
            return 0
        return int(self.starts[term + 1] - self.starts[term])

    def of(self, term: int) -> tuple[Ints, Floats]:
        if term + 1 >= len(self.starts):
            return self.rows[:0], self.counts[:0]
        part = slice(self.starts[term], self.starts[term + 1])
        return self.rows[part], self.counts[part]


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """A query term and its inverse document frequency over the whole corpus."""

    term: int
    idf: float


def inverse_document_frequency(documents: int, frequency: int) -> float:
    return float(np.log1p((documents - frequency + 0.5) / (frequency + 0.5)))


def bm25_scores(postings: Postings, lengths: Ints, query: list[WeightedTerm], average_length: float) -> Floats:
    """Scores of every row, shape (rows,); 0 for a row with no query term."""
    scores = np.zeros(len(lengths), dtype=np.float32)
    per_term = np.float32(K1 * B / average_length)
    for weighted in query:
        rows, counts = postings.of(weighted.term)
        norm = np.float32(K1 * (1 - B)) + per_term * lengths[rows].astype(np.float32)
        scores[rows] += np.float32(weighted.idf * (K1 + 1)) * counts / (counts + norm)
    return scores
