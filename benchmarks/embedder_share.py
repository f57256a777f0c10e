"""The share of the bare embedder's time in that of ingesting the same sample reports.

What is more than embedding (reading, cutting, writing, the change log) should cost
little. `benchmarks.compare` prints it beside that of other products.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from chatbot.app.services import build
from chatbot.app.services.once import Once
from chatbot.config import SAMPLE_DATA
from chatbot.config.settings import Settings
from chatbot.domain import Vector
from chatbot.domain.documents import Matrix
from chatbot.domain.protocols import Embedder
from chatbot.domain.request import RequestContext
from chatbot.library.sources import folder_sources
from chatbot.models.embed import EMBEDDERS

REPORTS = 8
BATCH = 256


class Counted:
    """An embedder that keeps the texts it was given."""

    local, multilingual = True, False

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.model_id = inner.model_id
        self.dimensions = inner.dimensions
        self.max_tokens = inner.max_tokens
        self.count_tokens = inner.count_tokens
        self.texts: list[str] = []

    def embed_query(
        self, text: str, *, request: RequestContext | None = None
    ) -> Vector:
        return self._inner.embed_query(text, request=request)

    def embed_documents(
        self, texts: Sequence[str], *, request: RequestContext | None = None
    ) -> Matrix:
        self.texts.extend(texts)
        return self._inner.embed_documents(texts, request=request)


def measure(rounds: int) -> float:
    """Return the median share, by the clock, and print each round."""
    model = EMBEDDERS.builder("minilm")(Settings(), model="all-minilm-l6-v2")
    model.embed_documents(["warm up"] * 64)
    shares = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as data:
            embedder = Counted(model)
            ingestion = ingest(embedder, Path(data))
        embedding = embed(embedder.texts, model)
        shares.append(embedding / ingestion)
        print(
            f"{len(embedder.texts)} passages: ingestion {ingestion:.1f} s, "
            f"bare embedder {embedding:.1f} s, share {shares[-1]:.2f}"
        )
    return statistics.median(shares)


def ingest(embedder: Counted, data: Path) -> float:
    """Return the seconds of ingesting the reports into an empty folder, several at
    once, as the product does.
    """
    settings = Settings(
        data_dir=data,
        embedding_provider="minilm",
        chat_model="extractive",
        sample_data="off",
    )
    with build(settings) as services:
        # The one in use, without the vectors that ship with the reports.
        services.runtime._embedder = Once(lambda: embedder)
        _ = services.ingesting.ingestor
        reports = folder_sources(SAMPLE_DATA)[:REPORTS]
        began = time.perf_counter()
        with ThreadPoolExecutor(settings.ingestion_workers) as pool:
            list(pool.map(services.ingesting.service.ingest, reports))
        return time.perf_counter() - began


def embed(texts: Sequence[str], embedder: Embedder) -> float:
    """Return the seconds of embedding the texts and nothing else."""
    began = time.perf_counter()
    for start in range(0, len(texts), BATCH):
        embedder.embed_documents(texts[start : start + BATCH])
    return time.perf_counter() - began
