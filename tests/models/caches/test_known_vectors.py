"""Vectors of texts that come again: computed once, and bounded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from chatbot.domain import Matrix
from chatbot.domain.request import RequestContext
from chatbot.models import caches
from chatbot.models.caches import KnownVectors
from chatbot.models.embed.hashing import HashingEmbedder


class CountingEmbedder(HashingEmbedder):
    def __init__(self) -> None:
        super().__init__(16)
        self.embedded: list[str] = []

    def embed_documents(self, texts: Sequence[str], *, request: RequestContext | None = None) -> Matrix:
        self.embedded += texts
        return super().embed_documents(texts, request=request)


def test_each_text_is_computed_once_and_an_empty_one_never() -> None:
    known = KnownVectors(embedder := CountingEmbedder())
    known.of(["climate", "", "climate", "trade"], None)
    found = known.of(["trade", "ports"], None)
    assert embedder.embedded == ["climate", "trade", "ports"]
    assert np.array_equal(found["ports"], HashingEmbedder(16).embed_query("ports"))


def test_of_too_many_those_stay_that_are_wanted_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "MAX_KNOWN_VECTORS", 2)
    known = KnownVectors(embedder := CountingEmbedder())
    before = known.of(["climate", "trade"], None)
    found = known.of(["trade", "ports"], None)
    assert set(found) == {"trade", "ports"}
    assert set(before) == {"climate", "trade"}, "who is reading them goes on"
    known.of(["climate"], None)
    assert embedder.embedded == ["climate", "trade", "ports", "climate"]
