"""What a report says already, so that its next section does not say it again (R-A6, seed 000)."""

from __future__ import annotations

import numpy as np

from ..generation.sentences import without_numbers
from ..protocols import Embedder
from ..schema import Matrix, Usage, Vector
from ..text import Analyzer, sentences

LEAST_COSINE = 0.5
"""Above it, a sentence is about the same as a section to come: seed 000's threshold for written content."""
SAME_COSINE = 0.9
SAME_WORDS = 0.8
"""Share of their words (the smaller set's) from which two sentences that are that near say the same."""
MOST_SHOWN = 10
SHORTEST = 4
"""Words of a sentence below which it cannot repeat anything: a lead-in, an item of a list."""


class AlreadyWritten:
    """The sentences of the sections so far."""

    def __init__(self, embedder: Embedder, analyzer: Analyzer) -> None:
        self._embedder = embedder
        self._analyzer = analyzer
        self._sentences: list[str] = []
        self._terms: list[frozenset[str]] = []
        self._vectors: Matrix = np.empty((0, embedder.dimensions), dtype=np.float32)
        self._usage = Usage()

    def spent(self) -> Usage:
        """Embedding tokens since this was asked last."""
        spent, self._usage = self._usage, Usage()
        return spent

    def about(self, topic: str) -> list[str]:
        """What is written about a topic, at most `MOST_SHOWN` sentences, in the order of the report.

        Raises:
            EmbeddingError: the embedder failed.
        """
        if not self._sentences:
            return []
        cosines = self._vectors @ self._embedded([topic])[0]
        best = [int(place) for place in np.argsort(-cosines, kind="stable")[:MOST_SHOWN]]
        return [self._sentences[place] for place in sorted(best) if cosines[place] > LEAST_COSINE]

    def without_repetition(self, text: str) -> str:
        """The text without sentences that stand in an earlier section or further up in it; the rest is remembered.

        Raises:
            EmbeddingError: the embedder failed.
        """
        lines = [sentences(line) or [line] for line in text.splitlines()]
        said = [sentence for line in lines for sentence in line if sentence.strip()]
        vectors = iter(self._embedded([without_numbers(sentence) for sentence in said]))
        kept_lines = []
        for line in lines:
            kept = [sentence for sentence in line if not sentence.strip() or self._is_new(sentence, next(vectors))]
            if kept:
                kept_lines.append(" ".join(kept))
        return "\n".join(kept_lines).strip()

    def _is_new(self, sentence: str, vector: Vector) -> bool:
        terms = frozenset(self._analyzer.terms(without_numbers(sentence)))
        if len(terms) >= SHORTEST:
            near = np.flatnonzero(self._vectors @ vector >= SAME_COSINE)
            if any(self._shares(terms, self._terms[place]) for place in near):
                return False
        self._sentences.append(sentence)
        self._terms.append(terms)
        self._vectors = np.vstack([self._vectors, vector[None, :]])
        return True

    def _shares(self, one: frozenset[str], other: frozenset[str]) -> bool:
        """Whether they share most words, and all figures: two years of one statistic differ in nothing else."""
        figures = {term for term in one ^ other if term[:1].isdigit()}
        return not figures and len(one & other) >= SAME_WORDS * max(1, min(len(one), len(other)))

    def _embedded(self, texts: list[str]) -> Matrix:
        self._usage += Usage(embedding_tokens=sum(map(self._embedder.count_tokens, texts)))
        return self._embedder.embed_documents(texts)
