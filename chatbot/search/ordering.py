"""What comes first of what was found: the passage whose heading is what is asked, in
the edition that is asked.

Both orders are this product's own, measured in benchmarks/README.md; a seed's preset
has neither.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..domain import Chunk, Scope, SearchHit
from ..domain.documents import to_score
from ..domain.protocols import Catalog
from ..domain.request import RequestContext
from ..domain.scope import SearchText
from ..language.sentences import PROSE_SENTENCE
from ..questions.reading import YEAR
from .features import (
    WEIGHTS,
    Candidates,
    compare,
    edition_of,
    features,
    in_passage,
    matched,
)
from .indicators import IndicatorIndex, Near

Terms = Callable[[str], Sequence[str]]
DEPTH = 50
"""Candidates that are looked at: deeper ones came no further in any set."""
LONGEST_NAME = 12
"""Words of a heading that is compared."""
ALIKE = 0.01
"""Scores of headings between which a question makes no difference."""
OF_ONE_DOCUMENT = ("within", "near_within")
"""Features that order the passages of one document, and say nothing about others."""
OLDER_SHOWN = 2
"""Older editions of the first line that stand right behind its first passage."""


class Refiner:
    """Orders what is found by heading and by edition. Thread-safe.

    ``weights`` are those of the features; without an ``index`` headings order nothing.
    ``language``: of the reports. ``collections``: those that are searched, that of
    general documents first.
    """

    def __init__(
        self,
        catalog: Catalog,
        index: IndicatorIndex | None,
        *,
        weights: Mapping[str, float] = WEIGHTS,
        language: str,
        collections: Sequence[str] = (),
    ) -> None:
        self.catalog = catalog
        self.collections = collections
        self.general = collections[0] if collections else ""
        self.language = language
        self.index = index
        self.weights = weights

    def by_heading(
        self,
        text: SearchText,
        hits: Sequence[SearchHit],
        request: RequestContext | None,
    ) -> list[SearchHit]:
        """Best first. A passage without a heading is taken for an average one. Raises
        EmbeddingError.
        """
        hits, rest = hits[:DEPTH], hits[DEPTH:]
        headings = [hit.chunk.heading for hit in hits]
        # A caption of many words is no name of what its passage says.
        headings = [
            heading if len(heading.split()) <= LONGEST_NAME else ""
            for heading in headings
        ]
        if self.index is None or not any(headings):
            return [*hits, *rest]
        near = self.index.near(text.topic, headings, request)
        similar = np.array([one.score if one else np.nan for one in near])
        documents = {hit.chunk.document_id for hit in hits}
        counted = {id: self.catalog.heading_counts(id) for id in documents}
        counts = [counted[hit.chunk.document_id] for hit in hits]
        question = compare(text, hits, similar, counts, self.language)
        ordered: list[SearchHit] = []
        for position in ranked(question, self.weights):
            hit = hits[position]
            score = heading_score(near[position], question.earned[position])
            ordered.append(replace(hit, heading_score=score))
        return [*ordered, *rest]


def heading_score(near: Near | None, earned: float) -> float | None:
    """Return how near a heading is to the question, as a score. None without a heading,
    and where those of its document name no figures: there they say little about what
    stands below them.
    """
    if near is None or earned < 1:
        return None
    return to_score(near.cosine)


def ranked(question: Candidates, weights: Mapping[str, float]) -> list[int]:
    """Return the positions of the passages by the weighted sum of their features, best
    first; equal ones in their order. Then the passages of each document exchange their
    places, by the words and the vectors that tell them apart.
    """
    hits = question.hits
    total = np.zeros(len(hits))
    within = np.zeros(len(hits))
    for position in range(len(hits)):
        values = features(question, position)
        for name in OF_ONE_DOCUMENT:
            within[position] += weights[name] * values.pop(name)
        for name, value in values.items():
            total[position] += weights[name] * value
    within += total
    nearest = first_in_both(hits)
    if nearest is not None:
        best = hits[int(np.argmax(total))].chunk
        if not may_lift(question, nearest, best):
            total[nearest] = max(total[nearest], total.max() + 1)
    order = np.argsort(-total, kind="stable")
    documents = np.array([hits[position].chunk.document_id for position in order])
    for document in np.unique(documents):
        own = order[documents == document]
        order[documents == document] = own[np.argsort(-within[own], kind="stable")]
    return [int(position) for position in order]


def first_in_both(hits: Sequence[SearchHit]) -> int | None:
    """Return the position of the hit that both searches put first; of two passages of
    one report that with the higher score. None where their first ones are of different
    reports, or one has not searched.
    """
    if not hits:
        return None
    by_vector = [hit.score or 0.0 for hit in hits]
    by_keyword = [hit.keyword_score or 0.0 for hit in hits]
    firsts = [int(np.argmax(by_vector)), int(np.argmax(by_keyword))]
    if not max(by_keyword):
        return None
    if len({hits[first].chunk.document_id for first in firsts}) > 1:
        return None
    return max(firsts, key=lambda first: hits[first].fused_score or 0.0)


def may_lift(question: Candidates, nearest: int, best: Chunk) -> bool:
    """Return whether headings may lift the passage ``best`` above the one that both
    searches put first, by its position. They order the passages of one document, and
    those of one kind of report whose headings are indicators. They say nothing about
    another report.
    """
    first = question.hits[nearest].chunk
    if first.document_id == best.document_id:
        return True
    has_earned = question.earned[nearest] == 1
    return has_earned and are_alike(question.hits, first, best)


def are_alike(hits: Sequence[SearchHit], one: Chunk, other: Chunk) -> bool:
    """Return whether two passages are of reports of one kind: of one type, or with a
    heading in common among the hits.
    """
    if one.document_id == other.document_id:
        return True
    kind = one.metadata.get("type")
    if kind is not None and kind == other.metadata.get("type"):
        return True
    headings: dict[str, set[str]] = {one.document_id: set(), other.document_id: set()}
    for hit in hits:
        if hit.chunk.heading and hit.chunk.document_id in headings:
            headings[hit.chunk.document_id].add(hit.chunk.heading)
    return not headings[one.document_id].isdisjoint(headings[other.document_id])


def by_edition(
    hits: Sequence[SearchHit], text: SearchText, scope: Scope, terms: Terms
) -> list[SearchHit]:
    """Order the editions of each line among its own places; those that are not asked go
    behind all others. A line is what the editions of one report say under one heading.
    Asked is the edition that the question names, else one with a figure of the year it
    names, else the edition of that year; of several the newest. If the first line has
    the best vector score too, it is clear what is asked, and two of its older editions
    stand behind the first passage: they may say more. Where the question names a year
    of figures, only those with such a figure do: it may have been revised. Where it
    asks for reasons, only those with a sentence do. Where someone chose years, all
    stay.
    """
    if scope.get(YEAR) is not None or scope.get("document_name") is not None:
        return list(hits)
    if not hits:
        return []
    keys = [_line(hit.chunk, place, terms) for place, hit in enumerate(hits)]
    lines = _lines(hits, keys, text)
    best = {key: edition_of(line[0]) for key, line in lines.items()}
    clear = _clear_line(hits, keys, text)
    chosen, more, others = list[SearchHit](), list[SearchHit](), list[SearchHit]()
    first = 0  # of the chosen, before another line's
    for key in keys:
        hit = lines[key].pop(0)
        if edition_of(hit) == best[key]:
            first += key == keys[0] and first == len(chosen)
            chosen.append(hit)
        elif (
            key == clear
            and edition_of(hit) < best[key]
            and _may_say_more(hit.chunk, text)
            and len(more) < OLDER_SHOWN
        ):
            more.append(hit)
        else:
            others.append(hit)
    broad = _newest_named(chosen, text)
    if broad:
        return [*broad, *more, *others]
    return [*chosen[:first], *more, *chosen[first:], *others]


def _newest_named(hits: Sequence[SearchHit], text: SearchText) -> list[SearchHit]:
    """Return passages with the newest edition first where a question means several
    headings by one word, as "what life is like", and then the other passages in their
    order; an empty list where it does not, or names years. ``hits``: at least one.
    """
    first_score = hits[0].heading_score
    if first_score is None or text.figure_years or text.editions:
        return []
    # What one word means has the very same score.
    headings = {hit.chunk.heading for hit in hits if hit.heading_score == first_score}
    if len(headings) == 1:
        return []

    def order(hit: SearchHit) -> tuple[bool, float, float]:
        score = hit.heading_score
        if score is None or not first_score <= score <= first_score + ALIKE:
            return True, 0.0, 0.0
        return False, -edition_of(hit), -score

    return sorted(hits, key=order)


def _clear_line(
    hits: Sequence[SearchHit], keys: Sequence[Hashable], text: SearchText
) -> Hashable:
    """Return the first line where it is clear that it is asked for, else None."""
    nearest = max(range(len(hits)), key=lambda place: hits[place].score or 0.0)
    is_clear = text.figure_years or keys[nearest] == keys[0]
    return keys[0] if is_clear else None


def _lines(
    hits: Sequence[SearchHit], keys: Sequence[Hashable], text: SearchText
) -> dict[Hashable, list[SearchHit]]:
    """Return the passages by line, the edition that is asked first."""
    lines: dict[Hashable, list[SearchHit]] = {}
    for key, hit in zip(keys, hits, strict=True):
        lines.setdefault(key, []).append(hit)
    for line in lines.values():
        # Most are one passage, which needs no order.
        if len(line) > 1:
            line.sort(key=lambda hit: _preference(hit, text))
    return lines


def _may_say_more(older: Chunk, text: SearchText) -> bool:
    """Return whether an older edition may say more than the newest one."""
    if text.figure_years:
        return bool(matched(text.figure_years, older.figure_years))
    return not text.prose or PROSE_SENTENCE.search(older.text) is not None


def _preference(hit: SearchHit, text: SearchText) -> tuple[int, int, int, int]:
    """Sorts the edition that is asked first."""
    edition, figures = (
        edition_of(hit),
        matched(text.figure_years, hit.chunk.figure_years),
    )
    of_the_year = (
        0
        if figures
        else 2 * in_passage(text.figure_years, hit)
        + matched(text.figure_years, [edition])
    )
    return -matched(text.editions, [edition]), -figures, -of_the_year, -edition


def _line(chunk: Chunk, place: int, terms: Terms) -> Hashable:
    """Passages without an edition or a heading are each a line of their own."""
    if YEAR not in chunk.metadata or not chunk.section:
        return place
    return (chunk.series, frozenset(terms(chunk.heading)))
