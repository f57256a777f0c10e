"""Compare ways to retrieve: the configurations, the table that `evaluate` prints,
baselines, and MLflow (R-B12, optional).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ...config.settings import Settings
from ...config.settings_types import PRESETS, query_time
from ...domain.errors import (
    DependencyError,
    InvalidRequestError,
    LoadError,
    MissingPackageError,
    UnknownNameError,
)
from ...search import RETRIEVAL_METHODS
from .runner import ABSTENTION, METRICS

HEADINGS = {"abstention_precision": "abst. prec", "abstention_recall": "abst. rec"}
EXPERIMENT = "report-chat evaluate"
_NOT_IN_NAMES = re.compile(r"[^\w\-./ ]")
Report = Mapping[str, Any]
"""The output of `evaluate --json`, or one configuration of it."""


def configurations(
    settings: Settings,
    *,
    methods: Sequence[str] = (),
    weights: Sequence[float] = (),
    presets: Sequence[str] = (),
) -> dict[str, Mapping[str, Any]]:
    """Return what to compare by name, as the settings to change, the configured ones
    first: by default, every method. Raises InvalidRequestError: an unknown name, or a
    weight that is not between 0 and 1.
    """
    configured = settings.retrieval_method
    plan: dict[str, Mapping[str, Any]] = {f"{configured} (as configured)": {}}
    for method in (
        methods if methods or weights or presets else RETRIEVAL_METHODS.names()
    ):
        RETRIEVAL_METHODS.check(method, field="--methods")
        if method != configured:
            plan[method] = {"retrieval_method": method}
    for weight in weights:
        if not 0 <= weight <= 1:
            raise InvalidRequestError.for_field(
                "--weights", f"{weight:g} is not between 0 and 1."
            )
        plan[f"hybrid, weight {weight:g}"] = {
            "retrieval_method": "hybrid",
            "vector_weight": weight,
        }
    for name in presets:
        if name not in PRESETS:
            raise UnknownNameError.among("--presets", "preset", name, PRESETS)
        # As in a request: the reports stay split as they are.
        plan[f"preset {name}"] = {**query_time(name), "preset": None}
    return plan


def table(rows: Sequence[Report]) -> Iterator[str]:
    """Yield a heading and a line for each configuration, followed by its intervals if
    it has some.
    """
    first = rows[0]
    columns = [name for name in (*METRICS, "leaks", *ABSTENTION) if name in first]
    width = 28
    for row in rows:
        width = max(width, len(row["name"]))
    width += 1
    line = f"{'configuration':{width}}"
    for column in columns:
        heading = HEADINGS.get(column, column)
        line += f"{heading:>12}"
    yield f"{line}{'ms':>9}{'ms p95':>9}"
    for row in rows:
        line = f"{row['name']:{width}}"
        for column in columns:
            value = row[column]
            shown = "-" if value is None else str(value)
            line += f"{shown:>12}"
        mean = row["ms"]["total"]
        p95 = row["ms_p95"]["total"]
        yield f"{line}{mean:>9}{p95:>9}"
        bounds = row.get("intervals")
        if not bounds:
            continue
        line = f"{'  95 %':{width}}"
        for low, high in bounds.values():
            interval = f"{low:.3f}-{high:.3f}"
            line += f"{interval:>12}"
        yield line


def read_baseline(path: Path) -> Report:
    """Raises LoadError: it cannot be read, or was not written by `--save-baseline`."""
    try:
        report: Report = json.loads(path.read_text(encoding="utf-8"))
        names = {row["name"] for row in report["configurations"]}
    except OSError as error:
        raise LoadError(f"{path.name} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise LoadError(
            f"{path.name} is not a baseline. Write one with --save-baseline "
            f"{path.name}."
        ) from error
    if not names:
        raise LoadError(
            f"{path.name} has no configurations. Write it again with "
            f"--save-baseline {path.name}."
        )
    return report


def regressions(report: Report, baseline: Report, *, tolerance: float) -> list[str]:
    """Return a sentence for every figure that is worse than in the baseline by more
    than the tolerance. The configured settings are compared with those of the baseline,
    whatever they were; the others by name, if both runs have them. Any additional leak
    is reported. Raises InvalidRequestError: the baseline is of other questions.
    """
    earlier = baseline["configurations"]
    current = report["configurations"]
    if (baseline.get("dataset"), earlier[0].get("questions")) != (
        report["dataset"],
        current[0]["questions"],
    ):
        raise InvalidRequestError(
            f"The baseline is of {earlier[0].get('questions')} questions of "
            f"{baseline.get('dataset')!r}, this run of "
            f"{current[0]['questions']} of {report['dataset']!r}. Save a new one "
            "with --save-baseline."
        )
    by_name = {row["name"]: row for row in earlier[1:]}
    pairs = [(current[0], earlier[0])] + [
        (row, by_name[row["name"]]) for row in current[1:] if row["name"] in by_name
    ]
    sentences = []
    for now, then in pairs:
        for metric in (*METRICS, *ABSTENTION):
            before = then.get(metric)
            after = now.get(metric)
            # Rounded as both are: .90 and .89 differ by no more than .01.
            if before is not None and round(before - (after or 0.0), 4) > tolerance:
                fall = (
                    f"from {before:.4f} to "
                    f"{'nothing' if after is None else f'{after:.4f}'}"
                )
                sentences.append(
                    f"{now['name']}: {metric} fell {fall} (tolerance {tolerance:g})."
                )
        if now["leaks"] > then.get("leaks", 0):
            sentences.append(
                f"{now['name']}: {now['leaks']} hits outside the filter, "
                f"{then.get('leaks', 0)} in the baseline."
            )
    return sentences


def require_mlflow() -> Any:
    try:
        return import_module("mlflow")
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            (
                f"MLFLOW_TRACKING_URI is set, but the Python package {error.name!r} is "
                "not installed."
            ),
            remedy="Install it: pip install mlflow-skinny. Or unset MLFLOW_TRACKING_URI.",  # noqa: E501
        ) from error


def track(
    uri: str, report: Mapping[str, Any], *, parameters: Mapping[str, Any]
) -> None:
    """Log one run: parameters, the figures of every configuration, and the report as a
    file. Raises MissingPackageError: mlflow is not installed; DependencyError: the
    tracking server refused, or does not answer.
    """
    mlflow = require_mlflow()
    metrics: dict[
        str, float
        # by configuration and name, in MLflow's characters: "hybrid as configured/recall_5"  # noqa: E501
    ] = {}
    for row in report["configurations"]:
        figures = {
            name: value
            for name, value in row.items()
            if isinstance(value, (int, float))
        }
        figures |= {f"ms_{name}": value for name, value in row["ms"].items()}
        for name, value in figures.items():
            label = "/".join(
                _NOT_IN_NAMES.sub("", part.replace("@", "_"))
                for part in (row["name"], name)
            )
            metrics[label] = float(value)
    switches: Any = getattr(mlflow, "environment_variables", None)
    if urlsplit(uri).scheme in {"", "file"} and hasattr(
        switches, "MLFLOW_ALLOW_FILE_STORE"
    ):
        switches.MLFLOW_ALLOW_FILE_STORE.set(
            True
        )  # 3.17 and later refuse a folder without it
    try:
        mlflow.set_tracking_uri(uri)
        mlflow.set_experiment(EXPERIMENT)
        with mlflow.start_run(run_name=report["dataset"]):
            mlflow.log_params({"dataset": report["dataset"], **parameters})
            mlflow.log_metrics(metrics)
            mlflow.log_dict(report, "report.json")
    except (mlflow.exceptions.MlflowException, OSError) as error:
        # The message may contain the password of the address.
        reason = type(error).__name__ if "@" in uri else str(error).split("\n")[0]
        raise DependencyError(
            f"The run was not logged in MLflow: {reason}",
            remedy=(
                "Check that MLFLOW_TRACKING_URI names a server or a database that "
                "answers."
            ),
        ) from error
