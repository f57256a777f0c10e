"""`figures`: a query on the command line."""

import json
from pathlib import Path

from tests.app.cli.conftest import Run


def test_computes_from_the_reports(run: Run, kenya_file: Path) -> None:
    run("ingest", str(kenya_file), "--country", "Kenya", "--year", "2023")
    listed = run("figures", "Population growth rate", "--json")
    [row] = json.loads(listed.out)["rows"]
    assert row["subject"] == "Kenya"
    converted = run(
        "figures", "Population growth rate", "--step", "filter compare='>' value=90"
    )
    assert "is above 90% in 0 of 1 country: none." in converted.out


def test_a_wrong_step_is_named(run: Run) -> None:
    result = run("figures", "Population", "--step", "rank quickly")
    assert result.status != 0
    assert "'quickly' is no field with its value" in result.err
