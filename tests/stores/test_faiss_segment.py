"""Large segments are searched through their clusters: nearly everything is found, and a scope is always exact."""

from __future__ import annotations

import numpy as np
import pytest

from chatbot.schema import Matrix, Scope, Values
from chatbot.stores.faiss import index as segments
from chatbot.stores.faiss.index import Clusters, Segment
from chatbot.stores.faiss.rows import Column, Rows

ROWS, DIMENSIONS, TOPICS = 4000, 32, 40


@pytest.fixture(scope="module")
def vectors() -> Matrix:
    """Rows around topics, as passages are."""
    rng = np.random.default_rng(5)
    topics = rng.normal(size=(TOPICS, DIMENSIONS))
    made = topics[rng.integers(TOPICS, size=ROWS)] + rng.normal(scale=0.3, size=(ROWS, DIMENSIONS))
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32)


def make_segment(vectors: Matrix, monkeypatch: pytest.MonkeyPatch, *, clustered: bool) -> Segment:
    monkeypatch.setattr(segments, "APPROXIMATE_ROWS", 1 if clustered else ROWS + 1)
    ids = np.asarray([f"{row:06d}" for row in range(len(vectors))], dtype=object)
    none = np.zeros(len(vectors), dtype=np.int32)
    years = Column.of(2000 + row % 400 for row in range(len(vectors)))
    return Segment.build(Rows(ids, Column(("d",), none), {"year": years}, vectors, none[:0], none))


def test_recall_through_clusters(vectors: Matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = make_segment(vectors, monkeypatch, clustered=False)
    approximate = make_segment(vectors, monkeypatch, clustered=True)
    recalls = []
    for query in vectors[::100]:
        wanted = exact.nearest(query, top_k=10, scope=Scope())
        found = approximate.nearest(query, top_k=10, scope=Scope())
        assert len(found) == 10
        assert found[0] == wanted[0]
        recalls.append(len({i for _, i in wanted} & {i for _, i in found}) / 10)

    assert exact.clusters is None
    assert approximate.clusters is not None
    assert np.mean(recalls) >= 0.9


def test_a_scope_is_searched_exactly(vectors: Matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = make_segment(vectors, monkeypatch, clustered=False)
    approximate = make_segment(vectors, monkeypatch, clustered=True)
    scope = Scope.of({"year": Values((2007,))})

    for query in vectors[:20]:
        assert approximate.nearest(query, top_k=10, scope=scope) == exact.nearest(query, top_k=10, scope=scope)


def test_more_wanted_than_the_clusters_hold(vectors: Matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    approximate = make_segment(vectors, monkeypatch, clustered=True)

    assert len(approximate.nearest(vectors[0], top_k=ROWS, scope=Scope())) == ROWS


def test_clusters_are_deterministic(vectors: Matrix) -> None:
    assert (Clusters.build(vectors).codes == Clusters.build(vectors).codes).all()
