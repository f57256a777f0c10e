"""`evaluate` of what `feedback export` writes."""

import json
from pathlib import Path

import pytest

from chatbot.app.services import build
from tests.app.cli.conftest import Run
from tests.conftest import small_settings
from tests.extras.operator.test_feedback_export import QUESTION, rated

pytestmark = pytest.mark.extras("evaluation", "operator")

pytestmark = pytest.mark.extras("evaluation", "operator")


def test_an_exported_table_is_measured_by_what_was_good(
    loaded: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    with build(small_settings(Path(environment["DATA_DIR"]))) as services:
        rated(services, QUESTION, "up")
        rated(services, "What else?", "down")
    path = tmp_path / "feedback.csv"
    assert loaded("feedback", "export", "--to", str(path)).status == 0
    measured = loaded("evaluate", str(path), "--json")
    assert measured.status == 0, measured.err
    own = json.loads(measured.out)["configurations"][0]
    assert (own["questions"], own["recall@5"]) == (1, 1.0)
