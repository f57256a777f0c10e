"""The reports that a data set's passages make up, so that questions are understood as they are over real ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from ..schema import Chunk, DocumentRecord


class Documents(Protocol):
    def put(self, record: DocumentRecord) -> None: ...


def register(documents: Documents, chunks: Sequence[Chunk]) -> int:
    """One report for each country, year and so on that the passages have in common; returns how many."""
    passages = Counter(tuple(sorted(chunk.metadata.items())) for chunk in chunks)
    for number, (metadata, count) in enumerate(passages.items(), start=1):
        name = ", ".join(str(value) for _, value in metadata) or f"Report {number}"
        record = DocumentRecord(
            id=f"data-set-{number}",
            name=name,
            title=name,
            source="",
            collection="",
            status="ready",
            version="",
            metadata=dict(metadata),
            chunks=count,
        )
        documents.put(record)
    return len(passages)
