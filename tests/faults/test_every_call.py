"""A process is killed at each database call of an upload and of a deletion.

`python -m benchmarks kills` does the same for every operation, also with calls that
fail, and on MongoDB: .github/workflows/nightly.yml. Every day it is each sixth call.
"""

import pytest

from tests.faults.enumeration import (
    Expected,
    Point,
    points,
    run,
    run_in_a_process,
    undisturbed,
)
from tests.faults.libraries import FileLibrary
from tests.faults.operations import OPERATIONS, Operation
from tests.faults.scripts import KILL

EVERY = 6
"""Of so many calls one is tried: a run takes half a second."""
Prepared = tuple[FileLibrary, Operation, Expected, list[Point]]


@pytest.fixture(scope="module", params=["upload", "delete"])
def prepared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Prepared:
    library, operation = (
        FileLibrary(tmp_path_factory.mktemp("library")),
        OPERATIONS[request.param],
    )
    library.prepare(operation.prepare)
    expected = undisturbed(library, operation)
    return (
        library,
        operation,
        expected,
        list(points(library, operation, expected, [KILL])),
    )


def test_a_kill_at_any_call_leaves_no_process_that_differs_from_a_fresh_one(
    prepared: Prepared,
) -> None:
    library, operation, expected, kills = prepared
    assert len(kills) > 5
    tried = kills[::EVERY]
    outcomes = [run(library, operation, expected, point) for point in tried]
    assert [str(outcome) for outcome in outcomes if outcome.problems] == []


@pytest.mark.parametrize("prepared", ["upload"], indirect=True)
@pytest.mark.nightly
def test_sigkill_in_the_middle_leaves_no_process_that_differs_from_a_fresh_one(
    prepared: Prepared,
) -> None:
    library, operation, expected, kills = prepared
    outcome = run_in_a_process(library, operation, expected, kills[len(kills) // 2])
    assert outcome.problems == ()
