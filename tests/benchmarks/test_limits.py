"""What kinds of work cost, in counts that no busy machine changes."""

from pathlib import Path

from benchmarks.limits import limits, measured


def test_kinds_of_work_cost_what_their_limits_say(tmp_path: Path) -> None:
    """A lower count becomes the limit (`python -m benchmarks limits --write`); a commit
    that raises one says why.
    """
    assert measured(tmp_path) == limits()
