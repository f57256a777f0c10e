"""The vectors shipped with the sample reports: complete, true, and of the model that is
asked.
"""

import random
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks.sample_vectors import embedded_texts, write_warm_cache
from chatbot.app.services import Services, build
from chatbot.config import WARM_CACHE
from chatbot.config.settings import Settings
from chatbot.database.repositories.caches import CacheRepository
from chatbot.domain import RequestContext, Vector
from chatbot.domain.errors import EmbeddingError
from chatbot.models.caches import CachedEmbedder, WarmCache
from chatbot.models.embed.hashing import HashingEmbedder
from chatbot.models.embed.minilm import MiniLMEmbedder
from tests.fakes.hooked_database import HookedDatabase

RECOMPUTED = 40


@pytest.fixture(scope="module")
def texts(sample_settings: Settings) -> list[str]:
    """What ingesting the sample reports with the default settings embeds."""
    with build(sample_settings) as services:
        store = services.runtime.writable_store
        records = services.storage.documents.all()
        return embedded_texts(
            [chunk for record in records for chunk in store.stored(record.id)[0]]
        )


def test_every_passage_of_every_sample_report_is_in_the_shipped_cache(
    texts: list[str],
) -> None:
    cache = WarmCache(WARM_CACHE)
    missing = [
        text for text in texts if cache.get(MiniLMEmbedder.model_id, text) is None
    ]
    assert len(texts) > 10_000
    assert missing == [], "run: python -m benchmarks sample_vectors"
    with np.load(WARM_CACHE) as shipped:
        assert len(shipped["keys"]) == len(texts), (
            "the cache holds vectors of texts that are no more"
        )


def test_a_sample_of_the_shipped_vectors_is_what_the_model_gives(
    texts: list[str],
) -> None:
    """Across processors the int8 model differs a little: cosine at least .98."""
    seed = random.randrange(10**6)
    cache, minilm = WarmCache(WARM_CACHE), MiniLMEmbedder()
    for text in random.Random(seed).sample(texts, RECOMPUTED):
        shipped = cache.get(minilm.model_id, text)
        assert shipped is not None
        assert float(shipped @ minilm.embed_query(text)) >= 0.98, (seed, text)


def test_a_cache_answers_only_for_its_model_and_the_exact_text(tmp_path: Path) -> None:
    path = tmp_path / "cache.npz"
    vectors = np.eye(3, 4, dtype=np.float32)
    write_warm_cache(path, "m:1", ["b", "a", "c"], 0.9999 * vectors)
    cache = WarmCache(path)
    assert cache.model_id == "m:1"
    for text, vector in zip(["b", "a", "c"], vectors, strict=True):
        found = cache.get("m:1", text)
        assert found is not None
        assert found.dtype == np.float32
        assert np.array_equal(found, vector)  # of length one again
    assert cache.get("m:2", "a") is None
    assert cache.get("m:1", "a ") is None


# The embedder in front of a cache: what is known is not computed (R-B3).


TEXTS = ["one zebra", "two giraffes", "three lions"]
INNER = HashingEmbedder(64)


@pytest.fixture
def cached(tmp_path: Path) -> CachedEmbedder:
    """The cache knows the first and the last text, with vectors that the model would
    not give.
    """
    known = [TEXTS[0], TEXTS[2]]
    write_warm_cache(
        tmp_path / "c.npz", INNER.model_id, known, -INNER.embed_documents(known)
    )
    return CachedEmbedder(INNER, WarmCache(tmp_path / "c.npz"))


def test_a_cached_embedder_is_the_one_that_it_wraps(cached: CachedEmbedder) -> None:
    assert (cached.model_id, cached.dimensions, cached.max_tokens) == (
        INNER.model_id,
        64,
        INNER.max_tokens,
    )
    assert cached.count_tokens("a b c") == 3
    assert np.array_equal(cached.embed_query(TEXTS[0]), INNER.embed_query(TEXTS[0]))


def test_known_texts_come_from_the_cache_and_the_others_from_the_model_in_order(
    cached: CachedEmbedder,
) -> None:
    expected = INNER.embed_documents(TEXTS) * np.asarray([[-1], [1], [-1]])
    assert np.allclose(cached.embed_documents(TEXTS), expected, atol=1e-3)
    assert cached.embed_documents([]).shape == (0, 64)


def test_a_question_is_embedded_once(tmp_path: Path) -> None:
    embedder = WaitingEmbedder(1)
    cached = CachedEmbedder(embedder, WarmCache(tmp_path / "c.npz"))
    expected = cached.embed_query(TEXTS[0])
    assert np.array_equal(cached.embed_query(TEXTS[0]), expected)
    assert embedder.asked == [TEXTS[0]]


class WaitingEmbedder(HashingEmbedder):
    """Answers a question once so many are being embedded at the same time; knows how
    often it was asked.
    """

    def __init__(self, together: int) -> None:
        super().__init__(64)
        self._barrier = threading.Barrier(together)
        self.asked: list[str] = []

    def embed_query(
        self, text: str, *, request: RequestContext | None = None
    ) -> Vector:
        self.asked.append(text)
        self._barrier.wait(10)
        return super().embed_query(text, request=request)


@pytest.mark.parametrize("seconds", [60, 0])
def test_questions_that_are_known_before_are_embedded_at_the_same_time(
    tmp_path: Path, services: Services, seconds: int
) -> None:
    inner, request = WaitingEmbedder(2), RequestContext()
    kept = CacheRepository(services.storage.database, seconds=seconds, entries=10)
    cached = CachedEmbedder(inner, WarmCache(tmp_path / "c.npz"), cache=kept)
    cached.prefetch(["one", "two", "one"], request=request)
    assert sorted(inner.asked) == ["one", "two"]
    assert np.array_equal(
        cached.embed_query("two", request=request), INNER.embed_query("two")
    )
    cached.prefetch(["two", "one"], request=request)
    assert len(inner.asked) == 2
    assert request.meter.lookups == (
        {"embedding miss": 2, "embedding hit": 2} if seconds else {}
    )
    cached.close()


def test_a_question_that_cannot_be_embedded_beside_another_is_an_error(
    tmp_path: Path,
) -> None:
    class Failing(HashingEmbedder):
        def embed_query(
            self, text: str, *, request: RequestContext | None = None
        ) -> Vector:
            if text == "two":
                raise EmbeddingError("Not this one.")
            return super().embed_query(text, request=request)

    cached = CachedEmbedder(Failing(64), WarmCache(tmp_path / "c.npz"))
    with pytest.raises(EmbeddingError, match="Not this one"):
        cached.prefetch(["one", "two"])
    cached.close()


def test_questions_are_kept_for_other_processes_where_each_has_its_price(
    tmp_path: Path, services: Services
) -> None:
    class Remote(HashingEmbedder):
        local = False

    kept = CacheRepository(services.storage.database, seconds=60, entries=10)
    warm = WarmCache(tmp_path / "c.npz")
    CachedEmbedder(HashingEmbedder(64), warm, cache=kept).embed_query("computed here")
    CachedEmbedder(Remote(64), warm, cache=kept).embed_query("paid for")
    request = RequestContext()
    CachedEmbedder(Remote(64), warm, cache=kept).prefetch(["paid for"], request=request)
    assert request.meter.lookups == {"embedding hit": 1}
    assert services.storage.database["cache"].estimated_count() == 1


def test_an_ingestion_asks_the_cache_for_none_of_its_passages(
    tmp_path: Path, services: Services
) -> None:
    """The passages keep their vectors: here, each would cost two round trips."""

    class Remote(HashingEmbedder):
        local = False

    hooks = {
        ("cache", method): partial(pytest.fail, f"{method} of a passage")
        for method in ("find_one", "find", "replace_many", "update_one")
    }
    hooked = HookedDatabase(services.storage.database, hooks)
    kept = CacheRepository(hooked, seconds=60, entries=10)
    cached = CachedEmbedder(Remote(64), WarmCache(tmp_path / "c.npz"), cache=kept)
    assert np.array_equal(cached.embed_documents(TEXTS), INNER.embed_documents(TEXTS))


def test_few_questions_stay_at_hand(tmp_path: Path) -> None:
    cached = CachedEmbedder(
        WaitingEmbedder(1), WarmCache(tmp_path / "c.npz"), max_recent=2
    )
    for text in ("a", "b", "c", "c", "b", "a"):
        cached.embed_query(text)
    assert cached.uncached.asked == ["a", "b", "c", "a"]  # type: ignore[attr-defined]  # the double's own


def test_forms_of_presentation_have_the_vector_of_plain_letters(
    cached: CachedEmbedder,
) -> None:
    printed, typed = "e\ufb03cient \uff12", "efficient 2"
    assert (cached.embed_query(printed) == cached.embed_query(typed)).all()
    assert (cached.embed_documents([printed]) == cached.embed_documents([typed])).all()
