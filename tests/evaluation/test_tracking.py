"""MLflow (R-B12): a real import of a package on disk that writes down what it is told."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chatbot.errors import DependencyError, MissingPackageError
from chatbot.evaluation.tracking import track
from tests.evaluation import fake_mlflow

ROW = {"name": "hybrid (as configured)", "recall@5": 0.9, "leaks": 0, "ms": {"total": 3.5}, "abstention_recall": None}
REPORT: dict[str, Any] = {"dataset": "mine", "configurations": [ROW]}


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    yield from fake_mlflow.installed(tmp_path, monkeypatch)


def test_parameters_metrics_and_files_of_one_run(mlflow: Path) -> None:
    track("http://tracker", REPORT, parameters={"top_k": 5}, artefacts={"report.json": "{}", "report.svg": "<svg/>"})
    assert [json.loads(line) for line in mlflow.read_text(encoding="utf-8").splitlines()] == [
        ["uri", "http://tracker"],
        ["run", "mine"],
        ["params", {"dataset": "mine", "top_k": "5"}],
        [
            "metrics",
            {
                "hybrid as configured/recall_5": 0.9,
                "hybrid as configured/leaks": 0.0,
                "hybrid as configured/ms_total": 3.5,
            },
        ],
        ["artifact", "report.json", "{}"],
        ["artifact", "report.svg", "<svg/>"],
        ["end"],
    ]


@pytest.mark.parametrize(
    ("uri", "shown"), [("http://broken", "no route to"), ("http://me:secret@broken", "MlflowException")]
)
def test_a_server_that_does_not_answer_is_said_without_the_password(mlflow: Path, uri: str, shown: str) -> None:
    with pytest.raises(DependencyError) as raised:
        track(uri, REPORT, parameters={}, artefacts={})
    assert shown in raised.value.message
    assert ("secret" in raised.value.message) is ("@" not in uri)


@pytest.mark.skipif("mlflow" in sys.modules, reason="it is installed here")
def test_without_the_package_its_name_is_said() -> None:
    with pytest.raises(MissingPackageError, match="'mlflow' is not installed") as raised:
        track("http://tracker", REPORT, parameters={}, artefacts={})
    assert "pip install mlflow" in raised.value.remedy
