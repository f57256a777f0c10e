"""Removes sentences that repeat an earlier section of a report (R-A6, seed 000).

Removing a new sentence does more harm than keeping a repeated one. So a sentence is removed only if a near earlier one
has all of its words. Measured with MiniLM on sentences of the sample reports: of 400 repeated in other words 39 stay;
of 1,944 that differ in a country, a year, a figure or a "not", or say a little more, one is removed."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ...checking.wording import strip_marks, without_numbers
from ...domain import Embedder, Matrix, RequestContext, Usage, Vector
from ...language import WORD_PATTERN, Analyzer, sentences

LEAST_COSINE = 0.5
"""Cosine above which a sentence is about the topic of a section: seed 000's threshold for written content."""
SAME_COSINE = 0.88
"""Cosine from which two sentences may say the same."""
MOST_SHOWN = 10
SHORTEST = 4
"""Words of a sentence below which it cannot repeat anything: a lead-in, an item of a list."""
_FILLER = """
about according additionally addition also amount amounted approximately around estimated furthermore moreover notably
passage passages report reported reports roughly said say says showed shows stand stated states stood total totalled"""
"""Words that change when a sentence is put in another way."""
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
"""Words that change the meaning of a sentence, but hardly its vector."""
_NUMBERS = re.compile(r"(?:\[\d{1,3}(?:\s*,\s*\d{1,3})*\]\s*)+")
_MARK = re.compile(r"[ \t>]*(?:(?:[-*+]|\(?\d{1,3}[.)])[ \t]+)?")
_LAID_OUT = re.compile(r"\s*+(?:#{1,6}\s|\||[-:| ]+$|(?:[^|]*(?<!\\)\|){2})")
"""A heading, a row of a table, a line across."""
_HEADING = re.compile(r"\s*#{1,6}\s")
_FENCE = re.compile(r"\s*(?:`{3}|~{3})")
_NOT = re.compile(r"n['’]t\b")


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence with what is compared: its words and figures, and the number of each turning word."""

    text: str
    terms: frozenset[str]
    turning: Counter[str]

    def repeats(self, earlier: "_Sentence") -> bool:
        """Return whether ``earlier`` says all that this sentence says."""
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
        """Return the embedding tokens since the last call."""
        spent, self._usage = self._usage, Usage()
        return spent

    def sentences_about(self, topic: str, request: RequestContext | None = None) -> list[str]:
        """Return what is written about a topic, at most `MOST_SHOWN` sentences, in the order of the report.

        Raises:
            EmbeddingError: the embedder failed."""
        if not self._written:
            return []
        cosines = self._vectors[: len(self._written)] @ self._embedded([topic], request)[0]
        best = [int(place) for place in np.argsort(-cosines, kind="stable")[:MOST_SHOWN]]
        return [self._written[place].text for place in sorted(best) if cosines[place] > LEAST_COSINE]

    def without_repetition(self, text: str, request: RequestContext | None = None) -> str:
        """Remove sentences that an earlier section, or the text itself further up, has already; remember the others.

        Headings, tables and code stay; an item of a list goes with its mark, a lead-in ("...:") with its items.

        Raises:
            EmbeddingError: the embedder failed; nothing is remembered."""
        lines = list(marked_lines(text))
        texts = {sentence: without_numbers(sentence) for _, _, parts in lines for sentence in parts}
        count, longest = self._embedder.count_tokens, self._embedder.max_tokens
        readable = {sentence: text for sentence, text in texts.items() if count(text) <= longest}
        embedded = self._embedded(list(readable.values()), request) if readable else ()
        vectors: dict[str, Vector] = dict(zip(readable, embedded, strict=True))
        # Room for all at once: a model that says one line ten thousand times over must not make copies of them all.
        room = np.empty((sum(len(parts) for _, _, parts in lines), self._embedder.dimensions), dtype=np.float32)
        self._vectors = np.vstack([self._vectors[: len(self._written)], room])
        left: list[str | None] = []
        for line, mark, parts in lines:
            new = [sentence for sentence in parts if self._is_new(sentence, vectors.get(sentence))]
            if len(new) == len(parts):
                left.append(line)
            else:
                left.append(f"{mark}{' '.join(new)}" if new else None)
        return remaining(left)

    def _is_new(self, sentence: str, vector: Vector | None) -> bool:
        """Remember a sentence unless it repeats one. Without a vector it is too long for the embedder, and stays."""
        if vector is None:
            return True
        plain = strip_marks(without_numbers(sentence))
        words = map(str.lower, WORD_PATTERN.findall(_NOT.sub(" not", plain)))
        terms = frozenset(self._analyzer.terms(plain)) - self._filler
        new = _Sentence(sentence, terms, Counter(word for word in words if word in TURNING_WORDS))
        if len(terms) >= SHORTEST and not sentence.endswith(":"):
            near = np.flatnonzero(self._vectors[: len(self._written)] @ vector >= SAME_COSINE)
            if any(new.repeats(self._written[place]) for place in near):
                return False
        self._vectors[len(self._written)] = vector
        self._written.append(new)
        return True

    def _embedded(self, texts: list[str], request: RequestContext | None) -> Matrix:
        self._usage += Usage(embedding_tokens=sum(map(self._embedder.count_tokens, texts)))
        return self._embedder.embed_documents(texts, request=request)


def has_statements(text: str) -> bool:
    """Return whether a text says anything; headings alone do not."""
    return any(line.strip() and not _HEADING.match(line) for line in text.splitlines())


def remaining(lines: Iterable[str | None]) -> str:
    """Join the lines; None stands for one that was dropped. A line that introduced only dropped lines goes, too."""
    kept: list[str] = []
    was_dropped = introduces_nothing = False
    for line in [*lines, "."]:  # what ends the text ends a lead-in
        if line is None:
            above = next((one for one in reversed(kept) if one.strip()), "")
            was_dropped, introduces_nothing = True, above.rstrip(" *_").endswith(":") and not _LAID_OUT.match(above)
        elif not line.strip():
            if not was_dropped or (kept and kept[-1].strip()):
                kept.append(line)
        else:
            is_item = (mark := _MARK.match(line)) and mark[0].strip()
            if introduces_nothing and not (is_item or _LAID_OUT.match(line) or _FENCE.match(line)):
                while not kept[-1].strip():
                    kept.pop()
                kept.pop()
            introduces_nothing = False
            kept.append(line)
    return "\n".join(kept[:-1]).strip()


def marked_lines(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each line, its list mark, and its sentences; none for headings, tables, code, items with items below."""
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
    """Split into sentences. A quotation is never cut; citations after a full stop belong to the sentence before."""
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
