"""What comes first of what was found: the passage whose heading is what is asked, in the edition that is asked.

Both orders are this product's own, measured in benchmarks/README.md; a seed's preset has neither.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..domain import Chunk, Scope, SearchHit
from ..domain.documents import ScoreArray, standard, to_score
from ..domain.protocols import Catalog
from ..domain.request import RequestContext
from ..domain.scope import NamedYears, Reading
from ..language import analyzer
from ..questions.reading import COUNTRY, YEAR
from .indicators import IndicatorIndex
from .search_text import SearchText, search_text

Terms = Callable[[str], Sequence[str]]
DEPTH = 50
"""Candidates that are looked at: deeper ones came no further in any set."""
OLDER = 1.0
"""What a passage of an older edition loses where no year is asked, in standard deviations: its heading may be gone."""
SAID_AHEAD = 2.0
"""What a passage gains whose heading, or a phrase of it, the question says itself, in standard deviations of these."""
LONGEST_NAME = 12
"""Words of a heading that is compared."""
PROSE = 0.5
"""Share of the headings' weight where a question asks for prose."""
AHEAD, OLDER_SHOWN = 3, 2
"""Passages that stand before the older editions of the first line, and how many of these then follow."""


class HeadingOrder:
    """Weighs how near a passage's heading is to what is asked, by the index of indicators.

    ``weight`` is that of the headings' standardised similarity beside the standardised score before.
    """

    def __init__(self, index: IndicatorIndex, weight: float) -> None:
        self._index = index
        self._weight = weight

    def order(self, text: SearchText, hits: Sequence[SearchHit], request: RequestContext | None) -> list[SearchHit]:
        """Best first. A passage without a heading is taken for an average one. Raises EmbeddingError."""
        hits, rest = hits[:DEPTH], hits[DEPTH:]
        # A caption of many words is no name of what its passage says.
        headings = [name if len(name.split()) <= LONGEST_NAME else "" for name in (hit.chunk.heading for hit in hits)]
        if not any(headings):
            return [*hits, *rest]
        near = self._index.near(text.topic, headings, request)
        scores = [to_score(one.cosine) if one else None for one in near]
        hits = [replace(hit, heading_score=score) for hit, score in zip(hits, scores, strict=True)]
        similar = np.array([one.score if one else np.nan for one in near], np.float64)
        similar[np.isnan(similar)] = np.nanmean(similar)
        fused = np.array([hit.fused_score or 0.0 for hit in hits])
        weight = self._weight * (PROSE if text.prose else 1.0)
        said = np.array([float(one is not None and one.is_said) for one in near])
        total = standard(fused) + weight * (standard(similar) + SAID_AHEAD * said)
        if not (text.figure_years or text.editions):
            total -= OLDER * _is_older(hits)
        return [*(hits[place] for place in np.argsort(-total, kind="stable")), *rest]


def _is_older(hits: Sequence[SearchHit]) -> ScoreArray:
    """1 for each hit of which its country has a newer edition among the hits, else 0."""
    newest: dict[Hashable, int] = {}
    for hit in hits:
        country = hit.chunk.metadata.get(COUNTRY)
        newest[country] = max(newest.get(country, 0), _edition(hit))
    return np.array([float(0 < _edition(hit) < newest[hit.chunk.metadata.get(COUNTRY)]) for hit in hits])


class Refiner:
    """Reads what a question is searched with, and orders what is found by it. Thread-safe."""

    def __init__(self, catalog: Catalog, headings: HeadingOrder | None, *, language: str, general: str = "") -> None:
        """``headings``: None = they order nothing. ``language``: of the reports. ``general``: their collection."""
        self.catalog = catalog
        self.general = general
        self._headings = headings
        self._language = language

    def text(self, reading: Reading, scope: Scope) -> SearchText:
        """See `search_text`."""
        return search_text(reading, scope, language=self._language)

    def embedded(self, text: SearchText) -> tuple[str, ...]:
        """What of a question is embedded until its passages are in order."""
        return (text.question, text.topic) if self._headings else (text.question,)

    def order(
        self,
        text: SearchText,
        hits: Sequence[SearchHit],
        scope: Scope,
        request: RequestContext | None,
    ) -> list[SearchHit]:
        """Best first. Raises EmbeddingError."""
        ordered = self._headings.order(text, hits, request) if self._headings else list(hits)
        return by_edition(ordered, text, scope, analyzer(self._language).terms)


def by_edition(hits: Sequence[SearchHit], asked: SearchText, scope: Scope, terms: Terms) -> list[SearchHit]:
    """Order the editions of each line among its own places; those that are not asked go behind all others.

    A line is what a country's reports say under one heading. Asked is the edition that the question names, else one
    with a figure of the year it names, else the edition of that year; of several the newest. If the first line has the
    best vector score too, it is clear what is asked, and two of its older editions come early: they may say more. Where
    the question names a year of figures, those with such a figure stand right behind the first passage: the figure may
    have been revised. Where someone chose years, all stay.
    """
    if scope.get(YEAR) is not None or scope.get("document_name") is not None:
        return list(hits)
    keys = [_line(hit.chunk, place, terms) for place, hit in enumerate(hits)]
    lines: dict[Hashable, list[SearchHit]] = {}
    for key, hit in zip(keys, hits, strict=True):
        lines.setdefault(key, []).append(hit)

    ordered = {key: sorted(line, key=lambda hit: _preference(hit, asked)) for key, line in lines.items()}
    best = {key: _edition(line[0]) for key, line in ordered.items()}
    nearest = max(range(len(hits)), key=lambda place: hits[place].score or 0.0, default=0)
    is_clear = bool(asked.figure_years) or (bool(keys) and keys[nearest] == keys[0])
    chosen, more, others = list[SearchHit](), list[SearchHit](), list[SearchHit]()
    for key in keys:
        hit = ordered[key].pop(0)
        says_more = not asked.figure_years or _matched(asked.figure_years, hit.chunk.figure_years)
        if _edition(hit) == best[key]:
            chosen.append(hit)
        elif is_clear and key == keys[0] and _edition(hit) < best[key] and says_more and len(more) < OLDER_SHOWN:
            more.append(hit)
        else:
            others.append(hit)
    ahead = 1 if asked.figure_years else AHEAD
    return [*chosen[:ahead], *more, *chosen[ahead:], *others]


def _preference(hit: SearchHit, asked: SearchText) -> tuple[int, int, int, int]:
    """Sorts the edition that is asked first."""
    edition, figures = _edition(hit), _matched(asked.figure_years, hit.chunk.figure_years)
    of_the_year = 0 if figures else _matched(asked.figure_years, [edition])
    return -_matched(asked.editions, [edition]), -figures, -of_the_year, -edition


def _line(chunk: Chunk, place: int, terms: Terms) -> Hashable:
    """Passages without an edition or a heading are each a line of their own."""
    if YEAR not in chunk.metadata or not chunk.section:
        return place
    return chunk.metadata.get(COUNTRY), chunk.metadata.get("type"), frozenset(terms(chunk.heading))


def _edition(hit: SearchHit) -> int:
    year = hit.chunk.metadata.get(YEAR)
    return year if isinstance(year, int) else 0


def _matched(asked: Sequence[NamedYears], years: Iterable[int]) -> int:
    """How many of the years, or ranges, that are asked these have something of."""
    own = list(years) if asked else ()
    return sum(any(map(named.condition.matches, own)) for named in asked)
