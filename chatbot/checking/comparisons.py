"""Find comparisons that the figures of the passages turn round: which of two figures is
said to be greater, and whether income or spending is.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

from ..language.characters import lowered
from .amounts import Amount, amounts
from .contradictions import NEGATORS, Defect
from .evidence import WORD, Evidence, PassageRow, beginning, keys_of, label_key
from .wording import BOUNDS, LIMITS, pattern, stem, stems

__all__ = [
    "balance_of",
    "compares",
    "flow_of",
    "turned_figures",
    "wrong_comparisons",
]

_INCOME = stems("income")
_SPENDING = stems("spending")
_MORE = stems("more_than")
_LESS = stems("less_than")
_SURPLUS = pattern(r"\b{surplus}\b")
_SHORTFALL = pattern(r"\b{shortfall}\b")
_OTHER_BALANCE = pattern(r"\b{other_balance}\b")
_OUTDOES = pattern(r"\b(?:(?P<more>{outdoes})|(?P<less>{trails}))\b")
_SIDE = re.compile(
    r"[;.!?](?=\s|$)|:(?=\s)(?![^()]{0,60}\))"
    r"|, (?=(?:and|but|while|whereas|so|which|with)\b)"
)
_PER_HUNDRED = re.compile(
    r"\b(?P<count>\d{1,4}(?:\.\d)?) (?:[a-z]+ ){1,2}"
    r"(?P<per>(?:per|to|for) (?:every )?100 )"
)
"""103 men per 100 women."""
_STANDS_FOR = re.compile(r"^\s*(?:and |so )?(?:that|this|which|it)\b")
_FIGURE = re.compile(r"\s(?:\W{0,3}\d|an? |half\b|one\b|two\b|three\b|twice\b)")
_THAN = re.compile(r"\bthan\b")
_DIGITS = re.compile(r"\d+")


class _Pivot(NamedTuple):
    """A word that compares what stands before ``start`` with what stands behind
    ``end``. ``sign``: 1 where the former is said to be more.
    """

    start: int
    end: int
    sign: int
    word: str
    needs_right: bool


class _Compared(NamedTuple):
    """A figure of a row, and the words that may name it."""

    row: PassageRow
    keys: frozenset[str]
    flow: int

    def is_named(self, named: Sequence[Amount]) -> bool:
        """Return whether it is one of the figures of a sentence."""
        own = self.row.amount
        return any(one.agrees(own) and one.shares_year(own) for one in named)

    def is_of(self, sentence: str) -> bool:
        """Return whether a sentence names its year."""
        return all(str(year) in sentence for year in self.row.amount.years)


def flow_of(words: str) -> int:
    """Return 1 for words of income ("exports"), -1 for words of spending, else 0."""
    return _flow({stem(word) for word in WORD.findall(lowered(words))})


def _flow(keys: set[str] | frozenset[str]) -> int:
    return (not keys.isdisjoint(_INCOME)) - (not keys.isdisjoint(_SPENDING))


def balance_of(words: str) -> int:
    """Return 1 where words say that income is more than spending ("a surplus"), -1
    where they say that it is less, 0 where they say neither or both.
    """
    lower = lowered(words)
    if _OTHER_BALANCE.search(lower):
        return 0
    return bool(_SURPLUS.search(lower)) - bool(_SHORTFALL.search(lower))


def compares(sentence: str) -> bool:
    """Return whether a sentence compares two things, or names a balance."""
    return bool(balance_of(sentence)) or any(_pivots(sentence))


def wrong_comparisons(
    sentence: str, named: Sequence[Amount], cited: Sequence[Evidence]
) -> Iterator[Defect]:
    """Yield the words of a sentence that compare figures of its passages the wrong way.

    ``named``: the figures of the sentence.
    """
    rows = list(_compared_rows(cited))
    compared = [one for one in rows if one.is_named(named)]
    balance = balance_of(sentence)
    if balance:
        stated = [one for one in compared if one.flow]
        # "It ran a surplus of $810 million in 2018" names none of them.
        flows = stated or [one for one in rows if one.flow and one.is_of(sentence)]
        if stated or len(flows) == 2:
            yield from _wrong_balance(sentence, balance, flows)
    for pivot in _pivots(sentence):
        before = lowered(sentence[: pivot.start])
        left = _SIDE.split(before)[-1]
        if _STANDS_FOR.search(left):
            # "Mali has 32; that is 8 more than in Chad (24)".
            left = before
        right = _SIDE.split(lowered(sentence[pivot.end :]))[0]
        pairs = list(_oriented(compared, left, right, pivot))
        wrong = [one for one in pairs if (one[0] - one[1]) * pivot.sign < 0]
        if wrong and len(wrong) == len(pairs):
            yield Defect("direction", pivot.word)


def turned_figures(sentence: str, *, comma: bool) -> Iterator[Defect]:
    """Yield the word that compares two figures of a sentence the wrong way, where the
    first stands within the comparison: "higher in Mali, at 5, than in Chad, at 7".
    ``comma``: decimals have a comma.
    """
    lower = lowered(sentence)
    if not _THAN.search(lower):
        return
    claimed = amounts(sentence, comma=comma)
    for match in _THAN.finditer(lower):
        words = list(WORD.finditer(lower, 0, match.start()))
        compared = [one for one in words if stem(one[0]) in _MORE | _LESS]
        behind = [one for one in claimed if one.figure.start >= match.end()]
        if not compared or not behind:
            continue
        verb = compared[-1]
        within = [
            one for one in claimed if verb.end() <= one.figure.start < match.start()
        ]
        if len(within) != 1 or _SIDE.search(lower, verb.end(), behind[0].figure.start):
            continue
        first = within[0]
        second = behind[0]
        is_by = lower[: first.figure.start].rstrip().endswith(" by")
        if is_by or first.figure.year or second.figure.year:
            continue
        if not first.measures_as(second):
            continue
        is_known = first.measure and second.measure
        left = first.base if is_known else max(first.figure.values)
        right = second.base if is_known else max(second.figure.values)
        is_turned = left < right if stem(verb[0]) in _MORE else left > right
        if is_turned and min(left, right) >= 0:
            yield Defect("direction", sentence[verb.start() : verb.end()])


def _compared_rows(cited: Sequence[Evidence]) -> Iterator[_Compared]:
    """Yield the rows of passages."""
    for source in cited:
        title = keys_of(_DIGITS.sub("", source.where.partition("\n")[0]))
        title = frozenset(map(beginning, title))
        for row in source.rows[: int(BOUNDS["rows"])]:
            years = {str(year) for year in row.amount.years}
            of_row = row.label | keys_of(row.heading)
            yield _Compared(row, of_row | title | years, _flow(of_row))


def _wrong_balance(
    sentence: str, balance: int, compared: Sequence[_Compared]
) -> Iterator[Defect]:
    """Yield the word for a surplus where the figures named are those of a deficit, or
    the reverse.
    """
    signs: set[bool] = set()
    for first, second in permutations(compared, 2):
        if first.flow == 1 and second.flow == -1 and _are_alike(first, second):
            difference = first.row.value - second.row.value
            signs.add(difference * balance >= 0)
    if signs == {False}:
        said = _SURPLUS if balance > 0 else _SHORTFALL
        match = said.search(lowered(sentence))
        if match is not None:
            yield Defect("direction", sentence[match.start() : match.end()])


def _are_alike(first: _Compared, second: _Compared) -> bool:
    """Return whether two figures of one time may be compared."""
    one = first.row.amount
    other = second.row.amount
    return one.measure == other.measure and one.shares_year(other)


def _pivots(sentence: str) -> Iterator[_Pivot]:
    """Yield the words of a sentence that compare two things."""
    lower = lowered(sentence)
    words = list(WORD.finditer(lower))
    for match in _OUTDOES.finditer(lower):
        text = sentence[match.start() : match.end()]
        sign = 1 if match["more"] else -1
        is_open = text.lower().endswith(("ahead", "behind"))
        yield _Pivot(match.start(), match.end(), sign, text, not is_open)
    for match in _PER_HUNDRED.finditer(lower):
        sign = 1 if float(match["count"]) > 100 else -1
        yield _Pivot(match.start("per"), match.end(), sign, match["count"], True)
    for number, match in enumerate(words):
        if match[0] != "than" or _FIGURE.match(lower, match.end()):
            # "More than half" compares nothing.
            continue
        before = words[max(0, number - LIMITS["verb_distance"]) : number]
        if any(stem(word[0]) in NEGATORS for word in before):
            continue
        for word in reversed(before):
            key = stem(word[0])
            sign = (key in _MORE) - (key in _LESS)
            if sign:
                yield _Pivot(match.start(), match.end(), sign, word[0], True)
                break


def _oriented(
    compared: Sequence[_Compared], left: str, right: str, pivot: _Pivot
) -> Iterator[tuple[float, float]]:
    """Yield the figures of the thing on the left and of that on the right."""
    for first, second in permutations(compared, 2):
        is_same = first.row.heading == second.row.heading
        if not is_same and first.flow != -second.flow:
            continue
        one = first.row.amount
        other = second.row.amount
        if one.measure != other.measure:
            continue
        of_first = _telling(first, second)
        of_second = _telling(second, first)
        if not of_first or not of_second:
            continue
        on_left = _sides(left, of_first, of_second)
        on_right = _sides(right, of_first, of_second)
        if on_left[-1:] != [True] or on_right[:1] == [True]:
            continue
        is_alone = not pivot.needs_right and all(on_left)
        if not on_right and not is_alone:
            continue
        values = (first.row.value, second.row.value)
        # A larger deficit is further below zero.
        yield values if max(values) >= 0 else (-values[0], -values[1])


def _telling(compared: _Compared, other: _Compared) -> frozenset[str]:
    """Return the words that name a figure and not the other one."""
    keys = compared.keys - other.keys
    if compared.flow and compared.flow == -other.flow:
        keys |= _INCOME if compared.flow > 0 else _SPENDING
    return keys


def _sides(
    text: str, of_first: frozenset[str], of_second: frozenset[str]
) -> list[bool]:
    """Return for the words that name one of two figures whether it is the first."""
    sides: list[bool] = []
    for word in WORD.findall(text):
        keys = {stem(word), label_key(word), beginning(stem(word))}
        is_first = not keys.isdisjoint(of_first)
        if is_first != (not keys.isdisjoint(of_second)):
            sides.append(is_first)
    return sides
