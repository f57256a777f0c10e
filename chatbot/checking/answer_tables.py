"""Prove what a sentence says of the table of its own answer: figures of its cells, and
what those of one column or row give.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple

from ..language.characters import lowered
from .amounts import Amount
from .arithmetic import (
    aggregate_named,
    direction_of,
    group_results,
    proven_amount,
    whole_of,
)
from .contradictions import NEGATORS, Defect
from .evidence import GENERAL, WORD, beginning, keys_of
from .wording import pattern, stem

__all__ = ["AnswerTable", "LabelledFigure"]

_OTHERS = pattern(r"\b{rests}\b")
_EXTREME = pattern(r"\b(?P<rank>{ranks}[ -])?(?:(?P<most>{most})|(?P<least>{least}))\b")
_SENTENCE_PART = re.compile(r"[;,] |\b(?:and|while|whereas|but|though) ")
_YEAR = re.compile(r"(?:19|20)\d\d")
_Keys = frozenset[str]


class LabelledFigure(NamedTuple):
    """A figure of a table that is right, with the headings of its row and column.
    ``exact``: with the value that a formula gives.
    """

    row: str
    column: str
    figure: Amount
    exact: Amount


class _Entry(NamedTuple):
    """A figure of a line of a table. ``keys``: of the words of its label;
    ``is_aggregate``: it is the sum, mean, ... of others.
    """

    keys: _Keys
    figure: Amount
    is_aggregate: bool


class _Line(NamedTuple):
    """A column or row of a table, without the words that all its labels have."""

    keys: _Keys
    entries: Sequence[_Entry]
    is_row: bool

    def named(self, said: Collection[str]) -> list[Amount]:
        """Return the figures that a sentence names, but for totals."""
        return [one.figure for one in self.entries if _names(one, said)]

    @property
    def parts(self) -> list[Amount]:
        """The figures that are no sums or means of others."""
        return [one.figure for one in self.entries if not one.is_aggregate]

    @property
    def is_series(self) -> bool:
        """Whether its labels are years."""
        return all(any(map(_YEAR.fullmatch, one.keys)) for one in self.entries)


def _names(entry: _Entry, said: Collection[str]) -> bool:
    """Return whether words name an entry: most words of its label, and its year."""
    if entry.is_aggregate or not entry.keys:
        return False
    shared = entry.keys.intersection(said)
    years = [key for key in entry.keys if _YEAR.fullmatch(key)]
    return 2 * len(shared) >= len(entry.keys) and shared.issuperset(years)


def said_in(text: str) -> _Keys:
    """Return the beginnings of the words of a sentence, as labels are compared."""
    return frozenset(map(beginning, keys_of(text)))


class AnswerTable:
    """The figures of one table of an answer that are proven."""

    def __init__(self, figures: Sequence[LabelledFigure]) -> None:
        self._figures = figures

    @cached_property
    def _lines(self) -> list[_Line]:
        return _lines_of(self._figures)

    @cached_property
    def _exact_lines(self) -> list[_Line]:
        exact = [one._replace(figure=one.exact) for one in self._figures]
        return _lines_of(exact)

    def has(self, claim: Amount, sentence: str) -> bool:
        """Return whether a cell says a figure: one of the rows that a sentence names,
        if it names some.
        """
        said = said_in(sentence)
        columns = [line for line in self._lines if not line.is_row]
        named = [one for line in columns for one in line.named(said)]
        if not named and aggregate_named(sentence):
            # "On average 12" is no figure of a row.
            return False
        of_all = [one.figure for one in self._figures]
        return any(claim.agrees(one) for one in named or of_all)

    def shares(self, sentence: str) -> set[Decimal]:
        """Return the parts of 1 that the rows that a sentence names are of their
        columns, together and each; none where it names no row.
        """
        said = said_in(sentence)
        results: set[Decimal] = set()
        for line in self._lines:
            named = line.named(said)
            is_of_one = len({one.measure for one in line.parts}) == 1
            total = sum((one.base for one in line.parts), Decimal(0))
            if not named or line.is_row or not is_of_one or not total:
                continue
            whole = Decimal(1) if named[0].measure == "share" else total
            bases = [one.base for one in named]
            results |= {base / whole for base in (*bases, sum(bases, Decimal(0)))}
            results |= {one / other for one in bases for other in bases if other}
        return results - {Decimal(1)}

    def result(
        self, claim: Amount, words: str, sentence: str, operations: Collection[str]
    ) -> Amount | None:
        """Return a claim that figures of the table give, with the exact value."""
        direction = direction_of(claim, words, sentence)
        groups_of_lines = [
            *_groups(self._lines, sentence),
            *_groups(self._exact_lines, sentence),
        ]
        for groups in groups_of_lines:
            results: set[Decimal] = set()
            for group in groups:
                results |= group_results(claim, group, operations, (), direction)
                if group[0] is group[-1] and claim.measures_as(group[0]):
                    results.add(group[0].base)
            proven = proven_amount(claim, results, is_named=True)
            if proven is not None:
                return proven
        return None

    def wrong_extremes(self, sentence: str) -> Iterator[Defect]:
        """Yield the words that call the figure of a row the largest or smallest, where
        it is so in no column that they name.
        """
        start = 0
        stops = [*(m.start() for m in _SENTENCE_PART.finditer(sentence)), len(sentence)]
        for stop in stops:
            part = sentence[start:stop]
            start = stop
            match = _EXTREME.search(lowered(part))
            if match is None or match["rank"]:
                continue
            if any(stem(word) in NEGATORS for word in WORD.findall(part)):
                continue
            if self._is_wrong(said_in(part), is_most=bool(match["most"])):
                yield Defect("direction", part[match.start() : match.end()])

    def _is_wrong(self, said: _Keys, *, is_most: bool) -> bool:
        columns = [line for line in self._lines if not line.is_row]
        named = [line for line in columns if line.keys & said]
        extreme = max if is_most else min
        is_told = False
        for line in named or columns:
            owned = line.named(said)
            bases = [one.base for one in line.parts]
            if len(owned) != 1 or len(bases) < 2 or min(bases) < 0:
                return False
            is_told = True
            if owned[0].base == extreme(bases):
                return False
        return is_told


def _meant(lines: Sequence[_Line], sentence: str) -> list[_Line]:
    """Return the columns and rows that a sentence names, all columns if none."""
    said = said_in(sentence)
    columns = [line for line in lines if not line.is_row]
    rows = [line for line in lines if line.is_row]
    named = [line for line in columns if line.keys & said]
    named += [line for line in rows if _is_named(line, said)]
    return named or [*columns, *(line for line in rows if line.is_series)]


def _groups(lines: Sequence[_Line], sentence: str) -> Iterator[list[list[Amount]]]:
    """Yield for each line the groups of figures that belong together: those named,
    their sum with that of all and of the others; all, if none is named.
    """
    said = said_in(sentence)
    for line in _meant(lines, sentence):
        named = line.named(said)
        parts = line.parts
        if not named:
            groups = [parts]
            if line.is_series:
                groups = [[parts[0], parts[-1]], parts]
            yield [group for group in groups if len(group) > 1]
            continue
        if len(named) > 1:
            yield [named]
        others = [one for one in parts if all(one is not other for other in named)]
        if not others or len({one.measure for one in parts}) > 1:
            continue
        of_named = _sum_of(named)
        rest = _sum_of(others)
        yield [[of_named, _sum_of(parts)], [of_named, rest]]
        if _OTHERS.search(lowered(sentence)):
            yield [[rest, rest]]


def _lines_of(figures: Sequence[LabelledFigure]) -> list[_Line]:
    """Return the columns and rows of a table that have several figures."""
    lines: dict[tuple[bool, str], list[LabelledFigure]] = defaultdict(list)
    for one in figures:
        lines[False, one.column].append(one)
        lines[True, one.row].append(one)
    return [
        _line(heading, in_line, is_row=is_row)
        for (is_row, heading), in_line in lines.items()
        if len(in_line) > 1
    ]


def _line(heading: str, figures: Sequence[LabelledFigure], *, is_row: bool) -> _Line:
    labels = [said_in(one.column if is_row else one.row) for one in figures]
    shared = frozenset[str].intersection(*labels)
    bases = [one.figure.base for one in figures]
    last = len(figures) - 1
    is_summed = last > 1 and whole_of(bases) == bases[last]
    entries: list[_Entry] = []
    for number, (one, keys) in enumerate(zip(figures, labels, strict=True)):
        name = aggregate_named(one.column if is_row else one.row)
        is_aggregate = bool(name) or (number == last and is_summed)
        entries.append(_Entry(keys - shared, one.figure, is_aggregate))
    general = frozenset(map(beginning, GENERAL))
    return _Line(said_in(heading) - general, entries, is_row)


def _is_named(row: _Line, said: Collection[str]) -> bool:
    """Return whether a sentence names a row."""
    return bool(row.keys) and 2 * len(row.keys.intersection(said)) >= len(row.keys)


def _sum_of(figures: Sequence[Amount]) -> Amount:
    """Return figures of one measure as one."""
    first = figures[0]
    total = sum((one.base for one in figures), Decimal(0)) / (first.size or 1)
    figure = first.figure._replace(values=frozenset([total]))
    return first._replace(figure=figure, years=frozenset())
