"""Whether quotations without a language model hold the answer, begin with it, and how long they are.

Asked through `POST /query`: `factbook_scoped_dev` over its own passages, which span headings, and over the sample
reports, which are cut at headings; answerable questions of `squad_v2_dev`.
Run: python -m benchmarks.quotes BENCH
"""

from __future__ import annotations

import random
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient

from benchmarks.loaded import bench_folder, load_samples, mean, question_rows
from chatbot.evaluation.dataset import read_dataset, register_reports
from chatbot.evaluation.runner import load_chunks
from chatbot.factory import close_app, create_app
from chatbot.services import Services
from chatbot.settings import Settings

SQUAD = 400
SEED = 13


@dataclass(frozen=True)
class Case:
    question: str
    answers: Sequence[str]
    filters: dict[str, Any]


def main(bench: Path) -> None:
    factbook, squad = bench / "factbook_scoped_dev", bench / "squad_v2_dev"
    scoped = list(scoped_cases(factbook))
    with serving() as (client, services):
        load_passages(services, factbook)
        show("factbook, passages that span headings", client, scoped)
    with serving() as (client, services):
        load_samples(services)
        show("factbook, sample reports", client, scoped)
    with serving() as (client, services):
        load_passages(services, squad)
        show("squad", client, squad_cases(squad))


@contextmanager
def serving() -> Iterator[tuple[FlaskClient, Services]]:
    """An application without reports and without a language model."""
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Settings(data_dir=Path(folder), embedding_provider="minilm", sample_data="off"))
        yield app.test_client(), app.extensions["services"]
        close_app(app)


def load_passages(services: Services, folder: Path) -> None:
    data = read_dataset(folder, services.settings.filter_fields)
    services.vectors.current().remember_embedder()
    load_chunks(services.vectors.store, services.vectors.embedder, data.chunks, lambda done: None)
    register_reports(services.storage.documents, data.chunks)


def scoped_cases(folder: Path) -> Iterator[Case]:
    for row in question_rows(folder):
        about = row["metadata"]
        yield Case(about["scoped_text"], [about["answer"]], about["filters"])


def squad_cases(folder: Path) -> list[Case]:
    rows = [row for row in question_rows(folder) if not row["metadata"]["impossible"]]
    return [Case(row["text"], row["metadata"]["answers"], {}) for row in random.Random(SEED).sample(rows, SQUAD)]


def plain(text: str) -> str:
    """Without what shows Markdown as it is, on one line."""
    return " ".join(re.sub(r"\\(.)", r"\1", text).replace("**", "").split()).casefold()


def show(name: str, client: FlaskClient, cases: Iterable[Case]) -> None:
    held, first, words, ms = list[float](), list[float](), list[float](), list[float]()
    for case in cases:
        started = time.perf_counter()
        response = client.post("/query", json={"query": case.question, "filters": case.filters, "cache": False})
        ms.append((time.perf_counter() - started) * 1000)
        quotes = re.findall(r"“(.*)” \[\d+\]", response.get_json()["response"])
        answers = [plain(answer) for answer in case.answers]
        held.append(any(answer in plain(quote) for quote in quotes for answer in answers))
        first.append(any(answer in plain(quote) for quote in quotes[:1] for answer in answers))
        words.append(sum(len(quote.split()) for quote in quotes))
    print(
        f"{name} ({len(held)}): held {mean(held):.3f}, in the first {mean(first):.3f}, "
        f"{mean(words):.0f} words, {mean(ms):.0f} ms",
        flush=True,
    )


if __name__ == "__main__":
    main(bench_folder(__doc__))
