"""Each call to a server far away is waited for: how many wait for each other, on the
double of Atlas.
"""

from benchmarks.round_trips import deployment

BOUNDS = {
    "question": (6, 10),
    "search": (4, 4),
    "comparison": (12, 12),
    "deep": (10, 10),
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
