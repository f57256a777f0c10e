"""Right answers in every form that models write, and wrong claims, from the sample reports: marked or not."""

import json

import pytest

from benchmarks.model_answers import ANSWERS, checked

CASES = {half: rows for file in ANSWERS for half, rows in json.loads(file.read_text("utf-8")).items()}


@pytest.mark.parametrize("half", [half for half in CASES if half.startswith("right")])
def test_right_answers_are_not_marked(half: str) -> None:
    assert [row["answer"] for row in CASES[half] if checked(row).unsupported] == []


@pytest.mark.parametrize("half", [half for half in CASES if half.startswith("wrong")])
def test_wrong_claims_are_marked(half: str) -> None:
    assert [row["answer"] for row in CASES[half] if not checked(row).unsupported] == []
