"""Where the relevance floor of an embedding model should lie.

Best-hit scores of questions that the sample reports answer, and of questions about something else, at several
percentiles. Run: python -m benchmarks.relevance_floor ../shared/data/bench
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from chatbot.factory import sample_reports
from chatbot.schema import Scope, Values
from chatbot.services import Services
from chatbot.settings import Settings

PERCENTILES = (0, 0.5, 1, 3, 5, 10, 50, 90, 95, 99)
UNRELATED = ("anthropic_code", "musique_train100")


def questions(bench: Path, name: str) -> list[dict[str, object]]:
    lines = (bench / name / "queries.jsonl").read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def main(bench: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), embedding_provider="minilm")
        with Services(settings) as services:
            sample_reports(services).load()
            report(services, bench)


def report(services: Services, bench: Path) -> None:
    kenya = Scope.of({"country_name": Values(("Kenya",)), "year": Values((2023,))})
    answerable, unrelated, scoped = [], [], []
    for question in questions(bench, "factbook_scoped_dev"):
        metadata = question["metadata"]
        scope = Scope.of({name: Values((value,)) for name, value in metadata["filters"].items()})
        answerable.append(best(services, metadata["scoped_text"], scope))
    for name in UNRELATED:
        texts = [str(question["text"]) for question in questions(bench, name)]
        unrelated += [best(services, text, Scope()) for text in texts]
        scoped += [best(services, text, kenya) for text in texts]
    print(f"model {services.embedder.model_id}, hybrid retrieval, best score of the first 5 hits")
    print("percentile".ljust(28), *(f"{percentile:>6}" for percentile in PERCENTILES))
    for name, scores in (("answerable", answerable), ("unrelated", unrelated), ("unrelated, one report", scoped)):
        print(f"{name} ({len(scores)})".ljust(28), *(f"{value:6.3f}" for value in np.percentile(scores, PERCENTILES)))


def best(services: Services, text: str, scope: Scope) -> float:
    return services.retriever.retrieve(text, top_k=5, scope=scope, method="hybrid").best_score


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data/bench"))
