"""AUTO_EMBED: the search engine makes the vectors, and is asked in words.

Definition and query as in mongodb.com/docs/vector-search/crud-embeddings/automated-embedding and
mongodb.com/docs/atlas/atlas-stream-processing/sp-agg-vectorSearch (`query.text`), read in 2026; that no `vector` field
may stand beside `autoEmbed` is mongot's AutoEmbeddingIndexValidator.java.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from chatbot.database.core import Database
from chatbot.database.mongo import MongoBackend
from chatbot.doctor import diagnose
from chatbot.errors import SearchEngineError
from chatbot.schema import Scope
from chatbot.services import Services
from chatbot.settings import Settings
from chatbot.stores.atlas.indexes import ensure_indexes
from tests.fakes.mongomock_search import SearchClient
from tests.ingestion.helpers import ingest, passages_of, write


@pytest.fixture
def client() -> SearchClient:
    made = SearchClient()
    made.engine.auto_embed = True
    return made


@pytest.fixture
def services(settings: Settings, client: SearchClient) -> Iterator[Services]:
    changed = settings.override(vector_search="atlas", embedding_model="64", auto_embed="voyage-4")
    with Services(changed, database=Database(MongoBackend(client, "auto"))) as opened:
        opened.prepare()
        yield opened


@pytest.mark.parametrize("fused", [True, False])
def test_passages_are_found_by_a_question_in_words(
    services: Services, client: SearchClient, tmp_path: Path, fused: bool
) -> None:
    client.engine.rank_fusion = fused
    ensure_indexes(services.storage.database, services.vectors.index_plans)
    client.engine.lag = 0.3
    ingest(services, write(tmp_path, passages_of("zebra", "lion", "okapi")), {"country_name": "Kenya"})
    client.engine.asked.clear()
    found = services.answering.retriever().retrieve(
        "The lion lives where?", top_k=2, scope=Scope().within(["report_chatting"]), method="vector"
    )
    assert "lion" in found.hits[0].chunk.text
    (_, pipeline, _) = client.engine.asked[-1]
    search = pipeline[0]["$vectorSearch"]
    assert {**search, "limit": 0} == {
        "index": "auto_embed_index",
        "path": "data",
        "query": {"text": "The lion lives where?"},
        "exact": True,
        "limit": 0,
    }
    assert client.engine.index("report_chatting", "auto_embed_index").latest["fields"][:2] == [
        {"type": "autoEmbed", "modality": "text", "path": "data", "model": "voyage-4"},
        {"type": "filter", "path": "country_name"},
    ]
    probes = [asked for _, asked, _ in client.engine.asked if "report_chat_probe" in str(asked)]
    assert len(probes) <= 3
    hybrid = services.answering.retriever().retrieve("lion", top_k=2, scope=Scope(), method="hybrid")
    assert "lion" in hybrid.hits[0].chunk.text
    assert {one.name for one in diagnose(services) if one.severity == "error"} == set()


def test_a_server_that_does_not_embed_is_told_with_what_helps(services: Services, client: SearchClient) -> None:
    client.engine.auto_embed = False
    with pytest.raises(SearchEngineError, match=r"refused what AUTO_EMBED asks for: .* must be one of") as raised:
        ensure_indexes(services.storage.database, services.vectors.index_plans)
    assert "unset AUTO_EMBED" in raised.value.remedy


def test_a_vector_alone_asks_nothing(services: Services) -> None:
    with pytest.raises(SearchEngineError, match="needs the words"):
        services.vectors.store.vector_search(np.eye(64, dtype=np.float32)[0], top_k=1, scope=Scope())
