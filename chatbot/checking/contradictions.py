"""Contradictions between an answer's clause and the sentence of a passage that it
repeats.

Differences count only where most of the clause is in the sentence in the same order. A
clause in other words is checked for its figures, and for whether they rise or fall; who
did what to whom, a language model says (`meaning`).
"""

from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import NamedTuple

from ..domain.chat import MarkKind
from .evidence import Evidence, Sentence, Token
from .wording import LIMITS, stems

MIN_REPETITION_SHARE = 0.65
"""Share of a clause's words that must be in a sentence in the same order for the clause
to repeat it.
"""
MIN_REPEATED_WORDS = LIMITS["repeated_words"]
MAX_REPLACED_WORDS = LIMITS["replaced_words"]
NEGATORS = stems("negators")
RISES, FALLS = stems("rises"), stems("falls")
ABOVE, BELOW = RISES | stems("above"), FALLS | stems("below")


class Defect(NamedTuple):
    """Something wrong in a clause, as the answer writes it; "" = the whole clause."""

    kind: MarkKind
    text: str


def contradicted(
    clause: Sentence, evidence: Sequence[Evidence], *, supported: Collection[str]
) -> list[Defect]:
    """Return what of the clause its passages contradict.

    ``supported``: its amounts and years that they have; one that they do not have is
    missing, and no contradiction.
    """
    keys = [token.key for token in clause.tokens]
    min_tokens = max(MIN_REPEATED_WORDS, MIN_REPETITION_SHARE * len(clause.tokens))
    # Those with so many of its words in any order: to align all would cost ten times as
    # much.
    figures = keys.count("#") + keys.count("#y")
    candidates: list[Sentence] = []
    for source in evidence:
        if figures + _count_in(keys, source.keys) < min_tokens:
            continue
        for sentence in source.nearest(clause.keys):
            if _count_in(keys, sentence.token_keys) >= min_tokens:
                candidates.append(sentence)
    if not candidates:
        return []
    best_share = -1.0
    best_defects: list[Defect] = []
    for sentence in candidates:
        share, defects = align(clause.tokens, sentence.tokens, supported)
        if share > best_share:
            best_share = share
            best_defects = defects
    return best_defects


def _count_in(keys: Sequence[str], known: Set[str]) -> int:
    """Return how many of the keys are known; a key counts each time."""
    return sum(key in known for key in keys)


@dataclass(slots=True)
class _Differences:
    """What a clause that repeats a sentence says otherwise.

    ``negations``: how many negators it has more than the sentence.
    """

    figures: list[Defect] = field(default_factory=list)
    directions: list[Defect] = field(default_factory=list)
    negations: int = 0

    def defects(self, tokens: Iterable[Token]) -> list[Defect]:
        """Return those that change the meaning of the clause and sentence, of which
        ``tokens`` are.
        """
        defects: list[Defect] = []
        if len({figure.kind for figure in self.figures}) == 1:
            # Another order moves figures and years alike.
            defects += self.figures
        if not self.negations % 2:
            return defects + self.directions
        if self.directions:
            # "Did not fall" is no fall.
            return defects
        negators = [token.text for token in tokens if token.key in NEGATORS]
        return [*defects, Defect("negation", "".join(negators[:1]))]


def align(
    clause: Sequence[Token],
    source: Sequence[Token],
    supported: Collection[str],
) -> tuple[float, list[Defect]]:
    """Return the share of a clause that is in a sentence in the same order, and, if the
    clause repeats it, what changes the meaning.
    """
    keys = [token.key for token in clause]
    source_keys = [token.key for token in source]
    changes = SequenceMatcher(None, keys, source_keys, autojunk=False).get_opcodes()
    same: list[Token] = []
    for kind, start, end, _, _ in changes:
        if kind == "equal":
            same += clause[start:end]
    share = _repetition_share(same, clause)
    if share < MIN_REPETITION_SHARE:
        return share, []
    differences = _Differences()
    for kind, start, end, old_start, old_end in changes:
        old = source[old_start:old_end]
        if kind == "equal":
            differences.figures += _other_figures(old, clause[start:end], supported)
            continue
        first = start
        if start == 0 and end > MAX_REPLACED_WORDS:
            # Without a heading in front of it.
            first = max(start, end - len(old))
        new = clause[first:end]
        differences.negations += _count_negators(new) - _count_negators(old)
        if max(len(new), len(old)) > MAX_REPLACED_WORDS:
            continue
        differences.directions += _direction_changes(old, new)
    return share, differences.defects((*clause, *source))


def _repetition_share(same: Sequence[Token], clause: Sequence[Token]) -> float:
    """Return the share of a clause that ``same``, its tokens in a sentence, are."""
    words = _count_words(clause)
    if len(same) < MIN_REPEATED_WORDS or not words:
        return 0.0
    return min(len(same) / len(clause), _count_words(same) / words)


def _count_words(tokens: Sequence[Token]) -> int:
    return sum(token.amount is None for token in tokens)


def _count_negators(tokens: Sequence[Token]) -> int:
    return sum(token.key in NEGATORS for token in tokens)


def _other_figures(
    old: Sequence[Token], new: Sequence[Token], supported: Collection[str]
) -> list[Defect]:
    """Return the figures and years of equal words that are others than in the sentence.
    Four equal words in a row show that a figure is in the same place.
    """
    defects: list[Defect] = []
    if len(new) < 4:
        return defects
    for token, source in zip(new, old, strict=True):
        if token.amount is None or source.amount is None:
            continue
        if token.text in supported and not token.amount.agrees(source.amount):
            kind: MarkKind = "year" if token.key == "#y" else "figure"
            defects.append(Defect(kind, token.text))
    return defects


def _direction_changes(old: Sequence[Token], new: Sequence[Token]) -> list[Defect]:
    """Return the words that turn a rise into a fall, or a fall into a rise."""
    new_signs = {_sign(token) for token in new} - {0}
    old_signs = {_sign(token) for token in old} - {0}
    if (new_signs, old_signs) not in (({1}, {-1}), ({-1}, {1})):
        return []
    return [Defect("direction", token.text) for token in new if _sign(token)]


def _sign(token: Token) -> int:
    return (token.key in ABOVE) - (token.key in BELOW)
