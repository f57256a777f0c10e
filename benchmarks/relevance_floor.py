"""What the relevance bounds refuse, and what they call the closest: questions that are answered, and others.

The sets in BEIR layout are answered by their own passages; asked of the sample reports they are unrelated.
Run: python -m benchmarks.relevance_floor BENCH
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.loaded import bench_folder, load_samples, loaded, question_rows, scope_of, throw_away
from chatbot.retrieval.relevance import Judge
from chatbot.retrieval.threshold import relevance_bounds
from chatbot.schema import Scope, Values
from chatbot.services import Services

OTHERS = ("squad_v2_dev", "anthropic_code", "musique_train100", "chunk_eval")
MOST = 300


def main(bench: Path) -> None:
    with throw_away() as services:
        load_samples(services)
        kenya = Scope.of({"country_name": Values(("Kenya",)), "year": Values((2023,))})
        rows = question_rows(bench / "factbook_scoped_dev")
        show("answerable", services, [(row["metadata"]["scoped_text"], scope_of(row)) for row in rows])
        for name in ("anthropic_code", "musique_train100"):
            texts = questions(question_rows(bench / name))
            show(f"unrelated: {name}", services, [(text, Scope()) for text in texts])
            show(f"unrelated, one report: {name}", services, [(text, kenya) for text in texts])
    for name in OTHERS:
        with loaded(bench / name) as (services, data):
            answered = [row for row in question_rows(bench / name) if row["_id"] in {q.id for q in data.answerable}]
            show(f"answerable: {name}", services, [(text, Scope()) for text in questions(answered)])


def questions(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Evenly over all of them, ``MOST`` at most."""
    texts = [str(row["text"]) for row in rows]
    return texts[:: max(1, len(texts) // MOST)]


def show(name: str, services: Services, asked: Iterable[tuple[str, Scope]]) -> None:
    vectors = services.vectors
    bounds = relevance_bounds("auto", vectors.embedder.model_id)
    judge = Judge(bounds, vectors.store, services.storage.documents, vectors.embedder, services.settings.language)
    retriever = services.answering.retriever()
    found = Counter(
        judge.verdict(text, retriever.retrieve(text, top_k=5, scope=scope, method="hybrid").hits, scope)
        for text, scope in asked
    )
    shares = ", ".join(f"{verdict} {found[verdict] / found.total():.3f}" for verdict in ("nothing", "closest"))
    print(f"{name} ({found.total()}): {shares}", flush=True)


if __name__ == "__main__":
    main(bench_folder(__doc__))
