"""Compare what a clause says with the rows of figures of its passages: value, label and
country. `changes` compares how figures change.

Only what contradicts the passages is marked: words are of a figure's own row in any
form, and of another only if they are its very words. In doubt a figure is of every row
that has its value.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import compress
from typing import NamedTuple

from ..domain.scope import NamedCountry
from ..language.analysis import STOP_WORDS
from ..language.characters import lowered
from ..language.country_names import keys_in
from ..language.detection import language_of
from .amounts import Amount
from .arithmetic import as_points
from .changes import MAX_FIGURES, wrong_changes
from .contradictions import NEGATORS, Defect
from .evidence import WORD, Evidence, PassageRow, Sentence, keys_of, label_key
from .foreign import Headings
from .wording import pattern, stems

__all__ = ["row_defects"]

_COMPARED = pattern(r"\b(?:{compares}|{negates})\W+(?:\w+\W+){0,2}$")
_OF_WHOLE = re.compile(r"\bof\s(?:[\w’']+\s){0,2}$")
_PART_END = re.compile(r"[,;:] |\b(?:and|while|whereas|but|against|versus) ")
_INCOME = stems("income")
_SPENDING = stems("spending")
_WHOLE = stems("whole")


class _StatedFigure(NamedTuple):
    """A figure of a clause, and where its passages have it: in a row, or in prose
    (None).
    """

    amount: Amount
    sources: Sequence[tuple[Evidence, PassageRow | None]]

    def is_whole(self, text: str) -> bool:
        """Return whether it is the whole of which another figure is a part: "293 km of
        Nigeria's 3,798 km".
        """
        if all(row is None or row.label for _, row in self.sources):
            return False
        return _OF_WHOLE.search(lowered(text), 0, self.amount.figure.start) is not None

    def defect(self, clause: Sentence) -> Defect:
        figure = self.amount.figure
        return Defect("figure", clause.text[figure.start : figure.end].strip())


class _Word(NamedTuple):
    """A word that may say whose a figure is. ``country``: the one whose name begins
    with it. ``tells``: it has to be of some figure.
    """

    start: int
    key: str
    country: NamedCountry | None
    tells: bool


def row_defects(
    clause: Sentence, cited: Sequence[Evidence], headings: Headings
) -> Iterator[Defect]:
    """Yield what the clause says of another row than the one that has its figure, and
    changes that go the other way.
    """
    figures = _stated_figures(clause, cited)
    yield from _of_others(clause, figures, headings)
    labels = {key for source in cited for row in source.rows for key in row.label}
    # "By age 15" is a figure where it is part of a label.
    figures = [one for one in figures if one.amount.figure.text not in labels]
    supported = [figure for figure in figures if figure.sources]
    yield from _of_another_heading(clause, supported, headings)
    yield from _negated(clause, supported)
    yield from _wrong_balance(clause, cited)
    amounts = {id(figure.amount) for figure in supported}
    yield from wrong_changes(clause, amounts, cited, headings)


def _stated_figures(clause: Sentence, cited: Sequence[Evidence]) -> list[_StatedFigure]:
    """Return the figures of a clause with the places where cited passages have them,
    but for years, bare words ("one of them") and bare numbers that belong to a passage
    as a whole: of its title, page or a rate ("per 1,000").
    """
    around = {number for source in cited for number in source.around}
    figures: list[_StatedFigure] = []
    for amount in clause.amounts:
        figure = amount.figure
        if figure.year:
            continue
        if figure.bare and (figure.word or figure.values & around):
            continue
        sources = []
        # A difference of shares is in no row.
        rows_of = () if as_points(amount, clause.text) else cited
        for source in rows_of:
            for stated in source.amounts_like(amount):
                if amount.shares_year(stated):
                    sources.append((source, source.row_of.get(id(stated))))
        figures.append(_StatedFigure(amount, sources))
    return figures


def _of_another_heading(
    clause: Sentence, supported: Sequence[_StatedFigure], headings: Headings
) -> Iterator[Defect]:
    """Yield the first figure where the clause names another heading than those of all
    its figures.
    """
    if not supported:
        return
    for figure in supported:
        for source, row in figure.sources:
            if row is None:
                return
            if not headings.name_another(row, clause.keys, source.beginnings):
                return
    yield supported[0].defect(clause)


def _negated(clause: Sentence, supported: Sequence[_StatedFigure]) -> Iterator[Defect]:
    """Yield the share of a heading where the clause denies the heading's very word:
    "60.5 % have no electricity" of "Electricity access: 60.5 %".
    """
    shares = [one.amount for one in supported if one.amount.measure == "share"]
    if len(shares) != 1:
        return
    denied: set[str] = set()
    for position, token in enumerate(clause.tokens):
        if token.key in NEGATORS:
            behind = clause.tokens[position + 1 : position + 3]
            denied |= {token.key for token in behind}
    for figure in supported:
        for _, row in figure.sources:
            keys = keys_of(row.heading) if row else frozenset()
            # "Neither agricultural land nor forest" denies labels, not the heading.
            of_labels = frozenset[str]().union(*row.siblings) if row else frozenset()
            if keys & NEGATORS or not (keys - of_labels) & denied:
                return
    yield Defect("figure", shares[0].figure.text)


def _wrong_balance(clause: Sentence, cited: Sequence[Evidence]) -> Iterator[Defect]:
    """Yield "surplus" where the passages have more spending than income, and "deficit"
    where they have less.
    """
    said = clause.keys & {"surplus", "deficit"}
    if len(said) != 1:
        return
    years = {amount.figure.year for amount in clause.amounts}
    incomes: list[float] = []
    spendings: list[float] = []
    for source in cited:
        for row in source.rows[:MAX_FIGURES]:
            keys = row.label | keys_of(row.heading)
            if not row.amount.years <= years:
                continue
            if keys & _INCOME:
                incomes.append(row.value)
            if keys & _SPENDING:
                spendings.append(row.value)
    if len(incomes) != 1 or len(spendings) != 1 or incomes == spendings:
        return
    true = "surplus" if incomes > spendings else "deficit"
    if said != {true}:
        yield Defect("direction", min(said))


def _of_others(
    clause: Sentence, figures: Sequence[_StatedFigure], headings: Headings
) -> Iterator[Defect]:
    """Yield the figures that are said to be of another label of their heading, and the
    countries that are said to have another's figure. Words may be of the figure before
    or behind them, one country of all: the fewest defects count.
    """
    labels = _label_keys(figures)
    # "2 of the 5 largest" is a figure where a label is "2".
    figures = [one for one in figures if one.amount.figure.text not in labels]
    if not 0 < len(figures) <= MAX_FIGURES:
        return
    figures = [one for one in figures if not one.is_whole(clause.text)]
    # A Spanish "el" does not name El Salvador.
    small = _small_words(language_of(clause.text))
    words = [
        word for word in _words_beside(clause, figures, labels) if word.key not in small
    ]
    if not any(word.key in labels or word.country for word in words):
        return
    readings: list[list[Defect]] = []
    for owners in _readings(clause, figures, words):
        defects: list[Defect] = []
        for number, figure in enumerate(figures):
            owned = compress(words, [owner == number for owner in owners])
            defects += _defects_of(figure, list(owned), clause, headings)
        readings.append(defects)
    yield from min(readings, key=len, default=[])


@cache
def _small_words(language: str) -> frozenset[str]:
    """Return the stop words of another language than English, in which labels are."""
    if language == "english":
        return frozenset()
    return frozenset(map(label_key, STOP_WORDS.get(language, ())))


def _label_keys(figures: Sequence[_StatedFigure]) -> set[str]:
    """Return the words of the labels under the headings that have these figures."""
    keys: set[str] = set()
    for figure in figures:
        for _, row in figure.sources:
            if row is not None:
                keys |= row.label.union(*row.siblings)
    return keys


def _words_beside(
    clause: Sentence, figures: Sequence[_StatedFigure], labels: Collection[str]
) -> list[_Word]:
    """Return the words between the figures of a clause, but for labels that are
    compared with or excluded.
    """
    lower = lowered(clause.text)
    countries = {country.start: country for country in clause.countries}
    in_figures: set[int] = set()
    for figure in figures:
        in_figures.update(range(figure.amount.figure.start, figure.amount.end))
    words: list[_Word] = []
    for match in WORD.finditer(lower):
        start = match.start()
        if start in in_figures:
            continue
        key = label_key(match[0])
        is_label = key in labels
        # A word that compares the label with something, or excludes it, stands shortly
        # before it.
        if is_label and _COMPARED.search(lower, max(0, start - 40), start):
            continue
        country = countries.get(start)
        is_one_of_several = country is not None and len(countries) > 1
        words.append(_Word(start, key, country, is_label or is_one_of_several))
    return words


def _readings(
    clause: Sentence, figures: Sequence[_StatedFigure], words: Sequence[_Word]
) -> list[list[int]]:
    """Return the ways in which words may be of figures, by the figures' numbers: of the
    next one, of the one before, of the only one within commas, or of that one, else
    the next. A way in which a telling word is of no figure does not count.
    """
    starts = [figure.amount.figure.start for figure in figures]
    ends = [figure.amount.end for figure in figures]
    cuts = [match.end() for match in _PART_END.finditer(lowered(clause.text))]
    parts = [bisect_right(cuts, start) for start in starts]
    only = {part: number for number, part in enumerate(parts) if parts.count(part) == 1}
    next_ones: list[int] = []
    last_ones: list[int] = []
    only_ones: list[int] = []
    mixed_ones: list[int] = []
    for word in words:
        next_ones.append(bisect_left(starts, word.start))
        last_ones.append(bisect_right(ends, word.start) - 1)
        part = bisect_right(cuts, word.start)
        only_ones.append(only.get(part, -1))
        mixed_ones.append(only.get(part, next_ones[-1]))
    readings = [next_ones, last_ones, only_ones, mixed_ones]
    numbers = range(len(figures))
    possible = [owners for owners in readings if _are_owned(words, owners, numbers)]
    possible = possible or readings[:2]
    if len(figures) == 1:
        possible = [[0] * len(words)]
    wholes = [word.key in _WHOLE for word in words]
    if set(compress(only_ones, wholes)).issuperset(numbers):
        # Each is called a total beside it: words elsewhere are of none of them.
        possible.append(only_ones)
    return possible


def _are_owned(words: Sequence[_Word], owners: Sequence[int], numbers: range) -> bool:
    """Return whether each telling word is of one of the figures."""
    for word, owner in zip(words, owners, strict=True):
        if word.tells and owner not in numbers:
            return False
    return True


def _defects_of(
    figure: _StatedFigure, words: Sequence[_Word], clause: Sentence, headings: Headings
) -> Iterator[Defect]:
    """Yield the figure if the words that are of it name a sibling of all its rows, and
    a country of them that none of its passages is about.
    """
    if not figure.sources or not words:
        return
    keys = {word.key for word in words}
    if all(row and headings.name_sibling(row, keys) for _, row in figure.sources):
        yield figure.defect(clause)
    countries = [word.country for word in words if word.country]
    keys_of_sources: set[str] = set()
    for source, _ in figure.sources:
        keys_of_sources |= keys_in(source.full)
    if not countries or not keys_of_sources:
        return
    if all(keys_of_sources.isdisjoint(country.keys) for country in countries):
        yield Defect("name", countries[0].text)
