"""A reranker in the retrieval: after threshold and fusion, before the cut (R-B7,
R-D5).
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import Chunk, RequestContext, Scope, SearchHit, Usage
from chatbot.domain.protocols import Reranked
from chatbot.models.rerank import DiversityReranker
from chatbot.search.pipeline import Retrieval

QUESTION = "zebra crossing"


class Reversing:
    """Hands on what it was given from the worst to the best, and says what that
    cost.
    """

    def __init__(self) -> None:
        self.given: list[str] = []

    def candidates(self, top_k: int) -> int:
        return 3 * top_k

    def rerank(
        self,
        query: str,
        hits: Sequence[SearchHit],
        *,
        top_k: int,
        request: RequestContext,
    ) -> Reranked:
        self.given = [hit.chunk.id for hit in hits]
        return Reranked(tuple(reversed(hits))[:top_k], Usage(prompt_tokens=7, calls=1))


@pytest.fixture
def services(settings: Settings) -> Iterator[Services]:
    """Searches to the letter: what comes to the reranker is known by its scores."""
    with build(settings.override(refine=False)) as opened:
        yield opened


@pytest.fixture
def filled(services: Services) -> Services:
    """Scores .95, .93, ... .77 and one far below the threshold; two passages per
    report.
    """
    question = services.runtime.embedder.embed_query(QUESTION)
    chunks, vectors = [], []
    for number, score in enumerate([*np.arange(0.95, 0.76, -0.02), 0.3]):
        other = np.random.default_rng(number).standard_normal(len(question))
        other -= (other @ question) * question
        cosine = 2 * score - 1
        vectors.append(
            cosine * question + np.sqrt(1 - cosine**2) * other / np.linalg.norm(other)
        )
        chunks.append(
            Chunk(
                f"c{number:02}",
                f"report {number // 2}",
                "Report",
                "",
                "nothing in common",
            )
        )
    services.runtime.store.upsert(chunks, np.vstack(vectors).astype(np.float32))
    return services


def ids(found: Retrieval) -> list[str]:
    return [hit.chunk.id for hit in found.hits]


@pytest.mark.parametrize("method", ["vector", "hybrid"])
def test_it_gets_what_it_asks_for_and_its_order_is_the_answer(
    filled: Services, method: str
) -> None:
    reranker = Reversing()
    found = filled.everything.retriever.retrieve(
        QUESTION, top_k=2, scope=Scope(), method=method, reranker=reranker
    )
    assert reranker.given == ["c00", "c01", "c02", "c03", "c04", "c05"]
    assert ids(found) == ["c05", "c04"]
    assert [hit.rank for hit in found.hits] == [1, 2]
    assert [round(hit.score or 0, 2) for hit in found.hits] == [0.85, 0.87]


def test_the_threshold_works_before_it(filled: Services) -> None:
    """R-D5, R-B7: threshold, fuse, rerank, cut."""
    reranker = Reversing()
    filled.everything.retriever.retrieve(
        QUESTION, top_k=10, scope=Scope(), method="hybrid", reranker=reranker
    )
    assert reranker.given == [f"c{number:02}" for number in range(10)]


def test_its_step_and_its_cost_are_recorded(filled: Services) -> None:
    found = filled.everything.retriever.retrieve(
        QUESTION, top_k=2, scope=Scope(), method="hybrid", reranker=Reversing()
    )
    assert [step.name for step in found.steps] == [
        "embed",
        "vector_search",
        "keyword_search",
        "fuse",
        "load",
        "rerank",
    ]
    assert Usage.total(step.usage for step in found.steps) == Usage(
        prompt_tokens=7, embedding_tokens=2, calls=1
    )


def test_diversity_by_report(filled: Services) -> None:
    """R-B7: ten are fetched for three, of three reports."""
    found = filled.everything.retriever.retrieve(
        QUESTION, top_k=3, scope=Scope(), method="hybrid", reranker=DiversityReranker()
    )
    assert ids(found) == ["c00", "c02", "c04"]
