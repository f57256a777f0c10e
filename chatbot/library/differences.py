"""What the texts of two versions of a report say differently, sentence by sentence.

Sentences and lines that both versions have stand for places: what differs between the
same two is compared word by word. Text that was only moved is no difference. The time
grows with the length of the texts, also where they have nothing in common.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice

from ..domain import Chunk
from ..domain.differences import ComparedWords, TextDifference, TextDifferences
from ..domain.errors import read_table
from ..language.sentences import sentences

__all__ = ["MAX_LISTED", "text_differences"]

_LIMITS = read_table(__package__, "description")["differences"]
MAX_LISTED: int = _LIMITS["listed"]
MAX_WORDS: int = _LIMITS["words"]
MAX_TRIED: int = _LIMITS["tried"]
MIN_SHARED_WORDS: float = _LIMITS["shared_words"]
_WORDS = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class _Line:
    """A sentence or line of a passage; ``words``: all that counts of it."""

    words: tuple[str, ...]
    section: str
    page: int | None


_Lines = Mapping[tuple[str, ...], _Line]
_Pair = tuple[_Line | None, _Line | None]


def text_differences(
    old: Iterable[Chunk],
    new: Iterable[Chunk],
    check: Callable[[], None] = lambda: None,
) -> TextDifferences:
    """Return what two versions say differently, in the order of the newer one. Passages
    are in reading order; summaries do not count. ``check`` raises CancelledError once
    nobody waits.
    """
    before = _lines(old, check)
    after = _lines(new, check)
    removed = _runs(before, after)
    added = _runs(after, before)
    places = {words: place for place, words in enumerate(after, 1)}
    anchors = sorted({*removed, *added}, key=lambda words: places.get(words, 0))
    listed: list[_Pair] = []
    more = 0
    for anchor in anchors:
        check()
        gone = removed.get(anchor, ())
        new_lines = added.get(anchor, ())
        pairs = list(islice(_pairs(gone, new_lines), MAX_LISTED - len(listed)))
        listed += pairs
        # What is not listed is not paired, which takes time, but counted.
        gone_more = len(gone) - sum(line is not None for line, _ in pairs)
        new_more = len(new_lines) - sum(line is not None for _, line in pairs)
        more += max(gone_more, new_more)
    passages = tuple(_difference(*pair) for pair in listed)
    return TextDifferences(len(listed) + more, passages)


def _lines(chunks: Iterable[Chunk], check: Callable[[], None]) -> _Lines:
    """Return the sentences and lines of passages, each once: passages may overlap."""
    lines: dict[tuple[str, ...], _Line] = {}
    for chunk in chunks:
        check()
        if chunk.is_summary:
            continue
        for sentence in sentences(chunk.text):
            words = tuple(_WORDS.findall(sentence))
            lines.setdefault(words, _Line(words, chunk.section, chunk.page))
    return lines


def _runs(lines: _Lines, others: _Lines) -> Mapping[tuple[str, ...], list[_Line]]:
    """Return the lines that the other version does not have, by the line before them
    that it has; () at the beginning.
    """
    runs = defaultdict(list)
    anchor: tuple[str, ...] = ()
    for words, line in lines.items():
        if words in others:
            anchor = words
        else:
            runs[anchor].append(line)
    return dict(runs)


def _pairs(removed: Sequence[_Line], added: Sequence[_Line]) -> Iterator[_Pair]:
    """Yield what became what, in order. Of several lines, one became the first of the
    next few that shares enough words with it.
    """
    if len(removed) == len(added) == 1:
        yield removed[0], added[0]
        return
    start = 0
    for line in added:
        end = min(start + MAX_TRIED, len(removed))
        for position in range(start, end):
            if _is_alike(removed[position], line):
                for gone in removed[start:position]:
                    yield gone, None
                yield removed[position], line
                start = position + 1
                break
        else:
            yield None, line
    for gone in removed[start:]:
        yield gone, None


def _is_alike(one: _Line, other: _Line) -> bool:
    words = set(one.words)
    other_words = set(other.words)
    shared = len(words & other_words)
    return shared >= MIN_SHARED_WORDS * max(len(words), len(other_words))


def _difference(old: _Line | None, new: _Line | None) -> TextDifference:
    line = new or old
    assert line is not None
    removed = old.words if old else ()
    added = new.words if new else ()
    pieces = tuple(_pieces(removed[:MAX_WORDS], added[:MAX_WORDS]))
    return TextDifference(line.section, line.page, pieces)


def _pieces(old: Sequence[str], new: Sequence[str]) -> Iterator[ComparedWords]:
    """Yield the words of two lines, those that both have once."""
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for step, old_start, old_end, new_start, new_end in steps:
        if step == "equal":
            yield ComparedWords("same", " ".join(new[new_start:new_end]))
            continue
        if old_start < old_end:
            yield ComparedWords("removed", " ".join(old[old_start:old_end]))
        if new_start < new_end:
            yield ComparedWords("added", " ".join(new[new_start:new_end]))
