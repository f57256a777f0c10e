"""Quotations side by side: the lines of one row say the same of each side, under one heading and with one label.

What each side's own question finds is ranked for that side alone: one has its population first, the other its growth.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..domain import Chunk, Condition, Passage, Quotation
from ..domain.figures import ReportedFigure
from ..language import YEAR_PATTERN
from ..models.chat.statements import BULLET, MOST_WORDS
from .figure_list import figures_of, heading_of

Terms = Callable[[str], Sequence[str]]
"""The words of a text that have a meaning of their own."""
UNRANKED = 3
"""The place of what is among none of a side's quotations."""
_LABEL = re.compile(r"\W*([^:;.?!“”]{1,80}?)\s*:(?=\s)")
_ROW = re.compile(r"[^:;]{1,40}: ([^;]+);")
"""A row of a table: "Item: total; Value: 58,246,378"; its first cell is the label."""
_WHOLE = re.compile(r"\W*(?:total(?: population)?|overall)\W*")


@dataclass(frozen=True, slots=True)
class Thing:
    """What a line is about. ``nth``: of several that a side quotes of it, from 0."""

    heading: str
    label: str
    nth: int = 0


@dataclass(frozen=True, slots=True)
class Sources:
    """One side: its quotations, best first, its passages, and the year whose figures it shows, if it is one."""

    quotes: Sequence[Quotation]
    passages: Sequence[Passage]
    year: int | None = None


@dataclass(frozen=True, slots=True)
class _Line:
    quotation: Quotation
    thing: Thing
    year: int | None
    """The year of its figure."""
    edition: str


def paired(
    sides: Mapping[str, Sources], asked: str, years: Sequence[Condition], *, most: int, terms: Terms
) -> dict[str, list[Quotation | None]]:
    """The lines of a table, by side: a quotation for each of at most ``most`` rows, None where a side has none; more
    rows where a side would have no line.

    What all sides have comes before what some have, then what is ``asked`` by its name. Of countries the lines of the
    newest year that all have; of ``years``, those asked for, where all have one of them.
    """
    lines = {name: list(_lines(side)) for name, side in sides.items()}
    by_year = _are_countries(sides)
    rows: list[dict[str, _Line]] = []
    for thing in _things(lines, sides, asked, years, terms):
        row = _row(thing, lines, rows, years if by_year else None)
        is_whole = len(row) == len([name for name, own in lines.items() if own])
        missing = any(not any(name in above for above in rows) for name in row)
        if row and ((len(rows) < most and (is_whole or len(row) > 1)) or missing):
            rows.append(row)
    return {name: [row[name].quotation if name in row else None for row in rows] for name in sides}


def _are_countries(sides: Mapping[str, Sources]) -> bool:
    countries = {one.hit.chunk.metadata.get("country_name") for side in sides.values() for one in side.passages}
    return len(countries) >= len(sides) and not any(side.year for side in sides.values())


def _things(
    lines: Mapping[str, Sequence[_Line]],
    sides: Mapping[str, Sources],
    asked: str,
    years: Sequence[Condition],
    terms: Terms,
) -> list[Thing]:
    """The things quoted of any side, in the order of the table's rows."""
    places = {name: _places(own[: len(sides[name].quotes)]) for name, own in lines.items()}
    known = {name: {(line.thing.heading, line.thing.label) for line in own} for name, own in lines.items()}
    words = set(terms(asked))

    def order(thing: Thing) -> tuple[int, bool, int, int]:
        has = sum((thing.heading, thing.label) in own for own in known.values())
        own = set(terms(f"{thing.heading} {thing.label}"))
        rank = sum(of_side.get(thing, UNRANKED) for of_side in places.values())
        return -has, bool(thing.nth) or own != words, rank, len(own - words)

    found = dict.fromkeys(thing for of_side in places.values() for thing in of_side)
    if any(side.year for side in sides.values()) or years:  # the next figure of a thing would be of another year
        found = dict.fromkeys(thing for thing in found if not thing.nth)
    return sorted(found, key=order)


def _places(quoted: Sequence[_Line]) -> dict[Thing, int]:
    """Each thing and its place among a side's quotations; the second quotation of one thing counts as another thing."""
    seen, found = Counter[Thing](), dict[Thing, int]()
    for place, line in enumerate(quoted):
        found[Thing(line.thing.heading, line.thing.label, seen[line.thing])] = place
        seen[line.thing] += 1
    return found


def _row(
    thing: Thing,
    lines: Mapping[str, Sequence[_Line]],
    above: Sequence[Mapping[str, _Line]],
    years: Sequence[Condition] | None,
) -> dict[str, _Line]:
    """The sides' lines of a thing that are in no row above; given ``years``, of the newest year that they share."""
    shown = {(name, line.quotation.text) for row in above for name, line in row.items()}
    of_side = {
        name: [
            line
            for line in own
            if (line.thing.heading, line.thing.label) == (thing.heading, thing.label)
            and (name, line.quotation.text) not in shown
        ]
        for name, own in lines.items()
    }
    found = {name: own for name, own in of_side.items() if own}
    shared = set[int | None].intersection(*({line.year for line in own} for own in found.values())) if found else set()
    dated = {year for year in shared if year is not None} if years is not None else set()
    dated = {year for year in dated if any(condition.matches(year) for condition in years or ())} or dated
    newest = max(dated, default=None)
    if thing.nth and newest is None and years is not None and any(line.year for own in found.values() for line in own):
        return {}  # the next figures of each are of different years
    alike = {name: [line for line in own if newest and line.year == newest] for name, own in found.items()}
    return {
        name: max(alike[name], key=lambda line: line.edition) if alike[name] else own[0] for name, own in found.items()
    }


def _lines(side: Sources) -> Iterator[_Line]:
    """A side's quoted lines, then all lines under the headings of its passages: of its year, of the newest edition
    first.
    """
    chunks = {one.number: one.hit.chunk for one in side.passages}
    figures = {number: list(figures_of(chunk)) for number, chunk in chunks.items()}
    for quote in side.quotes:
        yield _line(quote, chunks[quote.number], figures[quote.number])
    rest = [
        _line(Quotation(number, _where(chunk), text), chunk, figures[number])
        for number, chunk in sorted(chunks.items(), key=lambda one: _edition(one[1]), reverse=True)
        for text in filter(None, (BULLET.sub("", line.strip()) for line in chunk.text.splitlines()))
        if heading_of(chunk) and not _is_heading(text, chunk)
    ]
    yield from sorted(rest, key=lambda line: side.year is not None and str(side.year) not in line.quotation.text)


def _line(quote: Quotation, chunk: Chunk, figures: Sequence[ReportedFigure]) -> _Line:
    heading = heading_of(chunk)
    dated = (f.year for f in figures if f.year and f.text in quote.text and str(f.year) in quote.text)
    thing = Thing(heading.casefold(), _label(quote.text, heading))
    return _Line(quote, thing, next(dated, None), _edition(chunk))


def _label(text: str, heading: str) -> str:
    """What stands before the colon, without a year; "" for a total, and where it is the heading once more."""
    found = _ROW.match(text) or _LABEL.match(text)
    label = " ".join(YEAR_PATTERN.sub("", found[1]).casefold().split()) if found else ""
    if len(label.split()) > MOST_WORDS or label == heading.casefold() or _WHOLE.fullmatch(label):
        return ""
    return label


def _edition(chunk: Chunk) -> str:
    return str(chunk.metadata.get("year", ""))


def _where(chunk: Chunk) -> str:
    page = f", page {chunk.page}" if chunk.page is not None else ""
    return f"{chunk.title}, {heading_of(chunk)}{page}"


def _is_heading(text: str, chunk: Chunk) -> bool:
    return text.strip("# *").casefold() == heading_of(chunk).casefold()
