"""Comparing a run with an earlier one."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from chatbot.errors import InvalidRequestError, LoadError
from chatbot.evaluation.baseline import fallen, read_baseline

ROW = {
    "name": "hybrid (as configured)",
    "recall@5": 0.9, "recall@10": 0.95, "recall@20": 1.0, "mrr@10": 0.8, "ndcg@10": 0.85, "leaks": 0,
    "abstention_precision": 0.9, "abstention_recall": None, "questions": 20,
}  # fmt: skip


def report(**changes: Any) -> dict[str, Any]:
    """Two configurations; ``changes`` are of the first."""
    return {"dataset": "mine", "configurations": [{**ROW, **changes}, {**ROW, "name": "bm25"}]}


def test_nothing_fell() -> None:
    assert fallen(report(), report(), tolerance=0) == []
    assert fallen(report(**{"ndcg@10": 0.99}), report(), tolerance=0) == []


def test_what_fell_is_named_with_both_figures() -> None:
    found = fallen(report(**{"ndcg@10": 0.8, "recall@5": 0.85}), report(), tolerance=0.01)
    assert found == [
        "hybrid (as configured): recall@5 fell from 0.9000 to 0.8500 (tolerance 0.01).",
        "hybrid (as configured): ndcg@10 fell from 0.8500 to 0.8000 (tolerance 0.01).",
    ]


@pytest.mark.parametrize(("now", "falls"), [(0.84, 0), (0.8399, 1), (0.9, 0)])
def test_the_tolerance_is_allowed(now: float, falls: int) -> None:
    """.85 - .84 is more than .01 in floating point."""
    assert len(fallen(report(**{"ndcg@10": now}), report(), tolerance=0.01)) == falls


def test_a_leak_is_never_tolerated() -> None:
    (sentence,) = fallen(report(leaks=1), report(), tolerance=1)
    assert sentence == "hybrid (as configured): 1 hits outside the filter, 0 in the baseline."


def test_abstention_counts_where_it_was_measured() -> None:
    (sentence,) = fallen(report(abstention_precision=None), report(), tolerance=0.5)
    assert "abstention_precision fell from 0.9000 to nothing" in sentence
    assert fallen(report(abstention_recall=0.1), report(), tolerance=0) == []


def test_the_own_configuration_is_compared_with_the_own_one_of_then() -> None:
    now = report(name="bm25 (as configured)", **{"ndcg@10": 0.5})
    assert fallen(now, report(), tolerance=0) == [
        "bm25 (as configured): ndcg@10 fell from 0.8500 to 0.5000 (tolerance 0)."
    ]


def test_others_are_compared_by_name_where_both_have_them() -> None:
    now = copy.deepcopy(report())
    now["configurations"][1] |= {"name": "new", "ndcg@10": 0.0}
    assert fallen(now, report(), tolerance=0) == []
    now["configurations"].append({**ROW, "name": "bm25", "mrr@10": 0.1})
    assert [sentence.partition(":")[0] for sentence in fallen(now, report(), tolerance=0)] == ["bm25"]


@pytest.mark.parametrize("other", [{"dataset": "other"}, {"configurations": [{**ROW, "questions": 19}]}])
def test_a_baseline_of_other_questions_is_refused(other: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError, match="Save a new one with --save-baseline"):
        fallen(report(), {**report(), **other}, tolerance=0)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"configurations": [{}]}', '{"configurations": []}'])
def test_a_file_that_is_no_baseline(tmp_path: Path, text: str) -> None:
    path = tmp_path / "base.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LoadError, match=r"base\.json .*--save-baseline base\.json"):
        read_baseline(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"base\.json cannot be read"):
        read_baseline(tmp_path / "base.json")
