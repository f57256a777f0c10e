"""Databases with something in them, written without an embedder."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from chatbot.config.settings import Settings
from chatbot.database.core import Database
from chatbot.database.repositories.conversations import ConversationRepository
from chatbot.database.repositories.corpus import (
    CorpusFacts,
    StoredEmbedder,
)
from chatbot.database.repositories.documents import DocumentRepository
from chatbot.database.rows import decode_vector
from chatbot.domain import Chunk, DocumentRecord
from chatbot.stores.chunks import MongoChunks

DIMENSIONS = 16
COLLECTIONS = ("chatbot_data", "report_chatting")
FIELDS = ("country_name", "year", "document_name", "type")
UNUSABLE = StoredEmbedder(
    "openai", "text-embedding-ada-002", "openai:text-embedding-ada-002", DIMENSIONS
)
"""The settings of the tests have no key: whoever embeds anything with it fails."""


def write_corpus(
    database: Database, chunks: int, *, per_document: int = 50, prefix: str = "doc"
) -> None:
    """Passages in both collections, their registrations, a conversation, and the
    embedder.
    """
    store = MongoChunks(
        settings=Settings(),
        database=database,
        changes=database.changes,
        dimensions=DIMENSIONS,
    )
    documents = DocumentRepository(database, FIELDS)
    CorpusFacts(database).remember_embedder(UNUSABLE)
    vectors = (
        np.random.default_rng(len(prefix))
        .normal(size=(chunks, DIMENSIONS))
        .astype(np.float32)
    )
    for number, start in enumerate(range(0, chunks, per_document)):
        name, collection = f"{prefix}{number}", COLLECTIONS[number % 2]
        count = min(per_document, chunks - start)
        rows = [passage(name, ordinal, collection) for ordinal in range(count)]
        store.upsert(rows, vectors[start : start + count])
        record = DocumentRecord(
            name,
            name,
            name,
            "test",
            collection,
            "ready",
            "v1",
            {"year": 2020},
            chunks=count,
        )
        documents.put(record)
    conversations = ConversationRepository(database)
    asked = {"role": "user", "content": "What of Kenya?", "scope": {"year": [2020]}}
    citations = [{"number": 1, "supported": True}]
    conversations.add(
        None,
        [asked, {"role": "assistant", "content": "Nothing. ☂", "citations": citations}],
    )


def passage(document: str, ordinal: int, collection: str) -> Chunk:
    return Chunk(
        id=Chunk.make_id(document, "v1", ordinal),
        document_id=document,
        document_name=document,
        title=document,
        text=f"Passage {ordinal} of {document}: “Nairobi”, 5 % und mehr.",
        page=ordinal,
        ordinal=ordinal,
        metadata={"country_name": "Kenya", "year": 2020 + ordinal % 4},
        collection=collection,
    )


def contents(
    database: Database, names: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    """Every document of the collections, ids as strings, vectors as bytes."""
    return {
        name: sorted(
            (plain(row) for row in database[name].find({})),
            key=lambda row: str(row["_id"]),
        )
        for name in names
    }


def plain(row: dict[str, Any]) -> dict[str, Any]:
    vectors = {
        name: decode_vector(row[name]).tobytes()
        for name in row
        if name.startswith("data_embedding")
    }
    return {**row, **vectors, "_id": str(row["_id"])}
