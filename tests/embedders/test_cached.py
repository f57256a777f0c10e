"""The embedder in front of a cache: what is known is not computed (R-B3)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from chatbot.caches.warm import WarmCache, write_warm_cache
from chatbot.embedders.cached import CachedEmbedder
from chatbot.embedders.hashing import HashingEmbedder

TEXTS = ["one zebra", "two giraffes", "three lions"]
INNER = HashingEmbedder(64)


@pytest.fixture
def cached(tmp_path: Path) -> CachedEmbedder:
    """The cache knows the first and the last text, with vectors that the model would not give."""
    known = [TEXTS[0], TEXTS[2]]
    write_warm_cache(tmp_path / "c.npz", INNER.model_id, known, -INNER.embed_documents(known))
    return CachedEmbedder(INNER, WarmCache(tmp_path / "c.npz"))


def test_it_is_the_embedder_it_wraps(cached: CachedEmbedder) -> None:
    assert (cached.model_id, cached.dimensions, cached.max_tokens) == (INNER.model_id, 64, INNER.max_tokens)
    assert cached.count_tokens("a b c") == 3
    assert np.array_equal(cached.embed_query(TEXTS[0]), INNER.embed_query(TEXTS[0]))


def test_known_texts_come_from_the_cache_and_the_others_from_the_model_in_order(cached: CachedEmbedder) -> None:
    expected = INNER.embed_documents(TEXTS) * np.asarray([[-1], [1], [-1]])
    assert np.allclose(cached.embed_documents(TEXTS), expected, atol=1e-3)
    assert (cached.hits, cached.misses) == (2, 1)


def test_hits_and_misses_add_up(cached: CachedEmbedder) -> None:
    cached.embed_documents(TEXTS)
    cached.embed_documents([TEXTS[1], TEXTS[1]])
    assert (cached.hits, cached.misses) == (2, 3)
    cached.embed_documents([TEXTS[2]])
    assert (cached.hits, cached.misses) == (3, 3)


def test_nothing_to_embed(cached: CachedEmbedder) -> None:
    assert cached.embed_documents([]).shape == (0, 64)
    assert (cached.hits, cached.misses) == (0, 0)
