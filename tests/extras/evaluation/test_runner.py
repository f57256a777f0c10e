"""Ranking metrics, on examples computed by hand."""

from collections.abc import Callable
from math import log2
from pathlib import Path
from typing import Any

import pytest

from chatbot.app.services import Services
from chatbot.domain import Answer, Chunk, Question, Scope
from chatbot.extras.evaluation.dataset import (
    Dataset,
    EvaluationQuery,
    Expectation,
    read_dataset,
)
from chatbot.extras.evaluation.runner import (
    Measured,
    interval,
    load_chunks,
    measure_abstention,
    measure_retrieval,
    ndcg,
    precision_recall,
    recall,
    reciprocal_rank,
)
from tests.asking import by_mode
from tests.extras.evaluation import beir

RANKING = ["a", "b", "c", "d", "e"]


BY_HAND = {
    recall: [
        ("b", 5, 1.0),
        ("b", 1, 0.0),
        ("az", 5, 0.5),
        ("ae", 4, 0.5),
        ("z", 5, 0.0),
    ],
    reciprocal_rank: [("a", 5, 1.0), ("ce", 5, 1 / 3), ("e", 4, 0.0), ("z", 5, 0.0)],
    ndcg: [
        ("a", 5, 1.0),
        ("b", 5, 1 / log2(3)),
        ("ac", 5, (1 + 1 / 2) / (1 + 1 / log2(3))),
        ("az", 5, 1 / (1 + 1 / log2(3))),
        ("e", 4, 0.0),
        ("abc", 2, 1.0),
    ],
}
"""The relevant ids, k and the metric of `RANKING`."""


@pytest.mark.parametrize("metric", BY_HAND)
def test_metrics_are_those_worked_out_by_hand(metric: Callable[..., float]) -> None:
    for relevant, k, expected in BY_HAND[metric]:
        assert metric(RANKING, {*relevant}, k) == pytest.approx(expected)
    assert metric([], {"a"}, 5) == 0.0


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([(True, True), (True, False), (False, True), (False, True)], (1 / 2, 1 / 3)),
        ([(False, True)], (None, 0.0)),
        ([(True, False)], (0.0, None)),
        ([], (None, None)),
    ],
)
def test_precision_and_recall(
    verdicts: list[tuple[bool, bool]], expected: tuple[float | None, float | None]
) -> None:
    assert precision_recall(verdicts) == expected


def test_an_interval_holds_the_mean_is_repeatable_and_narrows_with_more_questions() -> (
    None
):
    few, many = [0.0, 1.0, 1.0, 1.0] * 5, [0.0, 1.0, 1.0, 1.0] * 100
    low, high = interval(few)
    assert low < 0.75 < high
    assert interval(few) == (low, high)
    narrow = interval(many)
    assert narrow[1] - narrow[0] < (high - low) / 3
    # The textbook's standard error of a share: sqrt(.75 * .25 / 400) = .0217
    assert narrow == pytest.approx(
        (0.75 - 1.96 * 0.0217, 0.75 + 1.96 * 0.0217), abs=0.006
    )
    assert interval([1.0] * 9) == (1.0, 1.0)


# A data set through the product's own retrieval, and its questions through an agent.


@pytest.fixture
def dataset(services: Services, tmp_path: Path) -> Dataset:
    data = read_dataset(beir.write(tmp_path / "tiny"), services.settings.filter_fields)
    done: list[int] = []
    load_chunks(
        services.runtime.store, services.runtime.embedder, data.chunks, done.append
    )
    assert sum(done) == 4
    return data


def run(services: Services, data: Dataset, *, method: str = "hybrid") -> dict[str, Any]:
    done: list[int] = []
    measured = measure_retrieval(
        data, "own", services.everything.retriever, method=method, progress=done.append
    )
    assert sum(done) == len(data.answerable)
    return measured.to_json()


def test_a_hit_outside_the_filter_is_counted(
    services: Services, dataset: Dataset
) -> None:
    """A store that ignores its scope must be found out: two of five hits are of Kenya
    2021 and Mali.
    """

    class Leaky:
        def retrieve(
            self, query: str, *, top_k: int, scope: Scope, method: str
        ) -> object:
            return services.everything.retriever.retrieve(
                query, top_k=top_k, scope=Scope(), method=method
            )

    retriever: Any = Leaky()
    measured = measure_retrieval(
        dataset, "leaky", retriever, method="bm25", progress=lambda n: None
    )
    assert measured.to_json()["leaks"] == 2
    assert measured.to_json()["leak_rate"] == round(2 / measured.hits, 4) > 0


def test_metrics_are_means_over_the_questions(
    services: Services, dataset: Dataset
) -> None:
    """bm25 with filters finds both; after its passage is gone, only one of two."""
    services.runtime.store.delete_document("free")
    result = run(services, dataset, method="bm25")
    assert (result["recall@5"], result["mrr@10"]) == (0.5, 0.5)


def test_recall_at_20_sees_what_lies_behind_the_tenth(services: Services) -> None:
    """Fourteen passages alike, told apart by their ids: the last but one is asked
    for.
    """
    chunks = [
        Chunk(f"c{n:02}", f"c{n:02}", "n", "t", "zebra growth") for n in range(14)
    ]
    load_chunks(
        services.runtime.store, services.runtime.embedder, chunks, lambda n: None
    )
    query = EvaluationQuery("q", "zebra growth", Scope(), (Expectation("c12"),))
    result = run(services, Dataset("d", chunks, [query]), method="vector")
    assert (result["recall@10"], result["recall@20"], result["mrr@10"]) == (
        0.0,
        1.0,
        0.0,
    )


def test_questions_without_an_answer_are_not_in_the_means_but_the_agent_is_asked(
    services: Services, kenya
) -> None:
    """R: abstention through the real agent. The echo model answers whatever is
    found.
    """
    population = EvaluationQuery(
        "1", "population", Scope(), (Expectation(kenya.document_id),)
    )
    nonsense = EvaluationQuery("2", "zzz", Scope(), ())
    data = Dataset("own", [], [population, nonsense])
    assert run(services, data)["questions"] == 1
    seen: list[str] = []

    def answer(question: Question) -> Answer:
        seen.append(question.query)
        assert not question.cache
        answered: Answer = by_mode(services, question)[-1].answer
        return answered

    verdicts = measure_abstention(
        data, answer, method="bm25", top_k=5, progress=lambda n: None
    )
    assert seen == ["population", "zzz"]
    assert verdicts == [(False, False), (True, True)]


def test_intervals_and_abstention_are_in_the_json_where_they_were_measured() -> None:
    measured = Measured(
        "own",
        values={"recall@5": [0.0, 1.0] * 20},
        abstained=[(True, True), (True, False)],
    )
    row = measured.to_json(intervals=True)
    assert (row["abstention_precision"], row["abstention_recall"]) == (0.5, 1.0)
    low, high = row["intervals"]["recall@5"]
    assert 0.3 < low < row["recall@5"] < high < 0.7
    never = Measured("own", values={"recall@5": [1.0]}, abstained=[(False, True)])
    assert never.to_json()["abstention_precision"] is None
    assert (
        "abstention_recall" not in Measured("own", values={"recall@5": [1.0]}).to_json()
    )
