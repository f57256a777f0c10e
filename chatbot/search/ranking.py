"""From the matches of several searches to one ranking: methods, fusions, thresholds,
reports without a country.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import nlargest
from typing import Literal

import numpy as np

from ..domain import Chunk, Match, QuerySettings, Scope, SearchHit
from ..domain.chat import Threshold
from ..domain.documents import ScoreArray, standard
from ..domain.errors import UnknownNameError
from ..domain.protocols import Catalog
from ..domain.scope import NO_VALUE, Values
from ..language.country_names import keys_in
from ..questions.reading import COUNTRY, YEAR, keys_of
from .weights import read_weight

KeptGeneral = Literal["untagged", "all", "scoped"]
"""See the setting GENERAL_COLLECTION."""
Scores = Mapping[str, float]
Fusion = Callable[[Scores, Scores, Scores, float], dict[str, float]]
"""Merge the scores of two searches by chunk id (R-B6): those of the vector search,
those of the keyword search (both best first), the vector score of every candidate with
an embedding, and the weight of the vector search.
"""


HYBRID_CANDIDATES = 100
"""Passages requested of each of the two searches, at least."""


@dataclass(frozen=True, slots=True)
class Method:
    """Implements `RetrievalMethod`: one search in its own order, or both with a
    fusion.
    """

    uses_vectors: bool
    uses_keywords: bool
    refines: bool = False
    """One search alone is seed 003 to the letter."""
    fusion: Fusion | None = None
    vector_weight: float = 1.0
    """In [0, 1]; the rest is the weight of the keywords."""

    def candidates(self, top_k: int) -> int:
        return top_k if self.fusion is None else max(HYBRID_CANDIDATES, top_k)

    def rank(
        self,
        vector_matches: Sequence[Match],
        keyword_matches: Sequence[Match],
        scores: Scores,
    ) -> Sequence[tuple[str, float | None]]:
        if self.fusion is None:
            return [
                (match.chunk_id, None) for match in (*vector_matches, *keyword_matches)
            ]
        near = {match.chunk_id: match.score for match in vector_matches}
        worded = {match.chunk_id: match.score for match in keyword_matches}
        fused = self.fusion(near, worded, scores, self.vector_weight)
        return sorted(fused.items(), key=lambda item: (-item[1], item[0]))


def vector(settings: QuerySettings) -> Method:
    """Vector search alone; no setting changes it."""
    return Method(uses_vectors=True, uses_keywords=False)


def bm25(settings: QuerySettings) -> Method:
    """Keyword search alone; no setting changes it."""
    return Method(uses_vectors=False, uses_keywords=True)


def hybrid(settings: QuerySettings) -> Method:
    """Both searches, merged by VECTOR_WEIGHT and FUSION."""
    return Method(
        True, True, True, fusion_named(settings.fusion), settings.vector_weight
    )


def _over_union(
    normalise: Callable[[ScoreArray], ScoreArray],
    near: Scores,
    worded: Scores,
    vector: Scores,
    vector_weight: float,
) -> dict[str, float]:
    """Convex combination (Bruch, Gai and Ingber, ACM TOIS 2023)."""
    union = [*{**near, **worded}]
    if not union:
        return {}
    by_vector = normalise(np.array([vector.get(id, 0.0) for id in union]))
    by_keyword = normalise(np.array([worded.get(id, 0.0) for id in union]))
    fused = vector_weight * by_vector + (1 - vector_weight) * by_keyword
    return dict(zip(union, fused.tolist(), strict=True))


zscore = partial(_over_union, standard)
"""Standard deviations from the mean, over the union; a passage without a score has 0.
Measured best over six sets (benchmarks/README.md).
"""
minmax = partial(
    _over_union, lambda scores: (scores - scores.min()) / (np.ptp(scores) or 1.0)
)
"""0 to 1 between the lowest and the highest of the union; a passage without a score has
0 before.
"""


def bounded(
    near: Scores, worded: Scores, vector: Scores, vector_weight: float
) -> dict[str, float]:
    """Seed 001: the vector score as it is, the keyword score over the highest; 0 for
    what a search did not find.
    """
    highest = max(worded.values(), default=0.0) or 1.0
    return {
        chunk_id: vector_weight * near.get(chunk_id, 0.0)
        + (1 - vector_weight) * (worded.get(chunk_id, 0.0) / highest)
        for chunk_id in {**near, **worded}
    }


RANK_CONSTANT = read_weight("merge.rank_constant")


def rrf(
    near: Scores,
    worded: Scores,
    vector: Scores,
    vector_weight: float,
) -> dict[str, float]:
    """Reciprocal rank fusion: the sum of weight / (RANK_CONSTANT + rank)."""
    fused = dict.fromkeys({**near, **worded}, 0.0)
    for scores, weight in ((near, vector_weight), (worded, 1 - vector_weight)):
        for rank, chunk_id in enumerate(scores, start=1):
            fused[chunk_id] += weight / (RANK_CONSTANT + rank)
    return fused


FUSIONS: Mapping[str, Fusion] = {
    "bounded": bounded,
    "minmax": minmax,
    "rrf": rrf,
    "zscore": zscore,
}


def fusion_named(name: str) -> Fusion:
    """Raises UnknownNameError, which lists the valid names."""
    if name not in FUSIONS:
        raise UnknownNameError.among("FUSION", "fusion", name, FUSIONS)
    return FUSIONS[name]


SCALE = 10_000
"""Thresholds are stepped as integers, so that .7, .6, ... never drift."""


def adaptive_threshold(
    scores: Iterable[float], *, start: float, step: float, floor: float, keep: int = 1
) -> Threshold:
    """Return the highest of start, start - step, ..., ``floor`` that ``keep`` scores
    exceed, or all scores where there are fewer (R-D5 of the requirements, with a
    ``keep`` of 1). Without scores return the start; where none of them is low enough
    the floor.
    """
    best = nlargest(keep, scores)
    first = round(start * SCALE)
    last = round(floor * SCALE)
    stride = max(round(step * SCALE), 1)
    if not best:
        return Threshold(start=start, used=start, relaxed=False)
    used = first
    while best[-1] <= used / SCALE and used > last:
        used = max(used - stride, last)
    return Threshold(start=start, used=used / SCALE, relaxed=used != first)


TAGS = frozenset({COUNTRY, YEAR, "type"})
"""Fields that say what a report is about; documents of no country lack them."""
PASSING_MENTION = read_weight("merge.passing_mention")


def split_by_country_tag(
    scope: Scope,
    catalog: Catalog,
    general: str = "",
    kept: KeptGeneral = "untagged",
) -> tuple[Scope, Scope | None]:
    """Return the part of the scope whose reports have its countries as a tag, and the
    part of reports without such a tag (None = it has no passages).

    The search in a country's own reports leaves the country's name out. In reports
    without a tag that search would find every other country, so they are searched
    apart, with the whole question. ``general``, ``kept``: as for `general_scope`.
    """
    countries = scope.get(COUNTRY)
    if not isinstance(countries, Values) or not countries.or_none:
        # A person chose the scope, or it has no country.
        return scope, general_scope(scope, kept, general, catalog)
    tagged = scope.having(COUNTRY, countries.values)
    untagged = scope.having(COUNTRY, [NO_VALUE], or_none=True)
    if not _holds_passages(untagged, catalog):
        return tagged, None
    return tagged, untagged


def general_scope(
    scope: Scope,
    kept: KeptGeneral,
    general: str,
    catalog: Catalog,
) -> Scope | None:
    """Return the scope of what is searched in the collection ``general`` beside a
    scope that a person chose; None = nothing.

    A glossary explains words of every country, so a chosen country, year or type
    (`TAGS`) leaves its untagged documents in. ``kept`` "all": it leaves in every
    document, as seed 003 does. Nothing is added to the limit of a caller, nor where
    the scope names anything else.
    """
    names = {name for name, _ in scope.conditions}
    is_wider = any(condition.or_none for _, condition in scope.conditions)
    if kept == "scoped" or not general or not scope.holds(general):
        return None
    if not names or not names <= TAGS or is_wider or scope.limit:
        return None
    if kept == "all":
        wider = Scope(limit_collections=scope.limit_collections)
    else:
        missing = dict.fromkeys(names, Values((NO_VALUE,), or_none=True))
        wider = replace(scope, conditions=Scope.of(missing).conditions)
    wider = wider.within([general])
    return wider if _holds_passages(wider, catalog) else None


def searched_scopes(
    scope: Scope, kept: KeptGeneral, collections: Sequence[str], catalog: Catalog
) -> list[Scope]:
    """Return the scopes that one search without refinement looks through: the chosen
    one, and that of general documents beside it. ``collections``: all, the general one
    first. Seed 003 sends each collection one query, its general one without a filter.
    """
    general = collections[0] if collections else ""
    if kept == "all" and {general} == set(collections):
        kept = "untagged"  # the reports are in this collection, too
    beside = general_scope(scope, kept, general, catalog)
    if beside is None:
        return [scope]
    if kept == "untagged":
        return [scope, beside]
    others = [name for name in collections if name != general and scope.holds(name)]
    return [scope.within(others), beside] if others else [beside]


def _holds_passages(scope: Scope, catalog: Catalog) -> bool:
    return any(
        scope.matches(part.metadata)
        for record in catalog.all(scope)
        for part in record.parts
    )


def _is_about(chunk: Chunk, keys: set[str], catalog: Catalog) -> bool:
    """Return whether a report without a country is about one of these: its description
    names it, or more of its passages do than any other.
    """
    described = " , ".join(
        (chunk.title, chunk.document_name, *chunk.labels, chunk.description)
    )
    if not keys.isdisjoint(keys_in(described)):
        return True
    return catalog.country_most_named(chunk.document_id) in keys


def _kept_before(
    tagged: Sequence[SearchHit],
    untagged: Sequence[SearchHit],
    words_of: Callable[[Sequence[SearchHit]], ScoreArray] | None,
) -> int:
    """Return how many tagged hits keep their place: the first one, if it has more of
    the question than any untagged one.
    """
    if words_of is None or not tagged or not untagged:
        return 0
    words = words_of([tagged[0], *untagged])
    return int(words[0] > words[1:].max())


def merge_untagged(
    tagged: Sequence[SearchHit],
    untagged: Sequence[SearchHit],
    scope: Scope,
    catalog: Catalog,
    words_of: Callable[[Sequence[SearchHit]], ScoreArray] | None = None,
) -> list[SearchHit]:
    """Put each untagged hit that names the country behind the last tagged one with at
    least its score. A hit that names the country in its text only loses
    PASSING_MENTION: not in its report's title or labels, and its report names other
    countries as often. Where a person chose the scope, the untagged hits are general
    ones: they are marked, and come whatever they name.

    ``words_of`` returns how much of the question hits have. A tagged hit with more of
    it than any untagged one keeps its place before them, however near they are.
    """
    keys = keys_of(scope)
    general = not any(condition.or_none for _, condition in scope.conditions)
    scored: list[tuple[float, SearchHit]] = []
    for hit in untagged:
        score = hit.score or 0.0
        if not general and not _is_about(hit.chunk, keys, catalog):
            if keys.isdisjoint(keys_in(hit.chunk.text)):
                continue
            score -= PASSING_MENTION
        scored.append((score, replace(hit, general=general)))
    merged = list(tagged)
    behind = _kept_before(tagged, [hit for _, hit in scored], words_of)
    for number, (_, hit) in enumerate(scored):
        # It is as near as what its own search put behind it: their order stays.
        score = max(one for one, _ in scored[number:])
        for place, other in enumerate(merged, start=1):
            if (other.score or 0.0) >= score:
                behind = max(behind, place)
        merged.insert(behind, hit)
        behind += 1
    return merged
