"""Reports of an older system: rows that no registration speaks of, grouped into what they are."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from ..database import Database
from ..legacy import KEY_FIELDS, UNREGISTERED, document_id_of, row_metadata
from ..schema import DocumentRecord
from .changes import CorpusChanges

NAMELESS = "Without a name"
SEVERAL = ""
"""The collection of a report whose rows are in more than one."""


class OlderReports:
    """Derived from the chunk collections, and kept until something in them changes. Thread-safe."""

    def __init__(self, database: Database, *, collections: Sequence[str], filter_fields: Sequence[str]) -> None:
        self._collections = [database[name] for name in dict.fromkeys(collections)]
        self._changes = CorpusChanges(database)
        self._fields = tuple(filter_fields)
        self._lock = threading.Lock()
        self._key: tuple[int, ...] | None = None
        self._records: dict[str, DocumentRecord] = {}

    def records(self) -> dict[str, DocumentRecord]:
        """By id; empty where every row belongs to a registered report."""
        key = (self._changes.position(), *(collection.write_marker() for collection in self._collections))
        with self._lock:
            if key != self._key:
                self._records = self._grouped()
                self._key = key
            return self._records

    def _grouped(self) -> dict[str, DocumentRecord]:
        wanted = dict.fromkeys((*KEY_FIELDS, *self._fields), 1)
        examples: dict[str, DocumentRecord] = {}
        counts: dict[str, int] = {}
        for collection in self._collections:
            for row in collection.find(UNREGISTERED, wanted):
                document_id = document_id_of(row)
                counts[document_id] = counts.get(document_id, 0) + 1
                known = examples.get(document_id)
                if known is not None and known.collection != collection.name:
                    examples[document_id] = replace(known, collection=SEVERAL)
                if known is None:
                    name = str(row.get("document_name") or NAMELESS)
                    examples[document_id] = DocumentRecord(
                        id=document_id,
                        name=name,
                        title=name,
                        source="",
                        collection=collection.name,
                        status="ready",
                        version="",
                        metadata=row_metadata(row, self._fields),
                    )
        return {id: replace(record, chunks=counts[id]) for id, record in examples.items()}
