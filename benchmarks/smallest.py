"""The smallest size of each measurement: `python -m benchmarks COMMAND --smallest`.

It must end with figures, which mean nothing: a check that the measurement still works.
Data sets are looked for in the folder that REPORT_CHAT_TEST_DATA names, and cut to a
few questions. What cannot run here ends with status `SKIPPED`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path

SKIPPED = 77
ROOT = Path(__file__).parents[1]
ITEMS = 2
SMALLEST = {
    "house": "--json",
    "sample_vectors": "--output {vectors}",
    "recorded": "record {scratch}/recorded.json --every 60",
    "questions": "{quality_dev} plain conversations journalist_questions",
    "rules": "{sets} --only nameless claims.negates",
    "table_structure": "{loader_cases}/icdar",
    "foreign": "",
    "mixed": "{all_sets} --library uploads",
    "fit": "{all_sets} --library uploads",
    "conversations": "{all_sets} --library uploads --every 20",
    "approximate_search": "{sentences} 50",
    "small_files": "--files 2 --delay 0 --rounds 1",
    "growth": "--large 110 --rounds 1",
    "compare": "ingest --rounds 1 --peers",
    "round_trips": "--delay 1",
    "limits": "",
    "question_time": "{root} {wordings} --every 2",
    "serving": "--short",
    "soak": "--minutes 0.05 --people 1",
    "crowd": "--strangers 4 --questions 8 --seconds 5",
    "hostile": "--only spaces.txt",
    "kills": "--operation restore --library file",
    "campaign": "replies 5",
    "contract": "--examples 1 --who unknown",
    "tapped": "{all_sets} --library uploads",
    "pictures": (
        "--into {scratch} --languages en --widths 390 --states passage --schemes light"
    ),
    "first_load": "--rounds 1",
    "drawn": "--answers 2",
    "clients": "",
    "stranger": "",
}
QUICK = {"approximate_search"}
"""What the tests run always: the least dear. All others run at night."""
NEEDS = {"contract": "schemathesis"}
"""The package of requirements-dev.txt that a measurement cannot do without."""


def arguments(command: str, scratch: Path) -> list[str]:
    """Return the arguments of the smallest size; files are made in ``scratch``. Exits
    with `SKIPPED` where it cannot run.
    """
    if command in {"clients", "stranger"}:
        skip("it needs PyPI and npm")
    if command in NEEDS and importlib.util.find_spec(NEEDS[command]) is None:
        skip(f"{NEEDS[command]} is not installed")
    return [filled(word, scratch) for word in SMALLEST[command].split()]


def filled(word: str, scratch: Path) -> str:
    name = word.partition("{")[2].partition("}")[0]
    return word.replace(f"{{{name}}}", str(made(name, scratch))) if name else word


def made(name: str, scratch: Path) -> Path:
    if name == "root":
        return ROOT
    if name == "all_sets":
        return data_folder("questions4").parent
    if name == "sets":
        return cut_question_sets(scratch / name)
    if name == "sentences":
        (scratch / name / "few").mkdir(parents=True)
        rows = (
            json.dumps(
                {"text": f"Village {n} had {n} wells and a school in that year."}
            )
            for n in range(60)
        )
        (scratch / name / "few" / "corpus.jsonl").write_text(
            "\n".join(rows), encoding="utf-8"
        )
    elif name == "vectors":
        from chatbot.config import WARM_CACHE

        shutil.copy(WARM_CACHE, scratch / name)
    elif name != "scratch":
        data = data_folder(name)
        if name == "loader_cases":
            return data
        if name == "wordings":
            data /= "dev"
        cut_lists(data, scratch / name)
    return scratch if name == "scratch" else scratch / name


def data_folder(name: str) -> Path:
    """Return a folder of the data sets. Exits with `SKIPPED` where there is none."""
    data = Path(os.environ.get("REPORT_CHAT_TEST_DATA") or "missing", name)
    if not data.is_dir():
        skip(f"REPORT_CHAT_TEST_DATA names no folder with {name}")
    return data


def cut_question_sets(target: Path) -> Path:
    """Copy the sets that `rules` asks, each with its first questions, and the scripts
    that score them.
    """
    for name in ("quality_dev", "wordings/dev", "questions4/dev"):
        data = data_folder(name)
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        cut_lists(data, target / name)
        for folder in (data, data.parent):
            for script in folder.glob("score*.py"):
                place = target / name if folder == data else (target / name).parent
                shutil.copy(script, place / script.name)
    return target


def cut_lists(data: Path, target: Path) -> None:
    """Copy files of questions, each with its first ones."""
    target.mkdir()
    for path in data.glob("*.json"):
        (target / path.name).write_text(
            json.dumps(json.loads(path.read_text("utf-8"))[:ITEMS]), encoding="utf-8"
        )


def skip(reason: str) -> None:
    print(f"skipped: {reason}", file=sys.stderr)
    sys.exit(SKIPPED)
