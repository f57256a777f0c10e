"""This product's search in the process, over its embedded database, as a question calls
it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.domain import Chunk, Scope
from chatbot.domain.scope import Values
from chatbot.stores.faiss import FaissStore
from chatbot.stores.faiss import build as build_store

FIELDS = {"half": "year", "country": "country_name"}
BATCH = 2000


def make_store(folder: Path, dimensions: int) -> FaissStore:
    settings = Settings(data_dir=folder)
    database = open_database(settings)
    return build_store(
        settings=settings,
        database=database,
        changes=database.changes,
        dimensions=dimensions,
    )


def build(vectors: Any) -> Callable[..., list[int]]:
    folder = Path(tempfile.mkdtemp(prefix="report-chat-benchmark-"))
    store = make_store(folder, len(vectors[0]))
    for start in range(0, len(vectors), BATCH):
        rows = range(start, min(start + BATCH, len(vectors)))
        chunks = [
            Chunk(
                id=f"{row:08d}-v-00000",
                document_id=f"d{row // 200}",
                document_name=f"Report {row // 200}",
                title="",
                text=f"Passage {row}",
                metadata={
                    "country_name": f"Country {row % 50}",
                    "year": 2000 + row % 2,
                },
            )
            for row in rows
        ]
        store.upsert(chunks, np.asarray(vectors[start : start + BATCH]))

    def search(vector: Any, condition: Any, k: int) -> list[int]:
        scope = Scope()
        if condition:
            field, number = condition
            value = 2000 + number if field == "half" else f"Country {number}"
            scope = Scope.of({FIELDS[field]: Values((value,))})
        return [
            int(match.chunk_id[:8])
            for match in store.vector_search(vector, top_k=k, scope=scope)
        ]

    return search
