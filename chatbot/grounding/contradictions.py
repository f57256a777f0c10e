"""Contradictions: an answer's clause compared with the sentence of the passage that it repeats.

Only where most of the clause stands in the sentence in the same order is a difference held against it; a clause in
other words is held to its figures, and to whether what they are of rises or falls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import NamedTuple

from ..schema import MarkKind
from .claim_words import stems
from .evidence import Evidence, Sentence, Token

CLOSE = 0.65
"""Share of a clause's words that stand in a sentence in the same order, from which it is a repetition."""
LEAST = 5
"""Words that a repetition has at least."""
SURE = 4
"""Words in a row by which a figure is in the same place."""
SHORT = 4
"""Words that stand for others; more of them are another thing that is said."""
BEFORE_FIGURE = 6
"""Words in front of a figure among which the verb is looked for."""
_NEGATORS, _STAND_INS = stems("negators"), stems("stand_in")
_RISES, _FALLS = stems("rises"), stems("falls")
_ABOVE, _BELOW = _RISES | stems("above"), _FALLS | stems("below")
_ARTICLES = stems("articles")


class Finding(NamedTuple):
    """Something of a clause that is wrong, as the answer writes it; "" = all of it."""

    kind: MarkKind
    text: str


@dataclass(slots=True)
class Laid:
    """``share`` of the clause that stands there. The rest is said otherwise, by kind: as the answer writes it."""

    share: float
    amounts: list[tuple[Token, Token]] = field(default_factory=list)
    years: list[tuple[Token, Token]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    turned: list[str] = field(default_factory=list)
    negated: list[str] = field(default_factory=list)

    @property
    def otherwise(self) -> list[Finding]:
        """What contradicts; a change of order moves figures and years alike, and "did not fall" is no fall."""
        moved = _is_moved(self.amounts) and _is_moved(self.years)
        figures = [] if moved else [Finding("figure", said.text) for said, _ in self.amounts]
        years = [] if moved else [Finding("year", said.text) for said, _ in self.years]
        turns = [*(Finding("direction", text) for text in self.turned), *(Finding("negation", t) for t in self.negated)]
        names = [Finding("name", text) for text in self.names]
        return figures + years + names + ([] if self.negated and self.turned else turns)


def _is_moved(pairs: Sequence[tuple[Token, Token]]) -> bool:
    """Whether each of these amounts stands in the place of another of them."""
    return len(pairs) > 1 and all(
        any(said.amount and there.amount and said.amount.agrees(there.amount) for _, there in pairs)
        for said, _ in pairs
    )


def contradicted(clause: Sentence, evidence: Sequence[Evidence], *, borne: Collection[str]) -> list[Finding]:
    """What of the clause its passages say otherwise.

    ``borne``: amounts and years that do stand in them; one that does not is missing, and not said otherwise.
    """
    near = [statement for one in evidence for statement in one.nearest(clause.keys, most=3)]
    names = frozenset[str]().union(*(one.names for one in evidence))
    about = frozenset[str]().union(*(one.about for one in evidence))
    laid = [
        _lay(clause.tokens, source.tokens, borne, (names | about, names - about))
        for source in near
        if len(source.keys & clause.keys) > 1
    ]
    close = [one for one in laid if one.share >= CLOSE]
    if close:
        return [] if not all(one.otherwise for one in close) else max(close, key=lambda one: one.share).otherwise
    return [Finding("direction", text) for text in (*_crossed(clause.tokens), *_turned_figures(clause, near))]


def _lay(
    clause: Sequence[Token], source: Sequence[Token], borne: Collection[str], proper: tuple[Set[str], Set[str]]
) -> Laid:
    """``proper``: stems of the passage's names, and of those that are not of what it is about."""
    matcher = SequenceMatcher(None, [one.key for one in clause], [one.key for one in source], autojunk=False)
    changes = matcher.get_opcodes()
    same = [token for kind, start, end, _, _ in changes if kind == "equal" for token in clause[start:end]]
    words, of = sum(token.amount is None for token in same), sum(token.amount is None for token in clause)
    laid = Laid(min(len(same) / len(clause), words / of) if len(same) >= LEAST and of else 0.0)
    if laid.share < CLOSE:
        return laid
    negations = 0
    for place, (kind, start, end, *part) in enumerate(changes):
        said, there = clause[start:end], source[slice(*part)]
        if kind == "equal":
            _compare_amounts(laid, said, there, borne)
            continue
        if len(there) > SHORT:  # at the ends it is what the clause leaves out
            there = there if 0 < place < len(changes) - 1 else ()
        first = max(start, end - len(there)) if place == 0 and len(said) > SHORT else start
        said = clause[first:end]  # without a heading in front of it
        if max(len(said), len(there)) <= SHORT:
            _compare_directions(laid, said, there)
            if words >= LEAST:
                _compare_names(laid, (clause, source), (_names(clause, first, end), there), proper)
            negations += _negations(said) - _negations(there)
    if negations % 2:
        laid.negated.append(next((t.text for t in (*clause, *source) if t.key in _NEGATORS), ""))
    return laid


def _compare_amounts(laid: Laid, said: Sequence[Token], there: Sequence[Token], borne: Collection[str]) -> None:
    for one, other in zip(said, there, strict=True) if len(said) >= SURE else ():
        if one.amount and other.amount and one.text in borne and not one.amount.agrees(other.amount):
            (laid.years if one.key == "#y" else laid.amounts).append((one, other))


def _compare_directions(laid: Laid, said: Sequence[Token], there: Sequence[Token]) -> None:
    signs = {_sign(token) for token in said} - {0}, {_sign(token) for token in there} - {0}
    if signs in (({1}, {-1}), ({-1}, {1})):
        laid.turned += [token.text for token in said if _sign(token)]


def _compare_names(
    laid: Laid,
    whole: tuple[Sequence[Token], Sequence[Token]],
    changed: tuple[Sequence[Token], Sequence[Token]],
    proper: tuple[Set[str], Set[str]],
) -> None:
    """A name for another one, unless both sentences have both: then the order is another.

    The first word of a sentence is one where it is elsewhere, or where another name of the passage stands for it.
    """
    names, there = changed
    alone = len(there) == 1 and any(token.key in proper[1] for token in names)
    others = [
        t for t in there if t.is_capital and t.key not in _STAND_INS and (not t.is_first or alone or t.key in proper[0])
    ]
    if not names or not others or any(is_alike(one, other) for one in names for other in others):
        return
    keys, keys_there = ({token.key for token in tokens if token.is_capital} for tokens in whole)
    if not ({one.key for one in names} <= keys_there and any(one.key in keys for one in others)):
        laid.names.append(" ".join(token.text for token in names))


def _names(tokens: Sequence[Token], start: int, end: int) -> list[Token]:
    """The names between two tokens, without what stands for one: "the Government", "President" in front of a name."""
    return [
        token
        for place, token in enumerate(tokens[start:end], start=start)
        if token.is_capital
        and not (
            token.key in _STAND_INS
            and (place == 0 or tokens[place - 1].key in _ARTICLES or tokens[min(place + 1, len(tokens) - 1)].is_capital)
        )
    ]


def is_alike(one: Token, other: Token) -> bool:
    """Whether two words may name the same thing: Kenya and Kenyan, WHO and World."""
    first, second = sorted((one.key, other.key), key=len)
    return second.startswith(first[:4]) or (one.text.isupper() != other.text.isupper() and first[:1] == second[:1])


def _sign(token: Token) -> int:
    return (token.key in _ABOVE) - (token.key in _BELOW)


def _negations(tokens: Sequence[Token]) -> int:
    return sum(token.key in _NEGATORS for token in tokens)


def _direction(tokens: Sequence[Token], place: int) -> int:
    """1 where what leads to the amount there rises, -1 where it falls, 0 where nothing says so."""
    for before in reversed(tokens[max(0, place - BEFORE_FIGURE) : place]):
        if before.amount or before.key in _NEGATORS:
            return 0
        if sign := (before.key in _RISES) - (before.key in _FALLS):
            return sign
    return 0


def _crossed(tokens: Sequence[Token]) -> Iterator[str]:
    """The contradictions of a text with itself: "rose from 7.7 % to 6.9 %", "5 %, down from 4 %"."""
    places = [place for place, token in enumerate(tokens) if token.key == "#"]
    for place in places:
        one = tokens[place]
        if place < 1 or tokens[place - 1].key != "from":
            continue
        following = next((at for at in places if at > place), None)
        if following and following - place == 2 and tokens[place + 1].key == "to":
            verb, first, last = _direction(tokens, place), one, tokens[following]
        elif (before := [at for at in places if at < place]) and place > 1:
            sign = (tokens[place - 2].key in _RISES) - (tokens[place - 2].key in _FALLS)
            verb, first, last = sign, one, tokens[before[-1]]
        else:
            continue
        if verb and _change(first, last) == -verb:
            yield last.text


def _change(first: Token, last: Token) -> int:
    """1 where the second amount is greater, -1 where it is less; 0 where it cannot be said."""
    if not first.amount or not last.amount or not first.amount.measures_as(last.amount):
        return 0
    before, after = min(first.amount.figure.values), min(last.amount.figure.values)
    return 0 if min(before, after) < 0 else (after > before) - (after < before)


def _turned_figures(clause: Sentence, near: Sequence[Sentence]) -> Iterator[str]:
    """Amounts to which something rises that falls to them in the passage, or the other way round."""
    for place, token in enumerate(clause.tokens):
        if token.key != "#" or not token.amount or not (said := _direction(clause.tokens, place)):
            continue
        there = {
            _direction(source.tokens, at)
            for source in near
            if len(source.keys & clause.keys) > 1
            for at, other in enumerate(source.tokens)
            if other.key == "#" and other.amount and token.amount.agrees(other.amount)
        }
        if there == {-said}:
            yield token.text
