"""No route reads more rows, or makes more calls, the larger the library is: counted on
synthetic rows, with a budget for each route.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.rows_read import FILE, SERVER, Cost, measured
from chatbot.stores.atlas.pipelines import MAX_CANDIDATES

EXCEPTIONS = {
    "start": "each process reads all reports, because its catalogue is in memory",
}
"""Routes that read more rows in a larger library, and why they still may."""
SPARE_CALLS = 6
"""Calls that leases and their renewal may add, as the machine is busy or not."""
SPARE_SHARE = 0.15
SPARE_ROWS = {SERVER: 20, FILE: 700}
"""Rows, or steps of SQLite, of those calls, and of a tree that is one page deeper."""


def growing(kind: str, costs: dict[str, list[Cost]]) -> dict[str, Sequence[Cost]]:
    """Return the routes that cost more in the larger library."""
    found = {}
    for route, (small, large) in costs.items():
        most_rows = (1 + SPARE_SHARE) * small.rows + SPARE_ROWS[kind]
        if large.rows > most_rows or large.calls > small.calls + SPARE_CALLS:
            found[route] = (small, large)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", [SERVER, FILE])
def test_no_route_costs_more_in_a_library_of_ten_times_the_size(
    kind: str, tmp_path: Path
) -> None:
    costs = measured(kind, tmp_path, (50, 500))
    assert growing(kind, costs).keys() == EXCEPTIONS.keys()
    assert costs["start"][1].rows - costs["start"][0].rows >= 400


# Every day: test_no_route_costs_more_in_a_library_of_ten_times_the_size.
@pytest.mark.nightly
@pytest.mark.parametrize("kind", [SERVER, FILE])
def test_a_million_passages_of_ten_thousand_reports_cost_no_more_than_a_tenth(
    kind: str, tmp_path: Path
) -> None:
    costs = measured(kind, tmp_path, (1_000, 10_000), 100, large=True)
    assert growing(kind, costs).keys() == EXCEPTIONS.keys()
    compared = max(cost.vectors for pair in costs.values() for cost in pair)
    assert compared <= 2 * MAX_CANDIDATES


@pytest.mark.slow
def test_a_filtered_question_over_a_million_passages_reads_few_rows(
    tmp_path: Path,
) -> None:
    costs = measured(
        SERVER, tmp_path, (1_000,), 1_000, large=True, routes=("question", "search")
    )
    for (cost,) in costs.values():
        assert cost.rows <= 40
        assert cost.vectors <= 2 * MAX_CANDIDATES
