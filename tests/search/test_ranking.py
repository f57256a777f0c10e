"""Methods and fusions (R-B6), on examples computed by hand; the adaptive threshold
(R-D5); relevance floors.
"""

import math
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.domain import Chunk, Match, QuerySettings, Scope, SearchHit
from chatbot.domain.chat import Threshold
from chatbot.domain.documents import Calibration
from chatbot.models.embed.minilm import MiniLMEmbedder
from chatbot.search import RETRIEVAL_METHODS, RetrievalMethod
from chatbot.search.features import words_in
from chatbot.search.ranking import (
    FUSIONS,
    adaptive_threshold,
    bounded,
    merge_untagged,
    minmax,
    rrf,
    zscore,
)
from chatbot.search.relevance import SHIPPED, Bounds, relevance_bounds

NEAR = {"a": 0.9, "b": 0.8, "c": 0.4}
WORDED = {"c": 12.0, "d": 3.0}
VECTOR = {"a": 0.9, "b": 0.8, "c": 0.4, "d": 0.1}
DESCENDING = st.dictionaries(
    st.sampled_from("abcdefgh"), st.floats(0.01, 1), min_size=1
).map(lambda scores: dict(sorted(scores.items(), key=lambda item: -item[1])))


def method(name: str, **values: object) -> RetrievalMethod:
    return RETRIEVAL_METHODS.builder(name)(QuerySettings(**values))  # type: ignore[arg-type]


def matches(scores: dict[str, float]) -> list[Match]:
    return [Match(*item) for item in scores.items()]


def test_a_single_search_is_asked_for_top_k_and_keeps_its_order() -> None:
    """R-D5: as in the seed. Nothing is fused."""
    vector, bm25 = method("vector"), method("bm25")
    assert [
        (one.uses_vectors, one.uses_keywords, one.candidates(5))
        for one in (vector, bm25)
    ] == [
        (True, False, 5),
        (False, True, 5),
    ]
    assert vector.rank(matches(NEAR), [], VECTOR) == [
        ("a", None),
        ("b", None),
        ("c", None),
    ]
    assert bm25.rank([], matches(WORDED), VECTOR) == [("c", None), ("d", None)]


def test_hybrid_asks_both_for_a_hundred_or_more() -> None:
    hybrid = method("hybrid")
    assert (hybrid.uses_vectors, hybrid.uses_keywords) == (True, True)
    assert [hybrid.candidates(top_k) for top_k in (5, 250)] == [100, 250]


@pytest.mark.parametrize(
    ("weight", "order"),
    [
        (0.6, ["c", "a", "b", "d"]),
        (1.0, ["a", "b", "c", "d"]),
        (0.0, ["c", "d", "a", "b"]),
    ],
)
def test_hybrid_ranks_the_union_by_weighted_z_scores(
    weight: float, order: list[str]
) -> None:
    """R-B6: merged by chunk id."""
    ranked = method("hybrid", vector_weight=weight).rank(
        matches(NEAR), matches(WORDED), VECTOR
    )
    assert [chunk_id for chunk_id, _ in ranked] == order
    assert dict(ranked) == zscore(NEAR, WORDED, VECTOR, weight)


def test_ties_are_broken_by_id() -> None:
    ranked = method("hybrid").rank(
        matches(dict.fromkeys("zmb", 0.5)), [], dict.fromkeys("zmb", 0.5)
    )
    assert ranked == [("b", 0.0), ("m", 0.0), ("z", 0.0)]


@pytest.mark.parametrize(
    ("fuse", "weight", "expected"),
    [
        (
            zscore,
            0.6,
            {"a": 0.35093, "b": 0.16352, "c": 0.38988, "d": -0.90434},
        ),  # deviations from the union's mean
        (
            minmax,
            0.5,
            {"a": 0.5, "b": 0.4375, "c": 0.1875 + 0.5, "d": 0.125},
        ),  # each search between nought and one
        (
            bounded,
            0.7,
            {"a": 0.63, "b": 0.56, "c": 0.28 + 0.3, "d": 0.3 / 4},
        ),  # `d` was found by its words alone
        (
            rrf,
            0.5,
            {"a": 0.5 / 61, "b": 0.5 / 62, "c": 0.5 / 63 + 0.5 / 61, "d": 0.5 / 62},
        ),  # ranks only, k is 60
    ],
)
def test_each_fusion_by_hand(
    fuse: Any, weight: float, expected: dict[str, float]
) -> None:
    """R-B6. `bounded` is seed 001's: the vector score as it is, BM25 over the highest,
    nought for not found.
    """
    assert fuse(NEAR, WORDED, VECTOR, weight) == pytest.approx(expected, abs=1e-5)


def test_a_passage_that_both_found_is_not_punished() -> None:
    """R-B6: averaging duplicates would put `both` below `near`."""
    for name in FUSIONS:
        near, worded = (
            {"near": 0.8, "both": 0.8, "far": 0.1},
            {"both": 9.0, "word": 8.0},
        )
        fused = FUSIONS[name](near, worded, {**near, "word": 0.1}, 0.7)
        assert max(fused, key=fused.__getitem__) == "both", name


def test_equal_scores_say_nothing() -> None:
    for fuse in (zscore, minmax):
        assert fuse({"a": 0.4, "b": 0.4}, {}, {"a": 0.4, "b": 0.4}, 0.6) == {
            "a": 0.0,
            "b": 0.0,
        }


@pytest.mark.parametrize("name", FUSIONS)
def test_nothing_found_is_nothing_fused(name: str) -> None:
    assert FUSIONS[name]({}, {}, {}, 0.6) == {}


@pytest.mark.parametrize("name", FUSIONS)
@given(near=DESCENDING, worded=DESCENDING)
def test_all_the_weight_on_one_search_gives_its_order(
    name: str, near: dict[str, float], worded: dict[str, float]
) -> None:
    for weight, order in ((1.0, near), (0.0, worded)):
        fused = FUSIONS[name](near, worded, near, weight)
        assert fused.keys() == near.keys() | worded.keys()
        assert all(math.isfinite(score) for score in fused.values())
        scores = [fused[chunk_id] for chunk_id in order]
        assert all(better >= worse - 1e-9 for better, worse in pairwise(scores))


def test_rank_fusion_adds_one_over_sixty_and_the_rank() -> None:
    ranked = method("hybrid", fusion="rrf", vector_weight=1).rank(
        [Match("a", 0.9), Match("b", 0.8)], [], {"a": 0.9, "b": 0.8}
    )
    assert dict(ranked) == {"a": 1 / 61, "b": 1 / 62}


def adaptive(
    *scores: float, start: float = 0.7, step: float = 0.1, floor: float = 0.0
) -> Threshold:
    return adaptive_threshold(scores, start=start, step=step, floor=floor)


CASES = {
    "above the start": ((0.9, 0.2), Threshold(0.7, 0.7, relaxed=False)),
    "one step down": ((0.65,), Threshold(0.7, 0.6, relaxed=True)),
    "strict: the start itself does not pass": (
        (0.7,),
        Threshold(0.7, 0.6, relaxed=True),
    ),
    "strict: a tenth does not pass itself": ((0.3,), Threshold(0.7, 0.2, relaxed=True)),
    "just above a tenth": ((0.3000001,), Threshold(0.7, 0.3, relaxed=True)),
    "nearly nothing": ((0.0001,), Threshold(0.7, 0.0, relaxed=True)),
    "zero passes nowhere, and the floor is the end": (
        (0.0,),
        Threshold(0.7, 0.0, relaxed=True),
    ),
    "the best score decides": ((0.1, 0.45, 0.2), Threshold(0.7, 0.4, relaxed=True)),
    "an empty list ends at once": ((), Threshold(0.7, 0.7, relaxed=False)),
}


@pytest.mark.parametrize(("scores", "expected"), CASES.values(), ids=CASES)
def test_the_adaptive_threshold_falls_until_something_passes(
    scores: tuple[float, ...], expected: Threshold
) -> None:
    assert adaptive(*scores) == expected


@pytest.mark.parametrize("tenth", range(8))
def test_thresholds_are_exact_tenths(tenth: int) -> None:
    """.7 - .1 - .1 is .5999999999999999 in floats: a score of .6 would pass where it
    must not.
    """
    assert adaptive(tenth / 10 + 0.05).used == tenth / 10


# RELEVANCE_FLOOR: a number, what was measured on this database, or what is shipped for
# the model.


MEASURED = Calibration("test:model", 0.66, 0.71, "measured", "mine", "2026-01-02")


def test_a_number_wins_and_auto_is_the_models_own() -> None:
    assert relevance_bounds(0.42, next(iter(SHIPPED)), MEASURED) == Bounds(0.42, 0.42)
    assert relevance_bounds(0.0, next(iter(SHIPPED))).floor == 0.0
    assert relevance_bounds("auto", "a model nobody measured").floor == 0.0
    for model, shipped in SHIPPED.items():
        assert relevance_bounds("auto", model) == Bounds(
            shipped.floor, shipped.threshold
        )


def test_what_was_measured_here_wins_over_what_is_shipped() -> None:
    for model in (*SHIPPED, "test:model"):
        assert relevance_bounds("auto", model, MEASURED) == Bounds(0.66, 0.71)


def test_the_shipped_ones_say_where_they_come_from() -> None:
    """ada-002 cannot be measured without a key: published figures, and marked so."""
    ours, openai = (
        SHIPPED[MiniLMEmbedder().model_id],
        SHIPPED["openai:text-embedding-ada-002"],
    )
    assert (ours.origin, ours.floor) == ("measured", 0.6)
    assert (openai.origin, openai.dataset) == ("published", "published figures")


@pytest.mark.parametrize("cosine", [0.71, 0.72])
def test_the_floor_of_ada_002_refuses_the_published_unrelated_and_keeps_the_answered(
    cosine: float,
) -> None:
    floor = SHIPPED["openai:text-embedding-ada-002"].floor
    assert (1 + cosine) / 2 < floor < (1 + 0.80) / 2


class Mostly:
    """A catalogue that knows which country each report names most."""

    def __init__(self, **countries: str) -> None:
        self._countries = countries

    def country_most_named(self, document_id: str) -> str:
        return self._countries.get(document_id, "")


def _of(document_id: str, score: float, text: str = "Tariffs.") -> SearchHit:
    chunk = Chunk(
        id=f"{document_id}-{score}",
        document_id=document_id,
        document_name=document_id,
        title=document_id,
        text=text,
    )
    return SearchHit(chunk, score=score)


def test_a_report_that_names_a_country_most_is_searched_for_it() -> None:
    scope = Scope().having("country_name", ["Kenya"], or_none=True)
    catalog: Any = Mostly(tariffs="KEN", atlas="FRA")
    tagged = [_of("kenya", 0.7)]
    untagged = [_of("tariffs", 0.6), _of("tariffs", 0.8), _of("atlas", 0.9)]
    merged = merge_untagged(tagged, untagged, scope, catalog)
    found = [(hit.chunk.document_id, hit.score) for hit in merged]
    # Its own search put .6 first, which is as near as the .8 behind it.
    assert found == [("tariffs", 0.6), ("tariffs", 0.8), ("kenya", 0.7)]


def test_a_tagged_passage_with_more_of_the_question_stays_first() -> None:
    scope = Scope().having("country_name", ["Kenya"], or_none=True)
    tagged = [_of("kenya", 0.7, "Tea has a tariff."), _of("kenya", 0.6)]
    near = [_of("tariffs", 0.8)]
    catalog: Any = Mostly(tariffs="KEN")
    words_of = partial(words_in, "Which tariff has tea?", "english")
    merged = merge_untagged(tagged, near, scope, catalog, words_of)
    assert [hit.score for hit in merged] == [0.7, 0.8, 0.6]
    near = [_of("tariffs", 0.8, "Tea had a tariff of a tenth.")]
    merged = merge_untagged(tagged, near, scope, catalog, words_of)
    assert [hit.score for hit in merged] == [0.8, 0.7, 0.6]
