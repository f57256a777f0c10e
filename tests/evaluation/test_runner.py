"""A data set through the product's own retrieval."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot.evaluation.dataset import read_dataset
from chatbot.evaluation.runner import Configuration, evaluate, load_chunks
from chatbot.schema import Chunk, Scope
from chatbot.services import Services
from tests.evaluation import beir


@pytest.fixture
def dataset(services: Services, tmp_path: Path) -> Path:
    data = read_dataset(beir.write(tmp_path / "tiny"), services.settings.filter_fields)
    done: list[int] = []
    load_chunks(services.store, services.embedder, data.chunks, done.append)
    assert sum(done) == 4
    return tmp_path / "tiny"


def run(services: Services, dataset: Path, *, filters: bool, method: str = "hybrid") -> dict[str, object]:
    data = read_dataset(dataset, services.settings.filter_fields)
    done: list[int] = []
    configuration = Configuration("own", method, services.retriever)
    result = evaluate(data, configuration, filters=filters, progress=done.append)
    assert sum(done) == 2
    return result


def test_with_filters_the_right_passage_is_first_and_nothing_leaks(services: Services, dataset: Path) -> None:
    result = run(services, dataset, filters=True)
    assert {name: result[name] for name in ("name", "recall@5", "recall@10", "mrr@10", "ndcg@10", "leaks")} == {
        "name": "own", "recall@5": 1.0, "recall@10": 1.0, "mrr@10": 1.0, "ndcg@10": 1.0, "leaks": 0,
    }  # fmt: skip
    assert isinstance(result["ms"], dict)
    assert {"total", "embed", "vector_search", "keyword_search", "fuse", "load"} <= set(result["ms"])


def test_without_filters_the_whole_question_is_asked_of_everything(services: Services, dataset: Path) -> None:
    """ "2023" and "Kenya" decide then, so it works here; no filter means nothing can leak."""
    result = run(services, dataset, filters=False)
    assert (result["recall@5"], result["leaks"]) == (1.0, 0)


def test_a_hit_outside_the_filter_is_counted(services: Services, dataset: Path) -> None:
    """A store that ignores its scope must be found out."""

    class Leaky:
        def retrieve(self, query: str, *, top_k: int, scope: Scope, method: str) -> object:
            return services.retriever.retrieve(query, top_k=top_k, scope=Scope(), method=method)

    data = read_dataset(dataset, services.settings.filter_fields)
    result = evaluate(data, Configuration("leaky", "bm25", Leaky()), filters=True, progress=lambda n: None)  # type: ignore[arg-type]
    assert result["leaks"] == 2


def test_metrics_are_means_over_the_questions(services: Services, dataset: Path) -> None:
    """bm25 with filters finds both; after its passage is gone, only one of two."""
    services.store.delete_document("free")
    result = run(services, dataset, filters=True, method="bm25")
    assert (result["recall@5"], result["mrr@10"]) == (0.5, 0.5)


def test_chunks_are_loaded_in_batches(services: Services) -> None:
    chunks = [Chunk(f"c{n:03}", f"c{n:03}", "n", "t", "text") for n in range(300)]
    steps: list[int] = []
    load_chunks(services.store, services.embedder, chunks, steps.append)
    assert sum(steps) == 300
    assert len(steps) > 1
    assert services.store.count(Scope()) == 300
