"""`doctor --recall`: how much of the exact result an approximate search finds, on this installation's questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..database.rows import embedding_field
from ..schema import Scope, Vector
from ..stores.atlas.definitions import SearchTarget
from ..stores.atlas.errors import translate_refusals
from ..stores.atlas.pipelines import ann_stage, exact_stage
from .checks import Finding

if TYPE_CHECKING:
    from ..services import Services

QUESTIONS = 30
"""The latest ones that people asked; headings of passages where nobody has asked anything."""
LADDER = (100, 200, 500, 1000, 2000, 5000, 10_000)
ENOUGH = 0.98
"""The share of the exact result that the proposed number of candidates finds."""


def check_recall(services: Services) -> Iterator[Finding]:
    """The smallest NUM_CANDIDATES that is enough, by collection. Raises DependencyError."""
    if not services.storage.engine.traits.has_search_indexes:
        yield Finding("ok", "recall", "exact", f"{services.storage.engine.store} is measured by its own benchmarks")
        return
    embedder = services.runtime.embedder
    vectors = [embedder.embed_query(text) for text in _questions(services)]
    if not vectors:
        yield Finding("warning", "recall", "no_questions", "There is nothing to ask: no question and no heading.")
    for target in services.runtime.index_plans:
        if vectors and not target.optional and services.storage.database[target.collection].estimated_count():
            yield _measured(services, target, vectors)


def _questions(services: Services) -> list[str]:
    database = services.storage.database
    asked = database["messages"].find({"role": "user"}, {"content": 1}, sort=[("created_at", -1)], limit=QUESTIONS)
    texts = [str(row["content"]) for row in asked]
    if not texts:
        names = services.settings.chunk_collections
        rows = (row for name in names for row in database[name].find({}, {"document_title": 1}, limit=QUESTIONS))
        texts = [str(row.get("document_title") or "") for row in rows]
    return [text for text in dict.fromkeys(texts) if text.strip()][:QUESTIONS]


def _measured(services: Services, target: SearchTarget, vectors: Sequence[Vector]) -> Finding:
    top_k, stored = services.settings.top_k, services.storage.facts.embedder()
    path, collection = embedding_field(stored.slot if stored else ""), services.storage.database[target.collection]

    def found(vector: Vector, candidates: int | None) -> set[str]:
        asked = {"index": target.index, "path": path, "vector": vector.tolist(), "scope": Scope(), "limit": top_k}
        stage = exact_stage(**asked) if candidates is None else ann_stage(**asked, num_candidates=candidates)
        with translate_refusals(target):
            return {str(row["_id"]) for row in collection.search([stage, {"$project": {"_id": 1}}])}

    exact = [found(vector, None) for vector in vectors]
    for candidates in (size for size in LADDER if size >= top_k):
        near = [found(vector, candidates) for vector in vectors]
        share = sum(len(a & b) for a, b in zip(near, exact, strict=True)) / max(1, sum(map(len, exact)))
        if share >= ENOUGH:
            break
    said = f"collection {target.collection}: {share:.1%} of the exact result with {candidates} candidates"
    name = "enough" if share >= ENOUGH else "too_little"
    return Finding("ok" if share >= ENOUGH else "warning", "recall", name, said, f"NUM_CANDIDATES={candidates}")
