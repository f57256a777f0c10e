"""The limits of the code's size: what is worse fails, what is better may be written
down.
"""

import ast

from benchmarks.house import limits, once_used_helpers, with_limits, worse


def test_a_figure_above_its_limit_and_a_name_of_one_side_only_are_named() -> None:
    problems = worse(
        {"lines": 101, "files": 9, "parts": 1}, {"lines": 100, "files": 9, "depth": 3}
    )
    assert [problem.split(":")[0] for problem in problems] == [
        "lines",
        "parts",
        "depth",
    ]


def test_changes_of_file_may_vary_by_five_percent() -> None:
    bounds = {"question_file_changes": 100}
    assert worse({"question_file_changes": 105}, bounds) == []
    assert len(worse({"question_file_changes": 106}, bounds)) == 1


def test_lowering_keeps_the_comments_and_the_other_limits() -> None:
    text = "# why\n[limits]\nlines = 120\nfiles = 9\n"
    assert (
        with_limits(text, {"lines": 100}) == "# why\n[limits]\nlines = 100\nfiles = 9\n"
    )
    assert limits()["lines"] > 0


def test_a_helper_counts_where_it_is_short_private_and_used_once() -> None:
    long = "\n".join(f"    value += {n}" for n in range(8))
    source = f"""
def _once(): return 1
def _twice(): return 2
def public(): return _once() + _twice() + _twice() + _long()
def _long():
{long}
"""
    assert once_used_helpers(ast.parse(source)) == 1
