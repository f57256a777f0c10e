"""What a report says already, so that its next section does not say it again (R-A6, seed 000).

Taking out what is new does more harm than leaving in what is not: a sentence goes only where it has no word that an
earlier one, near to it, has not. Measured with MiniLM on sentences of the sample reports: of 400 repeated in other
words 39 stay; of 1,944 that differ in a country, a year, a figure or a "not", or say a little more, one goes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..generation.sentences import without_numbers
from ..generation.wording import unmarked
from ..protocols import Embedder
from ..schema import Matrix, Usage, Vector
from ..text import Analyzer
from .lines import Kept, lines_of

LEAST_COSINE = 0.5
"""Above it, a sentence is about the same as a section to come: seed 000's threshold for written content."""
SAME_COSINE = 0.88
"""From which two sentences may say the same."""
MOST_SHOWN = 10
SHORTEST = 4
"""Words of a sentence below which it cannot repeat anything: a lead-in, an item of a list."""
_EMPTY = """
about according additionally addition also amount amounted approximately around estimated furthermore moreover notably
passage passages report reported reports roughly said say says showed shows stand stated states stood total totalled
"""
"""Words that tell nothing: they come and go when a sentence is put in another way."""
_TELLING = """
no not never none nor neither without cannot hardly one two three four five six seven eight nine ten half twice
first second third last more less most least fewer high higher highest low lower lowest large larger largest small
smaller smallest better best worse worst up down above below over under before after earlier later inside outside
increase increases increased decrease decreases decreased rise rises rose risen fall falls fell fallen grow grows grew
grown growth shrink shrinks shrank decline declines declined gain gains gained lose loses lost won improve improves
improved worsen worsens worsened begin began end ended joined left surplus deficit import imports export exports male
female men women rural urban north south east west northern southern eastern western former current old young rich poor
"""
TELLING = frozenset(_TELLING.split())
"""One of these in another's place turns a sentence round, and hardly moves its vector."""
_WORD = re.compile(r"\w+")
_NOT = re.compile(r"n['’]t\b")


@dataclass(frozen=True, slots=True)
class _Said:
    """A sentence and what of it is compared: its words and figures, and how often it has which telling word."""

    text: str
    terms: frozenset[str]
    telling: Counter[str]

    def repeats(self, earlier: _Said) -> bool:
        """Whether it has nothing that the earlier one has not."""
        return self.terms <= earlier.terms and self.telling <= earlier.telling


class AlreadyWritten:
    """The sentences of the sections so far."""

    def __init__(self, embedder: Embedder, analyzer: Analyzer) -> None:
        self._embedder = embedder
        self._analyzer = analyzer
        self._empty = frozenset(analyzer.terms(_EMPTY))
        self._said: list[_Said] = []
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
        if not self._said:
            return []
        cosines = self._vectors[: len(self._said)] @ self._embedded([topic])[0]
        best = [int(place) for place in np.argsort(-cosines, kind="stable")[:MOST_SHOWN]]
        return [self._said[place].text for place in sorted(best) if cosines[place] > LEAST_COSINE]

    def without_repetition(self, text: str) -> str:
        """The text without sentences that stand in an earlier section or further up in it; the rest is remembered.

        Headings, tables and code stay; an item of a list goes with its mark, a lead-in ("...:") with its items.

        Raises:
            EmbeddingError: the embedder failed; nothing is remembered.
        """
        lines = list(lines_of(text))
        vectors = self._vectors_of([sentence for _, _, parts in lines for sentence in parts])
        # Room for all at once: a model that says one line ten thousand times over must not make copies of them all.
        room = np.empty((sum(len(parts) for _, _, parts in lines), self._embedder.dimensions), dtype=np.float32)
        self._vectors = np.vstack([self._vectors[: len(self._said)], room])
        new = Kept()
        for line, mark, parts in lines:
            kept = [sentence for sentence in parts if self._is_new(sentence, vectors.get(sentence))]
            if parts and not kept:
                new.leave_out()
            else:
                new.add(line if len(kept) == len(parts) else f"{mark}{' '.join(kept)}")
        return new.text()

    def _vectors_of(self, said: Sequence[str]) -> dict[str, Vector]:
        """By sentence; without those that the embedder cannot read whole."""
        texts = {sentence: without_numbers(sentence) for sentence in said}
        read = {s: text for s, text in texts.items() if self._embedder.count_tokens(text) <= self._embedder.max_tokens}
        return dict(zip(read, self._embedded(list(read.values())), strict=True)) if read else {}

    def _is_new(self, sentence: str, vector: Vector | None) -> bool:
        if vector is None:
            return True
        new = self._read(sentence)
        if len(new.terms) >= SHORTEST and not sentence.endswith(":"):
            near = np.flatnonzero(self._vectors[: len(self._said)] @ vector >= SAME_COSINE)
            if any(new.repeats(self._said[place]) for place in near):
                return False
        self._vectors[len(self._said)] = vector
        self._said.append(new)
        return True

    def _read(self, sentence: str) -> _Said:
        plain = unmarked(without_numbers(sentence))
        words = map(str.lower, _WORD.findall(_NOT.sub(" not", plain)))
        terms = frozenset(self._analyzer.terms(plain)) - self._empty
        return _Said(sentence, terms, Counter(word for word in words if word in TELLING))

    def _embedded(self, texts: list[str]) -> Matrix:
        self._usage += Usage(embedding_tokens=sum(map(self._embedder.count_tokens, texts)))
        return self._embedder.embed_documents(texts)
