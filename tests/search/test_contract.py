"""What every retrieval method keeps to (`retrieval.RetrievalMethod`): it ranks what its
searches found, each once.
"""

import pytest

from chatbot.config.settings import Settings
from chatbot.domain import Match
from chatbot.search import RETRIEVAL_METHODS, RetrievalMethod

NEAR = [Match("a", 0.9), Match("b", 0.8), Match("c", 0.4)]
WORDED = [Match("c", 12.0), Match("d", 3.0)]
SCORES = {"a": 0.9, "b": 0.8, "c": 0.4, "d": 0.1}


@pytest.fixture(params=RETRIEVAL_METHODS.names())
def method(request: pytest.FixtureRequest) -> RetrievalMethod:
    return RETRIEVAL_METHODS.builder(request.param)(Settings())


def found(method: RetrievalMethod) -> tuple[list[Match], list[Match]]:
    """The answers of the searches it uses; one that it does not use is not run."""
    return NEAR if method.uses_vectors else [], WORDED if method.uses_keywords else []


def test_every_method_uses_a_search(method: RetrievalMethod) -> None:
    assert method.uses_vectors or method.uses_keywords


@pytest.mark.parametrize("top_k", [1, 5, 50])
def test_every_method_asks_for_at_least_what_is_wanted(
    method: RetrievalMethod, top_k: int
) -> None:
    assert method.candidates(top_k) >= top_k


def test_each_match_is_ranked_once_and_nothing_else(method: RetrievalMethod) -> None:
    """R-B6."""
    near, worded = found(method)
    ranked = [chunk_id for chunk_id, _ in method.rank(near, worded, SCORES)]
    assert sorted(ranked) == sorted({match.chunk_id for match in (*near, *worded)})


def test_fused_scores_fall(method: RetrievalMethod) -> None:
    scores = [
        score for _, score in method.rank(*found(method), SCORES) if score is not None
    ]
    assert scores == sorted(scores, reverse=True)


def test_the_best_of_the_only_answer_comes_first(method: RetrievalMethod) -> None:
    if method.uses_vectors:
        assert method.rank(NEAR, [], SCORES)[0][0] == "a"
    if method.uses_keywords:
        assert method.rank([], WORDED, {"c": 0.4, "d": 0.1})[0][0] == "c"


def test_nothing_found_is_nothing_ranked(method: RetrievalMethod) -> None:
    assert method.rank([], [], {}) == []
