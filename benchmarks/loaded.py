"""What the measurements share: a throw-away store with a data set or the sample
reports, its questions, asking one.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chatbot.answering.conversation import Saved
from chatbot.app.evaluation import Dataset, read_dataset
from chatbot.app.evaluation.runner import load_chunks
from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.domain import Answer, Question, Scope, Values
from chatbot.domain.request import Cancellation


def bench_folder(about: str | None) -> Path:
    """The folder of data sets in BEIR layout that a script is given."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "bench", type=Path, help="the folder of the data sets in BEIR layout"
    )
    folder: Path = parser.parse_args().bench
    return folder


@contextmanager
def throw_away(**settings: Any) -> Iterator[Services]:
    """Over an empty store, with the built-in embedding model."""
    with tempfile.TemporaryDirectory() as folder:
        base = Settings(
            data_dir=Path(folder), embedding_provider="minilm", sample_data="off"
        )
        with Services(base.override(**settings)) as services:
            services.prepare()
            yield services


@contextmanager
def loaded(folder: Path) -> Iterator[tuple[Services, Dataset]]:
    """The passages of a data set, embedded, and what the folder holds."""
    with throw_away() as services:
        data = read_dataset(folder, services.settings.filter_fields)
        services.runtime.remember_embedder()
        load_chunks(
            services.runtime.store,
            services.runtime.embedder,
            data.chunks,
            lambda done: None,
        )
        yield services, data


def load_samples(services: Services) -> None:
    """The sample reports, all of them, before it returns."""
    reports = services.ingesting.sample_reports()
    reports.load()
    assert not reports.error, reports.error


def question_rows(folder: Path) -> list[dict[str, Any]]:
    """The lines of queries.jsonl as they are."""
    return [
        json.loads(line)
        for line in (folder / "queries.jsonl").read_text(encoding="utf-8").split("\n")
        if line
    ]


def scope_of(row: dict[str, Any]) -> Scope:
    """The filters of such a line."""
    return Scope.of(
        {name: Values((value,)) for name, value in row["metadata"]["filters"].items()}
    )


def answer(services: Services, question: Question) -> Answer:
    """By the product's whole way from question to answer."""
    *_, last = services.answering.chat.stream(question, cancel=Cancellation())
    assert isinstance(last, Saved)
    return last.answer


def mean(values: Sequence[float]) -> float:
    """Their average; 0 of none."""
    return sum(values) / max(len(values), 1)
