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
    matcher = SequenceMatcher(
        None, [one.key for one in clause], [one.key for one in source], autojunk=False
    )
    changes = matcher.get_opcodes()
    same = [
        token
        for kind, start, end, _, _ in changes
        if kind == "equal"
        for token in clause[start:end]
    ]
    words, of = (
        sum(token.amount is None for token in same),
        sum(token.amount is None for token in clause),
    )
    share = (
        min(len(same) / len(clause), words / of)
        if len(same) >= MIN_REPEATED_WORDS and of
        else 0.0
    )
    if share < MIN_REPETITION_SHARE:
        return share, []
    differences, figures, turns, negations = (
        list[Defect](),
        list[Defect](),
        list[Defect](),
        0,
    )
    for place, (kind, start, end, *part) in enumerate(changes):
        old, new = source[slice(*part)], clause[start:end]
        if kind == "equal":
            # Four equal words in a row show that a figure is in the same place.
            for one, other in zip(new, old, strict=True) if len(new) >= 4 else ():
                if (
                    one.amount
                    and other.amount
                    and one.text in supported
                    and not one.amount.agrees(other.amount)
                ):
                    figures.append(
                        Defect("year" if one.key == "#y" else "figure", one.text)
                    )
            continue
        # Without a heading in front of it.
        first = (
            max(start, end - len(old))
            if place == 0 and len(new) > MAX_REPLACED_WORDS
            else start
        )
        new = clause[first:end]
        if max(len(new), len(old)) <= MAX_REPLACED_WORDS:
            signs = (
                {_sign(token) for token in new} - {0},
                {_sign(token) for token in old} - {0},
            )
            if signs in (({1}, {-1}), ({-1}, {1})):
                turns += [
                    Defect("direction", token.text) for token in new if _sign(token)
                ]
            if words >= MIN_REPEATED_WORDS:
                pairs = zip(
                    (None, *clause)[first:end], new, strict=True
                )  # not "the Government"; "French Republic"
                names = [
                    t
                    for one, t in pairs
                    if t.is_capital
                    and (t.key not in _STAND_INS or (one and one.is_capital))
                ]
                if _is_another_name(names, old, (clause, source), proper):
                    differences.append(
                        Defect("name", " ".join(token.text for token in names))
                    )
        negations += sum(token.key in NEGATORS for token in new) - sum(
            token.key in NEGATORS for token in old
        )
    if (
        len({one.kind for one in figures}) == 1
    ):  # another order moves figures and years alike
        differences = figures + differences
    if not negations % 2:
        differences += turns
    elif not turns:  # "did not fall" is no fall
        differences.append(
            Defect(
                "negation",
                next((t.text for t in (*clause, *source) if t.key in NEGATORS), ""),
            )
        )
    return share, differences


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
    others = [
        t for t in old if t.is_capital and (not t.is_first or alone or t.key in proper)
    ]
    if (
        not names
        or not others
        or any(_is_alike(one, other) for one in names for other in others)
    ):
        return False
    keys, source_keys = (
        {token.key for token in tokens if token.is_capital} for tokens in whole
    )
    return not (
        {one.key for one in names} <= source_keys
        and any(one.key in keys for one in others)
    )


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
