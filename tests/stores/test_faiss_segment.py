"""Large segments are searched approximately: nearly everything is found, what is out of
scope or deleted never is.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from chatbot.config import WARM_CACHE
from chatbot.domain import Scope
from chatbot.domain.documents import Matrix
from chatbot.domain.scope import Values
from chatbot.stores.faiss import index, snapshot
from chatbot.stores.faiss.index import ChunkIndex, Segment
from chatbot.stores.faiss.rows import Column, Rows
from chatbot.stores.faiss.snapshot import Snapshot, write_snapshot
from chatbot.stores.faiss.vectors import Clusters, ShortVectors

ROWS, DIMENSIONS, TOPICS = 6000, 64, 60
HALF = Scope.of({"year": Values(tuple(range(2000, 2200)))})
NARROW = Scope.of({"year": Values((2007,))})


@pytest.fixture(scope="module")
def vectors() -> Matrix:
    """Rows around topics, as passages are."""
    rng = np.random.default_rng(5)
    topics = rng.normal(size=(TOPICS, DIMENSIONS))
    made = topics[rng.integers(TOPICS, size=ROWS)] + rng.normal(
        scale=0.3, size=(ROWS, DIMENSIONS)
    )
    return np.asarray(
        made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32
    )


KEY = ("corpus", ("chunks",), ("year",), "embedding", DIMENSIONS, "english")


@pytest.fixture(scope="module")
def exact(vectors: Matrix) -> Segment:
    rows = np.arange(ROWS, dtype=np.int32)
    years = Column(tuple(range(2000, 2400)), rows % 400)
    documents = Column(tuple(f"d{number}" for number in range(ROWS // 10)), rows // 10)
    ids = np.asarray([f"{row:06d}" for row in rows], dtype=np.bytes_)
    there = np.ones(ROWS, dtype=np.bool_)
    return Segment.build(
        Rows(ids, documents, {"year": years}, vectors, there, rows[:0], rows * 0)
    )


@pytest.fixture(scope="module")
def clustered(exact: Segment) -> Segment:
    return exact.clustered()


@pytest.fixture(scope="module")
def stored(clustered: Segment, tmp_path_factory: pytest.TempPathFactory) -> Segment:
    """The same rows in a snapshot's file."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(snapshot, "LARGE_BYTES", 0)
        return write_snapshot(
            tmp_path_factory.mktemp("index"), KEY, Snapshot(ChunkIndex((clustered,)))
        )[0]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant, not behaviour: a test has thousands of rows where a deployment has a
    million.
    """
    monkeypatch.setattr(index, "APPROXIMATE_ROWS", 1000)


@pytest.mark.parametrize("scope", [Scope(), HALF])
def test_nearly_everything_is_found_with_its_exact_score(
    exact: Segment, clustered: Segment, vectors: Matrix, scope: Scope
) -> None:
    recalls = []
    for query in vectors[::100]:
        wanted = exact.nearest(query, top_k=10, scope=scope)
        found = clustered.nearest(query, top_k=10, scope=scope)
        assert len(found) == 10
        assert found[0] == wanted[0]
        recalls.append(len(set(wanted) & set(found)) / 10)

    assert clustered.clusters is not None
    assert np.mean(recalls) >= 0.99


def test_clusters_are_used_in_wide_scopes_and_narrow_ones_are_searched_exactly(
    exact: Segment, clustered: Segment, vectors: Matrix
) -> None:
    assert len(clustered.selection(Scope()).rows_to_compare(vectors[0], 10)) < ROWS / 10
    assert len(clustered.selection(HALF).rows_to_compare(vectors[0], 10)) < ROWS / 10
    assert (
        len(clustered.nearest(vectors[0], top_k=ROWS, scope=Scope())) == ROWS
    )  # more than the clusters hold
    for query in vectors[:20]:
        assert clustered.nearest(query, top_k=10, scope=NARROW) == exact.nearest(
            query, top_k=10, scope=NARROW
        )


def test_the_near_topics_are_outside_of_the_scope(
    exact: Segment, vectors: Matrix
) -> None:
    """Clusters are taken until they hold enough rows of the scope, however far away
    those are.
    """
    of_scope = (vectors @ vectors[0] < 0.4).astype(np.int32)
    segment = Segment.build(
        replace(exact.rows, values={"far": Column((0, 1), of_scope)})
    )
    far = Scope.of({"far": Values((1,))})
    wanted = segment.nearest(vectors[0], top_k=10, scope=far)
    found = segment.clustered().nearest(vectors[0], top_k=10, scope=far)

    assert len(found) == 10
    assert np.mean([score for score, _ in found]) == pytest.approx(
        np.mean([score for score, _ in wanted]), abs=0.02
    )


@pytest.mark.parametrize("scope", [Scope(), HALF, NARROW])
def test_what_is_deleted_is_gone_at_once(
    clustered: Segment, vectors: Matrix, scope: Scope
) -> None:
    first = clustered.nearest(vectors[7], top_k=3, scope=scope)
    doomed = {f"d{int(chunk_id) // 10}" for _, chunk_id in first}
    left = clustered.without_documents(doomed)

    assert not {chunk_id for _, chunk_id in first} & {
        id for _, id in left.nearest(vectors[7], top_k=10, scope=scope)
    }
    assert left.clusters is clustered.clusters


@pytest.mark.nightly
def test_clusters_are_deterministic_and_need_structure(
    clustered: Segment, vectors: Matrix
) -> None:
    again = Clusters.build(vectors)

    assert again is not None
    assert clustered.clusters is not None
    assert (again.codes == clustered.clusters.codes).all()
    made = np.random.default_rng(1).normal(size=(2000, 128)).astype(np.float32)
    assert Clusters.build(made / np.linalg.norm(made, axis=1, keepdims=True)) is None
    with np.load(WARM_CACHE, allow_pickle=False) as samples:
        assert (
            Clusters.build(samples["vectors"].astype(np.float32)) is not None
        )  # as a model makes them of real texts


@pytest.mark.parametrize("scope", [Scope(), HALF, NARROW])
@pytest.mark.parametrize("top_k", [1, 10, 70])
def test_from_a_file_the_same_is_found(
    clustered: Segment, stored: Segment, vectors: Matrix, scope: Scope, top_k: int
) -> None:
    for query in vectors[::500]:
        found = clustered.nearest(query, top_k=top_k, scope=scope)
        assert stored.nearest(query, top_k=top_k, scope=scope) == found
        ids = [chunk_id for _, chunk_id in found]
        assert stored.scores_of(query, ids) == {
            chunk_id: score for score, chunk_id in found
        }


def test_a_small_segment_has_no_short_vectors(
    clustered: Segment, tmp_path: Path
) -> None:
    (written,) = write_snapshot(tmp_path, KEY, Snapshot(ChunkIndex((clustered,))))
    assert (written.short, written.stored) == (None, None)


def test_of_a_file_few_whole_vectors_are_read_and_none_is_mapped(
    stored: Segment, vectors: Matrix
) -> None:
    without = replace(
        stored,
        rows=replace(stored.rows, vectors=np.zeros_like(vectors)),
        _selections={},
    )
    for scope in (Scope(), HALF, NARROW):
        wanted = stored.nearest(vectors[3], top_k=10, scope=scope)
        assert wanted[0][0] == pytest.approx(1.0) or scope != Scope()
        assert without.nearest(vectors[3], top_k=10, scope=scope) == wanted


@pytest.mark.parametrize("top_k", [1, 5, 200, 1999, 2000])
def test_short_vectors_leave_out_none_of_the_nearest(
    top_k: int, tmp_path: Path
) -> None:
    """Also of vectors with one great component, which a byte says least about the
    others of; and of equal ones.
    """
    rng = np.random.default_rng(11)
    made = rng.normal(size=(2000, DIMENSIONS)).astype(np.float32)
    made[::3, 0] = 40.0
    made[100:140] = made[100]
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    made[7] = 0.0
    rows = np.arange(2000)
    ShortVectors.write(made, tmp_path)
    short = ShortVectors.of({path.stem: np.load(path) for path in tmp_path.iterdir()})
    assert short is not None

    for query in (
        made[0],
        made[1],
        made[101],
        np.eye(1, DIMENSIONS, dtype=np.float32)[0],
    ):
        cosines = made @ query
        left = short.nearest(query, rows, top_k)
        assert set(np.flatnonzero(cosines >= np.sort(cosines)[-top_k])) <= set(
            left.tolist()
        )
        assert top_k > 5 or len(left) < 1500
    assert len(short.nearest(made[1], rows, 5)) < 100
