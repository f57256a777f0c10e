"""What comes first of what was found: the passage whose heading is what is asked, in the edition that is asked.

Both orders are this product's own, measured in benchmarks/README.md; a seed's preset has neither.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..domain import Chunk, Scope, SearchHit, Vector
from ..domain.protocols import Catalog, Embedder
from ..domain.reading import NamedYears
from ..domain.request import RequestContext
from ..domain.scores import KnownVectors, standard, to_score
from ..questions.reading import COUNTRY, YEAR
from .search_text import SearchText, search_text

DEPTH = 50
"""Candidates that are looked at: deeper ones came no further in any set."""
REVISIONS = 1
"""Older editions that say something of the year asked, right behind the newest."""


class HeadingOrder:
    """Weighs how near a passage's heading is to what is asked. For embedders that compute here: each heading once.

    ``weight`` is that of the headings' standardised similarity beside the standardised score before.
    """

    def __init__(self, embedder: Embedder, weight: float) -> None:
        self._embedder = embedder
        self._weight = weight
        self._known = KnownVectors(embedder)

    def order(
        self, text: SearchText, vector: Vector, hits: Sequence[SearchHit], request: RequestContext | None
    ) -> list[SearchHit]:
        """Best first; ``vector`` is that of the question. A passage without a heading is taken for an average one.

        Raises EmbeddingError.
        """
        hits, rest = hits[:DEPTH], hits[DEPTH:]
        headings = [hit.chunk.heading for hit in hits]
        if not any(headings):
            return [*hits, *rest]
        vectors = self._known.of(headings, request)
        asked = vector if text.topic == text.question else self._embedder.embed_query(text.topic, request=request)
        near = [to_score(float(asked @ vectors[name])) if name else None for name in headings]
        hits = [replace(hit, heading_score=score) for hit, score in zip(hits, near, strict=True)]
        similar = np.array(near, np.float64)
        similar[np.isnan(similar)] = np.nanmean(similar)
        scores = np.array([hit.fused_score or 0.0 for hit in hits])
        total = standard(scores) + self._weight * standard(similar)
        return [*(hits[place] for place in np.argsort(-total, kind="stable")), *rest]


class Refiner:
    """Reads what a question is searched with, and orders what is found by it. Thread-safe."""

    def __init__(self, catalog: Catalog, headings: HeadingOrder | None, *, language: str, general: str = "") -> None:
        """``headings``: None = they order nothing. ``language``: of the reports. ``general``: their collection."""
        self.catalog = catalog
        self.general = general
        self._headings = headings
        self._language = language

    def read(self, query: str, scope: Scope) -> SearchText:
        """See `search_text`."""
        return search_text(query, scope, self.catalog, language=self._language)

    def embedded(self, text: SearchText) -> tuple[str, ...]:
        """What of a question is embedded until its passages are in order."""
        return (text.question, text.topic) if self._headings else (text.question,)

    def order(
        self,
        text: SearchText,
        vector: Vector,
        hits: Sequence[SearchHit],
        scope: Scope,
        request: RequestContext | None,
    ) -> list[SearchHit]:
        """Best first; ``vector`` is that of the question. Raises EmbeddingError."""
        ordered = self._headings.order(text, vector, hits, request) if self._headings else list(hits)
        return by_edition(ordered, text, scope)


def by_edition(hits: Sequence[SearchHit], asked: SearchText, scope: Scope) -> list[SearchHit]:
    """Of the editions of one line the one that is asked, from the place of the first of them; the others behind all.

    A line is what a country's reports say under one heading. Asked is the edition that the question names, else one
    with a figure of the year it names, else the edition of that year; of several the newest. An older one that has a
    figure of the year stays behind the first line: it may have been revised. Where someone chose years, all stay.
    """
    if scope.get(YEAR) is not None or scope.get("document_name") is not None:
        return list(hits)
    keys = [_line(hit.chunk, place) for place, hit in enumerate(hits)]
    lines: dict[Hashable, list[SearchHit]] = {}
    for key, hit in zip(keys, hits, strict=True):
        lines.setdefault(key, []).append(hit)
    chosen = {key: _chosen(line, asked) for key, line in lines.items()}
    kept: list[SearchHit] = []
    seen: set[Hashable] = set()
    for key, hit in zip(keys, hits, strict=True):
        if chosen[key] and (key not in seen or _edition(hit) == _edition(chosen[key][0])):
            kept.append(chosen[key].pop(0))
        if not seen:
            kept += _revisions(lines[key], kept[0], asked)
        seen.add(key)
    placed = {hit.chunk.id for hit in kept}
    return [*kept, *(hit for hit in hits if hit.chunk.id not in placed)]


def _line(chunk: Chunk, place: int) -> Hashable:
    """Passages without an edition or a heading are each a line of their own."""
    if YEAR not in chunk.metadata or not chunk.section:
        return place
    return chunk.metadata.get(COUNTRY), chunk.metadata.get("type"), chunk.heading.casefold()


def _edition(hit: SearchHit) -> int:
    year = hit.chunk.metadata.get(YEAR)
    return year if isinstance(year, int) else 0


def _chosen(line: Sequence[SearchHit], asked: SearchText) -> list[SearchHit]:
    """The passages of the edition asked; those with a figure of the year asked first."""
    if len(line) == 1:
        return list(line)

    def preference(hit: SearchHit) -> tuple[int, int, int, int]:
        edition = _edition(hit)
        figures = _matched(asked.figure_years, hit.chunk.figure_years)
        of_the_year = 0 if figures else _matched(asked.figure_years, [edition])
        return -_matched(asked.editions, [edition]), -figures, -of_the_year, -edition

    edition = _edition(min(line, key=preference))
    own = [hit for hit in line if _edition(hit) == edition]
    return sorted(own, key=lambda hit: -_matched(asked.figure_years, hit.chunk.figure_years))


def _revisions(line: Sequence[SearchHit], newest: SearchHit, asked: SearchText) -> list[SearchHit]:
    found = [
        hit for hit in line if _edition(hit) < _edition(newest) and _matched(asked.figure_years, hit.chunk.figure_years)
    ]
    return sorted(found, key=lambda hit: -_edition(hit))[:REVISIONS]


def _matched(asked: Sequence[NamedYears], years: Iterable[int]) -> int:
    """How many of the years, or ranges, that are asked these have something of."""
    own = list(years) if asked else ()
    return sum(any(map(named.condition.matches, own)) for named in asked)
