"""What every store does alike: scores, filters, order, freshness. Runs over each
backend of conftest.py.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from chatbot.domain import Chunk, Match, Range, Scope, Store, Vector
from chatbot.domain.documents import Matrix
from chatbot.domain.errors import EmbedderMismatchError
from chatbot.domain.protocols import HybridStore
from chatbot.domain.scope import Values
from tests.contracts.conftest import DIMENSIONS, GENERAL, REPORTS, Harness
from tests.data import cases
from tests.fakes.vectors import vectors

EVERYTHING = Scope()
KENYA = Scope.of({"country_name": Values(("Kenya",))})


def chunk(
    name: str,
    ordinal: int = 0,
    text: str = "",
    *,
    collection: str = REPORTS,
    **metadata: Any,
) -> Chunk:
    """A chunk of the document ``name``; ids sort by document, then ordinal."""
    return Chunk(
        id=Chunk.make_id(name, "v1", ordinal),
        document_id=name,
        document_name=f"{name}.pdf",
        title=f"Report {name}",
        text=text or f"Passage {ordinal}.",
        section="Overview",
        page=ordinal + 1,
        ordinal=ordinal,
        start=ordinal * 100,
        end=ordinal * 100 + 100,
        metadata=metadata,
        collection=collection,
    )


def direction(axis: int = 0) -> Vector:
    return np.asarray(np.eye(DIMENSIONS, dtype=np.float32)[axis])


def fill(harness: Harness, store: Store, chunks: Sequence[Chunk], rows: Matrix) -> None:
    store.upsert(chunks, rows)
    harness.settle()


def ids(matches: Sequence[Match]) -> list[str]:
    return [match.chunk_id for match in matches]


def corpus() -> list[Chunk]:
    """Small, with every kind of metadata, in both collections; the last two lack
    fields.
    """
    return [
        chunk("a", country_name="Kenya", year=2023, type="country_report"),
        chunk("b", country_name="Kenya", year=2022, type="country_report"),
        chunk("c", country_name="Chad", year=2023, type="country_report"),
        chunk("d", country_name="Peru", year=2021, type="year_in_review"),
        chunk("e", year=2023, type="year_in_review", collection=GENERAL),
        chunk("f", collection=GENERAL),
    ]


def test_scores_and_order_are_those_of_numpy(harness: Harness, store: Store) -> None:
    rows, query = vectors(60), vectors(1, seed=1)[0]
    chunks = [chunk("doc", ordinal) for ordinal in range(60)]
    fill(harness, store, chunks, rows)
    found = store.vector_search(query, top_k=60, scope=EVERYTHING)
    expected = {
        chunk.id: (1 + float(row @ query)) / 2
        for chunk, row in zip(chunks, rows, strict=True)
    }
    best = sorted(expected, key=lambda id: (-expected[id], id))
    assert {match.chunk_id: match.score for match in found} == pytest.approx(
        expected, abs=1e-5
    )
    assert ids(found) == best
    assert all(0 <= match.score <= 1 for match in found)
    assert ids(store.vector_search(query, top_k=7, scope=EVERYTHING)) == best[:7]
    longer = store.vector_search(query * 7, top_k=60, scope=EVERYTHING)
    assert [match.score for match in longer] == pytest.approx(
        [match.score for match in found], abs=1e-5
    )
    assert len(store.vector_search(query, top_k=100, scope=EVERYTHING)) == 60
    assert len(store.keyword_search("passage", top_k=100, scope=EVERYTHING)) == 60


def test_a_stored_vector_of_length_zero_is_left_out(
    harness: Harness, store: Store
) -> None:
    """Other programs write them where a text was empty. A cosine with one is no number,
    and sorts anywhere.
    """
    rows, query = vectors(12), vectors(1, seed=1)[0]
    rows[5] = 0
    chunks = [chunk("doc", ordinal) for ordinal in range(12)]
    fill(harness, store, chunks, rows)
    best = sorted(
        (place for place in range(12) if place != 5),
        key=lambda place: -float(rows[place] @ query),
    )
    assert ids(store.vector_search(query, top_k=12, scope=EVERYTHING)) == [
        chunks[place].id for place in best
    ]
    assert chunks[5].id not in store.vector_scores(query, [one.id for one in chunks])
    assert len(store.keyword_search("passage", top_k=12, scope=EVERYTHING)) == 12


@pytest.mark.parametrize("top_k", [1, 3, 5, 6])
def test_exact_ties_are_ordered_by_id_even_at_the_cut(
    harness: Harness, store: Store, top_k: int
) -> None:
    names = ["m", "c", "x", "a", "k", "b"]
    tied = [
        chunk(name, collection=GENERAL if name in "cb" else REPORTS) for name in names
    ]
    worse = [chunk("0"), chunk("1", collection=GENERAL)]
    rows = np.vstack([direction(0)] * len(tied) + [direction(1)] * len(worse))
    fill(harness, store, tied + worse, rows)
    found = store.vector_search(direction(0), top_k=top_k, scope=EVERYTHING)
    assert ids(found) == sorted(chunk.id for chunk in tied)[:top_k]


def test_an_empty_store_finds_nothing(store: Store) -> None:
    assert store.vector_search(direction(), top_k=5, scope=EVERYTHING) == []
    assert store.keyword_search("population", top_k=5, scope=EVERYTHING) == []
    assert store.vector_scores(direction(), ["nothing"]) == {}
    assert store.get(["nothing"]) == []
    assert store.count(EVERYTHING) == 0


def test_a_vector_of_another_model_is_an_error_that_names_both_sizes(
    harness: Harness, store: Store
) -> None:
    fill(harness, store, [chunk("doc")], vectors(1))
    with pytest.raises(EmbedderMismatchError, match=rf"\b5\b.*\b{DIMENSIONS}\b"):
        store.vector_search(np.ones(5, dtype=np.float32), top_k=1, scope=EVERYTHING)


# Filters

CASES = cases(__file__)
"""Of each condition a list of values, in which null is a passage without the field, or
a range.
"""


def scope_of(conditions: dict[str, Any]) -> Scope:
    return Scope.of(
        {
            name: Range(**said)
            if isinstance(said, dict)
            else Values(tuple(filter(None, said)), or_none=None in said)
            for name, said in conditions.items()
        }
    )


def assert_finds(harness: Harness, store: Store, scope: Scope, names: str) -> None:
    """Every search finds the chunks of `corpus` with these names inside the scope."""
    chunks = [replace(chunk, text="The population grows.") for chunk in corpus()]
    fill(harness, store, chunks, vectors(len(chunks)))
    expected = {Chunk.make_id(name, "v1", 0) for name in names}
    assert set(ids(store.vector_search(direction(), top_k=10, scope=scope))) == expected
    assert (
        set(ids(store.keyword_search("population", top_k=10, scope=scope))) == expected
    )
    assert store.count(scope) == len(expected)
    if isinstance(store, HybridStore):
        near, worded = store.hybrid_search(
            "population", direction(), top_k=10, scope=scope
        )
        assert set(ids(near)) == set(ids(worded)) == expected


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "conditions", "expected"), CASES["filters"])
def test_every_store_filters_alike(
    harness: Harness, store: Store, name: str, conditions: dict[str, Any], expected: str
) -> None:
    assert_finds(harness, store, scope_of(conditions), expected)


@pytest.mark.parametrize(
    ("name", "collections", "conditions", "expected"), CASES["within"]
)
def test_only_the_collections_of_the_scope_are_searched(
    harness: Harness,
    store: Store,
    name: str,
    collections: list[str],
    conditions: dict[str, Any],
    expected: str,
) -> None:
    """R-C5, R-D7."""
    assert_finds(harness, store, scope_of(conditions).within(collections), expected)


def test_a_collection_never_shortens_the_result(harness: Harness, store: Store) -> None:
    chunks = [chunk("near", ordinal, "Population.") for ordinal in range(300)]
    chunks += [
        chunk("far", ordinal, "One word about population.", collection=GENERAL)
        for ordinal in range(5)
    ]
    rows = np.vstack([direction(0)] * 300 + [-direction(0)] * 5)
    fill(harness, store, chunks, rows)
    scope = Scope().within([GENERAL])
    wanted = [chunk.id for chunk in chunks[300:]]
    assert ids(store.vector_search(direction(0), top_k=5, scope=scope)) == wanted
    assert ids(store.keyword_search("population", top_k=5, scope=scope)) == wanted


def test_a_report_that_moves_is_found_in_its_new_collection_only(
    harness: Harness, store: Store
) -> None:
    fill(harness, store, [chunk("a", text="Coffee.")], vectors(1))
    assert store.count(Scope().within([REPORTS])) == 1
    moved = replace(
        chunk("a", text="Coffee.", collection=GENERAL), id=Chunk.make_id("a", "v2", 0)
    )
    store.upsert([moved], vectors(1))
    store.delete_document("a", keep=[moved.id])
    harness.settle()
    for collection, wanted in ((GENERAL, [moved.id]), (REPORTS, [])):
        scope = Scope().within([collection])
        assert ids(store.keyword_search("coffee", top_k=5, scope=scope)) == wanted
        assert ids(store.vector_search(direction(), top_k=5, scope=scope)) == wanted


@pytest.mark.sampled(2)
@pytest.mark.parametrize("top_k", [1, 4, 5, 20])
def test_a_filter_never_shortens_the_result(
    harness: Harness, store: Store, top_k: int
) -> None:
    far, near = -direction(0), direction(0)
    noise = vectors(305, seed=3) * 0.01
    chunks = [
        chunk("near", ordinal, "Population.", country_name="Chad")
        for ordinal in range(300)
    ]
    chunks += [
        chunk("far", ordinal, "One word about population.", country_name="Kenya")
        for ordinal in range(5)
    ]
    fill(
        harness,
        store,
        chunks,
        np.vstack([[near] * 300, [far] * 5]).astype(np.float32) + noise,
    )
    for found in (
        store.vector_search(near, top_k=top_k, scope=KENYA),
        store.keyword_search("population", top_k=top_k, scope=KENYA),
    ):
        assert len(found) == min(top_k, 5)
        assert all(match.chunk_id.startswith("far") for match in found)


def test_keywords_find_what_holds_them_and_nothing_else(
    harness: Harness, store: Store
) -> None:
    chunks = [
        chunk("a", text="The population growth rate is 2.09 %."),
        chunk("b", text="Coffee and tea are exported.", collection=GENERAL),
        chunk("c", text="Populations live in the cities."),
    ]
    fill(harness, store, chunks, vectors(3))
    found = store.keyword_search("population growth", top_k=10, scope=EVERYTHING)
    assert ids(found)[0] == chunks[0].id
    assert set(ids(found)) == {chunks[0].id, chunks[2].id}
    assert all(match.score > 0 for match in found)
    assert [match.score for match in found] == sorted(
        (match.score for match in found), reverse=True
    )


def test_keywords_are_found_in_title_and_section_too(
    harness: Harness, store: Store
) -> None:
    chunks = [
        replace(chunk("a"), title="Kenya 2023"),
        replace(chunk("b"), section="Demographics"),
        chunk("c"),
    ]
    fill(harness, store, chunks, vectors(3))
    assert ids(store.keyword_search("Kenya", top_k=10, scope=EVERYTHING)) == [
        chunks[0].id
    ]
    assert ids(store.keyword_search("demographics", top_k=10, scope=EVERYTHING)) == [
        chunks[1].id
    ]


@pytest.mark.parametrize("query", ["", "   ", "the of and", "zeppelin", "?!"])
def test_a_query_without_a_known_word_finds_nothing(
    harness: Harness, store: Store, query: str
) -> None:
    fill(
        harness,
        store,
        [chunk("a", text="The population of the country and its cities.")],
        vectors(1),
    )
    assert store.keyword_search(query, top_k=10, scope=EVERYTHING) == []


def test_keyword_ties_are_ordered_by_id_even_at_the_cut(
    harness: Harness, store: Store
) -> None:
    chunks = [
        replace(chunk(name, text="Maize harvest."), title="Same") for name in "mcxakb"
    ]
    fill(harness, store, chunks, vectors(len(chunks)))
    for top_k in (1, 3, 5, 6):
        found = store.keyword_search("maize", top_k=top_k, scope=EVERYTHING)
        assert ids(found) == sorted(chunk.id for chunk in chunks)[:top_k]


def test_a_chunk_comes_back_as_it_was_written(harness: Harness, store: Store) -> None:
    written = replace(
        chunk(
            "a",
            3,
            "Text with ümlauts.",
            country_name="Kenya",
            year=2023,
            type="country_report",
        ),
        labels=("table",),
        figure_years=(2023, 2021),
        confidence=0.97,
        zone="references",
        description="A table.",
    )
    general = chunk("b", collection=GENERAL)
    fill(harness, store, [written, general], vectors(2))
    assert store.get([written.id, general.id]) == [written, general]


def test_get_keeps_the_order_and_matches_carry_no_embedding(
    harness: Harness, store: Store
) -> None:
    chunks = corpus()
    fill(harness, store, chunks, vectors(len(chunks)))
    requested = [chunks[4].id, "missing", chunks[0].id, chunks[5].id]
    assert [found.id for found in store.get(requested)] == [
        chunks[4].id,
        chunks[0].id,
        chunks[5].id,
    ]
    assert store.get([]) == []
    by_id = {chunk.id: chunk for chunk in chunks}
    found = store.vector_search(direction(), top_k=6, scope=EVERYTHING)
    found += store.keyword_search("passage", top_k=6, scope=EVERYTHING)
    assert len(found) == 12
    for match in found:
        assert match.chunk is None or match.chunk == by_id[match.chunk_id]
        assert "data_embedding" not in repr(match)


def test_upsert_replaces_text_vector_and_metadata(
    harness: Harness, store: Store
) -> None:
    first = chunk("a", text="Coffee.", country_name="Kenya")
    fill(harness, store, [first], np.asarray([direction(0)]))
    assert store.get([first.id]) == [first]
    second = chunk("a", text="Tea.", country_name="Chad")
    fill(harness, store, [second], np.asarray([direction(1)]))
    assert store.count(EVERYTHING) == 1
    assert store.get([first.id]) == [second]
    assert store.keyword_search("coffee", top_k=5, scope=EVERYTHING) == []
    assert ids(store.keyword_search("tea", top_k=5, scope=EVERYTHING)) == [second.id]
    assert store.vector_search(direction(1), top_k=1, scope=EVERYTHING)[
        0
    ].score == pytest.approx(1, abs=1e-5)
    assert store.vector_search(direction(1), top_k=1, scope=KENYA) == []


def test_delete_document_spares_what_is_to_be_kept(
    harness: Harness, store: Store
) -> None:
    chunks = [chunk("a", ordinal) for ordinal in range(4)] + [chunk("b"), chunk("ab")]
    fill(harness, store, chunks, vectors(6))
    assert store.delete_document("a", keep=[chunks[1].id]) == 3
    harness.settle()
    left = {chunks[1].id, chunks[4].id, chunks[5].id}
    assert (
        set(ids(store.vector_search(direction(), top_k=10, scope=EVERYTHING))) == left
    )
    assert store.delete_document("a") == 1
    assert store.delete_document("a") == 0
    assert store.count(EVERYTHING) == 2


def test_surroundings_are_the_neighbours_within_the_margin(
    harness: Harness, store: Store
) -> None:
    chunks = [chunk("a", ordinal) for ordinal in range(8)] + [
        chunk("b", ordinal) for ordinal in range(8)
    ]
    fill(harness, store, chunks, vectors(16))
    assert [
        near.ordinal for near in store.surroundings([chunks[4]], margin=150)[0]
    ] == [2, 3, 4, 5, 6]
    first, other = store.surroundings([chunks[0], chunks[9]], margin=50)
    assert [(near.document_id, near.ordinal) for near in first] == [("a", 0), ("a", 1)]
    assert [(near.document_id, near.ordinal) for near in other] == [
        ("b", 0),
        ("b", 1),
        ("b", 2),
    ]
    assert [
        near.ordinal for near in store.surroundings([chunks[4]], margin=1000)[0]
    ] == list(range(8))
    assert store.surroundings([], margin=50) == []


def test_vector_scores_by_id(harness: Harness, store: Store) -> None:
    chunks, rows, query = corpus(), vectors(6), vectors(1, seed=1)[0]
    fill(harness, store, chunks, rows)
    asked = [chunks[5].id, chunks[0].id, "missing"]
    expected = {
        chunks[place].id: (1 + float(rows[place] @ query)) / 2 for place in (0, 5)
    }
    assert store.vector_scores(query, asked) == pytest.approx(expected, abs=1e-5)
    assert store.vector_scores(query, []) == {}


def test_both_collections_are_merged_by_score(harness: Harness, store: Store) -> None:
    chunks = [
        chunk(f"d{place}", collection=(GENERAL, REPORTS)[place % 2])
        for place in range(10)
    ]
    rows = np.asarray(
        [direction(0) * (10 - place) + direction(1) * place for place in range(10)],
        dtype=np.float32,
    )
    fill(harness, store, chunks, rows)
    assert ids(store.vector_search(direction(0), top_k=5, scope=EVERYTHING)) == [
        chunk.id for chunk in chunks[:5]
    ]


def test_all_that_is_stored_of_a_document_comes_back_with_its_vectors(
    harness: Harness, store: Store
) -> None:
    """Of every version and in both collections, exactly as it was written: it is
    compared, and embedded no more.
    """
    first = [
        chunk("a", n, f"Passage\n\n{n} — ‹ö›", country_name="Kenya", year=2020 + n)
        for n in range(5)
    ]
    other_version = [
        replace(one, id=Chunk.make_id("a", "v2", one.ordinal), metadata={})
        for one in first[:2]
    ]
    moved = chunk("a", 99_999, "Summary", collection=GENERAL)
    labelled = replace(
        chunk("a", 7),
        page=None,
        section="",
        labels=("x", "y"),
        description="d",
        figure_years=(2021,),
    )
    chunks = [*first, *other_version, moved, labelled]
    rows = vectors(len(chunks))
    fill(
        harness,
        store,
        [*chunks, chunk("b"), chunk("ab")],
        np.vstack([rows, vectors(2, seed=1)]),
    )
    nothing, no_vectors = store.stored("unknown")
    assert (nothing, len(no_vectors)) == ([], 0)
    found, matrix = store.stored("a")
    assert len(found) == len(matrix) == len(chunks)
    assert matrix.dtype == np.float32
    by_id = dict(zip((one.id for one in found), matrix, strict=True))
    assert {one.id: one for one in found} == {one.id: one for one in chunks}
    for one, row in zip(chunks, rows, strict=True):
        assert np.array_equal(by_id[one.id], row), (
            "a vector that changes a little with each version drifts"
        )


def test_stored_sees_what_another_store_wrote_and_deleted(
    harness: Harness, store: Store
) -> None:
    other = harness.new_store()
    fill(harness, other, [chunk("a", n) for n in range(3)], vectors(3))
    assert len(store.stored("a")[0]) == 3
    other.delete_document("a", keep=[chunk("a", 1).id])
    assert [one.ordinal for one in store.stored("a")[0]] == [1]


def test_what_another_store_writes_is_found_at_the_next_search(
    harness: Harness, store: Store
) -> None:
    other = harness.new_store()
    fill(harness, other, [chunk("a", text="Coffee.")], np.asarray([direction(0)]))
    assert len(store.vector_search(direction(), top_k=5, scope=EVERYTHING)) == 1
    fill(
        harness,
        other,
        [chunk("b", text="Coffee and tea.", collection=GENERAL)],
        np.asarray([direction(1)]),
    )
    assert set(ids(store.vector_search(direction(), top_k=5, scope=EVERYTHING))) == {
        "a-v1-00000",
        "b-v1-00000",
    }
    assert ids(store.keyword_search("tea", top_k=5, scope=EVERYTHING)) == ["b-v1-00000"]
    fill(harness, other, [chunk("a", text="Maize.")], np.asarray([direction(2)]))
    assert ids(store.keyword_search("maize", top_k=5, scope=EVERYTHING)) == [
        "a-v1-00000"
    ]


def test_what_another_store_deletes_is_never_found_again(
    harness: Harness, store: Store
) -> None:
    fill(
        harness,
        store,
        [chunk("a", text="Coffee."), chunk("b", text="Coffee.")],
        vectors(2),
    )
    assert len(store.vector_search(direction(), top_k=5, scope=EVERYTHING)) == 2
    harness.new_store().delete_document("a")
    harness.settle()
    for _ in range(2):
        assert ids(store.vector_search(direction(), top_k=5, scope=EVERYTHING)) == [
            "b-v1-00000"
        ]
        assert ids(store.keyword_search("coffee", top_k=5, scope=EVERYTHING)) == [
            "b-v1-00000"
        ]
    assert store.get(["a-v1-00000"]) == []
    assert store.vector_scores(direction(), ["a-v1-00000"]) == {}
    assert store.ping()


def test_searches_in_eight_threads_while_another_writes(
    harness: Harness, store: Store
) -> None:
    steady = [
        chunk("steady", ordinal, "Coffee.", country_name="Kenya")
        for ordinal in range(50)
    ]
    fill(harness, store, steady, vectors(50))
    done = threading.Event()

    def write() -> None:
        writer = harness.new_store()
        for round in range(15):
            writer.upsert(
                [chunk("moving", ordinal, "Tea.") for ordinal in range(5)],
                vectors(5, seed=round),
            )
            writer.delete_document("moving")
        done.set()

    def search(seed: int) -> int:
        searches = 0
        while not done.is_set() or searches < 5:
            query = vectors(1, seed=seed + searches)[0]
            assert len(store.vector_search(query, top_k=10, scope=KENYA)) == 10
            assert len(store.keyword_search("coffee tea", top_k=10, scope=KENYA)) == 10
            searches += 1
        return searches

    with ThreadPoolExecutor(max_workers=9) as pool:
        writing = pool.submit(write)
        searching = [pool.submit(search, seed) for seed in range(8)]
        writing.result(timeout=60)
        assert all(future.result(timeout=60) >= 5 for future in searching)


def test_scores_of_a_limited_scope_do_not_depend_on_what_is_outside(
    harness: Harness, store: Store
) -> None:
    """Nor does the order: how rare a word is, is counted inside."""
    texts = (
        "tea tea output of the port",
        "coffee output",
        "output of tea and coffee in the port of the town",
        "the town",
    )
    inside = [
        chunk("a", place, text, country_name="Kenya")
        for place, text in enumerate(texts)
    ]
    others = [
        chunk("b", place, "tea output tea output town", country_name="Chad")
        for place in range(40)
    ]
    rows = vectors(len(inside) + len(others))
    limited = EVERYTHING.limited_to(KENYA)
    assert limited is not None

    def found() -> list[list[Match]]:
        worded = [
            store.keyword_search(query, top_k=3, scope=limited)
            for query in ("tea output", "coffee port", "town tea", "output")
        ]
        near = store.vector_search(direction(), top_k=3, scope=limited)
        return [*worded, near]

    fill(harness, store, inside, rows[: len(inside)])
    alone = found()
    assert all(alone)
    fill(harness, store, others, rows[len(inside) :])
    among = found()
    assert list(map(ids, among)) == list(map(ids, alone))
    for before, after in zip(alone, among, strict=True):
        scores = [match.score for match in before]
        assert [match.score for match in after] == pytest.approx(scores, abs=1e-9)
