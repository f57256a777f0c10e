"""Diversity: seed 001's fixture, and the cases its text leaves open (R-B7). MMR:
relevant and not yet said (R-B8).
"""

import pytest

from chatbot.domain import Chunk, RequestContext, SearchHit
from chatbot.extras.rerankers.rerankers import MmrReranker
from chatbot.models.rerank import DiversityReranker
from tests.data import cases
from tests.models.rerank.hits import hit, ids

CASES = cases(__file__)
FIXTURE = CASES["fixture"]
TEN = [
    hit(f"{source} at {score}", score=score, source=source)
    for source, scores in FIXTURE
    for score in scores
]


def diverse(hits: list[SearchHit], top_k: int) -> list[str]:
    return ids(
        DiversityReranker()
        .rerank("question", hits, top_k=top_k, request=RequestContext())
        .hits
    )


def test_sources_take_turns_in_rank_order() -> None:
    """R-B7: .89 of source 6, .82 of 11, .79 of 28, then the second round. A hit without
    a source is a group.
    """
    assert diverse(TEN, 3) == [
        "source 6 at 0.89",
        "source 11 at 0.82",
        "source 28 at 0.79",
    ]
    assert diverse(TEN, 10)[7:] == [
        "source 6 at 0.87",
        "source 11 at 0.81",
        "source 6 at 0.84",
    ]
    assert diverse(
        [hit("a"), hit("b"), hit("c", source="s"), hit("d", source="s"), hit("e")], 4
    ) == [
        "a",
        "b",
        "c",
        "e",
    ]
    assert diverse([hit(name, source="s") for name in "abc"], 3) == ["a", "b", "c"]


def test_ten_are_fetched_for_three() -> None:
    """R-B7: 10 -> 3; for more, in proportion."""
    assert DiversityReranker().candidates(3) == 10
    assert DiversityReranker().candidates(10) == 30


HITS = [
    hit("first", score=0.9, text="coffee exports rose in Kenya"),
    hit("again", score=0.89, text="coffee exports rose in Kenya"),
    hit("other", score=0.8, text="tea fell"),
    hit("far", score=0.1, text="maize prices"),
]


def reranked(hits: list[SearchHit], *, relevance: float, top_k: int = 4) -> list[str]:
    mmr = MmrReranker(language="english", relevance=relevance)
    return ids(mmr.rerank("question", hits, top_k=top_k, request=RequestContext()).hits)


def test_what_says_the_same_again_waits() -> None:
    """By hand, relevance .7: again gains .7 x .9875 - .3 x 1 = .39, other .7 x .875 =
    .61, far 0.
    """
    assert reranked(HITS, relevance=0.7) == ["first", "other", "again", "far"]


@pytest.mark.parametrize(
    ("relevance", "order"),
    [
        (1.0, ["first", "again", "other", "far"]),
        (0.0, ["first", "other", "far", "again"]),
    ],
)
def test_from_relevance_alone_to_novelty_alone(
    relevance: float, order: list[str]
) -> None:
    assert reranked(HITS, relevance=relevance) == order


def test_likeness_is_to_the_closest_of_those_chosen() -> None:
    """`half` is like one chosen passage; that it is unlike the other does not help
    it.
    """
    hits = [
        hit("a", text="one two"),
        hit("b", text="three four"),
        hit("half", text="three five"),
        hit("new", text="six"),
    ]
    assert reranked(hits, relevance=0.0) == ["a", "b", "new", "half"]


def test_keyword_scores_order_where_only_the_keyword_search_ran() -> None:
    hits = [
        SearchHit(
            Chunk(name, name, name, "", text),
            score=vector,
            keyword_score=words,
            found_by=("keyword",),
        )
        for name, text, vector, words in (
            ("a", "x", 0.1, 9.0),
            ("b", "x", 0.9, 8.0),
            ("c", "y", 0.9, 1.0),
        )
    ]
    assert reranked(hits, relevance=0.9) == ["a", "b", "c"]
