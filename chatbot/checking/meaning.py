"""The sentences of an answer that figures and words leave open, and what a language
model says of them: a cause, a superlative, who did what to whom.

A sentence is closed where one statement of its passages has all its telling words in
the same order: `contradictions` compares those. All others are open, in any language.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import groupby

from ..domain import Citation, Passage
from ..domain.chat import Mark, Unsupported, Verdict
from ..domain.errors import read_table
from .clauses import Clause, clauses, marks_in
from .contradictions import NEGATORS, Defect
from .evidence import GENERAL, WORD, Evidence, evidence_of
from .wording import is_quoted, stem, strip_marks, without_numbers

__all__ = [
    "OpenSentence",
    "SentenceVerdict",
    "doubts_of",
    "open_sentences",
    "without_guesses",
]

_SPACE_BEFORE = re.compile(r"\s+(?=[.,;:!?)])")
"""What a citation leaves between a sentence and its sign."""
MAX_SENTENCES = int(read_table(__package__, "meaning")["sentences"]["value"])


@dataclass(frozen=True, slots=True)
class OpenSentence:
    """A sentence to be judged; ``numbers`` are those of the passages that it cites,
    all where it cites none.
    """

    words: str
    numbers: tuple[int, ...]
    clauses: Sequence[Clause]


@dataclass(frozen=True, slots=True)
class SentenceVerdict:
    """``words``: those of a passage that contradict the sentence, if any."""

    sentence: OpenSentence
    verdict: Verdict
    words: str = ""


def open_sentences(
    response: str, passages: Mapping[int, Passage], unsupported: Sequence[Unsupported]
) -> list[OpenSentence]:
    """Return the sentences that cite ``passages`` and that no mark and no copied words
    have decided, in order, at most `MAX_SENTENCES`. That no word of a sentence is in
    its passages decides nothing: it may be a free paraphrase; one that cites nothing
    may say what the passages lack. Cells of tables are left out: their rows decide.
    """
    marked = {one.sentence for one in unsupported if not _is_guess(one)}
    guesses = {one.sentence for one in unsupported if _is_guess(one)}
    found: list[OpenSentence] = []
    for sentence in _sentences(response):
        numbers = _numbers_of(sentence, passages, guesses)
        if not numbers or any(one.text in marked for one in sentence.clauses):
            continue
        evidence = [evidence_of(passages[number]) for number in numbers]
        if _is_copied(sentence.words, evidence):
            continue
        found.append(replace(sentence, numbers=numbers))
        if len(found) == MAX_SENTENCES:
            break
    return found


def _numbers_of(
    sentence: OpenSentence, passages: Mapping[int, Passage], guesses: AbstractSet[str]
) -> tuple[int, ...]:
    """Return the numbers of the passages that a sentence is held against: all, where it
    cites none and a rule misses a source.
    """
    if sentence.numbers:
        return tuple(one for one in sentence.numbers if one in passages)
    if any(one.text in guesses for one in sentence.clauses):
        return tuple(passages)
    return ()


def without_guesses(
    response: str,
    sentences: Sequence[OpenSentence],
    unsupported: Sequence[Unsupported],
    marks: Sequence[Mark],
) -> tuple[list[Unsupported], list[Mark]]:
    """Return the doubts and marks without those that a verdict on these sentences has
    replaced: that none of their words is in their passages.
    """
    texts: set[str] = set()
    findings: list[tuple[Clause, Defect]] = []
    for sentence in sentences:
        for part in sentence.clauses:
            texts.add(part.text)
            findings.append((part, Defect("no_source", "")))
    guesses = set(marks_in(response, findings))
    kept: list[Unsupported] = []
    for one in unsupported:
        if one.sentence not in texts or not _is_guess(one):
            kept.append(one)
    return kept, [mark for mark in marks if mark not in guesses]


def _is_guess(doubt: Unsupported) -> bool:
    return doubt.no_source and not doubt.lacking and not doubt.unknown


def doubts_of(
    response: str,
    passages: Mapping[int, Passage],
    verdicts: Sequence[SentenceVerdict],
) -> tuple[list[Unsupported], list[Mark]]:
    """Return the doubtful sentences of these verdicts, and their places. A
    contradiction whose words are in no cited passage counts as not said.
    """
    unsupported: list[Unsupported] = []
    marks: list[Mark] = []
    for one in verdicts:
        numbers = one.sentence.numbers
        cited = [evidence_of(passages[number]) for number in numbers]
        kind = one.verdict
        words = one.words
        if not any(is_quoted(words, source.words) for source in cited) or not words:
            kind = "not_said"
            words = ""
        findings = [(part, Defect(kind, part.text)) for part in one.sentence.clauses]
        places = marks_in(response, findings)
        if not places:
            continue
        start = places[0].start
        end = places[-1].end
        text = " ".join(strip_marks(response[start:end]).split())
        marks.append(Mark(start, end, kind, text, words))
        cited_here = one.sentence.clauses[0].beside
        numbers = tuple(number for number in numbers if number in cited_here)
        unsupported.append(Unsupported(text, numbers, verdict=kind, words=words))
    return unsupported, marks


def with_doubts(
    citations: Sequence[Citation], response: str, unsupported: Sequence[Unsupported]
) -> tuple[Citation, ...]:
    """Return the citations; one that only doubtful sentences have is doubtful."""
    doubtful: set[int] = set()
    doubtful_texts = "\n".join(one.sentence for one in unsupported)
    for one in unsupported:
        doubtful.update(one.numbers)
    for clause in clauses(response):
        if clause.text not in doubtful_texts:
            doubtful.difference_update(clause.numbers)
    checked: list[Citation] = []
    for citation in citations:
        is_doubtful = citation.number in doubtful
        supported = citation.supported and not is_doubtful
        checked.append(replace(citation, supported=supported))
    return tuple(checked)


def _sentences(response: str) -> Iterator[OpenSentence]:
    """Yield the sentences of an answer that are in no table."""
    parts = [one for one in clauses(response) if one.cell is None]
    for words, group in groupby(parts, key=lambda one: one.sentence):
        of_sentence = list(group)
        shown = _SPACE_BEFORE.sub("", without_numbers(words)).strip()
        yield OpenSentence(shown, of_sentence[0].beside, of_sentence)


def _is_copied(words: str, cited: Sequence[Evidence]) -> bool:
    """Return whether one statement has the telling words of a sentence in their order,
    beside those of the title and heading above it.
    """
    keys = [stem(word) for word in WORD.findall(words)]
    if not NEGATORS.isdisjoint(keys):
        # What is negated where is more than the order of words.
        return False
    keys = [key for key in keys if key not in GENERAL]
    for source in cited:
        above = set(map(stem, WORD.findall(source.where)))
        telling = [key for key in keys if key not in above]
        for statement in source.nearest(frozenset(keys)):
            has = iter(map(stem, WORD.findall(statement.text)))
            if all(key in has for key in telling):
                return True
    return False
