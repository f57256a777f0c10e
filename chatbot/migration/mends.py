"""Rows of an older system, mended for good: what is readable as it is becomes as this system writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..database import Collection, Database, Json, decode_vector
from ..legacy import PREFIX, document_id_of, filter_value
from ..repositories.changes import CorpusChanges
from ..repositories.documents import DocumentRepository
from ..repositories.older_reports import OlderReports
from ..stores.chunks import SLOTS, TEXT_FIELD, embedding_field
from .batches import id_batches, rows_of

Report = Callable[[int], None]


@dataclass(slots=True)
class Mended:
    """How many rows had what, and how many reports were registered."""

    years: int = 0
    vectors: int = 0
    unregistered: int = 0
    reports: int = 0

    def __bool__(self) -> bool:
        return bool(self.years or self.vectors or self.unregistered or self.reports)


class Mender:
    """Writes nothing with ``dry_run``. Repeatable: what is mended is left alone."""

    def __init__(
        self, database: Database, *, collections: Sequence[str], filter_fields: Sequence[str], dry_run: bool
    ) -> None:
        self._database = database
        self._collections = [database[name] for name in dict.fromkeys(collections)]
        self._older = OlderReports(database, collections=collections, filter_fields=filter_fields)
        self._documents = DocumentRepository(database, filter_fields)
        self._dry_run = dry_run
        self._found = Mended()

    def total(self) -> int:
        return sum(collection.count({}) for collection in self._collections)

    def run(self, report: Report) -> Mended:
        # Registered first: from then on the rows are found under their report whether they name it or not.
        self._register(self._older.records().values())
        for collection in self._collections:
            for ids in id_batches(collection):
                rows = rows_of(collection, ids, None, {TEXT_FIELD: 0})
                updates = [(row["_id"], {"$set": fields}) for row in rows if (fields := self._mended(row))]
                if not self._dry_run:
                    collection.update_each(updates)
                report(len(ids))
        if not self._dry_run:
            self._recount()
            if self._found:
                CorpusChanges(self._database).record_everything()
        return self._found

    def _register(self, records: Iterable[Any]) -> None:
        for record in records:
            self._found.reports += 1
            if not self._dry_run and self._documents.get(record.id) is None:
                self._documents.put(record)

    def _mended(self, row: Mapping[str, Any]) -> Json:
        """What to set in the row."""
        fields: Json = {}
        year = filter_value("year", row.get("year"))
        if year != row.get("year"):
            fields["year"] = year
            self._found.years += 1
        for name in (embedding_field(slot) for slot in SLOTS):
            if isinstance(row.get(name), (list, tuple)):
                fields[name] = self._database.encode_vector(decode_vector(row[name]))
                self._found.vectors += 1
        if not row.get("document_id"):
            fields["document_id"] = document_id_of(row)
            self._found.unregistered += 1
        return fields

    def _recount(self) -> None:
        """A run that was interrupted counted only some of the rows."""
        for record in self._documents.all():
            if record.id.startswith(PREFIX):
                chunks = sum(_count(collection, record.id) for collection in self._collections)
                if chunks != record.chunks:
                    self._documents.put(replace(record, chunks=chunks))


def _count(collection: Collection, document_id: str) -> int:
    return collection.count({"document_id": document_id})
