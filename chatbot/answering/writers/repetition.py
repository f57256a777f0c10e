"""Removes sentences that repeat an earlier section of a report (R-A6, seed 000).

Removing a new sentence does more harm than keeping a repeated one. So a sentence is
removed only if an earlier one, not much longer, has all of its words. Of 2,500
different lines of the sample reports 27 are removed.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...checking.wording import strip_marks, without_numbers
from ...language.analysis import WORD_PATTERN, Analyzer
from ...language.sentences import sentences

MOST_LONGER = 1.5
"""Words of an earlier sentence for each word of one that repeats it, at most."""
SHORTEST = 4
"""Words of a sentence below which it cannot repeat anything: a lead-in, an item of a
list.
"""
_FILLER = """
about according additionally addition also amount amounted approximately around estimated furthermore moreover notably
passage passages report reported reports roughly said say says showed shows stand stated states stood total totalled"""  # noqa: E501
"""Words that change when a sentence is put in another way."""
_TURNING = "no not nor more most up down above below over under before after"
TURNING_WORDS = frozenset(_TURNING.split())
"""Stop words that change what a sentence says."""
_NUMBERS = re.compile(r"(?:\[\d{1,3}(?:\s*,\s*\d{1,3})*\]\s*)+")
_MARK = re.compile(r"[ \t>]*(?:(?:[-*+]|\(?\d{1,3}[.)])[ \t]+)?")
_LAID_OUT = re.compile(r"\s*+(?:#{1,6}\s|\||[-:| ]+$|(?:[^|]*(?<!\\)\|){2})")
"""A heading, a row of a table, a line across."""
_FENCE = re.compile(r"\s*(?:`{3}|~{3})")
_NOT = re.compile(r"n['’]t\b")


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence with the number of each of its words that say something."""

    text: str
    words: Counter[str]

    def repeats(self, earlier: "_Sentence") -> bool:
        """Return whether ``earlier`` says all that this sentence says, and little
        more.
        """
        return (
            self.words <= earlier.words
            and earlier.words.total() <= MOST_LONGER * self.words.total()
        )


class WrittenSentences:
    """The sentences of a report so far."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._filler = frozenset(analyzer.terms(_FILLER))
        self._written: list[_Sentence] = []

    def without_repetition(self, text: str) -> str:
        """Remove sentences that an earlier section, or the text itself further up, has
        already; remember the others.

        Headings, tables and code stay; an item of a list goes with its mark, a lead-in
        ("...:") with its items.
        """
        left: list[str | None] = []
        for line, mark, parts in marked_lines(text):
            new = [sentence for sentence in parts if self._is_new(sentence)]
            if len(new) == len(parts):
                left.append(line)
            else:
                left.append(f"{mark}{' '.join(new)}" if new else None)
        return remaining(left)

    def _is_new(self, sentence: str) -> bool:
        """Remember a sentence unless it repeats one."""
        plain = strip_marks(without_numbers(sentence))
        words = Counter(
            term for term in self._analyzer.terms(plain) if term not in self._filler
        )
        lowered = map(str.lower, WORD_PATTERN.findall(_NOT.sub(" not", plain)))
        words.update(word for word in lowered if word in TURNING_WORDS)
        new = _Sentence(sentence, words)
        if (
            len(words) >= SHORTEST
            and not sentence.endswith(":")
            and any(map(new.repeats, self._written))
        ):
            return False
        self._written.append(new)
        return True


def remaining(lines: Iterable[str | None]) -> str:
    """Join the lines; None stands for one that was dropped. A line that introduced only
    dropped lines goes, too.
    """
    kept: list[str] = []
    was_dropped = introduces_nothing = False
    for line in [*lines, "."]:  # what ends the text ends a lead-in
        if line is None:
            above = next((text for text in reversed(kept) if text.strip()), "")
            was_dropped = True
            introduces_nothing = _introduces(above)
            continue
        if not line.strip():
            if not was_dropped or (kept and kept[-1].strip()):
                kept.append(line)
            continue
        if introduces_nothing and not _goes_on(line):
            while not kept[-1].strip():
                kept.pop()
            kept.pop()
        introduces_nothing = False
        kept.append(line)
    return "\n".join(kept[:-1]).strip()


def _introduces(line: str) -> bool:
    return line.rstrip(" *_").endswith(":") and not _LAID_OUT.match(line)


def _goes_on(line: str) -> bool:
    """Return whether a line belongs to a list, a table or code that was introduced."""
    mark = _MARK.match(line)
    if mark and mark[0].strip():
        return True
    return bool(_LAID_OUT.match(line) or _FENCE.match(line))


def marked_lines(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each line, its list mark, and its sentences; none for headings, tables,
    code, items with items below.
    """
    lines = text.splitlines()
    in_code = False
    for place, line in enumerate(lines):
        fence = _FENCE.match(line) is not None
        in_code = in_code != fence
        match = _MARK.match(line)
        mark = match[0] if match else ""
        below = lines[place + 1] if place + 1 < len(lines) else ""
        has_items = mark.strip() and len(below) - len(below.lstrip()) > len(line) - len(
            line.lstrip()
        )
        is_kept = fence or in_code or has_items or _LAID_OUT.match(line)
        yield line, mark, [] if is_kept else _sentences(line[len(mark) :])


def _sentences(text: str) -> list[str]:
    """Split into sentences. A quotation is never cut; citations after a full stop
    belong to the sentence before.
    """
    whole: list[str] = []
    for piece in sentences(text):
        numbers = _NUMBERS.match(piece)
        if whole and (
            whole[-1].count("“") > whole[-1].count("”") or whole[-1].count('"') % 2
        ):
            whole[-1] = f"{whole[-1]} {piece}"
        elif whole and numbers:
            whole[-1] = f"{whole[-1]} {numbers[0].strip()}"
            whole += filter(None, [piece[numbers.end() :]])
        else:
            whole.append(piece)
    return whole
