"""Right answers in every form that models write, and wrong claims, from the sample reports: marked or not."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.model_answers import checked
from tests.data import cases

CASES = cases(__file__)
MAY_BE_MARKED = {"right": 0, "right, later": 0}
MAY_BE_MISSED = {"wrong": 0, "wrong, later": 0}


@pytest.mark.parametrize("half", MAY_BE_MARKED)
def test_right_answers_are_not_marked(half: str) -> None:
    marked = [row["answer"] for row in CASES[half] if checked(row).unsupported]
    assert len(marked) <= MAY_BE_MARKED[half], marked


@pytest.mark.parametrize("half", MAY_BE_MISSED)
def test_wrong_claims_are_marked(half: str) -> None:
    missed = [row["answer"] for row in CASES[half] if not checked(row).unsupported]
    assert len(missed) <= MAY_BE_MISSED[half], missed


def test_every_kind_of_claim_is_there() -> None:
    kinds = Counter(row["kind"] for row in CASES["wrong"])
    assert kinds.keys() == {
        "sibling", "direction", "year", "countries swapped", "another indicator", "name or cause", "no source"
    }  # fmt: skip
