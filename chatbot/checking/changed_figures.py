"""What changed from one report to another: the figures that both state and that differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..domain import Chunk, Passage
from ..domain.figures import ReportedFigure
from ..language import escape_markdown
from ..language.words import Say
from .figure_list import figures_of
from .tables import EMPTY, markdown_table

MOST = 12
"""Rows: more is a list to read, not an answer."""
_Counted = tuple[str, str]
"""An indicator and its unit."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that is counted, and each side's figure of it; None = it has none, which neither end may lack.

    ``size``: from the first to the last, as a share of the larger; over 1 where one of them is negative.
    """

    indicator: str
    figures: tuple[ReportedFigure | None, ...]
    size: float

    @property
    def is_headline(self) -> bool:
        """What a heading is named after, not a part of it ("Median age: male")."""
        return ": " not in self.indicator


def changed_figures(sides: Sequence[Sequence[Chunk]]) -> list[Change]:
    """What differs between the first side and the last, the largest changes first, those of headings before parts.

    Compared are dated figures of one indicator and unit, of each side the newest; not those of which a side gives
    several for that year. None where the passages are of several countries: what changed is asked of one.
    """
    countries = {chunk.metadata["country_name"] for side in sides for chunk in side if "country_name" in chunk.metadata}
    if len(sides) < 2 or len(countries) > 1:
        return []
    found = [_newest(side) for side in sides]
    first, last = found[0], found[-1]
    changes = (
        Change(key[0], tuple(side.get(key) for side in found), _distance(first[key], figure))
        for key, figure in last.items()
        if key in first and first[key].value != figure.value
    )
    return sorted(changes, key=lambda change: (not change.is_headline, -change.size))


def passages_of(changes: Sequence[Change], side: int) -> list[str]:
    """The ids of the passages with a side's figures of the first changes, each once."""
    figures = (change.figures[side] for change in changes[:MOST])
    return list(dict.fromkeys(figure.chunk_id for figure in figures if figure))


def changes_table(changes: Sequence[Change], sides: Sequence[str], passages: Sequence[Passage], say: Say) -> str:
    """The first of ``changes`` whose passages are there, a row each; above it how many there are, if there are more.

    ``sides``: the names of the columns. Without any row: "".
    """
    numbers = {passage.hit.chunk.id: passage.number for passage in passages}
    rows = [
        [escape_markdown(change.indicator), *(_cell(figure, numbers) for figure in change.figures)]
        for change in changes[:MOST]
        if all(end and end.chunk_id in numbers for end in (change.figures[0], change.figures[-1]))
    ]
    if not rows:
        return ""
    every = [say("{number} figures differ, among them:", number=len(changes))] if len(changes) > len(rows) else []
    return "\n\n".join([*every, markdown_table(["", *map(escape_markdown, sides)], rows)])


def _newest(side: Sequence[Chunk]) -> dict[_Counted, ReportedFigure]:
    """For each thing counted, its dated figure of the newest year; in reading order."""
    dated: dict[_Counted, list[ReportedFigure]] = defaultdict(list)
    for figure in (figure for chunk in side if chunk.figure_years for figure in figures_of(chunk)):
        if figure.year:
            dated[figure.indicator, figure.unit].append(figure)
    found: dict[_Counted, ReportedFigure] = {}
    for key, figures in dated.items():
        year = max(figure.year or 0 for figure in figures)
        newest = [figure for figure in figures if figure.year == year]
        if len({figure.value for figure in newest}) == 1:
            found[key] = newest[0]
    return found


def _distance(first: ReportedFigure, last: ReportedFigure) -> float:
    """How far two different values are apart, as a share of the larger: 0 to 2."""
    return float(abs(last.value - first.value) / max(abs(first.value), abs(last.value)))


def _cell(figure: ReportedFigure | None, numbers: Mapping[str, int]) -> str:
    if figure is None or figure.chunk_id not in numbers:
        return EMPTY
    estimate = " est." if figure.estimate else ""
    return f"{escape_markdown(figure.text)} ({figure.year}{estimate}) [{numbers[figure.chunk_id]}]"
