"""Each call to a server far away is waited for: how many wait for each other, on the
double of Atlas.
"""

import pytest

from benchmarks.round_trips import (
    Calls,
    deployment,
    library_with_api,
    long_report,
    measure_upload,
    upload,
)

BOUNDS = {
    "question": (5, 7),
    "search": (4, 4),
    "comparison": (8, 8),
    "deep": (8, 8),
}
"""Calls in a row before the model is asked, and in all. The deep question has one
round.
"""


def test_calls_that_wait_for_each_other_are_few_and_none_comes_after_the_answer() -> (
    None
):
    with deployment() as ask:
        measured = {kind: ask(kind, 0.15) for kind in BOUNDS}
        # An index that gave nothing is looked at again every five seconds, which may
        # have fallen into a run.
        late = {
            kind: ask(kind, 0.15)
            for kind, one in measured.items()
            if one.in_a_row > BOUNDS[kind][1]
        }
    rows = {
        kind: (one.before_model, one.in_a_row, one.after_done)
        for kind, one in {**measured, **late}.items()
    }
    assert {
        k: row
        for k, row in rows.items()
        if row[:2] > BOUNDS[k] or row[1] > BOUNDS[k][1] or row[2]
    } == {}


def test_an_upload_of_300_passages_makes_few_calls_one_after_the_other() -> None:
    for _ in range(3):
        measured = measure_upload(0.02)
        if measured.request <= 16 and measured.reading <= 40:
            break
        # On a busy machine calls that are made at once begin one after the other.
    assert measured.request <= 16
    assert measured.reading <= 40
    assert measured.calls <= 150  # those of all threads, also at the same time


# Every day: test_an_upload_of_300_passages_makes_few_calls_one_after_the_other.
@pytest.mark.nightly
def test_24_files_at_once_take_no_more_operations_than_a_free_cluster_has() -> None:
    """A free cluster takes 100 operations a second; each call takes 30 ms to it. What
    counts are five seconds: the driver tries again where one second had too many.
    """
    with library_with_api(embedding_seconds=1.0) as (client, database):
        database.delay, database.calls = 0.03, Calls()
        texts = {f"n{number}.md": long_report(f"R{number}", 2) for number in range(24)}
        upload(client, database, texts)
        database.delay = 0.0
        starts = sorted(began for began, _ in database.calls.made)
    busiest = max(
        sum(1 for other in starts if began <= other < began + 5) for began in starts
    )
    assert busiest <= 5 * 100
