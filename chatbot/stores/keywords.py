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
- share: how much of the question's weight the best stretch of WINDOW_TERMS words holds
  (span measures: Tao and Zhai, SIGIR 2007). As a square root it damps passages that
  have one rare word often and the others not at all.

Only the MAX_REFINED_PASSAGES best passages by BM25 are refined, as in both papers.
Measured in benchmarks/README.md.
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
        vocabulary = int(terms.max(initial=-1)) + 1
        frequencies = np.zeros(vocabulary, dtype=np.int64)
        for block_terms, _, _ in blocks:
            frequencies += np.bincount(block_terms, minlength=vocabulary)
        starts = np.concatenate(([0], np.cumsum(frequencies)))
        rows = np.empty(starts[-1], dtype=np.int32)
        counts = np.empty(starts[-1], dtype=np.float32)
        free = starts[:-1].copy()  # each term's first position that is not yet filled
        for block_terms, block_rows, block_counts in blocks:
            first = np.searchsorted(block_terms, block_terms)  # of the term, in here
            positions = free[block_terms] + np.arange(len(block_terms)) - first
            rows[positions] = block_rows
            counts[positions] = block_counts
            free += np.bincount(block_terms, minlength=vocabulary)
        return cls(starts, rows, counts)

    def of(self, term: int) -> tuple[Ints, Floats]:
        """Return the rows with the term, and how often each has it."""
        if term + 1 >= len(self.starts):  # newer in the vocabulary than these postings
            return self.rows[:0], self.counts[:0]
        entries = slice(self.starts[term], self.starts[term + 1])
        return self.rows[entries], self.counts[entries]


BLOCK_ROWS = 50_000
"""Rows whose terms are sorted together: to sort all at once takes several times the
memory of the result. More rows make few larger blocks, fewer make many passes over the
vocabulary.
"""


def _blocks(terms: Ints, lengths: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield (term, row, count) as arrays, sorted by term and row, for one block of rows
    after the other.
    """
    ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    for start in range(0, len(lengths), BLOCK_ROWS):
        block_lengths = lengths[start : start + BLOCK_ROWS]
        rows = len(block_lengths)
        row_of_term = np.repeat(np.arange(rows, dtype=np.int64), block_lengths)
        block_terms = terms[ends[start] : ends[start + rows]].astype(np.int64)
        # Term and row as one number: sorting it sorts by both.
        pairs, counts = np.unique(block_terms * rows + row_of_term, return_counts=True)
        if len(pairs):
            term_of_pair, row_of_pair = np.divmod(pairs, rows)
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
        counts_of_texts = [Counter(text) for text in texts]
        average_length = max(sum(len(text) for text in texts) / len(texts), 1.0)
        base, per_term = self.norms(average_length)
        scores = [0.0] * len(texts)
        for term in terms:
            frequency = sum(term in counts for counts in counts_of_texts)
            if not frequency:
                continue
            weight = inverse_document_frequency(len(texts), frequency) * (self.k1 + 1)
            for index, counts in enumerate(counts_of_texts):
                if term in counts:
                    norm = base + per_term * len(texts[index])
                    scores[index] += weight * counts[term] / (counts[term] + norm)
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
    mask: NDArray[np.bool_] | None = None,
) -> Floats:
    """Return the scores of every row, shape (rows,); 0 for a row with none of the
    query's terms. ``mask``: only these rows are scored.
    """
    scores = np.zeros(len(lengths), dtype=np.float32)
    # In float32, like the arrays: float64 would double the memory of each product.
    base, per_term = (np.float32(norm) for norm in bm25.norms(average_length))
    for term in terms:
        rows, counts = postings.of(term)
        if mask is not None:
            in_mask = mask[rows]
            rows = rows[in_mask]
            counts = counts[in_mask]
        norm = base + per_term * lengths[rows].astype(np.float32)
        weight = np.float32(idf[term] * (bm25.k1 + 1))
        scores[rows] += weight * counts / (counts + norm)
    return scores


MAX_REFINED_PASSAGES = 100
"""Passages whose terms are read in order; as in both papers, a passage below these is
not raised into the few that are shown.
"""
WINDOW_TERMS = 12
"""Index terms: about a sentence. Between 8 and 20 nothing changes beyond chance."""

Longs = NDArray[np.int64]
Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Occurrences:
    """The question's words in the passages, in reading order, one entry each.

    ``positions`` count on from passage to passage; ``words`` number the question's
    words from 0 to ``vocabulary``; ``previous`` is the position of the same word's
    previous occurrence in the passage, -1 where there is none.
    """

    passages: Longs
    positions: Longs
    words: Longs
    weights: Doubles
    previous: Longs
    vocabulary: int

    @classmethod
    def find(
        cls, texts: Sequence[NDArray[np.int32]], weights: Mapping[int, float]
    ) -> "_Occurrences":
        """Look up the words of the question in the passages, given as term numbers."""
        # Words are numbered as the question has them, not as the index does: the order
        # of sums must not depend on passages that a caller may not see.
        question_terms = np.asarray(list(weights), dtype=np.int64)
        weight_of = np.asarray(list(weights.values()), dtype=np.float64)
        in_order = np.argsort(question_terms)
        vocabulary = question_terms[in_order]
        terms = np.concatenate(texts)
        nearest = np.minimum(np.searchsorted(vocabulary, terms), len(vocabulary) - 1)
        positions = np.flatnonzero(vocabulary[nearest] == terms)
        words = in_order[nearest[positions]]
        passage_of_term = np.repeat(
            np.arange(len(texts)), [len(text) for text in texts]
        )
        passages = passage_of_term[positions]
        # Sorted by passage and word, an occurrence follows the previous one of its
        # word.
        keys = passages * len(vocabulary) + words
        order = np.argsort(keys, kind="stable")
        repeats = keys[order[1:]] == keys[order[:-1]]
        previous = np.full(len(positions), -1, dtype=np.int64)
        previous[order[1:][repeats]] = positions[order[:-1][repeats]]
        return cls(
            passages, positions, words, weight_of[words], previous, len(vocabulary)
        )


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
    """Return the sum of each passage's best gains by pair of words, shape (count,)."""
    first = hits.words[:-1]
    second = hits.words[1:]
    pairs = np.flatnonzero(
        (hits.passages[1:] == hits.passages[:-1]) & (first != second)
    )
    if not len(pairs):
        return np.zeros(count)
    lighter = np.minimum(hits.weights[pairs], hits.weights[pairs + 1])
    gains = lighter / np.square(hits.positions[pairs + 1] - hits.positions[pairs])
    # "a b" and "b a" are the same pair.
    lower_word = np.minimum(first, second)[pairs]
    higher_word = np.maximum(first, second)[pairs]
    pair_of_words = lower_word * hits.vocabulary + higher_word
    keys = hits.passages[pairs] * hits.vocabulary**2 + pair_of_words
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    best = np.maximum.reduceat(gains[order], starts)
    closeness: Doubles = np.zeros(count)
    np.add.at(closeness, hits.passages[pairs][order][starts], best)
    return closeness


def _best_window(hits: _Occurrences, count: int) -> Doubles:
    """Return the greatest weight of different words within WINDOW_TERMS, shape
    (count,).
    """
    window_weights = hits.weights.copy()  # of the window that each occurrence begins
    for ahead in range(1, min(WINDOW_TERMS, len(window_weights))):
        starts = hits.positions[:-ahead]
        same_passage = hits.passages[ahead:] == hits.passages[:-ahead]
        in_window = same_passage & (hits.positions[ahead:] - starts < WINDOW_TERMS)
        if not bool(in_window.any()):
            break
        # A word that the window already has does not count again.
        is_new = in_window & (hits.previous[ahead:] < starts)
        window_weights[:-ahead] += np.where(is_new, hits.weights[ahead:], 0.0)
    best = np.zeros(count)
    np.maximum.at(best, hits.passages, window_weights)
    return best
