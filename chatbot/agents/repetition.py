"""Keeps the sections of a report from saying what earlier ones said already (R-A6, seed 000).

Taking out what is new does more harm than leaving in what is not: a sentence goes only where it has no word that an
earlier one, near to it, has not. Measured with MiniLM on sentences of the sample reports: of 400 repeated in other
words 39 stay; of 1,944 that differ in a country, a year, a figure or a "not", or say a little more, one goes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..grounding.wording import strip_marks, without_numbers
from ..protocols import Embedder
from ..request import RequestContext
from ..schema import Matrix, Usage, Vector
from ..text import WORD_PATTERN, Analyzer, sentences

LEAST_COSINE = 0.5
"""Above it, a sentence is about the same as a section to come: seed 000's threshold for written content."""
SAME_COSINE = 0.88
"""The cosine from which two sentences may say the same."""
MOST_SHOWN = 10
SHORTEST = 4
"""Words of a sentence below which it cannot repeat anything: a lead-in, an item of a list."""
_FILLER = """
about according additionally addition also amount amounted approximately around estimated furthermore moreover notably
passage passages report reported reports roughly said say says showed shows stand stated states stood total totalled
"""
"""Words that tell nothing: they come and go when a sentence is put in another way."""
_TURNING = """
no not never none nor neither without cannot hardly one two three four five six seven eight nine ten half twice
first second third last more less most least fewer high higher highest low lower lowest large larger largest small
smaller smallest better best worse worst up down above below over under before after earlier later inside outside
increase increases increased decrease decreases decreased rise rises rose risen fall falls fell fallen grow grows grew
grown growth shrink shrinks shrank decline declines declined gain gains gained lose loses lost won improve improves
improved worsen worsens worsened begin began end ended joined left surplus deficit import imports export exports male
female men women rural urban north south east west northern southern eastern western former current old young rich poor
"""
TURNING_WORDS = frozenset(_TURNING.split())
"""One of these in another's place turns a sentence round, and hardly moves its vector."""
_NUMBERS = re.compile(r"(?:\[\d{1,3}(?:\s*,\s*\d{1,3})*\]\s*)+")
_MARK = re.compile(r"[ \t>]*(?:(?:[-*+]|\(?\d{1,3}[.)])[ \t]+)?")
_LAID_OUT = re.compile(r"\s*+(?:#{1,6}\s|\||[-:| ]+$|(?:[^|]*(?<!\\)\|){2})")
"""A heading, a row of a table, a line across."""
_HEADING = re.compile(r"\s*#{1,6}\s")
_FENCE = re.compile(r"\s*(?:`{3}|~{3})")
_NOT = re.compile(r"n['’]t\b")


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence and what of it is compared: its words and figures, and how often it has which turning word."""

    text: str
    terms: frozenset[str]
    turning: Counter[str]

    def repeats(self, earlier: _Sentence) -> bool:
        """Whether this sentence says nothing that ``earlier`` does not say."""
        return self.terms <= earlier.terms and self.turning <= earlier.turning


class WrittenSentences:
    """The sentences of the sections so far."""

    def __init__(self, embedder: Embedder, analyzer: Analyzer) -> None:
        self._embedder = embedder
        self._analyzer = analyzer
        self._filler = frozenset(analyzer.terms(_FILLER))
        self._written: list[_Sentence] = []
        self._vectors: Matrix = np.empty((0, embedder.dimensions), dtype=np.float32)
        self._usage = Usage()

    def take_usage(self) -> Usage:
        """Embedding tokens since this was asked last."""
        spent, self._usage = self._usage, Usage()
        return spent

    def sentences_about(self, topic: str, request: RequestContext | None = None) -> list[str]:
        """What is written about a topic, at most `MOST_SHOWN` sentences, in the order of the report.

        Raises:
            EmbeddingError: the embedder failed.
        """
        if not self._written:
            return []
        cosines = self._vectors[: len(self._written)] @ self._embedded([topic], request)[0]
        best = [int(place) for place in np.argsort(-cosines, kind="stable")[:MOST_SHOWN]]
        return [self._written[place].text for place in sorted(best) if cosines[place] > LEAST_COSINE]

    def without_repetition(self, text: str, request: RequestContext | None = None) -> str:
        """The text without sentences that stand in an earlier section or further up in it; the rest is remembered.

        Headings, tables and code stay; an item of a list goes with its mark, a lead-in ("...:") with its items.

        Raises:
            EmbeddingError: the embedder failed; nothing is remembered.
        """
        lines = list(marked_lines(text))
        vectors = self._vectors_of([sentence for _, _, parts in lines for sentence in parts], request)
        # Room for all at once: a model that says one line ten thousand times over must not make copies of them all.
        room = np.empty((sum(len(parts) for _, _, parts in lines), self._embedder.dimensions), dtype=np.float32)
        self._vectors = np.vstack([self._vectors[: len(self._written)], room])
        new = RemainingLines()
        for line, mark, parts in lines:
            kept = [sentence for sentence in parts if self._is_new(sentence, vectors.get(sentence))]
            if parts and not kept:
                new.leave_out()
            else:
                new.add(line if len(kept) == len(parts) else f"{mark}{' '.join(kept)}")
        return new.text()

    def _vectors_of(self, said: Sequence[str], request: RequestContext | None) -> dict[str, Vector]:
        """The vectors of sentences, by sentence, without those that are too long for the embedder."""
        texts = {sentence: without_numbers(sentence) for sentence in said}
        read = {s: text for s, text in texts.items() if self._embedder.count_tokens(text) <= self._embedder.max_tokens}
        return dict(zip(read, self._embedded(list(read.values()), request), strict=True)) if read else {}

    def _is_new(self, sentence: str, vector: Vector | None) -> bool:
        if vector is None:
            return True
        new = self._read(sentence)
        if len(new.terms) >= SHORTEST and not sentence.endswith(":"):
            near = np.flatnonzero(self._vectors[: len(self._written)] @ vector >= SAME_COSINE)
            if any(new.repeats(self._written[place]) for place in near):
                return False
        self._vectors[len(self._written)] = vector
        self._written.append(new)
        return True

    def _read(self, sentence: str) -> _Sentence:
        plain = strip_marks(without_numbers(sentence))
        words = map(str.lower, WORD_PATTERN.findall(_NOT.sub(" not", plain)))
        terms = frozenset(self._analyzer.terms(plain)) - self._filler
        return _Sentence(sentence, terms, Counter(word for word in words if word in TURNING_WORDS))

    def _embedded(self, texts: list[str], request: RequestContext | None) -> Matrix:
        self._usage += Usage(embedding_tokens=sum(map(self._embedder.count_tokens, texts)))
        return self._embedder.embed_documents(texts, request=request)


def has_statements(text: str) -> bool:
    """Whether a text says anything; headings alone do not."""
    return any(line.strip() and not _HEADING.match(line) for line in text.splitlines())


class RemainingLines:
    """The lines that stay. What leads in to lines of which none stays, does not stay either."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._taken_out = False
        self._leads_in_to_nothing = False

    def add(self, line: str) -> None:
        """Keep this line."""
        if not line.strip():
            if not self._taken_out or (self._lines and self._lines[-1].strip()):
                self._lines.append(line)
            return
        mark = _MARK.match(line)
        if not (mark and mark[0].strip()) and not _LAID_OUT.match(line) and not _FENCE.match(line):
            self._end_lead_in()
        self._leads_in_to_nothing = False
        self._lines.append(line)

    def leave_out(self) -> None:
        """Drop a line, and note whether the line above only introduced it."""
        self._taken_out = True
        above = next((line for line in reversed(self._lines) if line.strip()), "")
        self._leads_in_to_nothing = above.rstrip(" *_").endswith(":") and not _LAID_OUT.match(above)

    def text(self) -> str:
        """The text that is left, without lines that introduced only what was dropped."""
        self._end_lead_in()
        return "\n".join(self._lines).strip()

    def _end_lead_in(self) -> None:
        """What comes now is none of its lines."""
        if self._leads_in_to_nothing:
            while self._lines and not self._lines[-1].strip():
                self._lines.pop()
            self._lines.pop()


def marked_lines(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Each line as it is, the mark it begins with, and its sentences; none of what is laid out, or has items below."""
    lines = text.splitlines()
    in_code = False
    for place, line in enumerate(lines):
        fence = _FENCE.match(line) is not None
        in_code = in_code != fence
        match = _MARK.match(line)
        mark = match[0] if match else ""
        below = lines[place + 1] if place + 1 < len(lines) else ""
        has_items = mark.strip() and len(below) - len(below.lstrip()) > len(line) - len(line.lstrip())
        is_kept = fence or in_code or has_items or _LAID_OUT.match(line)
        yield line, mark, [] if is_kept else _sentences(line[len(mark) :])


def _sentences(text: str) -> list[str]:
    """A quotation is never cut; numbers after a full stop belong to what precedes them."""
    whole: list[str] = []
    for piece in sentences(text):
        numbers = _NUMBERS.match(piece)
        if whole and (whole[-1].count("“") > whole[-1].count("”") or whole[-1].count('"') % 2):
            whole[-1] = f"{whole[-1]} {piece}"
        elif whole and numbers:
            whole[-1] = f"{whole[-1]} {numbers[0].strip()}"
            whole += filter(None, [piece[numbers.end() :]])
        else:
            whole.append(piece)
    return whole
