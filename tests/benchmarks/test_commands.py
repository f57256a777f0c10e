"""Every measurement can be started, and those that have broken before end with figures at their smallest size."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if not path.stem.startswith("__"))


def run(*command: str) -> str:
    full = [sys.executable, "-m", "benchmarks", *command]
    return subprocess.run(full, cwd=ROOT, check=True, capture_output=True, text=True, timeout=120).stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_a_measurement_finds_what_it_imports(name: str) -> None:
    importlib.import_module(f"benchmarks.{name}")


def test_approximate_search_of_a_few_sentences(tmp_path: Path) -> None:
    (tmp_path / "few").mkdir()
    passages = [{"text": f"Village {number} had {number} wells and a school in that year."} for number in range(60)]
    (tmp_path / "few" / "corpus.jsonl").write_text("\n".join(map(json.dumps, passages)), encoding="utf-8")

    table = run("approximate_search", str(tmp_path), "50")

    assert "54 sentences, 6 held out" in table
    assert len([line for line in table.splitlines() if line.endswith("1.000")]) == 6  # so few are compared exactly


def test_growth_of_a_few_reports() -> None:
    assert "/query" in run("growth", "--large", "110", "--rounds", "1")
