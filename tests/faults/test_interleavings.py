"""Writers and readers take turns at each call of the database, in orders drawn at
random: a model of the protocol of changes, made of the product's own classes.

python -m benchmarks campaign interleavings 1000
"""

import random
from pathlib import Path

import pytest

from tests.campaigns import times
from tests.faults.interleavings import Interleaving

RUNS = times("INTERLEAVINGS", 5)


@pytest.mark.nightly
def test_readers_show_no_deleted_text_and_in_the_end_what_is_stored(
    tmp_path: Path,
) -> None:
    """With kills, lost calls, pauses longer than a lease, and a full database."""
    failures: dict[int, str] = {}
    for seed in range(RUNS):
        try:
            Interleaving(random.Random(seed), tmp_path / str(seed)).play()
        except AssertionError as error:
            failures[seed] = str(error)
    assert failures == {}
