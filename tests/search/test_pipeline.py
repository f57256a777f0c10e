"""search -> threshold -> fuse -> cut, over the real in-process store (R-D5, R-B6).
Chunks get vectors with a chosen cosine to the question, so every score is known
beforehand.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest

from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import Chunk, Match, Scope, Usage, Vector
from chatbot.domain.chat import Threshold
from chatbot.domain.figures import GlossaryEntry
from chatbot.domain.scope import Values
from chatbot.search import pipeline
from chatbot.search.pipeline import TRIES, Retrieval, settled_search
from chatbot.search.ranking import HYBRID_CANDIDATES
from tests.rows import outside

QUESTION = "zebra crossing"
Fill = Callable[..., None]


@pytest.fixture
def fill(services: Services) -> Fill:
    """``fill(a=.9, b=(.2, "text"))``: chunks with these vector scores; the default text
    shares no word.
    """

    def write(**rows: float | tuple[float, str] | tuple[float, str, int]) -> None:
        chunks, vectors = [], []
        for number, (name, row) in enumerate(rows.items()):
            score, text, year = (
                (*row, 2023)[:3]
                if isinstance(row, tuple)
                else (row, "nothing in common", 2023)
            )
            chunks.append(
                Chunk(
                    name,
                    f"d-{name}",
                    "Report",
                    "",
                    str(text),
                    metadata={"year": int(year)},
                )
            )
            vectors.append(
                with_cosine(
                    services.runtime.embedder.embed_query(QUESTION),
                    2 * float(score) - 1,
                    number,
                )
            )
        services.runtime.store.upsert(chunks, np.vstack(vectors))

    return write


@pytest.fixture
def services(settings: Settings) -> Iterator[Services]:
    """Searches to the letter: `test_ordering` has what this product adds."""
    with build(settings.override(refine=False)) as opened:
        yield opened


def with_cosine(question: Vector, cosine: float, seed: int) -> Vector:
    other = (
        np.random.default_rng(seed).standard_normal(len(question)).astype(np.float32)
    )
    other -= (other @ question) * question
    other /= np.linalg.norm(other)
    return np.asarray(
        cosine * question + np.sqrt(1 - cosine**2) * other, dtype=np.float32
    )


def retrieve(
    services: Services,
    method: str = "hybrid",
    top_k: int = 50,
    scope: Scope = Scope(),  # noqa: B008
) -> Retrieval:
    return services.everything.retriever.retrieve(
        QUESTION, top_k=top_k, scope=scope, method=method
    )


def reopened(services: Services, **values: float) -> Services:
    """Other settings over the same database, as another process would have them."""
    return build(services.settings.override(**values))


def ids(retrieval: Retrieval) -> list[str]:
    return [hit.chunk.id for hit in retrieval.hits]


def test_vector_alone_is_the_seeds_threshold_to_the_letter(
    services: Services, fill: Fill
) -> None:
    """R-D5: one search for ``limit`` hits, those above the threshold, in the order of
    the database.
    """
    fill(a=0.75, b=0.95, c=0.65, d=0.72, e=0.1)
    found = retrieve(services, "vector")
    assert ids(found) == ["b", "a", "d"]
    assert [hit.score for hit in found.hits] == pytest.approx(
        [0.95, 0.75, 0.72], abs=1e-5
    )
    assert found.threshold == Threshold(0.7, 0.7, relaxed=False)
    assert [hit.rank for hit in found.hits] == [1, 2, 3]
    assert {
        (hit.found_by, hit.keyword_score, hit.fused_score) for hit in found.hits
    } == {(("vector",), None, None)}


@pytest.mark.parametrize("seed", range(5))
def test_vector_alone_agrees_with_the_naive_loop(
    services: Services, fill: Fill, seed: int
) -> None:
    """R-D5, on random scores, with and without relaxation: the seed's own code over the
    same list.
    """
    scores = {
        f"c{n:02}": float(score)
        for n, score in enumerate(
            np.random.default_rng(seed).uniform(0.01, 0.8 - seed / 10, 12)
        )
    }
    fill(**scores)
    top = sorted(scores, key=lambda name: -scores[name])[:5]
    tenths = 7
    while not any(scores[name] > tenths / 10 for name in top) and tenths > 0:
        tenths -= 1
    assert ids(retrieve(services, "vector", top_k=5)) == [
        name for name in top if scores[name] > tenths / 10
    ]


def test_hybrid_keeps_what_passes_the_threshold_or_is_among_the_first_keyword_hits(
    services: Services, fill: Fill
) -> None:
    """R-D5: a far passage stays when the keyword search puts it first; a far one
    without keywords goes.
    """
    fill(near=0.9, far=0.4, worded=(0.2, "zebra crossing"))
    found = retrieve(services)
    assert sorted(ids(found)) == ["near", "worded"]
    assert found.threshold == Threshold(0.7, 0.7, relaxed=False)
    by_id = {hit.chunk.id: hit for hit in found.hits}
    assert by_id["near"].found_by == ("vector",)
    assert by_id["near"].keyword_score is None
    assert by_id["worded"].found_by == ("vector", "keyword")
    assert by_id["worded"].keyword_score is not None
    assert by_id["worded"].score == pytest.approx(0.2, abs=1e-5)


def test_only_the_first_ten_keyword_hits_are_exempt(
    services: Services, fill: Fill
) -> None:
    """R-D5: the eleventh needs its vector score. Longer passages score lower by BM25,
    so the order is known.
    """
    words = {f"k{n:02}": (0.2, "zebra " + "filler " * n) for n in range(14)}
    words["k12"] = (0.8, words["k12"][1])
    fill(near=0.9, **words)
    kept = set(ids(retrieve(services)))
    assert kept == {"near", "k12", *(f"k{n:02}" for n in range(10))}


def test_the_threshold_looks_at_the_vector_list_only(
    services: Services, fill: Fill
) -> None:
    """R-D5: a keyword hit does not stop the descent of the threshold."""
    fill(a=0.55, worded=(0.3, "zebra"))
    assert retrieve(services).threshold == Threshold(0.7, 0.5, relaxed=True)


def test_scores_are_normalised_over_all_that_was_found_and_cut_afterwards(
    services: Services, fill: Fill
) -> None:
    """Over the survivors alone the scores would spread differently for every
    question.
    """
    fill(a=0.9, b=0.8, c=0.4, worded=(0.2, "zebra crossing"))
    found = retrieve(services)
    vector, keyword = np.array([0.9, 0.8, 0.4, 0.2]), np.array([0, 0, 0, 1.0])
    fused = (
        0.6 * (vector - vector.mean()) / vector.std()
        + 0.4 * (keyword - keyword.mean()) / keyword.std()
    )
    expected = {"a": fused[0], "b": fused[1], "worded": fused[3]}
    assert {hit.chunk.id: hit.fused_score for hit in found.hits} == pytest.approx(
        expected, abs=1e-4
    )
    assert ids(retrieve(services, top_k=1)) == ids(found)[:1]


def test_a_hit_of_the_keyword_search_alone_gets_its_stored_vector_score(
    services: Services, fill: Fill
) -> None:
    """One scale for scores: filled in by id, beyond the hundred nearest."""
    fill(
        **{f"n{n:03}": 0.9 if n < 5 else 0.6 for n in range(120)},
        worded=(0.3, "zebra crossing"),
    )
    hits = {hit.chunk.id: hit for hit in retrieve(services).hits}
    assert len(hits) == 6
    assert hits["worded"].found_by == ("keyword",)
    assert hits["worded"].score == pytest.approx(0.3, abs=1e-5)


def test_a_passage_without_an_embedding_is_found_by_its_words_and_has_no_score(
    services: Services, fill: Fill
) -> None:
    """R-D7: what an older system wrote stays reachable."""
    fill(near=0.9)
    outside(services.storage.database, "chatbot_data").replace_many(
        [{"_id": "bare", "data": "zebra crossing", "document_name": "Old"}]
    )
    hits = {hit.chunk.id: hit for hit in retrieve(services).hits}
    assert set(hits) == {"near", "bare"}
    assert hits["bare"].score is None
    assert hits["bare"].found_by == ("keyword",)


def test_bm25_alone_has_no_threshold_but_vector_scores(
    services: Services, fill: Fill
) -> None:
    fill(near=0.9, worded=(0.2, "zebra crossing"), half=(0.6, "zebra only"))
    found = retrieve(services, "bm25")
    assert ids(found) == ["worded", "half"]
    assert found.threshold is None
    assert [hit.score for hit in found.hits] == pytest.approx([0.2, 0.6], abs=1e-5)
    assert {hit.found_by for hit in found.hits} == {("keyword",)}


@pytest.mark.parametrize("method", ["vector", "bm25", "hybrid"])
def test_nothing_outside_the_scope_and_never_too_few(
    services: Services, fill: Fill, method: str
) -> None:
    """The filter works before the search: 150 better passages of another year crowd
    nothing out.
    """
    others = {f"x{n}": (0.95, "zebra crossing", 2021) for n in range(150)}
    fill(**others, **{f"in{n}": (0.9, "zebra crossing", 2023) for n in range(3)})
    scope = Scope.of({"year": Values((2023,))})
    assert sorted(ids(retrieve(services, method, top_k=3, scope=scope))) == [
        "in0",
        "in1",
        "in2",
    ]


def test_a_heading_that_the_glossary_names_is_found_by_its_own_words(
    settings: Settings,
) -> None:
    """Of "Is it safe?" no passage on armed groups has a word, and none is near."""
    rows = {
        f"near-{number}": ("Roads", "a zebra", 0.6 + number / 300)
        for number in range(HYBRID_CANDIDATES)
    }
    rows["far"] = ("Armed groups", "nothing in common", 0.59)
    with build(settings) as services:
        services.storage.glossary.put(
            "own", [GlossaryEntry(QUESTION, "What is dangerous.", (), "Armed groups")]
        )
        asked = services.runtime.embedder.embed_query(QUESTION)
        chunks = [
            Chunk(name, "d", "Report", "", text, section)
            for name, (section, text, _) in rows.items()
        ]
        vectors = [
            with_cosine(asked, 2 * score - 1, seed)
            for seed, (_, _, score) in enumerate(rows.values())
        ]
        services.runtime.store.upsert(chunks, np.vstack(vectors))
        assert ids(retrieve(services))[0] == "far"
        services.storage.glossary.put("own", (), replace_all=True)
        assert "far" not in ids(retrieve(services))


def test_the_steps_are_named_in_their_order_and_timed(
    services: Services, fill: Fill
) -> None:
    fill(a=0.9)
    found = retrieve(services)
    assert [step.name for step in found.steps] == [
        "embed",
        "vector_search",
        "keyword_search",
        "fuse",
        "load",
    ]
    assert all(step.ms >= 0 for step in found.steps)
    assert Usage.total(step.usage for step in found.steps).embedding_tokens == 2


def test_threshold_settings_are_used(services: Services, fill: Fill) -> None:
    """R-D5: start, step and floor are settings."""
    fill(a=0.62, b=0.58, c=0.2)
    with reopened(
        services, threshold_start=0.8, threshold_step=0.05, threshold_floor=0.6
    ) as other:
        assert retrieve(other, "vector").threshold == Threshold(0.8, 0.6, relaxed=True)
        assert ids(retrieve(other, "vector")) == ["a"]
    with reopened(services, threshold_start=0.8, threshold_floor=0.7) as other:
        assert ids(retrieve(other, "vector")) == []


def test_the_weight_setting_is_used(services: Services, fill: Fill) -> None:
    fill(near=(0.9, "nothing"), worded=(0.71, "zebra crossing"))
    for weight, first in ((0.9, "near"), (0.1, "worded")):
        with reopened(services, vector_weight=weight) as other:
            assert ids(retrieve(other))[0] == first


# Matches of versions that are not to be seen are dropped, and nobody's result gets
# shorter for it.


def id_of(document: str, version: str, ordinal: int = 0) -> str:
    return Chunk.make_id(document, version, ordinal)


class Search:
    """Finds the first n of two fixed lists; remembers how many were asked for."""

    def __init__(self, near: list[str], worded: list[str] | None = None) -> None:
        self.asked: list[int] = []
        self._found = (
            [Match(id, 1.0) for id in near],
            [Match(id, 1.0) for id in worded or []],
        )

    def __call__(self, count: int) -> tuple[list[Match], list[Match]]:
        self.asked.append(count)
        near, worded = self._found
        return near[:count], worded[:count]


def ids_of(matches: list[Match]) -> list[str]:
    return [match.chunk_id for match in matches]


class Seen:
    """The visible versions of some reports ("" = none); all others are visible."""

    def __init__(self, **versions: str) -> None:
        self.records: Mapping[str, object] = {id: object() for id in versions}
        self._versions = versions

    def shows(self, chunk_id: str) -> bool:
        document_id, version = Chunk.version_of(chunk_id)
        return self._versions.get(document_id, version) == version


def always(**visible: str) -> Callable[[], Seen]:
    seen = Seen(**visible)
    return lambda: seen


def test_where_all_is_settled_it_is_one_plain_search() -> None:
    search = Search([id_of("a", "v1"), id_of("b", "v1")], [id_of("b", "v1")])
    near, worded = settled_search(search, 5, always())
    assert (ids_of(near), ids_of(worded), search.asked) == (
        [id_of("a", "v1"), id_of("b", "v1")],
        [id_of("b", "v1")],
        [5],
    )


def test_other_versions_and_reports_that_are_not_to_be_seen_are_dropped_in_both_lists() -> (  # noqa: E501
    None
):
    every = [
        id_of("a", "v1"),
        id_of("a", "v2"),
        id_of("b", "v1"),
        id_of("b", "v2"),
        id_of("c", "v1"),
    ]
    near, worded = settled_search(
        Search(every, every[::-1]), 10, always(a="v1", b="", d="v9")
    )
    assert ids_of(near) == [id_of("a", "v1"), id_of("c", "v1")]
    assert ids_of(worded) == ids_of(near)[::-1]


def test_passages_of_older_systems_are_seen() -> None:
    near, _ = settled_search(
        Search(["65a1b2c3d4e5f60718293a4b", "report-7", id_of("a", "v2")]),
        10,
        always(a="v1"),
    )
    assert ids_of(near) == ["65a1b2c3d4e5f60718293a4b", "report-7"]


def test_what_is_dropped_is_searched_for_further_on() -> None:
    """A report in the middle of its replacement must not push the others out."""
    crowd = [id_of("a", "v2", n) for n in range(30)]
    rest = [id_of("b", "v1", n) for n in range(10)]
    search = Search(crowd + rest)
    near, _ = settled_search(search, 5, always(a="v1"))
    assert ids_of(near) == rest[:5]
    assert search.asked == [5, 10, 20, 40]


def test_it_is_searched_no_further_than_there_is_anything_or_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = Search([id_of("a", "v2", n) for n in range(7)] + [id_of("b", "v1")])
    near, _ = settled_search(search, 5, always(a="v1"))
    assert (ids_of(near), search.asked) == ([id_of("b", "v1")], [5, 10])
    monkeypatch.setattr(pipeline, "MAX_CANDIDATES", 50)
    search = Search([id_of("a", "v2", n) for n in range(100)])
    near, _ = settled_search(search, 5, always(a="v1"))
    assert (near, search.asked[-1]) == ([], 50)


def test_a_report_replaced_there_and_back_while_it_is_searched_is_searched_again() -> (
    None
):
    """The same version is visible before and after, and in between the other version
    was all there was.
    """
    searches = iter(
        [Search([id_of("a", "v2")]), Search([id_of("a", "v2"), id_of("a", "v1")])]
    )
    moments = iter([Seen(a="v1"), *[Seen(a="v1")] * 3])

    def search(count: int) -> tuple[list[Match], list[Match]]:
        return next(searches)(count)

    near, _ = settled_search(search, 5, lambda: next(moments))
    assert ids_of(near) == [id_of("a", "v1")]


def test_a_search_that_never_settles_ends_after_some_tries() -> None:
    search = Search([id_of("a", "v1")])
    near, _ = settled_search(search, 5, lambda: Seen(a="v2"))
    assert near == []
    assert len(search.asked) == TRIES
