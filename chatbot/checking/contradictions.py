"""Contradictions between an answer's clause and the sentence of a passage that it
repeats.

Differences count only where most of the clause is in the sentence in the same order. A
clause in other words is checked for its figures, and for whether they rise or fall.
"""

from collections.abc import Collection, Sequence, Set
from difflib import SequenceMatcher
from typing import NamedTuple

from ..domain.chat import MarkKind
from .evidence import Evidence, Sentence, Token
from .wording import stems

MIN_REPETITION_SHARE = 0.65
"""Share of a clause's words that must be in a sentence in the same order for the clause
to repeat it.
"""
MIN_REPEATED_WORDS = 5
MAX_REPLACED_WORDS = 4
"""Words that may replace others; more of them are another statement."""
NEGATORS, _STAND_INS = stems("negators"), stems("stand_in")
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
    least = max(MIN_REPEATED_WORDS, MIN_REPETITION_SHARE * len(clause.tokens))
    # Those with so many of its words in any order: to align all would cost ten times as
    # much.
    figures = keys.count("#") + keys.count("#y")
    near: list[Sentence] = []
    for source in evidence:
        if figures + _count_in(keys, source.keys) < least:
            continue
        for sentence in source.nearest(clause.keys):
            if _count_in(keys, sentence.token_keys) >= least:
                near.append(sentence)
    if not near:
        return []
    names: set[str] = set()
    for source in evidence:
        names |= source.names
    best_share = -1.0
    best_defects: list[Defect] = []
    for sentence in near:
        share, defects = align(clause.tokens, sentence.tokens, supported, names)
        if share > best_share:
            best_share = share
            best_defects = defects
    return best_defects


def _count_in(keys: Sequence[str], known: Set[str]) -> int:
    """Return how many of the keys are known; a key counts each time."""
    return sum(key in known for key in keys)


def align(
    clause: Sequence[Token],
    source: Sequence[Token],
    supported: Collection[str],
    proper: Set[str],
) -> tuple[float, list[Defect]]:
    """Return the share of a clause that is in a sentence in the same order, and, if the
    clause repeats it, what changes the meaning. ``proper``: stems of the passage's
    names.
    """
    keys = [token.key for token in clause]
    source_keys = [token.key for token in source]
    changes = SequenceMatcher(None, keys, source_keys, autojunk=False).get_opcodes()
    same: list[Token] = []
    for kind, start, end, _, _ in changes:
        if kind == "equal":
            same += clause[start:end]
    words = _count_words(same)
    share = 0.0
    if len(same) >= MIN_REPEATED_WORDS and _count_words(clause):
        share = min(len(same) / len(clause), words / _count_words(clause))
    if share < MIN_REPETITION_SHARE:
        return share, []
    figures: list[Defect] = []
    names: list[Defect] = []
    direction_changes: list[Defect] = []
    negations = 0
    for kind, start, end, old_start, old_end in changes:
        old = source[old_start:old_end]
        new = clause[start:end]
        if kind == "equal":
            figures += _other_figures(old, new, supported)
            continue
        first = start
        if start == 0 and len(new) > MAX_REPLACED_WORDS:
            # Without a heading in front of it.
            first = max(start, end - len(old))
            new = clause[first:end]
        negations += _count_negators(new) - _count_negators(old)
        if max(len(new), len(old)) > MAX_REPLACED_WORDS:
            continue
        direction_changes += _direction_changes(old, new)
        if words >= MIN_REPEATED_WORDS:
            replacing = _capitalised(clause, first, end)
            if _is_another_name(replacing, old, (clause, source), proper):
                text = " ".join(token.text for token in replacing)
                names.append(Defect("name", text))
    differences = names
    if len({figure.kind for figure in figures}) == 1:
        # Another order moves figures and years alike.
        differences = figures + names
    if not negations % 2:
        differences += direction_changes
    elif not direction_changes:
        # "Did not fall" is no fall.
        negators = [t.text for t in (*clause, *source) if t.key in NEGATORS]
        differences.append(Defect("negation", negators[0] if negators else ""))
    return share, differences


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


def _capitalised(clause: Sequence[Token], start: int, end: int) -> list[Token]:
    """Return the words of a part with a capital: of "the Government" none, of "French
    Republic" both.
    """
    names: list[Token] = []
    for place in range(start, end):
        token = clause[place]
        if not token.is_capital:
            continue
        follows_name = place > 0 and clause[place - 1].is_capital
        if token.key not in _STAND_INS or follows_name:
            names.append(token)
    return names


def _is_another_name(
    names: Sequence[Token],
    old: Sequence[Token],
    whole: tuple[Sequence[Token], Sequence[Token]],
    proper: Set[str],
) -> bool:
    """Return whether ``names`` replace other names, and not only their order: then both
    sentences have both. The first word of a sentence is a name if it is one elsewhere,
    or if another name of the passage replaces it.
    """
    alone = any(token.key in proper for token in names)
    others: list[Token] = []
    for token in old:
        is_name = not token.is_first or alone or token.key in proper
        if token.is_capital and is_name:
            others.append(token)
    if not names or not others:
        return False
    for name in names:
        if any(_is_alike(name, other) for other in others):
            return False
    clause, source = whole
    keys = {token.key for token in clause if token.is_capital}
    source_keys = {token.key for token in source if token.is_capital}
    are_in_source = {name.key for name in names} <= source_keys
    are_in_clause = any(other.key in keys for other in others)
    return not (are_in_source and are_in_clause)


def _is_alike(one: Token, other: Token) -> bool:
    """Return whether two words may name the same thing: Kenya and Kenyan, WHO and
    World.
    """
    first, second = sorted((one.key, other.key), key=len)
    return second.startswith(first[:4]) or (
        one.text.isupper() != other.text.isupper() and first[:1] == second[:1]
    )


def _sign(token: Token) -> int:
    return (token.key in ABOVE) - (token.key in BELOW)
