"""What is done with a cross-encoder's scores (R-B8); the model itself is an optional
package.
"""

import pytest

from chatbot.domain import RequestContext
from chatbot.extras.rerankers.rerankers import CrossEncoderReranker, RerankerError
from tests.models.rerank.hits import hit, ids

HITS = [hit("a", text="tea"), hit("b", text="coffee exports"), hit("c", text="coffee")]


def test_the_best_score_comes_first_and_ties_keep_their_order() -> None:
    asked: list[tuple[str, str]] = []

    def predict(pairs: list[tuple[str, str]]) -> list[float]:
        asked.extend(pairs)
        return [float(text.count("coffee")) for _, text in pairs]

    found = CrossEncoderReranker(predict).rerank(
        "How much coffee?", HITS, top_k=2, request=RequestContext()
    )
    assert ids(found.hits) == ["b", "c"]
    assert asked == [("How much coffee?", one.chunk.search_text) for one in HITS]


def test_a_model_that_fails_is_an_error_that_names_the_way_out() -> None:
    def predict(pairs: list[tuple[str, str]]) -> list[float]:
        raise RuntimeError("out of memory")

    with pytest.raises(RerankerError, match=r"out of memory.*RERANKER=none"):
        CrossEncoderReranker(predict).rerank(
            "q", HITS, top_k=2, request=RequestContext()
        )
