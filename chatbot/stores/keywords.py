"""Keyword scores: BM25 (Robertson and Zaragoza, 2009; IDF as in Lucene, so it is never
negative) and proximity.

Proximity is how close together a passage has the question's words, which BM25 ignores.
It has two measures, on the words that are indexed (stop words do not count as
distance):
- closeness: for each pair of words of the question that stand one after the other in
  the passage, the lighter one's weight over the square of their least distance
  (Rasolofo and Savoy, ECIR 2003; over neighbouring occurrences only, as Büttcher,
  Clarke and Lushman, SIGIR 2006, so that the cost grows with the occurrences, not with
  their pairs);
- share: how much of the question's weight the best stretch of WINDOW words holds (span
  measures: Tao and Zhai, SIGIR 2007). As a square root it damps passages that have one
  rare word often and the others not at all.

Only the POOL best passages by BM25 are refined, as in both papers. Measured in
benchmarks/README.md.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Postings:
    """For each term id the rows that hold it and how often: ``rows[starts[t]:starts[t +
    1]]``, same for ``counts``.
    """

    starts: NDArray[np.int64]
    rows: Ints
    counts: Floats

    @classmethod
    def build(cls, terms: Ints, lengths: Ints) -> "Postings":
        """``terms``: every row's term ids one after another; ``lengths``: terms per
        row.
        """
        blocks = list(_blocks(terms, lengths))
        vocabulary = max(
            (int(terms_of[-1]) + 1 for terms_of, _, _ in blocks), default=0
        )
        per_term = sum(
            (np.bincount(terms_of, minlength=vocabulary) for terms_of, _, _ in blocks),
            np.zeros(1, int),
        )
        starts = np.concatenate(([0], np.cumsum(per_term[:vocabulary])))
        rows, counts = (
            np.empty(starts[-1], dtype=np.int32),
            np.empty(starts[-1], dtype=np.float32),
        )
        free = starts[:-1].copy()
        for terms_of, rows_of, counts_of in blocks:
            first = np.searchsorted(terms_of, terms_of)  # of the term in this block
            places = free[terms_of] + np.arange(len(terms_of)) - first
            rows[places], counts[places] = rows_of, counts_of
            free += np.bincount(terms_of, minlength=vocabulary)
        return cls(starts, rows, counts)

    def of(self, term: int) -> tuple[Ints, Floats]:
        """Return the rows with the term, and how often each has it."""
        part = (
            slice(self.starts[term], self.starts[term + 1])
            if term + 1 < len(self.starts)
            else slice(0)
        )
        return self.rows[part], self.counts[part]


BLOCK_ROWS = 50_000
"""Postings are made block by block: to sort all terms at once takes several times the
memory of the result.
"""


def _blocks(terms: Ints, lengths: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield (term, row, count) as arrays, sorted by term and row, for one block of rows
    after the other.
    """
    ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    for start in range(0, len(lengths), BLOCK_ROWS):
        held = lengths[start : start + BLOCK_ROWS]
        row_of_term = np.repeat(np.arange(len(held), dtype=np.int64), held)
        part = terms[ends[start] : ends[start + len(held)]]
        pairs, counts = np.unique(
            part.astype(np.int64) * len(held) + row_of_term, return_counts=True
        )
        if len(pairs):
            term_of_pair, row_of_pair = np.divmod(pairs, len(held))
            yield (
                term_of_pair.astype(np.int32),
                (row_of_pair + start).astype(np.int32),
                counts.astype(np.int32),
            )


@dataclass(frozen=True, slots=True)
class Bm25:
    """``k1``: the weight of further occurrences of a word; ``b``: how much long
    passages are held back.
    """

    k1: float = 1.2
    b: float = 0.75

    def norms(self, average_length: float) -> tuple[float, float]:
        """Return what is added to a count below the fraction: for every passage, and
        for each of its terms.
        """
        return self.k1 * (1 - self.b), self.k1 * self.b / average_length

    def of_candidates(
        self, terms: Iterable[str], texts: Sequence[Sequence[str]]
    ) -> list[float]:
        """Return the score of each of these texts, given as terms: words are weighed by
        how few of the texts have them.
        """
        if not texts:
            return []
        counts = [Counter(text) for text in texts]
        average_length = max(sum(map(len, texts)) / len(texts), 1.0)
        base, per_term = self.norms(average_length)
        scores = [0.0] * len(texts)
        for term in terms:
            frequency = sum(term in count for count in counts)
            if not frequency:
                continue
            idf = inverse_document_frequency(len(texts), frequency)
            for place, count in enumerate(counts):
                if term in count:
                    norm = base + per_term * len(texts[place])
                    scores[place] += (
                        idf * (self.k1 + 1) * count[term] / (count[term] + norm)
                    )
        return scores


def inverse_document_frequency(documents: int, frequency: int) -> float:
    """Return that of a term which ``frequency`` of the ``documents`` have; never
    negative.
    """
    return float(np.log1p((documents - frequency + 0.5) / (frequency + 0.5)))


def bm25_scores(
    postings: Postings,
    lengths: Ints,
    terms: Iterable[int],
    idf: Mapping[int, float],
    average_length: float,
    bm25: Bm25,
    inside: NDArray[np.bool_] | None = None,
) -> Floats:
    """Return the scores of every row, shape (rows,); 0 for a row with none of the
    query's terms. ``inside``: only these rows are scored.
    """
    scores = np.zeros(len(lengths), dtype=np.float32)
    base, per_term = map(np.float32, bm25.norms(average_length))
    for term in terms:
        rows, counts = postings.of(term)
        if inside is not None:
            chosen = inside[rows]
            rows, counts = rows[chosen], counts[chosen]
        norm = base + per_term * lengths[rows].astype(np.float32)
        scores[rows] += np.float32(idf[term] * (bm25.k1 + 1)) * counts / (counts + norm)
    return scores


POOL = 100
WINDOW = 12
"""Index terms: about a sentence. Between 8 and 20 nothing changes beyond chance."""

Longs = NDArray[np.int64]
Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Occurrences:
    """The question's words in the passages, in reading order, one entry each.

    ``places`` count on from passage to passage; ``words`` number the question's words
    from 0 to ``vocabulary``; ``before`` is the place of the same word's previous
    occurrence in the passage, -1 where there is none.
    """

    passages: Longs
    places: Longs
    words: Longs
    weights: Doubles
    before: Longs
    vocabulary: int

    @classmethod
    def find(
        cls, texts: Sequence[NDArray[np.int32]], weights: Mapping[int, float]
    ) -> "_Occurrences":
        # Words are numbered as the question has them, not as the index does: the order
        # of sums must not depend on passages that a caller may not see.
        asked = np.asarray(list(weights), dtype=np.int64)
        weight_of = np.asarray(list(weights.values()), dtype=np.float64)
        in_order = np.argsort(asked)
        vocabulary = asked[in_order]
        terms = np.concatenate(texts)
        nearest = np.minimum(np.searchsorted(vocabulary, terms), len(vocabulary) - 1)
        places = np.flatnonzero(vocabulary[nearest] == terms)
        words = in_order[nearest[places]]
        passages = np.repeat(np.arange(len(texts)), [len(text) for text in texts])[
            places
        ]
        keys = passages * len(vocabulary) + words
        order = np.argsort(keys, kind="stable")
        again = keys[order[1:]] == keys[order[:-1]]
        before = np.full(len(places), -1, dtype=np.int64)
        before[order[1:][again]] = places[order[:-1][again]]
        return cls(passages, places, words, weight_of[words], before, len(vocabulary))


def with_proximity(
    scores: Doubles, texts: Sequence[NDArray[np.int32]], weights: Mapping[int, float]
) -> Doubles:
    """Return (score + closeness) x sqrt(share) of each passage, shape (len(texts),).

    ``texts`` are the passages' term numbers in reading order, ``weights`` the inverse
    document frequencies of the question's words by term number; every passage has at
    least one of them.
    """
    if not texts:
        return scores
    hits = _Occurrences.find(texts, weights)
    share = _best_window(hits, len(texts)) / sum(weights.values())
    refined: Doubles = (scores + _closeness(hits, len(texts))) * np.sqrt(share)
    return refined


def _closeness(hits: _Occurrences, count: int) -> Doubles:
    first, second = hits.words[:-1], hits.words[1:]
    pairs = np.flatnonzero(
        (hits.passages[1:] == hits.passages[:-1]) & (first != second)
    )
    if not len(pairs):
        return np.zeros(count)
    lighter = np.minimum(hits.weights[pairs], hits.weights[pairs + 1])
    gains = lighter / np.square(hits.places[pairs + 1] - hits.places[pairs])
    unordered = (
        np.minimum(first, second)[pairs] * hits.vocabulary
        + np.maximum(first, second)[pairs]
    )
    keys = hits.passages[pairs] * hits.vocabulary**2 + unordered
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    best = np.maximum.reduceat(gains[order], starts)
    closeness: Doubles = np.zeros(count)
    np.add.at(closeness, hits.passages[pairs][order][starts], best)
    return closeness


def _best_window(hits: _Occurrences, count: int) -> Doubles:
    """Return the greatest weight of different words within WINDOW, shape (count,)."""
    held = hits.weights.copy()  # by the window that begins with this occurrence
    for ahead in range(1, min(WINDOW, len(held))):
        places, start = hits.places[ahead:], hits.places[:-ahead]
        inside = (hits.passages[ahead:] == hits.passages[:-ahead]) & (
            places - start < WINDOW
        )
        if not bool(inside.any()):
            break
        new = inside & (hits.before[ahead:] < start)
        held[:-ahead] += np.where(new, hits.weights[ahead:], 0.0)
    best = np.zeros(count)
    np.maximum.at(best, hits.passages, held)
    return best
