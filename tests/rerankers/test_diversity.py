"""Seed 001's fixture, and the cases its text leaves open (R-B7)."""

from __future__ import annotations

from chatbot.request import RequestContext
from chatbot.rerankers.diversity import DiversityReranker
from chatbot.schema import SearchHit
from tests.rerankers.hits import hit, ids

FIXTURE = [
    ("source 6", [0.89, 0.87, 0.84]),
    ("source 11", [0.82, 0.81]),
    ("source 28", [0.79]),
    ("source 34", [0.78]),
    ("source 24", [0.77]),
    ("source 14", [0.76]),
    ("source 35", [0.75]),
]
HITS = [hit(f"{source} at {score}", score=score, source=source) for source, scores in FIXTURE for score in scores]


def diverse(hits: list[SearchHit], top_k: int) -> list[str]:
    return ids(DiversityReranker().rerank("question", hits, top_k=top_k, request=RequestContext()).hits)


def test_the_seeds_ten_hits_become_its_three() -> None:
    """R-B7: .89 of source 6, .82 of source 11, .79 of source 28."""
    assert diverse(HITS, 3) == ["source 6 at 0.89", "source 11 at 0.82", "source 28 at 0.79"]


def test_the_second_round_begins_when_every_source_had_its_turn() -> None:
    """R-B7: one per source and round, in rank order."""
    assert diverse(HITS, 10)[7:] == ["source 6 at 0.87", "source 11 at 0.81", "source 6 at 0.84"]


def test_a_hit_without_a_source_is_a_group_of_its_own() -> None:
    """R-B7."""
    assert diverse([hit("a"), hit("b"), hit("c", source="s"), hit("d", source="s"), hit("e")], 4) == [
        "a",
        "b",
        "c",
        "e",
    ]


def test_one_source_keeps_its_order() -> None:
    assert diverse([hit(name, source="s") for name in "abc"], 3) == ["a", "b", "c"]


def test_ten_are_fetched_for_three() -> None:
    """R-B7: 10 -> 3; for more, in proportion."""
    assert DiversityReranker().candidates(3) == 10
    assert DiversityReranker().candidates(10) == 30
