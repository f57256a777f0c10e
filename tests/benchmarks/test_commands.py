"""Every measurement ends with figures at its smallest size, the slow ones at night."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import COMMANDS
from benchmarks.smallest import QUICK, SKIPPED

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.nightly)
        for name in COMMANDS
    ],
)
def test_a_measurement_ends_with_figures_at_its_smallest_size(name: str) -> None:
    command = [sys.executable, "-m", "benchmarks", name, "--smallest"]
    ended = subprocess.run(
        command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=280
    )
    if ended.returncode == SKIPPED:
        pytest.skip(ended.stderr)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    assert re.search(r"\d", ended.stdout)


def test_measurements_find_what_they_import() -> None:
    for name in COMMANDS:
        importlib.import_module(f"benchmarks.{name}")
