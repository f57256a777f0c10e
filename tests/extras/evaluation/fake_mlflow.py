"""A package `mlflow` on disk that writes down what it is told; imported as the real one
would be.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = """
import contextlib, json, pathlib
from . import exceptions
LOG = pathlib.Path(__file__).with_name("log.jsonl")

def _write(*row):
    with LOG.open("a") as file:
        file.write(json.dumps(row) + "\\n")

def set_tracking_uri(uri):
    _write("uri", uri)

def set_experiment(name):
    if name == "refused" or "broken" in LOG.read_text():
        raise exceptions.MlflowException("no route to http://me:secret@host")

@contextlib.contextmanager
def start_run(run_name):
    _write("run", run_name)
    yield
    _write("end")

def log_params(values):
    _write("params", {name: str(value) for name, value in values.items()})

def log_metrics(values):
    _write("metrics", values)

def log_dict(value, name):
    _write("artifact", name, json.dumps(value))
"""


def installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yields the file that it writes; the package is gone afterwards."""
    package = folder / "site" / "mlflow"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(PACKAGE, encoding="utf-8")
    (package / "exceptions.py").write_text(
        "class MlflowException(Exception): pass\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(package.parent))
    yield package / "log.jsonl"
    for name in ("mlflow", "mlflow.exceptions"):
        sys.modules.pop(name, None)
