"""The sentences of an answer that figures and words leave open, and what a language
model says of them: a cause, a superlative, who did what to whom.

A sentence is closed where one statement of its passages has all its telling words in
the same order: `contradictions` compares those. All others are open, in any language.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from typing import Literal

from ..domain import Citation, Passage
from ..domain.chat import Mark, Unsupported, Verdict
from ..domain.errors import read_table
from ..language.figures import comma_decimals
from .amounts import Amount, amounts
from .arithmetic import Fraction, fractions
from .clauses import Clause, clauses, marks_in
from .contradictions import NEGATORS, Defect
from .evidence import GENERAL, WORD, Evidence, evidence_of
from .proofs import Calculator, is_stated
from .wording import is_quoted, stem, strip_marks, without_numbers

__all__ = [
    "OpenSentence",
    "SentenceVerdict",
    "decided",
    "doubts_of",
    "open_sentences",
    "with_doubts",
    "without_open",
]

_SPACE_BEFORE = re.compile(r"\s+(?=[.,;:!?)])")
"""What a citation leaves between a sentence and its sign."""
MAX_SENTENCES = int(read_table(__package__, "meaning")["sentences"]["value"])


@dataclass(frozen=True, slots=True)
class OpenSentence:
    """A sentence or row of a table to be judged; ``numbers`` are those of the passages
    that it cites, all where it cites none.

    ``figures``: those that no rule derives, as they are written; a calculation has to
    prove them.
    """

    words: str
    numbers: tuple[int, ...]
    clauses: Sequence[Clause]
    figures: Mapping[str, Amount | Fraction] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SentenceVerdict:
    """``words``: those of a passage that contradict the sentence, if any;
    ``formulas``: by the figure that they prove. ``verdict``: "" = supported.
    """

    sentence: OpenSentence
    verdict: Verdict | Literal[""]
    words: str = ""
    formulas: Mapping[str, str] = field(default_factory=dict)


def open_sentences(
    response: str, passages: Mapping[int, Passage], unsupported: Sequence[Unsupported]
) -> list[OpenSentence]:
    """Return the sentences that cite ``passages``, or count and compute what others
    cite, and that no mark and no copied words have decided, in order, at most
    `MAX_SENTENCES`. That no word of a sentence is in its passages decides nothing: it
    may be a free paraphrase; one that cites nothing may say what the passages lack, and
    a figure may follow from theirs in a way that no rule knows. Of tables what is
    computed is open: their rows decide the others.
    """
    doubts = {one.sentence: one for one in unsupported}
    found: list[OpenSentence] = []
    for sentence in (*_sentences(response), *_rows(response, doubts, passages)):
        own = [doubts[one.text] for one in sentence.clauses if one.text in doubts]
        numbers = _numbers_of(sentence, passages, is_doubtful=bool(own))
        if not numbers or not all(_is_open(doubt) for doubt in own):
            continue
        evidence = [evidence_of(passages[number]) for number in numbers]
        if not own and _is_copied(sentence.words, evidence):
            continue
        unproven = dict(_unproven(sentence, doubts, evidence))
        found.append(replace(sentence, numbers=numbers, figures=unproven))
        if len(found) == MAX_SENTENCES:
            break
    return found


def _numbers_of(
    sentence: OpenSentence, passages: Mapping[int, Passage], *, is_doubtful: bool
) -> tuple[int, ...]:
    """Return the numbers of the passages that a sentence is held against: all, where it
    cites none and has a number, or a rule misses a source.
    """
    if sentence.numbers:
        return tuple(one for one in sentence.numbers if one in passages)
    if is_doubtful or _has_number(sentence.words):
        return tuple(passages)
    return ()


def _has_number(words: str) -> bool:
    return bool(amounts(words, comma=comma_decimals(words))) or any(fractions(words))


def _unproven(
    sentence: OpenSentence,
    doubts: Mapping[str, Unsupported],
    cited: Sequence[Evidence],
) -> Iterator[tuple[str, Amount | Fraction]]:
    """Yield the figures of a sentence that nothing derives; of a clause that lacks a
    source those that no passage states. Years, and numbers in words, are counts and
    names: the model's to judge.
    """
    for clause in sentence.clauses:
        doubt = doubts.get(clause.text)
        if doubt is None:
            continue
        for amount in _numbers_in(clause):
            text = amount.figure.text
            is_lacking = any(text in lacking for lacking in doubt.figures)
            if (is_lacking or doubt.no_source) and not is_stated(amount, cited):
                yield text, amount
        for fraction in fractions(clause.words):
            if doubt.no_source or fraction.text in doubt.figures:
                yield fraction.text, fraction


def _numbers_in(clause: Clause) -> Iterator[Amount]:
    """Yield the amounts in digits of a clause, of a cell without its headings."""
    start = len(clause.cell.headings) if clause.cell else 0
    for amount in clause.amounts(clause.words, comma=comma_decimals(clause.words)):
        is_other = amount.figure.word or amount.figure.year
        if amount.figure.start >= start and not is_other:
            yield amount


def decided(
    judged: Sequence[SentenceVerdict], passages: Mapping[int, Passage]
) -> list[SentenceVerdict]:
    """Return the verdicts that count: of a sentence with figures that nothing derives
    only that it is supported, by a calculation of each.
    """
    kept: list[SentenceVerdict] = []
    for one in judged:
        cited = [evidence_of(passages[number]) for number in one.sentence.numbers]
        calculator = Calculator(cited)
        proofs: list[bool] = []
        for text, claim in one.sentence.figures.items():
            proofs.append(calculator.proves(claim, one.formulas.get(text, "")))
        if not proofs or (not one.verdict and all(proofs)):
            kept.append(one)
    return kept


def without_open(
    response: str,
    sentences: Sequence[OpenSentence],
    judged: Sequence[SentenceVerdict],
    unsupported: Sequence[Unsupported],
    marks: Sequence[Mark],
) -> tuple[list[Unsupported], list[Mark]]:
    """Return the doubts and marks without those that the verdicts on some of the open
    ``sentences`` replace.
    """
    replaced = {id(one.sentence) for one in judged}
    texts: set[str] = set()
    others: set[str] = set()
    findings: list[tuple[Clause, Defect]] = []
    for sentence in sentences:
        is_replaced = id(sentence) in replaced
        for part in sentence.clauses:
            (texts if is_replaced else others).add(part.text)
            # In the order of the text, so that the same words are found at each place.
            findings.append(
                (part, Defect("no_source" if is_replaced else "figure", ""))
            )
    texts -= others
    spans: list[tuple[int, int]] = []
    for place in marks_in(response, findings):
        if place.kind == "no_source":
            spans.append((place.start, place.end))
    kept = [one for one in unsupported if one.sentence not in texts]
    outside: list[Mark] = []
    for mark in marks:
        if not any(start <= mark.start and mark.end <= end for start, end in spans):
            outside.append(mark)
    return kept, outside


def _is_open(doubt: Unsupported) -> bool:
    """Return whether no rule refutes a clause: it lacks a source, or has figures that
    nothing derives.
    """
    refuted = doubt.contradicted or doubt.quotations or doubt.names or doubt.unknown
    return not refuted


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
        if not one.verdict:
            continue
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
        supported = citation.number not in doubtful
        checked.append(replace(citation, supported=supported))
    return tuple(checked)


def _sentences(response: str) -> Iterator[OpenSentence]:
    """Yield the sentences of an answer that are in no table."""
    parts = [one for one in clauses(response) if one.cell is None]
    for words, group in groupby(parts, key=lambda one: one.sentence):
        of_sentence = list(group)
        shown = _SPACE_BEFORE.sub("", without_numbers(words)).strip()
        yield OpenSentence(shown, of_sentence[0].beside, of_sentence)


def _rows(
    response: str, doubts: Mapping[str, Unsupported], passages: Mapping[int, Passage]
) -> Iterator[OpenSentence]:
    """Yield the rows of tables in which a cell is doubtful or computed, with these
    cells.
    """
    evidence = [evidence_of(passage) for passage in passages.values()]
    cells: list[Clause] = []
    for clause in clauses(response):
        if clause.cell is None:
            continue
        stated = all(is_stated(one, evidence) for one in _numbers_in(clause))
        if clause.text in doubts or not stated:
            cells.append(clause)
    for _, group in groupby(cells, key=lambda one: one.cell and one.cell.place[:2]):
        of_row = list(group)
        numbers = dict.fromkeys(chain.from_iterable(one.beside for one in of_row))
        shown = "; ".join(without_numbers(one.words).strip() for one in of_row)
        yield OpenSentence(shown, tuple(numbers), of_row)


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
