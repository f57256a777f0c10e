"""`doctor`, as the command prints it."""

import json
from pathlib import Path

from tests.app.cli.conftest import Run


def test_the_doctor_says_that_the_data_folder_cannot_be_made(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    result = run("doctor", "--json", DATA_DIR=str(tmp_path / "file" / "data"))
    (failure,) = [one for one in json.loads(result.out) if one["severity"] == "error"]
    assert (result.status, failure["area"]) == (1, "database")
    assert "Set DATA_DIR to a folder" in failure["remedy"]
