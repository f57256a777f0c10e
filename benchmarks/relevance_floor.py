"""Where the relevance floor of an embedding model should lie.

Best-hit scores of questions that the sample reports answer, and of questions about something else, at several
percentiles. Run: python -m benchmarks.relevance_floor BENCH
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.loaded import bench_folder, load_samples, question_rows, scope_of, throw_away
from chatbot.schema import Scope, Values
from chatbot.services import Services

PERCENTILES = (0, 0.5, 1, 3, 5, 10, 50, 90, 95, 99)
UNRELATED = ("anthropic_code", "musique_train100")


def main(bench: Path) -> None:
    with throw_away() as services:
        load_samples(services)
        report(services, bench)


def report(services: Services, bench: Path) -> None:
    kenya = Scope.of({"country_name": Values(("Kenya",)), "year": Values((2023,))})
    answerable, unrelated, scoped = [], [], []
    for row in question_rows(bench / "factbook_scoped_dev"):
        answerable.append(best(services, row["metadata"]["scoped_text"], scope_of(row)))
    for name in UNRELATED:
        texts = [str(question["text"]) for question in question_rows(bench / name)]
        unrelated += [best(services, text, Scope()) for text in texts]
        scoped += [best(services, text, kenya) for text in texts]
    print(f"model {services.vectors.embedder.model_id}, hybrid retrieval, best score of the first 5 hits")
    print("percentile".ljust(28), *(f"{percentile:>6}" for percentile in PERCENTILES))
    for name, scores in (("answerable", answerable), ("unrelated", unrelated), ("unrelated, one report", scoped)):
        print(f"{name} ({len(scores)})".ljust(28), *(f"{value:6.3f}" for value in np.percentile(scores, PERCENTILES)))


def best(services: Services, text: str, scope: Scope) -> float:
    return services.answering.retriever().retrieve(text, top_k=5, scope=scope, method="hybrid").best_score


if __name__ == "__main__":
    main(bench_folder(__doc__))
