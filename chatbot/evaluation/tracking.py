"""Evaluation runs in MLflow (R-B12): an optional package, used where MLFLOW_TRACKING_URI is set."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import DependencyError, MissingPackageError

EXPERIMENT = "report-chat evaluate"
_NOT_IN_NAMES = re.compile(r"[^\w\-./ ]")


def require_mlflow() -> Any:
    """The package. Raises MissingPackageError: it is not installed, but MLFLOW_TRACKING_URI asks for it."""
    try:
        return import_module("mlflow")
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            f"MLFLOW_TRACKING_URI is set, but the Python package {error.name!r} is not installed.",
            remedy="Install it: pip install mlflow-skinny. Or unset MLFLOW_TRACKING_URI.",
        ) from error


def track(uri: str, report: Mapping[str, Any], *, parameters: Mapping[str, Any], artefacts: Mapping[str, str]) -> None:
    """Log one run: parameters, the figures of every configuration, and files by name.

    Raises:
        MissingPackageError: mlflow is not installed.
        DependencyError: the tracking server refused, or does not answer.
    """
    mlflow = require_mlflow()
    try:
        mlflow.set_tracking_uri(uri)
        mlflow.set_experiment(EXPERIMENT)
        with mlflow.start_run(run_name=report["dataset"]), tempfile.TemporaryDirectory() as folder:
            mlflow.log_params({"dataset": report["dataset"], **parameters})
            mlflow.log_metrics(_metrics(report))
            for name, text in artefacts.items():
                path = Path(folder) / name
                path.write_text(text, encoding="utf-8")
                mlflow.log_artifact(str(path))
    except (mlflow.exceptions.MlflowException, OSError) as error:
        # With a password in the address, what it says may hold it too.
        reason = type(error).__name__ if "@" in uri else str(error).split("\n")[0]
        raise DependencyError(
            f"The run was not logged in MLflow: {reason}",
            remedy="Check that MLFLOW_TRACKING_URI names a server or a database that answers.",
        ) from error


def _metrics(report: Mapping[str, Any]) -> dict[str, float]:
    """By configuration and name, as MLflow can spell them: "hybrid as configured/recall_5"."""
    found: dict[str, float] = {}
    for row in report["configurations"]:
        figures = {name: value for name, value in row.items() if isinstance(value, (int, float))}
        figures |= {f"ms_{name}": value for name, value in row["ms"].items()}
        found |= {f"{_spelled(row['name'])}/{_spelled(name)}": float(value) for name, value in figures.items()}
    return found


def _spelled(name: str) -> str:
    return _NOT_IN_NAMES.sub("", name.replace("@", "_"))
