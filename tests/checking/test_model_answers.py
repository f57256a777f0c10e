"""Right answers in every form that models write, and wrong claims, from the sample
reports: marked or not.
"""

import json

import pytest

from benchmarks.model_answers import ANSWERS, checked

CASES = {
    half: rows
    for file in ANSWERS
    for half, rows in json.loads(file.read_text("utf-8")).items()
}


@pytest.mark.parametrize("half", CASES)
def test_wrong_claims_are_marked_and_right_answers_are_not(half: str) -> None:
    is_right = half.startswith("right")
    assert [
        row["answer"]
        for row in CASES[half]
        if bool(checked(row).unsupported) == is_right
    ] == []
