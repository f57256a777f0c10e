"""`documents review`: what a person should look at, and several changes at once."""

from pathlib import Path

import pytest

from tests.app.cli.conftest import Run
from tests.conftest import write_report

DRY = "# Prices\n\n2019 and 2020 were dry. So was 2019 in the north.\n"
WET = "# Rain\n\nIt rained in the south.\n"


@pytest.fixture
def ids(run: Run, tmp_path: Path) -> list[str]:
    """Of a report that proposes a year, and of two with the same title."""
    folder = tmp_path / "reports"
    write_report(folder, DRY, "dry")
    write_report(folder, WET, "wet")
    write_report(folder, WET + "\nIt stopped.\n", "wet again")
    assert run("ingest", str(folder)).status == 0
    lines = run("documents", "list").out.splitlines()[:-1]
    return [line.split()[0] for line in lines]


def test_what_a_person_should_look_at_is_listed(run: Run, ids: list[str]) -> None:
    dry, wet, again = ids
    result = run("documents", "review")
    assert result.status == 0
    words = "2019 and 2020 were dry. So was 2019 in the north."
    lines = result.out.splitlines()
    assert lines[:2] == [f"{dry}  Prices", f"    year 2019? (first pages: '{words}')"]
    assert set(lines[2:6]) == {
        f"{wet}  Rain",
        f"    same title, country and year as {again}",
        f"{again}  Rain",
        f"    same title, country and year as {wet}",
    }
    assert lines[6] == "3 reports to review"
    assert "/documents" in lines[7]
    assert "documents review --set ID FIELD=VALUE" in lines[7]


def test_several_reports_are_changed_and_nothing_is_left(
    run: Run, ids: list[str]
) -> None:
    dry, wet, again = ids
    rows = [(dry, "year="), (wet, "year=2020"), (again, "title=The end of the rain")]
    changes = [word for row in rows for word in ("--set", *row)]
    result = run("documents", "review", *changes)
    assert (result.status, result.out) == (0, "3 reports changed.\n")
    assert run("documents", "review").out == "0 reports to review\n"
    listed = run("documents", "list", "--year", "2020").out
    assert wet in listed
    assert dry not in listed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("year=12", "documents.1.fields.year: must be a year"),
        ("yeer=2020", "documents.1.fields.yeer: unknown field"),
        ("year", "'year' has no ="),
    ],
)
def test_one_wrong_change_changes_nothing(
    run: Run, ids: list[str], change: str, message: str
) -> None:
    dry, wet, _ = ids
    before = run("documents", "list").out
    good = ("--set", dry, "year=2020")
    result = run("documents", "review", *good, "--set", wet, change)
    assert result.status == 2
    assert message in result.err
    assert run("documents", "list").out == before
