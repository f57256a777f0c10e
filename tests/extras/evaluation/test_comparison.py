"""Which configurations are compared, and that a wrong name is a message before anything
is measured.
"""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chatbot.config.settings import Settings
from chatbot.domain.errors import DependencyError, InvalidRequestError
from chatbot.extras.evaluation.comparison import configurations, regressions, track
from tests.extras.evaluation import fake_mlflow


def test_each_configuration_is_settings() -> None:
    own = Settings(retrieval_method="bm25", preset="hybrid")
    every = configurations(
        own, methods=["vector"], weights=[0.4], presets=["deterministic"]
    )
    first, vector, weight, preset = (
        own.override(**changes) for changes in every.values()
    )
    assert first == own
    assert vector.retrieval_method == "vector"
    assert (weight.retrieval_method, weight.vector_weight) == ("hybrid", 0.4)
    assert (
        preset.retrieval_method,
        preset.threshold_start,
        preset.threshold_floor,
    ) == ("vector", 0.75, 0.75)


def test_a_preset_is_measured_without_cutting_anew() -> None:
    preset = configurations(Settings(), presets=["deep"])["preset deep"]
    assert "chunk_strategy" not in preset
    assert preset["preset"] is None


ROW = {
    "name": "hybrid (as configured)",
    "recall@5": 0.9,
    "recall@10": 0.95,
    "recall@20": 1.0,
    "mrr@10": 0.8,
    "ndcg@10": 0.85,
    "leaks": 0,
    "abstention_precision": 0.9,
    "abstention_recall": None,
    "questions": 20,
}


def report(**changes: Any) -> dict[str, Any]:
    """Two configurations; ``changes`` are of the first."""
    return {
        "dataset": "mine",
        "configurations": [{**ROW, **changes}, {**ROW, "name": "bm25"}],
    }


@pytest.mark.parametrize(("now", "falls"), [(0.84, 0), (0.8399, 1), (0.9, 0)])
def test_the_tolerance_is_allowed(now: float, falls: int) -> None:
    """.85 - .84 is more than .01 in floating point."""
    assert (
        len(regressions(report(**{"ndcg@10": now}), report(), tolerance=0.01)) == falls
    )


def test_a_leak_is_never_tolerated() -> None:
    (sentence,) = regressions(report(leaks=1), report(), tolerance=1)
    assert (
        sentence
        == "hybrid (as configured): 1 hits outside the filter, 0 in the baseline."
    )


def test_abstention_counts_where_it_was_measured() -> None:
    (sentence,) = regressions(
        report(abstention_precision=None), report(), tolerance=0.5
    )
    assert "abstention_precision fell from 0.9000 to nothing" in sentence
    assert regressions(report(abstention_recall=0.1), report(), tolerance=0) == []


def test_the_own_configuration_is_compared_with_the_own_one_of_then() -> None:
    now = report(name="bm25 (as configured)", **{"ndcg@10": 0.5})
    assert regressions(now, report(), tolerance=0) == [
        "bm25 (as configured): ndcg@10 fell from 0.8500 to 0.5000 (tolerance 0)."
    ]


def test_others_are_compared_by_name_where_both_have_them() -> None:
    now = copy.deepcopy(report())
    now["configurations"][1] |= {"name": "new", "ndcg@10": 0.0}
    assert regressions(now, report(), tolerance=0) == []
    now["configurations"].append({**ROW, "name": "bm25", "mrr@10": 0.1})
    assert [
        sentence.partition(":")[0]
        for sentence in regressions(now, report(), tolerance=0)
    ] == ["bm25"]


@pytest.mark.parametrize(
    "other", [{"dataset": "other"}, {"configurations": [{**ROW, "questions": 19}]}]
)
def test_a_baseline_of_other_questions_is_refused(other: dict[str, Any]) -> None:
    with pytest.raises(
        InvalidRequestError, match="Save a new one with --save-baseline"
    ):
        regressions(report(), {**report(), **other}, tolerance=0)


# MLflow (R-B12): a real import of a package on disk that writes down what it is told.


OWN = {
    "name": "hybrid (as configured)",
    "recall@5": 0.9,
    "leaks": 0,
    "ms": {"total": 3.5},
    "abstention_recall": None,
}
TRACKED: dict[str, Any] = {"dataset": "mine", "configurations": [OWN]}


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    yield from fake_mlflow.installed(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("uri", "shown"),
    [("http://broken", "no route to"), ("http://me:secret@broken", "MlflowException")],
)
def test_a_server_that_does_not_answer_is_said_without_the_password(
    mlflow: Path, uri: str, shown: str
) -> None:
    with pytest.raises(DependencyError) as raised:
        track(uri, TRACKED, parameters={})
    assert shown in raised.value.message
    assert ("secret" in raised.value.message) is ("@" not in uri)
