"""The smallest size of each measurement: `python -m benchmarks COMMAND --smallest`.

It must end with figures, which mean nothing: a check that the measurement still works.
Data sets are looked for in the folder that REPORT_CHAT_TEST_DATA names, and cut to a
few questions. What cannot run here ends with status `SKIPPED`.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path

SKIPPED = 77
ROOT = Path(__file__).parents[1]
QUESTIONS, PASSAGES, ITEMS = 6, 40, 2
SMALLEST = {
    "house": "--json",
    "sample_vectors": "--output {vectors}",
    "recorded": "record {scratch}/recorded.json --every 60",
    "questions": "{quality_dev} plain conversations",
    "new_wordings": "--every 40",
    "abstention": "{bench}",
    "follow_ups": "{bench}",
    "citation_check": "{bench}",
    "citation_clauses": "{quality_dev}/citations.json",
    "model_answers": "--prompts {wordings}",
    "table_structure": "{loader_cases}/icdar",
    "foreign": "",
    "agents": "--questions 1",
    "inprocess_search": "500",
    "approximate_search": "{sentences} 50",
    "ingest_throughput": "{file}",
    "small_files": "--files 2 --delay 0 --rounds 1",
    "pdf_speed": "{root} {loader_cases} --rounds 1",
    "large_pdf": "--pages 7 --rounds 1",
    "growth": "--large 110 --rounds 1",
    "figures_held": "--figures 2000",
    "compare": "ingest --rounds 1 --peers",
    "parts": "files --times 2",
    "page": "--questions 1 --turns 2",
    "round_trips": "--delay 1",
    "question_time": "{root} {wordings} --every 2",
    "connections": "--tries 1",
    "serving": "--short",
    "soak": "--minutes 0.05 --people 1",
    "hostile": "--only spaces.txt",
    "kills": "--operation restore --library file",
    "campaign": "replies 5",
    "contract": "--examples 1 --who unknown",
    "clients": "",
}
QUICK = {"approximate_search", "citation_check", "ingest_throughput", "table_structure"}
"""Those that need at most 2.5 seconds of processor time: the tests run them always, and
all at night.
"""
NEEDS = {"page": "playwright", "contract": "schemathesis", "connections": "gunicorn"}
"""The package of requirements-dev.txt that a measurement cannot do without."""


def arguments(command: str, scratch: Path) -> list[str]:
    """Return the arguments of the smallest size; files are made in ``scratch``. Exits
    with `SKIPPED` where it cannot run.
    """
    if command == "clients":
        skip("it needs PyPI and npm")
    if command in NEEDS and importlib.util.find_spec(NEEDS[command]) is None:
        skip(f"{NEEDS[command]} is not installed")
    if command == "page" and not shutil.which("chromium"):
        skip("there is no chromium")
    return [filled(word, scratch) for word in SMALLEST[command].split()]


def filled(word: str, scratch: Path) -> str:
    name = word.partition("{")[2].partition("}")[0]
    return word.replace(f"{{{name}}}", str(made(name, scratch))) if name else word


def made(name: str, scratch: Path) -> Path:
    if name == "root":
        return ROOT
    if name == "file":
        (scratch / name).mkdir()
        text = "# Wells\n\n" + "\n\n".join(
            f"## Village {n}\n\nIt has {n} wells." for n in range(3)
        )
        (scratch / name / "wells.md").write_text(text, encoding="utf-8")
    elif name == "sentences":
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
        data = Path(os.environ.get("REPORT_CHAT_TEST_DATA") or "missing", name)
        if not data.is_dir():
            skip(f"REPORT_CHAT_TEST_DATA names no folder with {name}")
        if name == "loader_cases":
            return data
        if name == "wordings":
            data /= "dev"
        (cut_sets if name == "bench" else cut_lists)(data, scratch / name)
    return scratch if name == "scratch" else scratch / name


def cut_lists(data: Path, target: Path) -> None:
    """Copy files of questions, each with its first ones."""
    target.mkdir()
    for path in data.glob("*.json"):
        (target / path.name).write_text(
            json.dumps(json.loads(path.read_text("utf-8"))[:ITEMS]), encoding="utf-8"
        )


def cut_sets(data: Path, target: Path) -> None:
    """Copy data sets in BEIR layout: a few questions, their passages and the neighbours
    of these, and a few more.
    """
    for folder in filter(Path.is_dir, data.iterdir()):
        (target / folder.name / "qrels").mkdir(parents=True)
        passages, questions = (
            {
                row["_id"]: row
                for row in map(
                    json.loads, (folder / name).read_text("utf-8").splitlines()
                )
            }
            for name in ("corpus.jsonl", "queries.jsonl")
        )
        questions = dict(list(questions.items())[:QUESTIONS])
        wanted = set(list(passages)[:PASSAGES])
        for path in (folder / "qrels").iterdir():
            with path.open(encoding="utf-8", newline="") as file:
                head, *rows = csv.reader(file, delimiter="\t")
            rows = [row for row in rows if row[0] in questions]
            wanted |= {row[1] for row in rows}
            lines = ["\t".join(row) for row in (head, *rows)]
            (target / folder.name / "qrels" / path.name).write_text(
                "\n".join(lines) + "\n", encoding="utf-8"
            )
        numbers = list(passages)
        near = {
            at + step
            for at, number in enumerate(numbers)
            if number in wanted
            for step in range(-3, 4)
        }
        kept = [passages[number] for at, number in enumerate(numbers) if at in near]
        for name, rows in (
            ("corpus.jsonl", kept),
            ("queries.jsonl", questions.values()),
        ):
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (target / folder.name / name).write_text(text, encoding="utf-8")


def skip(reason: str) -> None:
    print(f"skipped: {reason}", file=sys.stderr)
    sys.exit(SKIPPED)
