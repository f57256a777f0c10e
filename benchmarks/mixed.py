"""Measure whether the order of what is found holds on libraries that are mixed.

    python -m benchmarks mixed [DATA] [--library NAME ...] [--without STEP ...]
                               [--show] [--every N]

Libraries: `samples` (the sample reports), `mixed` (these with the documents of
mixed_library, foreign_reports and questions4/dev/docs of the folder DATA,
REPORT_CHAT_TEST_DATA by default), `own` (those documents alone), `uploads` (the last
folder alone). Each is asked the questions about what it holds, keyless and with the
default settings. `--without` switches one step of the order off (`STEPS`; `each` = one
after the other), and prints what each set gains or loses. A step has to gain on the
samples and to lose nowhere, or to be bound to documents of its kind.

A question is right if the answer has one of its phrases, or for the samples if the
first passage is that of the country and heading.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from flask.testing import FlaskClient

from benchmarks.questions import Ask, asker, heading, load_samples
from chatbot.app.factory import create_app
from chatbot.app.web.routes import services
from chatbot.config.settings import Settings
from chatbot.search import ordering, pipeline

Json = dict[str, Any]
ROOT = Path(__file__).parent.parent
LIBRARIES = {
    "samples": ("samples",),
    "mixed": ("samples", "mixed", "foreign", "uploads"),
    "own": ("mixed", "foreign", "uploads"),
    "uploads": ("uploads",),
}
"""The sets of documents and of questions in each library."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and whether an answer to it is right."""

    set_name: str
    query: str
    is_right: Callable[[Json], bool]


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Return a parser that knows which libraries to ask, of which folder, and how many
    questions.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("REPORT_CHAT_TEST_DATA")
    parser.add_argument("data", nargs="?", type=Path, default=default)
    parser.add_argument("--library", nargs="*", choices=LIBRARIES, default=LIBRARIES)
    parser.add_argument(
        "--every", type=int, default=1, help="of the samples' questions"
    )
    return parser


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Return the arguments; end the program where no folder is named."""
    chosen = parser.parse_args()
    if chosen.data is None:
        parser.error("name the folder of the data, or set REPORT_CHAT_TEST_DATA")
    return chosen


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--without", nargs="*", choices=["each", *STEPS], default=())
    parser.add_argument("--show", action="store_true", help="print what is wrong")
    chosen = parsed(parser)
    steps = list(STEPS) if "each" in chosen.without else list(chosen.without)
    for library in chosen.library:
        with opened(library, chosen.data) as ask:
            questions = list(questions_of(library, chosen.data, chosen.every))
            before = measure(ask, questions)
            print_sums(library, "", before, before)
            if chosen.show:
                for asked, answer, is_right in before:
                    if not is_right:
                        print(f"  {asked.query} -> {answer['response'][:160]!r}")
            for step in steps:
                with STEPS[step]():
                    print_sums(library, step, before, measure(ask, questions))


Measured = Sequence[tuple[Asked, Json, bool]]


def measure(ask: Ask, questions: Sequence[Asked]) -> Measured:
    """Ask all questions; return each with its answer and whether it is right."""
    measured = []
    for asked in questions:
        answer = ask(asked.query)
        measured.append((asked, answer, asked.is_right(answer)))
    return measured


def print_sums(library: str, step: str, before: Measured, now: Measured) -> None:
    """Print the right answers of each set, and what changed."""
    for name in LIBRARIES[library]:
        of_set = [
            (was, is_now)
            for (asked, _, was), (_, _, is_now) in zip(before, now, strict=True)
            if asked.set_name == name
        ]
        right = sum(is_now for _, is_now in of_set)
        gained = sum(is_now and not was for was, is_now in of_set)
        lost = sum(was and not is_now for was, is_now in of_set)
        change = f"  +{gained} -{lost}" if step else ""
        print(
            f"{library:8} {step or 'as it is':14} {name:8} {right:4} of "
            f"{len(of_set):4}{change}",
            flush=True,
        )


@contextmanager
def opened(library: str, data: Path) -> Iterator[Ask]:
    """Yield a function that asks a library, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.from_env().override(
            data_dir=Path(folder), sample_data="off", cache_seconds=0
        )
        app = create_app(settings)
        with app.app_context():
            client = app.test_client()
            for name in LIBRARIES[library]:
                if name == "samples":
                    load_samples(services())
                    continue
                for path in documents_of(name, data):
                    upload(client, path)
            yield asker(client)


def upload(client: FlaskClient, path: Path) -> None:
    """Add a document as a person does who drops it onto the page, and wait for it."""
    with path.open("rb") as file:
        response = client.post("/api/documents", data={"files": (file, path.name)})
    assert response.status_code == 202, response.get_json()
    job = response.get_json()["ingestion_id"]
    while True:
        state = client.get(f"/api/ingestions/{job}").get_json()
        if state["state"] not in {"queued", "running", "waiting"}:
            break
        time.sleep(0.2)
    for of_file in state["files"]:
        if of_file.get("error"):
            print(f"  {of_file['name']}: {of_file['error']}")


def documents_of(name: str, data: Path) -> list[Path]:
    folders = {
        "mixed": data / "mixed_library" / "documents",
        "foreign": data / "foreign_reports",
        "uploads": data / "questions4" / "dev" / "docs",
    }
    paths = sorted(folders[name].iterdir())
    return [path for path in paths if path.name not in {"README.md", "questions.json"}]


def questions_of(library: str, data: Path, every: int) -> Iterator[Asked]:
    """Yield the questions about what a library holds."""
    readers = {
        "samples": of_samples,
        "mixed": of_mixed,
        "foreign": of_foreign,
        "uploads": of_uploads,
    }
    for name in LIBRARIES[library]:
        questions = list(readers[name](data))
        yield from questions[:: every if name == "samples" else 1]


def of_samples(data: Path) -> Iterator[Asked]:
    for row in _read(data / "quality_dev" / "plain_questions.json"):

        def is_right(answer: Json, row: Json = row) -> bool:
            hits = answer["trace"]["hits"]
            if not hits:
                return False
            fields = row["field"].split("|")
            of_country = hits[0]["country_name"] == row["country"]
            return of_country and heading(hits[0]) in fields

        yield Asked("samples", row["question"], is_right)


def of_mixed(data: Path) -> Iterator[Asked]:
    for row in _read(data / "mixed_library" / "questions.json"):
        yield Asked("mixed", row["query"], _has_phrase(row["right"]))


def of_foreign(data: Path) -> Iterator[Asked]:
    stated = _read(data / "foreign_reports" / "questions.json")
    for row in stated["questions"]:
        matches = row["match"] if isinstance(row["match"], list) else [row["match"]]

        def is_right(answer: Json, patterns: Sequence[str] = matches) -> bool:
            return any(re.search(one, answer["response"]) for one in patterns)

        yield Asked("foreign", row["question"], is_right)


def of_uploads(data: Path) -> Iterator[Asked]:
    folder = data / "questions4" / "dev"
    score: Any = ModuleType("score4")
    SourceFileLoader("score4", str(folder / "score4.py")).exec_module(score)
    for item in _read(folder / "upload.json"):

        def is_right(answer: Json, item: Json = item) -> bool:
            return bool(score.measure(item, answer).get("right"))

        yield Asked("uploads", item["turns"][-1], is_right)


def _has_phrase(phrases: Sequence[str]) -> Callable[[Json], bool]:
    """Return a check of the answer for one of these phrases, without the commas of
    thousands and Markdown's marks.
    """

    def is_right(answer: Json) -> bool:
        text = re.sub(r"(?<=\d),(?=\d{3})|[\\*]", "", answer["response"])
        return any(phrase.casefold() in text.casefold() for phrase in phrases)

    return is_right


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@contextmanager
def _without_stage(name: str) -> Iterator[None]:
    """Leave out a stage of all questions."""

    class Nothing:
        def run(self, turn: object) -> None:
            """Do nothing."""

    with patch.dict(services().everything.flow.stages, {name: Nothing()}):
        yield


@contextmanager
def _no_heading_bonus() -> Iterator[None]:
    refiner = services().everything.retriever._refiner
    assert refiner is not None
    others = {**refiner.weights, "heading": 0.0, "prose_heading": 0.0}
    with patch.object(refiner, "weights", others):
        yield


@contextmanager
def _no_edition_order() -> Iterator[None]:
    def unordered(hits: Any, *others: Any) -> Any:
        return list(hits)

    refiner = services().everything.retriever._refiner
    assert refiner is not None
    with (
        patch.object(pipeline, "by_edition", unordered),
        patch.object(refiner, "weights", {**refiner.weights, "older": 0.0}),
    ):
        yield


STEPS: dict[str, Callable[[], Any]] = {
    "by_heading": _no_heading_bonus,
    "by_edition": _no_edition_order,
    "sure_headings": lambda: patch.object(
        ordering.IndicatorIndex, "sure_headings", lambda *arguments: []
    ),
    "judge": lambda: _without_stage("enough"),
    "spelling": lambda: _without_stage("spelling"),
}
"""The steps of the order that can be switched off."""


if __name__ == "__main__":
    main()
