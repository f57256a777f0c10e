"""Closeness and the best window, on examples computed by hand and against the plainest
possible reading of them.
"""

from itertools import pairwise
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.domain import Scope
from chatbot.stores.faiss.index import ChunkIndex
from chatbot.stores.faiss.rows import Column, Rows
from chatbot.stores.keywords import (
    MAX_REFINED_PASSAGES,
    WINDOW_TERMS,
    Bm25,
    with_proximity,
)

WEIGHTS = {1: 3.0, 2: 2.0, 3: 1.0}


def refined(*texts: list[int], score: float = 10.0) -> list[float]:
    found = with_proximity(
        np.full(len(texts), score),
        [np.asarray(text, np.int32) for text in texts],
        WEIGHTS,
    )
    return [float(value) for value in found]


def test_proximity_of_no_hits_is_empty() -> None:
    assert len(with_proximity(np.empty(0), [], WEIGHTS)) == 0


@given(
    st.lists(
        st.lists(st.integers(0, 6), min_size=1, max_size=40), min_size=1, max_size=5
    )
)
def test_agrees_with_the_plain_reading(texts: list[list[int]]) -> None:
    assert refined(*texts) == pytest.approx([plain(text) for text in texts])


def plain(text: list[int]) -> float:
    places = [place for place, term in enumerate(text) if term in WEIGHTS]
    closest: dict[frozenset[int], float] = {}
    for one, other in pairwise(places):
        pair = frozenset((text[one], text[other]))
        if len(pair) == 2:
            gain = min(WEIGHTS[term] for term in pair) / (other - one) ** 2
            closest[pair] = max(gain, closest.get(pair, 0.0))
    windows = [
        {term for term in text[start : start + WINDOW_TERMS] if term in WEIGHTS}
        for start in range(len(text))
    ]
    share = max(sum(WEIGHTS[term] for term in window) for window in windows) / sum(
        WEIGHTS.values()
    )
    return (10 + sum(closest.values())) * sqrt(share)


# In the index

WORDS = [
    "coffee",
    "tea",
    "maize",
    "exports",
    "of",
    "the",
    "year",
    "rose",
    "fell",
    "much",
]


def rows(texts: dict[str, str], index: ChunkIndex) -> Rows:
    terms = [
        np.asarray(index.term_ids(text.split()), np.int32) for text in texts.values()
    ]
    ids = np.asarray([id.encode() for id in texts], dtype=np.bytes_)
    documents = Column(tuple(texts), np.arange(len(texts), dtype=np.int32))
    there = np.ones(len(texts), dtype=np.bool_)
    vectors = np.eye(len(texts), 8, dtype=np.float32)
    lengths = np.asarray([len(row) for row in terms], np.int32)
    return Rows(ids, documents, {}, vectors, there, np.concatenate(terms), lengths)


def search(index: ChunkIndex, question: str, top_k: int = 5) -> list[tuple[str, float]]:
    found = index.keyword_search(
        question.split(), top_k=top_k, scope=Scope(), bm25=Bm25()
    )
    return [(match.chunk_id, match.score) for match in found]


def test_of_two_passages_with_the_same_words_the_one_that_has_them_together_is_first() -> (  # noqa: E501
    None
):
    empty = ChunkIndex()
    filler = " ".join(["much"] * 20)
    texts = {"a": f"coffee {filler} exports rose", "b": f"coffee exports {filler} rose"}
    index = empty.replace_documents(set(), rows(texts, empty))
    assert [chunk_id for chunk_id, _ in search(index, "coffee exports")] == ["b", "a"]


def test_the_answer_does_not_depend_on_how_the_passages_are_split_into_segments() -> (
    None
):
    random = np.random.default_rng(3)
    texts = {
        f"c{n:03}": " ".join(random.choice(WORDS, size=random.integers(3, 20)))
        for n in range(3 * MAX_REFINED_PASSAGES)
    }
    whole, parts = ChunkIndex(), ChunkIndex()
    whole = whole.replace_documents(set(), rows(texts, whole))
    names = list(texts)
    for size in (
        240,
        50,
        10,
    ):  # each less than half of the one before, so that they are not joined
        some, names = names[:size], names[size:]
        parts = parts.replace_documents(
            set(), rows({name: texts[name] for name in some}, parts)
        )
    assert len(parts.segments) == 3
    for question in ("coffee exports", "tea maize rose fell", "coffee coffee year"):
        expected = search(whole, question, top_k=2 * MAX_REFINED_PASSAGES)
        found = search(parts, question, top_k=2 * MAX_REFINED_PASSAGES)
        assert [chunk_id for chunk_id, _ in found] == [
            chunk_id for chunk_id, _ in expected
        ]
        assert [score for _, score in found] == pytest.approx(
            [score for _, score in expected]
        )


def test_a_shorter_answer_is_the_beginning_of_the_longer_one() -> None:
    random = np.random.default_rng(4)
    texts = {
        f"c{n:03}": " ".join(random.choice(WORDS, size=random.integers(3, 20)))
        for n in range(2 * MAX_REFINED_PASSAGES)
    }
    index = ChunkIndex()
    index = index.replace_documents(set(), rows(texts, index))
    assert (
        search(index, "coffee tea rose", top_k=5)
        == search(index, "coffee tea rose", top_k=MAX_REFINED_PASSAGES)[:5]
    )
